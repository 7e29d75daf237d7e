"""The special functions behind normal and Beta evidence, to nearly all digits of a double."""

from __future__ import annotations

from math import erfc, exp, log, log1p, pi, sqrt

_ROOT_PI = sqrt(pi)
SMALL = 16


def log_erfcx(x: float) -> float:
    """log(exp(x^2) erfc(x)), to about 1e-14."""
    if x < 10.0:
        return x * x + log(erfc(x))
    r = 0.5 / (x * x)  # DLMF 7.12.1: sum over k of (-1)^k (2k-1)!! r^k, below 1e-16 after k = 12
    series = 1.0
    for k in range(12, 0, -1):
        series = 1.0 - (2 * k - 1) * r * series
    return log(series / (x * _ROOT_PI))


def half_normal(y: float) -> tuple[float, float]:
    """log(2 exp(z^2/2) Phi(z)) at z = -sqrt(2) y, and its slope in y."""
    value = log_erfcx(y)
    if y < 1e4:
        return value, 2.0 * y - 2.0 / _ROOT_PI * exp(-value)
    return value, -1.0 / y


def rayleigh(y: float) -> tuple[float, float]:
    """log(1 + sqrt(2 pi) z exp(z^2/2) Phi(z)) at z = -sqrt(2) y, and its slope in y.

    That is log f(y) with f = 1 - sqrt(pi) y erfcx(y), whose two terms cancel for large y.
    """
    if y > 10.0:
        r = 0.5 / (y * y)  # DLMF 7.12.1: f = r (1 - 3 r (1 - 5 r (1 - ...)))
        series = 1.0
        for k in range(13, 1, -1):
            series = 1.0 - (2 * k - 1) * r * series
        return log(r * series), -2.0 / y  # the slope to 1%: it only guides Newton's steps
    value = log_erfcx(y)
    if y > -20.0:
        scaled = exp(value)
        f = 1.0 - _ROOT_PI * y * scaled
        return log(f), (2.0 * y - _ROOT_PI * (1.0 + 2.0 * y * y) * scaled) / f
    # -sqrt(pi) y erfcx(y) outweighs 1 by far
    return value + log(-_ROOT_PI * y), 2.0 * y + 1.0 / y


def _series_half(x: float) -> float:
    r = 1.0 / (x * x)  # DLMF 5.11.8 at h = 1/2
    tail = 127.0 / 215040.0 - 511.0 / 608256.0 * r
    return (-1.0 / 24.0 + r * (7.0 / 2880.0 + r * (-31.0 / 40320.0 + r * tail))) / x


def _series(x: float) -> float:
    r = 1.0 / (x * x)  # DLMF 5.11.1
    tail = -1.0 / 1680.0 + r / 1188.0
    return (1.0 / 12.0 + r * (-1.0 / 360.0 + r * (1.0 / 1260.0 + r * tail))) / x


# Below SMALL, Gamma(x + h) = Gamma(x + h + SMALL) / ((x + h) ... (x + h + SMALL - 1)). The log
# Gammas of the C library and of Python differ in their last bits; interpreted and compiled kernels
# must not.


def stirling_half(x: float) -> float:
    """log Gamma(x + 1/2) - (x log x - x + log(2 pi)/2), for x >= 0."""
    if x <= 0.0:
        return -0.5 * log(2.0)
    if x >= SMALL:
        return _series_half(x)
    y, ratio = x + SMALL, 1.0
    for j in range(SMALL):
        ratio *= y / (x + 0.5 + j)
    return x * (log(y) - log(x)) - SMALL + log(ratio) + _series_half(y)


def stirling(x: float) -> float:
    """log Gamma(x + 1) - (x log x - x + log(2 pi x)/2), for x > 0."""
    if x >= SMALL:
        return _series(x)
    y, ratio = x + SMALL, 1.0
    for j in range(SMALL):
        ratio *= y / (x + 1.0 + j)
    return (x + 0.5) * (log(y) - log(x)) - SMALL + log(ratio) + _series(y)


def beta_least(t: float, s: float) -> float:
    """log E at c = m, its least value: the part that does not depend on c.

    log B(1/2+s, 1/2+f) - log pi - s log m - f log(1-m), f = t - s, with the leading terms of
    Stirling's formula cancelled on paper instead of in doubles.
    """
    return 0.5 * log(2.0 / (pi * t)) + stirling_half(s) + stirling_half(t - s) - stirling(t)


def divergence_part(a: float, d: float, mean: float, c: float) -> float:
    """a log(mean/c) + d, where a = t mean and d = t (c - mean), without cancellation: >= 0."""
    if a <= 0.0:
        return d
    u = d / a
    if abs(u) < 0.1:
        # u - log(1+u) = u r - 2 (r^3/3 + r^5/5 + ...), r = u/(2+u)
        r = u / (2.0 + u)
        q = r * r
        series = 1.0 / 15.0
        for k in range(13, 1, -2):
            series = series * q + 1.0 / k
        return d * r - 2.0 * a * r * q * series
    if u < -0.5:
        if c < 1e-290:  # c / mean would lose digits below the normal doubles
            return d - a * (log(c) - log(mean))
        return d - a * log(c / mean)
    if u > 1e300:
        return d
    return d - a * log1p(u)
