"""The sets rule restated from docs/e-clucb.md: codes, tilts, and the test of all sets at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bestk.verification.arrays import Bools, Floats, Ints
from bestk.verification.claims import Claim
from bestk.verification.classes import Decision, Explicit, Matching, Path
from bestk.verification.evidence import Evidence, Normal

if TYPE_CHECKING:
    from bestk.verification.rules import Present

N0 = 6.0  # of the two-sided normal mixture
LOWEST, HIGHEST, PER_OCTAVE = -16, 80, 4  # the grid of tilts: 2^(j/4)/sigma
USUAL = 4  # arms of a small difference
SEARCH = 200  # steps of the searches for a minimum


# --- codes ----------------------------------------------------------------------------------------


def code_of(decision: Decision, nu: float, answer: Bools) -> Floats:
    """What each arm costs in a difference from the answer."""
    if isinstance(decision, Path):
        return _of_path(decision, nu, answer)
    counts = _counts(decision)
    is_known = isinstance(decision, Matching) and decision.perfect
    rate, constant = _rate(counts, nu, is_known)
    cost = np.full(decision.n_arms, rate)
    return cost if constant == 0.0 else cost + constant * _shares(decision, answer)


def _of_path(path: Path, nu: float, answer: Bools) -> Floats:
    """The choices at the tail of an edge of the answer; of others, that the answer left there."""
    leaving = Counter(tail for tail, _ in path.edges)
    if not path.directed:
        leaving += Counter(head for _, head in path.edges)
    most = len({node for edge in path.edges for node in edge}) - 1
    if path.ceiling > 0.0:
        most = int(path.best(np.ones(path.n_arms)).sum())
    leave = math.log(math.expm1(math.log1p(nu) / most))
    if not path.directed:
        leave = math.log(_two_way(nu, most))
    on = {path.edges[i][0] for i in np.flatnonzero(answer)}
    if not path.directed:
        on |= {path.edges[i][1] for i in np.flatnonzero(answer)}
    cost = np.zeros(path.n_arms)
    for i, (tail, head) in enumerate(path.edges):
        ends = [tail] if path.directed else [tail, head]
        if answer[i]:
            onwards = [leaving[end] - (not path.directed and end != path.source) for end in ends]
            cost[i] = math.log(max(1, *onwards, 1))
        elif on & set(ends):
            cost[i] = -leave * len(on & set(ends))
            if path.directed:
                cost[i] += math.log(max(leaving[tail] - 1, 1) / leaving[tail])
    return cost


def _two_way(nu: float, most: int) -> float:
    """The weight of an end of a missing edge in an undirected graph."""
    low, high = 0.0, 1.0
    for _ in range(SEARCH):
        z = (low + high) / 2.0
        along, off = 1.0, z  # with so many nodes of the other path left
        for _ in range(most):
            along, off = along + z * off, max(z, 2.0 * z * along + z * z * off)
        low, high = (z, high) if along <= 1.0 + nu else (low, z)
    return low


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _counts(decision: Decision) -> Mapping[int, float]:
    """For d: the log of how many sets differ from one set in d arms, at most."""
    n = decision.n_arms
    if isinstance(decision, Matching) and decision.perfect:
        return _of_matchings(decision)
    if isinstance(decision, Explicit):
        sizes = decision.members.sum(axis=1)
        least, most = int(sizes.min()), int(sizes.max())
    elif decision.ceiling == 0.0:
        least, most = 0, n
    else:
        least, most = (int(decision.best(sign * np.ones(n)).sum()) for sign in (-1.0, 1.0))
    if least == most:
        sizes_of = range(1, min(least, n - least) + 1)
        counts = {2 * m: _choose(least, m) + _choose(n - least, m) for m in sizes_of}
    else:
        counts = {d: _choose(n, d) for d in range(1, n + 1)}
    if not isinstance(decision, Explicit):
        return counts
    left, capped = float(len(decision.members) - 1), {}
    for d in sorted(counts):
        here = min(math.exp(min(counts[d], 700.0)), left)
        if here > 0.0:
            capped[d] = math.log(here)
        left -= here
    return capped


def _of_matchings(decision: Matching) -> dict[int, float]:
    """m left nodes get other partners: derangements of m of n, or a product of other edges."""
    n = len(decision.lefts)
    products = []
    for side in (0, 1):
        degrees = Counter(edge[side] for edge in decision.edges).values()
        polynomial = [1]  # of the product of 1 + (degree - 1) z
        for degree in degrees:
            shifted = [0, *((degree - 1) * each for each in polynomial)]
            polynomial = [a + b for a, b in zip([*polynomial, 0], shifted, strict=True)]
        products.append(polynomial)
    counts, before, now = {}, 1, 0  # derangements of none and of one
    for m in range(2, n + 1):
        before, now = now, (m - 1) * (now + before)
        most = min(products[0][m], products[1][m], math.comb(n, m) * now)
        if most > 0:
            counts[2 * m] = math.log(most)
    return counts


def _rate(counts: Mapping[int, float], nu: float, is_known: bool) -> tuple[float, float]:
    """Rate and constant: none left, or rate + constant/4 smallest."""
    sizes, logs = np.array(list(counts), np.float64), np.array(list(counts.values()))

    def constant(rate: float) -> float:
        terms = logs - rate * sizes
        return float(np.logaddexp.reduce(terms)) - math.log(nu)

    low, high = 0.0, 1.0
    while constant(high) > 0.0:
        high *= 2.0
    for _ in range(SEARCH):
        middle = (low + high) / 2.0
        low, high = (middle, high) if constant(middle) > 0.0 else (low, middle)
    zero = high
    if is_known:
        return zero, 0.0
    total = np.vectorize(lambda x: x + constant(float(x)) / USUAL)
    rate = float(_argmin(total, np.zeros(1), np.full(1, zero))[0])
    if rate + constant(rate) / USUAL >= zero:
        return zero, 0.0
    return rate, max(0.0, constant(rate))


def _argmin(convex: Callable[[Floats], Floats | float], low: Floats, high: Floats) -> Floats:
    """Where convex functions are least, each between its own two ends."""
    for _ in range(SEARCH):
        first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
        left = np.asarray(convex(first)) <= np.asarray(convex(second))
        low, high = np.where(left, low, first), np.where(left, second, high)
    return (low + high) / 2.0


def _shares(decision: Decision, answer: Bools) -> Floats:
    """1 / (the least difference from the answer that an arm is in); 0 if it is in none."""
    shares = np.zeros(decision.n_arms)
    if isinstance(decision, Explicit):
        differ = decision.members != answer
        sizes = differ.sum(axis=1)
        for i in range(decision.n_arms):
            shares[i] = 1.0 / sizes[differ[:, i]].min() if differ[:, i].any() else 0.0
        return shares
    for i in range(decision.n_arms):
        weights = np.where(answer, 1.0, -1.0)
        weights[i] *= -(decision.n_arms + 1.0)
        differ = decision.best(weights) != answer
        if differ[i]:
            shares[i] = 1.0 / differ.sum()
    return shares


# --- tilts ----------------------------------------------------------------------------------------


def tilted(evidence: Evidence, answer: Bools, rows: Ints, lam: float) -> tuple[Floats, Floats]:
    """inf (lam x + log E+)/lam inside the answer, sup (lam x - log E-)/lam outside; log E there."""
    value, at = np.empty(rows.size), np.empty(rows.size)
    for side, which in ((1, answer), (-1, ~answer)):
        if which.any():
            value[which], at[which] = _of_side(evidence, side, rows[which], lam)
    return value, at


def _of_side(evidence: Evidence, side: int, arms: Ints, lam: float) -> tuple[Floats, Floats]:
    if isinstance(evidence, Normal):
        t = evidence.t[arms]
        part = np.log1p(t / N0) / 2.0
        spread = (lam * evidence.sigma) ** 2 * (t + N0) / (2.0 * t * t)
        return evidence.means[arms] - side * (spread + part) / lam, spread - part
    end, far = (evidence.low if side > 0 else evidence.high), math.log(evidence.high - evidence.low)

    def total(q: Floats) -> Floats:
        x = end + side * np.exp(q)
        return side * lam * x + evidence.log_e(side, x, arms)

    # lam times the distance from the end, and log E in its logarithm, are convex
    q = _argmin(total, np.full(arms.size, far - 40.0), np.full(arms.size, far))
    return side * total(q) / lam, evidence.log_e(side, end + side * np.exp(q), arms)


def _least(evidence: Evidence, arms: Ints) -> Floats:
    """The least log E- there is: where nothing speaks against a mean."""
    if isinstance(evidence, Normal):
        return -np.log1p(evidence.t[arms] / N0) / 2.0
    return evidence.log_e(-1, evidence.low, arms)


def least_slack(claim: Claim, decision: Decision, arms: Present, answer: Bools) -> float:
    """The smallest lead of another set at any tilt: the slack with which the answer is certified.

    The lead is convex in 1/lam: it falls while the difference found has less evidence than code.
    """
    if arms.evidence is None:
        raise ValueError("evidence of sets where bounds are of another kind")
    code = code_of(decision, claim.nu, answer)
    low, high, least = LOWEST - 1, HIGHEST + 1, math.inf
    while high - low > 1:
        place = (low + high) // 2
        lam = 2.0 ** (place / PER_OCTAVE) / claim.sigma
        value, at = tilted(arms.evidence, answer, arms.arms, lam)
        if decision.ceiling == 0.0:
            bare = _least(arms.evidence, arms.arms)
            capped = -arms.origin - bare / lam
            is_capped = ~answer & (value > -arms.origin) & (capped < value)
            value, at = np.where(is_capped, capped, value), np.where(is_capped, bare, at)
        revised = value + np.where(answer, -code, code) / lam
        whole, weights = arms.origin + revised, arms.weights(decision, revised)
        rival = decision.best(weights)
        differ = rival != answer
        # what the ceiling cut off the weights outside is added for all of them
        over = np.where(answer, 0.0, np.maximum(whole - weights, 0.0)) * (decision.ceiling == 0.0)
        lead = math.fsum(weights[rival & differ]) - math.fsum(weights[answer & differ])
        least = min(least, lead + math.fsum(over))
        if not differ.any() and not over.any():
            return 0.0
        counted = differ | (over > 0.0)
        if math.fsum((at - code)[counted]) > 0.0:
            high = place
        else:
            low = place
    return least
