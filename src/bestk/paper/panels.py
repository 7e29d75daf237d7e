"""Figures 1 and 2 of the paper, panel by panel (Section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from bestk.errors import InputError, UnknownName
from bestk.policies import CATALOGUE
from bestk.simulation import Instance, make_instance

NU = 0.01  # Section 5: "the probability of making a mistake is set to nu = 0.01"
SIGMA = 0.5  # Section 5: Gaussian rewards with variance 1/4

# The paper's own grid of N is unknown; these run from 10 to 1000.
FULL_ARMS = (10, 20, 50, 100, 200, 500, 1000)
QUICK_ARMS = (10, 20, 50, 100, 200)

BEST_K = ("lucb", "lil-lucb", "lucb++", "lil-clucb", "lil-rand-lucb")
OURS = "e-lucb"  # not in the paper; in every panel, for comparison


@dataclass(frozen=True)
class Panel:
    """One plot: samples against the number of arms."""

    id: str
    title: str
    instance: str
    alpha: float | None
    k: str
    variant: str  # faithful or heuristic, of the policies that have variants
    policies: tuple[str, ...]

    @property
    def figure(self) -> int:
        """1 or 2."""
        return int(self.id[3])

    def make(self, arms: int) -> Instance:
        """The panel's instance with that many arms."""
        return make_instance(self.instance, arms=arms, k=self.k, alpha=self.alpha)

    def variant_of(self, policy: str) -> str | None:
        """The variant of a policy in this panel; one that has none is the same in all of them."""
        return self.variant if CATALOGUE[policy].variants else None


def _panels() -> tuple[Panel, ...]:
    rows = (  # figure, title, instance, alpha, K; faithful and heuristic alternate
        (1, "1-sparse, K=2", "1-sparse", None, "2"),
        (1, "1-sparse, K=N/2", "1-sparse", None, "N/2"),
        (1, "0.3-exponential, K=2", "exponential", 0.3, "2"),
        (1, "0.3-exponential, K=N/2", "exponential", 0.3, "N/2"),
        (2, "1-sparse, K=1", "1-sparse", None, "1"),
        (2, "lil-exponential, alpha=0.3, K=1", "lil-exponential", 0.3, "1"),
        (2, "lil-exponential, alpha=0.6, K=1", "lil-exponential", 0.6, "1"),
    )
    panels = []
    for figure in (1, 2):
        letters = iter("abcdefgh")
        for _, title, instance, alpha, k in (row for row in rows if row[0] == figure):
            for variant in ("faithful", "heuristic"):
                # Section 5.2: faithful lil'UCB is an order of magnitude worse, and left out
                extra = ("lil-ucb",) if figure == 2 and variant == "heuristic" else ()
                panels.append(
                    Panel(
                        f"fig{figure}{next(letters)}",
                        title,
                        instance,
                        alpha,
                        k,
                        variant,
                        (*BEST_K, *extra, OURS),
                    )
                )
    return tuple(panels)


PANELS = _panels()


def choose(names: str | None) -> tuple[tuple[Panel, ...], bool]:
    """The panels of a comma list of ids, and whether it has `cpe`; None: all of the paper's."""
    if names is None:
        return PANELS, False
    known = [panel.id for panel in PANELS] + ["cpe"]
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if not chosen:
        raise InputError(f"no panel was named; known are {', '.join(known)}")
    for name in chosen:
        if name not in known:
            raise UnknownName("panel", name, known)
    return tuple(panel for panel in PANELS if panel.id in chosen), "cpe" in chosen
