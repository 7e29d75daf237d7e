"""Counts for Prometheus: requests, answers and how long they took."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

UNSAFE = re.compile(r'[\\"\n]')


class Metrics:
    """What happened since the server started."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by route and status
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.told = self.asked = 0
        self.viewers = 0

    def answered(self, route: str, status: int, seconds: float) -> None:
        """One more request."""
        self.requests[route, status] += 1
        self.seconds[route] += seconds

    def text(self, studies: Iterable[tuple[str, int, int]], transactions: int) -> str:
        """All of it, and of every study its name, samples and open pulls."""
        lines = ["# TYPE bestk_requests_total counter"]
        for (route, status), n in sorted(self.requests.items()):
            lines.append(f'bestk_requests_total{{route="{_safe(route)}",status="{status}"}} {n}')
        lines.append("# TYPE bestk_request_seconds_total counter")
        for route, seconds in sorted(self.seconds.items()):
            lines.append(f'bestk_request_seconds_total{{route="{_safe(route)}"}} {seconds:.6f}')
        for name, kind, value in (
            ("told_total", "counter", self.told),
            ("asked_total", "counter", self.asked),
            ("transactions_total", "counter", transactions),
            ("viewers", "gauge", self.viewers),
        ):
            lines += [f"# TYPE bestk_{name} {kind}", f"bestk_{name} {value}"]
        found = list(studies)
        lines.append("# TYPE bestk_samples_total counter")
        lines += [f'bestk_samples_total{{study="{_safe(name)}"}} {n}' for name, n, _ in found]
        lines.append("# TYPE bestk_open_pulls gauge")
        lines += [f'bestk_open_pulls{{study="{_safe(name)}"}} {n}' for name, _, n in found]
        return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    return UNSAFE.sub(lambda found: {"\n": r"\n"}.get(found[0], "\\" + found[0]), text)
