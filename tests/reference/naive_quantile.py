"""e-lucb on quantiles once more, straight from docs/e-lucb.md, Theorem 9: slow and obvious.

Evidence is a product of exact fractions, bounds are found by going through all observations, and
the hybrid condition is looked at on every piece of the line between two observations of any arm.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

FRACTIONS = (0.95, 0.75, 0.5, 0.3, 0.18, 0.1, 0.05, 0.02, 0.007, 0.002, 3e-4, 4e-5)
WEIGHTS = (50, 60, 60, 60, 50, 40, 30, 20, 10, 6, 4, 3)
ALONE = (120, 150, 60, 15, 5, 4, 3, 3, 2, 2, 1, 1)  # of the hybrid stop: one side by itself
PAIRED = (20, 40, 60, 60, 50, 40, 30, 20, 10, 6, 4, 3)  # and the product of both


@cache
def wealth(hits, t, p, weights=WEIGHTS):
    """The mixture of bets on an event of probability at most p, `hits` of t times."""
    p, total = Fraction(p), Fraction(0)
    for theta, weight in zip(map(Fraction, FRACTIONS), weights, strict=True):
        bet = (1 - theta + theta / p) ** hits * (1 - theta) ** (t - hits)
        total += Fraction(weight, sum(weights)) * bet
    return total


@cache
def rounded(hits, t, p, weights):
    return float(wealth(hits, t, p, weights))


class Arm:
    def __init__(self, q):
        self.q, self.seen, self.holes = q, [], 0

    def evidence(self, hits, p, weights=ALONE):
        return rounded(hits, len(self.seen) + self.holes, p, weights)

    def above(self, c, weights=ALONE):
        """E+(c): bets on observations above c."""
        return self.evidence(sum(x > c for x in self.seen), 1 - self.q, weights)

    def up_to(self, c, weights=ALONE):
        """E- just beyond c: bets on observations of at most c."""
        return self.evidence(sum(x <= c for x in self.seen), self.q, weights)

    def below(self, c, weights=ALONE):
        """E-(c): bets on observations below c."""
        return self.evidence(sum(x < c for x in self.seen), self.q, weights)

    def lower(self, alpha):
        """The supremum of all c with E+(c) >= 1/alpha: E+ is constant up to each observation."""
        enough = [x for x in self.seen if self.evidence(sum(y >= x for y in self.seen), 1 - self.q)
                  >= 1 / alpha]  # fmt: skip
        return max(enough, default=-math.inf)

    def upper(self, alpha):
        enough = [x for x in self.seen if self.up_to(x) >= 1 / alpha]
        return min(enough, default=math.inf)

    def quantile(self):
        seen, at = sorted(self.seen), (len(self.seen) - 1) * self.q
        x, y = seen[math.floor(at)], seen[min(math.floor(at) + 1, len(seen) - 1)]
        return x + (at - math.floor(at)) * (y - x)


def certified(arms, high, nu, weights, epsilon, relative=False, strictly=False, union=None):
    """The hybrid condition, for every c; `weights` are w1, w2 and w3."""
    k, n = len(high), len(arms)
    low = [i for i in range(n) if i not in high]

    def reach(c):
        if not relative:
            return c + epsilon
        return c * (1 + epsilon) if c > 0 else c / (1 + epsilon)

    everything = sorted({x for arm in arms for x in arm.seen})
    everything += [x - epsilon for x in everything]
    if relative:
        everything += [x / (1 + epsilon) if x > 0 else x * (1 + epsilon) for x in everything]
    everything = sorted(set(everything))
    between = [(a + b) / 2 for a, b in pairwise(everything)]
    for c in [everything[0] - 1e9, *everything, *between, everything[-1] + 1e9]:
        of = Arm.below if strictly else Arm.up_to
        x, x_paired = (min(of(arms[j], reach(c), how) for j in low) for how in (ALONE, PAIRED))
        y, y_paired = (min(arms[i].above(c, how) for i in high) for how in (ALONE, PAIRED))
        total = weights[0] * x / k + weights[1] * y / (n - k)
        total += weights[2] * x_paired * y_paired / (union or k * (n - k))
        if total < (1 + 1e-6) / nu:
            return False
    return True
