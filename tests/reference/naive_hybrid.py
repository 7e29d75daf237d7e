"""e-lucb, e-clucb and glr once more, slow and obvious, with brute force for the hybrid stop.

A policy is told every reward, and at every ask names the rounds that are allowed. That is one,
except where bounds are so close that a kernel, which computes them to 1e-10 in log E, may see them
the other way round; and except for a hybrid stop that holds at nu but not at 0.99 nu. Nothing is
shared with `bestk`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf, log, sqrt

import numpy as np

from reference.naive import best, nearly_best, others
from reference.naive_evidence import Normal, add_up, bound, is_normal, total

CLOSE = 1e-8  # bounds nearer to each other than this count as tied
MARGIN = 0.99  # a hybrid stop that holds at this share of nu must be seen


# --- levels ---------------------------------------------------------------------------------------


def hybrid_weights(n, k, independent, exact=False, pairs=False):
    """The rule of docs/e-lucb.md; exact: no slack, pairs: normal rewards, both of e-lucb."""
    ratio = max(k, n - k) / min(k, n - k)
    to_low = sqrt(n - k) / (sqrt(n - k) + sqrt(k))
    w3, w3_exact, w4 = 1 / (1 + sqrt(n) / 7 * ratio**0.3), 0.0, 0.0
    if not independent:
        w3 = 0.0
    elif pairs and n <= 10:
        w3, w4 = (0.1, 0.8) if n == 2 else (0.2, 0.5)
    elif exact and min(k, n - k) > 1:
        all_of_it = 1 / (1 + sqrt(n) / 12 * ratio**0.3)
        w3, w3_exact = 0.1 * all_of_it, 0.9 * all_of_it
    rest = 1 - w3 - w3_exact - w4
    return rest * to_low, rest * (1 - to_low), w3, w3_exact, w4


def union(n, k):
    """G: what takes the place of K (N-K) where there is no slack."""
    one = sum((n - k + r - 1) / r for r in range(1, k + 1))
    other = sum((k + r - 1) / r for r in range(1, n - k + 1))
    return min(one, other)


class Levels:
    """What each side's evidence, and the product of both, counts for."""

    def __init__(self, nu, n, k, how, weights=None):
        w1, w2, w3, exact, pair = weights or (0.5, 0.5, 0.0, 0.0, 0.0)
        self.high, self.low = nu * w2 / (n - k) if n > k else nu, nu * w1 / k if k else nu
        if how == "uniform":
            self.high = self.low = nu / n
        self.both = nu * w3 / (k * (n - k)) if w3 else 0.0
        self.exact = self.both + (nu * exact / union(n, k) if exact else 0.0)
        self.pair, self.ratio = (nu * pair / (k * (n - k)), sqrt((n - k) / k)) if pair else (0, 1)

    def reached(self, minus, plus, epsilon, joint):
        """The left side of the hybrid condition, for log E- of a rival, log E+ of a leader."""
        both = self.both if epsilon > 0 else self.exact
        with np.errstate(over="ignore"):
            sides = self.low * np.exp(minus) + self.high * np.exp(plus)
            pair = self.pair * np.exp(joint) if self.pair else 0.0
            return sides + (both * np.exp(minus + plus) if both else 0.0) + pair


# --- policies -------------------------------------------------------------------------------------


class Player:
    """All rewards of every arm, and what follows from them."""

    def __init__(self, n, epsilon, family, levels, rule, share, coin, rounding):
        self.n, self.epsilon, self.family, self.levels = n, epsilon, family, levels
        self.rule, self.share, self.coin, self.rounding = rule, share, coin, rounding
        self.rewards = [[] for _ in range(n)]
        self.seen = [None] * n
        self.costs = [1.0] * n  # of a sample
        self.asks = 0
        self.apart = False  # whether bounds separated at the last ask

    def tell(self, arm, reward):
        coin = self.rounding(arm, len(self.rewards[arm]))
        self.rewards[arm].append(self.family.see(reward, coin))
        self.seen[arm] = self.family.summary(self.rewards[arm])

    def T(self, arm):
        return len(self.rewards[arm])

    def means(self):
        return [total(rewards) / len(rewards) for rewards in self.rewards]

    def lower(self, i):
        return bound(self.family, 1, self.seen[i], self.levels.high)

    def upper(self, i):
        return bound(self.family, -1, self.seen[i], self.levels.low)

    def width(self, i, sign):
        """From the mean to a lower (1) or upper bound (-1); to the other, if the mean is there."""
        m = self.means()[i]
        side, other = (m - self.lower(i), self.upper(i) - m)[::sign]
        return side if side > CLOSE else other

    def below_floor(self):
        """Forced exploration: the first arm with less than a hundredth of an even share."""
        t = sum(len(rewards) for rewards in self.rewards)
        floor = max(1, t // (self.share * self.n)) if self.share else 1
        return next((i for i in range(self.n) if self.T(i) < floor), None)

    def allowed(self, answer: Callable[[], list[int]]) -> list[list[int]]:
        """The rounds of this ask, [] = stop, for the answer that the other side has in mind."""
        self.asks += 1
        arm = self.below_floor()
        return self.rounds(answer()) if arm is None else [[arm]]

    def due(self):
        return self.levels.both > 0 and self.asks % (1 + self.asks // 512) == 0

    def stops(self, gap, pairs, worst):
        """(may stop, must stop): bounds that separate, or enough evidence for every pair."""
        self.apart = gap <= self.epsilon + CLOSE
        may, must = self.apart, gap <= self.epsilon - CLOSE
        if self.due() and not must:
            least = self.least(pairs, worst)
            may, must = may or least >= 1, MARGIN * least >= 1
        return may, must

    def least(self, pairs, worst, points=400):
        """The least left side over all pairs (leader, rival) and many c; the worst pair first."""
        if (short := self.least_over([worst], 25)) < 1:
            return short
        return self.least_over(pairs, points)

    def least_over(self, pairs, points):
        leaders, rivals = {i for i, _ in pairs}, {j for _, j in pairs}
        low, high = min(map(self.lower, leaders)), max(map(self.upper, rivals)) - self.epsilon
        return self.least_at(pairs, np.linspace(low, max(high, low), points))

    def least_at(self, pairs, c):
        plus = {i: self.family.log_e(1, self.seen[i], c) for i, _ in pairs}
        minus = {j: self.family.log_e(-1, self.seen[j], c + self.epsilon) for _, j in pairs}
        return min(
            float(self.levels.reached(minus[j], plus[i], self.epsilon, self.joint(i, j, c)).min())
            for i, j in pairs
        )

    def joint(self, i, j, c):
        """log J of leader i and rival j: one mixture for both."""
        if not self.levels.pair:
            return None
        (t_i, s_i), (t_j, s_j) = self.seen[i], self.seen[j]
        both = Normal(self.family.sigma, ((8.0, 0.8, "rayleigh"), (200.0, 0.2, "rayleigh")))
        joint = []
        for ratio in (self.levels.ratio, 1.0):
            r = ratio * sqrt(self.costs[j] / self.costs[i])
            lead = s_i - t_i * c - r * (s_j - t_j * (c + self.epsilon))
            joint.append(both.log_e(1, (t_i + r * r * t_j, lead), 0.0))
        return add_up(np.array(joint)) - np.log(2)

    def choices(self, ties):
        """What is sampled of the pair, for each pair that may be the worst."""
        found = []
        for h, l in ties:  # noqa: E741 (the paper's name)
            if self.rule == "every":
                pick = list(range(self.n))
            elif self.rule == "both":
                pick = [h, l]
            elif self.rule == "least-sampled":
                pick = [h] if self.T(h) <= self.T(l) else [l]
            else:
                u_h, u_l = self.T(l), self.T(h)  # random: T_l / (T_h + T_l)
                if self.rule == "radius":
                    u_h = self.width(h, 1) / self.costs[h] ** 0.75
                    u_l = self.width(l, -1) / self.costs[l] ** 0.75
                pick = [h] if self.coin(self.asks) * (u_h + u_l) < u_h else [l]
            if pick not in found:
                found.append(pick)
        return found

    def after(self, may, must, ties):
        return [[]] if must else ([[]] if may else []) + self.choices(ties)


class ELucb(Player):
    """e-lucb; without share and product, any policy of the LUCB family with evidence bounds."""

    def __init__(self, n, k, *more):
        super().__init__(n, *more)
        self.k = k

    def rounds(self, answer):
        high = best(self.means(), self.k)
        assert answer == high
        low = others(high, self.n)
        lower, upper = {i: self.lower(i) for i in high}, {j: self.upper(j) for j in low}
        gap = max(upper.values()) - min(lower.values())
        hs = [i for i in high if lower[i] <= min(lower.values()) + CLOSE]
        ls = [j for j in low if upper[j] >= max(upper.values()) - CLOSE]
        ties, pairs = list(product(hs, ls)), list(product(high, low))
        return self.after(*self.stops(gap, pairs, ties[0]), ties)


class Glr(ELucb):
    """The samples of e-lucb, the stop of Garivier and Kaufmann 2016, Section 3.2."""

    def __init__(self, nu, threshold, *more):
        super().__init__(*more)
        self.nu, self.threshold = nu, threshold

    def stops(self, _gap, pairs, _worst):
        t = sum(map(len, self.rewards))
        beta = log((1 + log(t)) / self.nu) if self.threshold == "growing" else log(1 / self.nu)
        least = min(self.ratio(a, b) for a, b in pairs)
        return least > beta - CLOSE, least > beta + CLOSE

    def ratio(self, a, b):
        """log of the likelihood of all samples of both arms over that with a mean in common."""
        both = self.rewards[a] + self.rewards[b]
        own = self.log_likelihood(self.rewards[a]) + self.log_likelihood(self.rewards[b])
        return own - self.log_likelihood(both)

    def log_likelihood(self, rewards):
        """At their mean, but for what does not depend on it; of coins, where there is a range."""
        x = np.array(rewards)
        if is_normal(self.family):
            return -((x - x.mean()) ** 2).sum() / (2 * self.family.sigma**2)
        x = (x - self.family.low) / (self.family.high - self.family.low)
        hits, misses = x.sum(), (1 - x).sum()
        return sum(part * log(part / len(x)) for part in (hits, misses) if part > 1e-12)


class EExchange(Player):
    """e-clucb on a matroid: every pair b in M, a outside such that M - b + a is feasible."""

    def __init__(self, n, sets, epsilon, *more):
        rank = len(sets[0])
        super().__init__(n, epsilon / min(rank, n - rank), *more)
        self.sets = {tuple(arms) for arms in sets}

    def pairs(self, top):
        swaps = [(b, a) for b in top for a in others(top, self.n)]
        return [(b, a) for b, a in swaps if tuple(sorted({*top, a} - {b})) in self.sets]

    def rounds(self, answer):
        assert answer in nearly_best(sorted(self.sets), self.means(), 1e-11)
        pairs = self.pairs(answer)
        gaps = [self.upper(a) - self.lower(b) for b, a in pairs]
        ties = [pair for pair, gap in zip(pairs, gaps, strict=True) if gap >= max(gaps) - CLOSE]
        return self.after(*self.stops(max(gaps), pairs, ties[0]), ties)


class EAlgorithm3(Player):
    """Algorithm 3 with evidence bounds, all at nu/N, over any feasible sets."""

    def __init__(self, n, sets, epsilon, *more, ceiling=inf):
        super().__init__(n, epsilon, *more)
        self.sets, self.ceiling = [sorted(arms) for arms in sets], ceiling

    def rounds(self, answer):
        m = self.means()
        assert answer in nearly_best(self.sets, [min(x, self.ceiling) for x in m], 1e-11)
        ends = [self.lower(i) if i in answer else self.upper(i) for i in range(self.n)]
        revised = [min(x, self.ceiling) for x in ends]
        found = []
        for rival in nearly_best(self.sets, revised, CLOSE):
            differ = [i for i in range(self.n) if (i in answer) != (i in rival)]
            lead = sum(revised[i] if i in rival else -revised[i] for i in differ)
            if lead <= self.epsilon + CLOSE:
                found.append([])
            if lead > self.epsilon - CLOSE and differ:
                u = {i: self.width(i, 1 if i in answer else -1) for i in differ}
                u = {i: u[i] / self.costs[i] ** 0.25 for i in differ}
                widest = [[i] for i in differ if u[i] >= max(u.values()) - CLOSE]
                # normal radii depend on T alone: those that tie are equal, the first is taken
                found += widest[:1] if is_normal(self.family) else widest
        return found


# --- the catalogue --------------------------------------------------------------------------------

PAPER = {  # levels and rule of the paper's policies
    "lil-rand-lucb": ("split", "random"),
    "lucb++": ("split", "both"),
    "lil-lucb": ("uniform", "both"),
    "uniform": ("uniform", "every"),
}


def make(policy, n, k, nu, epsilon, family, params, coin, rounding):
    """A policy of the K best: e-lucb, glr, or one of the paper's with bound=evidence."""
    if policy == "glr":
        levels = Levels(nu, n, k, "hybrid", hybrid_weights(n, k, True, True, is_normal(family)))
        more = n, k, epsilon, family, levels, "radius", 100, coin, rounding
        return Glr(nu, params["threshold"], *more)
    if policy == "e-lucb":
        levels = Levels(nu, n, k, "hybrid", params["weights"])
        rule, share = params.get("rule", "radius"), 100
    else:
        how, rule = PAPER[policy]
        levels, share = Levels(nu, n, k, params.get("levels", how)), 0
        rule = params.get("rule", rule)
    return ELucb(n, k, epsilon, family, levels, rule, share, coin, rounding)


def make_combinatorial(
    policy, n, sets, nu, epsilon, family, params, coin, rounding, matroid=False, ceiling=inf
):
    """e-clucb, or lil-clucb with bound=evidence, over the feasible sets."""
    share = 100 if policy == "e-clucb" else 0
    if policy == "e-clucb" and matroid:
        k = len(sets[0])
        levels = Levels(nu, n, k, "hybrid", params["weights"])
        return EExchange(n, sets, epsilon, family, levels, "radius", share, coin, rounding)
    more = family, Levels(nu, n, 0, "uniform"), None, share, coin, rounding
    return EAlgorithm3(n, sets, epsilon, *more, ceiling=ceiling)
