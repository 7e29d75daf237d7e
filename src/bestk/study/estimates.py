"""What arms are compared by, as it was observed: means, or quantiles where those are compared."""

from __future__ import annotations

import math

import numpy as np

from bestk.kernels.quantile import gap
from bestk.kernels.types import START, FloatArray, State
from bestk.study.fold import Fold


def estimates(fold: Fold) -> FloatArray:
    """Of every arm that ever was, what counts, in the user's units; nan where nothing does."""
    if not fold.machine.is_ordered:
        return fold.tally.means
    found = np.full(len(fold.all_labels), math.nan)
    found[fold.arms] = np.where(fold.state.counts > 0, fold.spec.sign * fold.state.means, math.nan)
    for arm, kept in fold.shelf.items():
        found[arm] = fold.spec.sign * float(kept["means"]) if kept["counts"] else math.nan
    return found


def largest_known(fold: Fold, state: State) -> FloatArray:
    """Of every row, the largest observation that is a value; infinite where all in the study are.

    The others say only that a reward was as large or larger (`extras.ENDLESS`). What lies above the
    values of its arm, such as a median between a time and one of these, is none.
    """
    found = np.full(len(fold.arms), math.inf)
    if fold.machine.is_ordered and fold.extras.endless < math.inf:
        for row, (start, n) in enumerate(zip(state.places[START], state.counts, strict=True)):
            own = fold.spec.sign * state.ordered[start : start + n]
            found[row] = own[own < fold.extras.endless].max(initial=-math.inf)
    return found


def is_known(fold: Fold, epsilon: float) -> bool:
    """Whether a slack is less than what separates values from observations that are none."""
    most = float(largest_known(fold, fold.state).max())
    if not math.isfinite(most):
        return True
    return epsilon < gap(fold.state.evidence, -fold.extras.endless, -most)
