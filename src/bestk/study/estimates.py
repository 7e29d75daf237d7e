"""What arms are compared by, as it was observed: means, or quantiles where those are compared."""

from __future__ import annotations

import math

import numpy as np

from bestk.kernels.types import FloatArray
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
