"""What a race compares: medians, another quantile, or means, which need a cap on times."""

from __future__ import annotations

from collections.abc import Sequence

from bestk.errors import InputError, UnknownName
from bestk.rewards import Bounded, Quantile, Rewards

MEDIAN, MEAN = "median", "mean"
FACTOR = 3.0  # the cap, in warm-up times of the (k+1)-th fastest command
OF_MEANS = (
    "epsilon as a factor was refused: means are compared up to a number of seconds; give one, or"
    " compare medians"
)


def default_cap(warm_ups: Sequence[float], k: int) -> float:
    """Three times the (k+1)-th smallest of the commands' warm-up times.

    High enough to leave the k fastest and their next rival alone, low enough to cut the slow rest
    off: the higher the cap, the more runs are needed.
    """
    return FACTOR * sorted(warm_ups)[k]


def compared(by: str | None, quantile: float | None, relative: bool = False) -> Quantile | None:
    """What `by` and `quantile` ask for; None for means. The slack is a factor if `relative`."""
    if by not in (None, MEDIAN, MEAN):
        raise UnknownName("by", by, (MEDIAN, MEAN))
    if quantile is not None and by is not None:
        raise InputError(f"by={by!r} was refused: the quantile {quantile} is what is compared")
    if by == MEAN:
        if relative:
            raise InputError(OF_MEANS)
        return None
    return Quantile(0.5 if quantile is None else quantile, relative)


def cap_of(rewards: Rewards) -> float | None:
    """The cap of a race by means; None if these are no times."""
    return rewards.high if isinstance(rewards, Bounded) and rewards.low == 0.0 else None
