"""The formulas of docs/evidence.md by mpmath, to as many digits as it is set to."""

from functools import cache

import mpmath

from bestk.kernels import evidence as ev


@cache
def _mixture(log_weights, points, digits):  # noqa: ARG001 - constants are as exact as these
    """Weights, their logarithms, points and log(1 - point)."""
    weights, points = [mpmath.exp(mpmath.mpf(w)) for w in log_weights], [*map(mpmath.mpf, points)]
    return weights, [*map(mpmath.log, weights)], points, [mpmath.log(1 - p) for p in points]


def exact_log_e(e, sign, stats, c):
    """log E of one side at c, from the same doubles (t, S, v, counts of levels)."""
    mpf, log = mpmath.mpf, mpmath.log
    t, s, v, counts = mpf(stats[0]), mpf(stats[1]), mpf(stats[2]), stats[3]
    c, sign = mpf(c), int(sign)
    weights, log_weights, points, log_rests = _mixture(
        tuple(e.log_weights), tuple(e.points), mpmath.mp.dps
    )
    if e.kind == ev.NORMAL:
        total = mpf(0)
        for w, n0, shape in zip(weights, points, e.log_rest, strict=True):
            sigma = mpf(e.sigma)
            variance, rho = t * sigma**2, n0 * sigma**2
            z = sign * (s - t * c) / mpmath.sqrt(variance + rho)
            phi = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
            grown = mpmath.exp(z**2 / 2) * phi
            if shape == ev.RAYLEIGH:
                total += w * rho / (variance + rho) * (1 + mpmath.sqrt(2 * mpmath.pi) * z * grown)
            else:
                total += w * 2 * mpmath.sqrt(rho / (variance + rho)) * grown
        return log(total)
    if e.kind == ev.BETA:
        at = min(c, s / t) if sign > 0 else max(c, s / t)

        def xlogy(x, y):
            return mpf(0) if x == 0 else (x * log(y) if y > 0 else -mpmath.inf)

        half = mpf(1) / 2
        beta = mpmath.loggamma(half + s) + mpmath.loggamma(half + t - s) - mpmath.loggamma(t + 1)
        return beta - log(mpmath.pi) - xlogy(s, at) - xlogy(t - s, 1 - at)
    levels = [mpf(x) for x in e.levels]
    if e.kind in (ev.BETTING, ev.COINS):
        seen = [t - s, s] if e.kind == ev.COINS else [mpf(int(n)) for n in counts[0, :-1]]
        end = levels[0] if sign > 0 else levels[-1]
        terms = []
        for log_w, theta in zip(log_weights, points, strict=True):
            term = log_w
            for x, n in zip(levels, seen, strict=True):
                if n == 0:
                    continue
                if x != end and c == end:
                    return mpmath.inf
                ratio = mpf(0) if x == end else (x - end) / (c - end)
                term += n * log(1 - theta + theta * ratio)
            terms.append(term)
    else:
        width = levels[1] - levels[0]
        terms = [
            log_w + b * sign * (s - t * c) / width - (-log_rest - b) * v / width**2
            for log_w, b, log_rest in zip(log_weights, points, log_rests, strict=True)
        ]
    top = max(terms)
    return top + log(sum(mpmath.exp(x - top) for x in terms))
