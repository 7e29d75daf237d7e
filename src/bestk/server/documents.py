"""Reports, certificates and exports of a study, made in a thread from what is in the storage."""

from __future__ import annotations

import io
import threading
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_one = threading.Lock()  # at a time: each may take seconds


def report(address: str, name: str) -> str:
    """The page of a study."""
    from bestk.report.page.study import write

    with _one, TemporaryDirectory() as folder:
        target = Path(folder) / "report.html"
        write(address, target, name)
        return target.read_text(encoding="utf-8")


def certificate(address: str, name: str) -> dict[str, Any]:
    """The certificate of a study that has stopped."""
    from bestk.study.certificate import make_certificate

    with _one:
        return make_certificate(address, name)


def export(address: str, name: str, format: str) -> str:
    """Every observation that counts."""
    from bestk.report.export import write_observations
    from bestk.study.reading import open_storage

    stream = io.StringIO(newline="")
    with _one:
        write_observations(open_storage(address), name, format, stream)
    return stream.getvalue()


def past(address: str, name: str) -> list[Any]:
    """How certainty grew in a study so far."""
    from bestk.study.past import certainty
    from bestk.study.reading import open_storage
    from bestk.study.specification import Specification

    log = open_storage(address).read(name)
    first = next(log)
    return list(certainty(Specification.from_json(first.data), chain([first], log)))
