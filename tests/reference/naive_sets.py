"""The sets rule of e-clucb once more, over the list of all feasible sets, slow and obvious.

A difference of two sets is judged twice: with all tilts (`exact`: the least evidence over all means
for which the other set is better, by convex duality on a fine grid), and at the kernel's tilts with
codes that are sums over arms (`linear`). Nothing is shared with `bestk`.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np

from reference.naive import nearly_best
from reference.naive_evidence import Normal, is_normal
from reference.naive_hybrid import Player

N0 = 6.0
TILTS = range(-16, 81)
CLOSE = 2e-6  # leads nearer to each other than this count as tied
POINTS = 240


class TwoSided(Normal):
    """Normal evidence by the mixture N(0, sigma^2/n0) on both sides."""

    def log_e(self, side, seen, c):  # noqa: ARG002
        t, s = seen
        z = (s - t * np.asarray(c)) / (self.sigma * sqrt(t + N0))
        return z**2 / 2 - log(1 + t / N0) / 2


class Code:
    """What a difference costs: `rate` and `constant`, or of paths, edge by edge.

    `edges` are (tail, head, whether both ways); `inside` and `leaving` what they cost.
    """

    def __init__(self, rate=0.0, constant=0.0, edges=None, inside=None, leaving=None):
        self.rate, self.constant = rate, constant
        self.edges, self.inside, self.leaving = edges, inside, leaving

    def of_arm(self, i, answer):
        if self.edges is None:
            return self.rate
        if i in answer:
            return self.inside[i]
        on = {self.edges[j][0] for j in answer}
        on |= {self.edges[j][1] for j in answer if self.edges[j][2]}
        tail, head, both = self.edges[i]
        return self.leaving[i] * ((tail in on) + (both and head in on))

    def length(self, answer, other):
        """Of the answer, given that the other set is the best."""
        return self.constant + sum(self.of_arm(i, answer) for i in set(answer) ^ set(other))

    def shares(self, answer, sets):
        """1 / (the least difference from the answer that an arm is in)."""
        found: dict[int, float] = {}
        for other in sets:
            differ = set(answer) ^ set(other)
            for i in differ:
                found[i] = max(found.get(i, 0.0), 1 / len(differ))
        return found


class ESets(Player):
    """e-clucb where it compares whole sets."""

    def __init__(self, n, sets, epsilon, family, code, sigma, spreads, *more, ceiling=inf):
        super().__init__(n, epsilon, family, None, None, *more)
        self.sets, self.code, self.sigma = [sorted(arms) for arms in sets], code, sigma
        self.spreads, self.ceiling = spreads, ceiling  # whether the oracle has to find shares
        self.lam = 2.0 ** (np.array(TILTS) / 4) / sigma
        self.known: dict = {}

    # --- one arm ---

    def tilted(self, i, side):
        """For every tilt: inf (log E+ + lam x), or sup (lam x - log E-) of side -1; and log E."""
        if (i, side) not in self.known or self.known[i, side][0] != self.seen[i]:
            self.known[i, side] = self.seen[i], self._tilted(self.seen[i], side)
        return self.known[i, side][1]

    def _tilted(self, seen, side):
        family, lam = self.family, self.lam[:, None]
        mean = family.mean(seen)
        if is_normal(family):
            t = seen[0]
            a, c = (t + N0) / t**2 * self.sigma**2 / 2, log(1 + t / N0) / 2
            u = self.lam**2 * a + c
            return self.lam * mean - side * u, self.lam**2 * a - c
        end, width = (family.low if side > 0 else family.high), family.high - family.low
        q = np.linspace(-14, 0, POINTS)
        x = end + side * width * np.exp(q)
        values = side * lam * x + family.log_e(side, seen, x)
        best = q[values.argmin(axis=1)][:, None]
        fine = np.minimum(best + np.linspace(-1, 1, 60) * (q[1] - q[0]), 0.0)
        x = end + side * width * np.exp(fine)
        evidence = family.log_e(side, seen, x)
        values = side * lam * x + evidence
        at = values.argmin(axis=1)[:, None]
        least = np.take_along_axis(values, at, 1)[:, 0]
        return side * least, np.take_along_axis(evidence, at, 1)[:, 0]

    def least(self, i):
        """The least log E- of an arm: no mean is above the ceiling."""
        if is_normal(self.family):
            return -log(1 + self.seen[i][0] / N0) / 2
        return float(self.family.log_e(-1, self.seen[i], self.family.low))

    # --- sets ---

    def leads(self, answer, shares):
        """(lead, excess of evidence over code) of every other set at every tilt; D of each."""
        found = []
        sides = {i: 1 if i in answer else -1 for i in range(self.n)}
        revised, over = {}, 0.0
        for i, side in sides.items():
            value, evidence = self.tilted(i, side)
            if side < 0 and self.ceiling < inf:
                least = self.least(i)
                capped = self.lam * self.ceiling - least
                lower = (value > self.lam * self.ceiling) & (capped < value)
                value, evidence = np.where(lower, capped, value), np.where(lower, least, evidence)
            code = self.code.of_arm(i, answer) + self.code.constant * shares.get(i, 0.0)
            weight = (value - side * code) / self.lam
            cut = np.minimum(weight, self.ceiling)
            if side < 0:
                over = over + weight - cut
            revised[i] = cut, evidence - code, weight > cut
        for other in self.sets:
            differ = sorted(set(answer) ^ set(other))
            lead = over + sum((-sides[i] * revised[i][0] for i in differ), np.zeros(len(TILTS)))
            excess = sum((revised[i][1] for i in differ), np.zeros(len(TILTS)))
            for i, side in sides.items():
                if side < 0 and i not in differ:
                    excess = excess + np.where(revised[i][2], revised[i][1], 0.0)
            found.append((lead, excess, differ))
        return found, over

    def exact(self, answer, other):
        """Evidence over code of one difference, at the means that speak most for the other set."""
        value = self.lam * self.epsilon
        for i in set(answer) ^ set(other):
            side = 1 if i in answer else -1
            value = value + side * self.tilted(i, side)[0]
        return float(value.max()) - self.code.length(answer, other)

    def rounds(self, answer):
        m = [min(x, self.ceiling) for x in self.means()]
        assert answer in nearly_best(self.sets, m, 1e-11)
        full = self.code.shares(answer, self.sets) if self.code.constant else {}
        stages = [{}, full] if self.spreads else [full]
        found = []
        for shares in stages:
            leads, over = self.leads(answer, shares)
            worst = np.max([lead for lead, _, _ in leads], axis=0)
            may, must = worst.min() <= self.epsilon + CLOSE, worst.min() <= self.epsilon - CLOSE
            if not must:
                found += self.samples(leads, worst, over)
            if not may:
                return found
        self.apart = True
        others = [other for other in self.sets if other != answer]
        assert min(self.exact(answer, other) for other in others) >= -1e-3
        return [*found, []]

    def thin(self, i):
        """How much an arm has been sampled, for what it costs."""
        return self.T(i) * sqrt(self.costs[i])

    def samples(self, leads, worst, over):
        """The least sampled arm of the worst difference at the first tilt with enough evidence."""
        above, found = len(TILTS), []
        for k in range(len(TILTS)):
            ties = [one for one in leads if one[0][k] >= worst[k] - CLOSE]
            excess = [one[1][k] for one in ties]
            if max(excess) > -1e-4 and k < above:
                above = k + (max(excess) < 1e-4)  # on the edge: this one or the next
                for _, own, differ in ties:
                    if own[k] > -1e-4 and differ:
                        found.append([min(differ, key=self.thin)])
                if np.any(over):
                    found += [[i] for i in range(self.n)]
                if min(excess) > 1e-4:
                    return found
        # nowhere enough: the last tilt
        ties = [differ for lead, _, differ in leads if lead[-1] >= worst[-1] - CLOSE and differ]
        for differ in ties:
            found.append([min(differ, key=self.thin)])
        return found + ([[i] for i in range(self.n)] if np.any(over) else [])
