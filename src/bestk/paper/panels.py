"""Figures 1 and 2 of the paper, panel by panel (Section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bestk.errors import InputError, UnknownName
from bestk.policies import find
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
        """The variant of a policy in this panel."""
        return variant_of(policy, self.variant)


VARIANTS = ("faithful", "heuristic")


def variant_of(policy: str, variant: str) -> str | None:
    """The variant of a policy; one that has none is the same wherever it is run."""
    return variant if find(policy).variants else None


def _panels(
    figure: int, *rows: tuple[str, str, float | None, str], **extra: tuple[str, ...]
) -> Iterator[Panel]:
    """Faithful and heuristic in turn; `extra` policies of a variant."""
    letters = iter("abcdefgh")
    for title, instance, alpha, k in rows:
        for variant in VARIANTS:
            policies = (*BEST_K, *extra.get(variant, ()), OURS)
            name = f"fig{figure}{next(letters)}"
            yield Panel(name, title, instance, alpha, k, variant, policies)


PANELS = (
    *_panels(
        1,
        ("1-sparse, K=2", "1-sparse", None, "2"),
        ("1-sparse, K=N/2", "1-sparse", None, "N/2"),
        ("0.3-exponential, K=2", "exponential", 0.3, "2"),
        ("0.3-exponential, K=N/2", "exponential", 0.3, "N/2"),
    ),
    *_panels(
        2,
        ("1-sparse, K=1", "1-sparse", None, "1"),
        ("lil-exponential, alpha=0.3, K=1", "lil-exponential", 0.3, "1"),
        ("lil-exponential, alpha=0.6, K=1", "lil-exponential", 0.6, "1"),
        heuristic=("lil-ucb",),  # Section 5.2: faithful lil'UCB is ten times worse, and left out
    ),
)


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
