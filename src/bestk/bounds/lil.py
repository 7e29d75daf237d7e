"""The finite form of the law of the iterated logarithm (paper, Lemma 2.1), as pure formulas."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bestk.kernels.types import FloatArray


def c_eps(eps: float) -> float:
    """The constant of Lemma 2.1, for eps in (0, 1).

    For w < log(1+eps)/e an arm's mean after t samples exceeds its true mean by U(t, w) or more at
    some t with probability at most c_eps w^(1+eps). One side: both sides cost twice that.
    """
    return (2.0 + eps) / eps * math.pow(math.log1p(eps), -1.0 - eps)


def lil_radius(t: ArrayLike, w: ArrayLike, sigma: float, eps: float) -> FloatArray:
    """U(t, w) of Lemma 2.1 after t samples at level w, elementwise.

    With the "+2" of Section 5, which keeps the inner logarithm positive at t = 1 and eps = 0.
    Decreasing in t for every w that the lemma allows.
    """
    t = np.asarray(t, dtype=np.float64)
    log_term = np.log(np.log((1.0 + eps) * t + 2.0) / np.asarray(w, dtype=np.float64))
    radius: FloatArray = (1.0 + math.sqrt(eps)) * np.sqrt(
        2.0 * sigma * sigma * (1.0 + eps) / t * log_term
    )
    return radius
