"""Counter-based randomness: a draw is a pure function of (seed, run, arm, n).

Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as easy as 1, 2,
3". Policies compared under one seed see the same rewards, whatever the order or the thread.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np

from bestk.kernels.types import BERNOULLI, GAUSSIAN, LOG_NORMAL, World

REWARD, COIN, ROUNDING, PLANNING, ORDER = range(5)  # streams

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _32, _12 = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(12)


def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four 32-bit words (held in 64) from a 128-bit counter and a 64-bit key."""
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


def uniform(seed: int, run: int, arm: Any, n: Any, stream: int) -> Any:
    """A number strictly inside (0, 1), on a grid of 2^-52; for arrays of arms and n, an array."""
    key, count = np.uint64(seed), np.uint64(n)
    w0, w1, _, _ = philox(
        count & _LOW,
        np.uint64(arm),
        np.uint64(run) & _LOW,
        np.uint64(stream) + ((count >> _32) << np.uint64(8)) & _LOW,
        key & _LOW,
        key >> _32,
    )
    # 52 bits plus a half are exact in a double, so that neither 0 nor 1 can come out
    return (np.float64(np.int64(((w0 << _32) | w1) >> _12)) + 0.5) * 2.220446049250313e-16


def normal_quantile(p: float) -> float:
    """Inverse of the standard normal distribution function.

    Algorithm AS 241, routine PPND16 (Wichura 1988), relative accuracy about 1e-16.
    """
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        num = 2.5090809287301226727e3
        num = num * r + 3.3430575583588128105e4
        num = num * r + 6.7265770927008700853e4
        num = num * r + 4.5921953931549871457e4
        num = num * r + 1.3731693765509461125e4
        num = num * r + 1.9715909503065514427e3
        num = num * r + 1.3314166789178437745e2
        num = num * r + 3.3871328727963666080e0
        den = 5.2264952788528545610e3
        den = den * r + 2.8729085735721942674e4
        den = den * r + 3.9307895800092710610e4
        den = den * r + 2.1213794301586595867e4
        den = den * r + 5.3941960214247511077e3
        den = den * r + 6.8718700749205790830e2
        den = den * r + 4.2313330701600911252e1
        return q * num / (den * r + 1.0)
    r = sqrt(-log(min(p, 1.0 - p)))
    if r <= 5.0:
        r -= 1.6
        num = 7.74545014278341407640e-4
        num = num * r + 2.27238449892691845833e-2
        num = num * r + 2.41780725177450611770e-1
        num = num * r + 1.27045825245236838258e0
        num = num * r + 3.64784832476320460504e0
        num = num * r + 5.76949722146069140550e0
        num = num * r + 4.63033784615654529590e0
        num = num * r + 1.42343711074968357734e0
        den = 1.05075007164441684324e-9
        den = den * r + 5.47593808499534494600e-4
        den = den * r + 1.51986665636164571966e-2
        den = den * r + 1.48103976427480074590e-1
        den = den * r + 6.89767334985100004550e-1
        den = den * r + 1.67638483018380384940e0
        den = den * r + 2.05319162663775882187e0
    else:
        r -= 5.0
        num = 2.01033439929228813265e-7
        num = num * r + 2.71155556874348757815e-5
        num = num * r + 1.24266094738807843860e-3
        num = num * r + 2.65321895265761230930e-2
        num = num * r + 2.96560571828504891230e-1
        num = num * r + 1.78482653991729133580e0
        num = num * r + 5.46378491116411436990e0
        num = num * r + 6.65790464350110377720e0
        den = 2.04426310338993978564e-15
        den = den * r + 1.42151175831644588870e-7
        den = den * r + 1.84631831751005468180e-5
        den = den * r + 7.86869131145613259100e-4
        den = den * r + 1.48753612908506148525e-2
        den = den * r + 1.36929880922735805310e-1
        den = den * r + 5.99832206555887937690e-1
    value = num / (den * r + 1.0)
    return -value if q < 0.0 else value


def draw(world: World, seed: int, run: int, arm: int, n: int) -> float:
    """The n-th simulated reward of an arm in a run."""
    u = uniform(seed, run, arm, n, REWARD)
    if world.law == GAUSSIAN:
        return world.means[arm] + world.sigma * normal_quantile(u)
    if world.law == BERNOULLI:
        return 1.0 if u < world.means[arm] else 0.0
    if world.law == LOG_NORMAL:  # means and sigma are those of the logarithm
        return exp(world.means[arm] + world.sigma * normal_quantile(u))
    return _pick(world, arm, u)


def _pick(world: World, arm: int, u: float) -> float:
    """A stored value of an arm, as often as it occurs."""
    low, high = world.first[arm], world.first[arm + 1] - 1
    ticket = np.int64(u * world.cumulated[high])
    while low < high:  # the first value whose cumulated count exceeds the ticket
        middle = (low + high) >> 1
        if world.cumulated[middle] > ticket:
            high = middle
        else:
            low = middle + 1
    return world.values[low]
