"""The stopping rules restated: whether an answer was proved by what had been seen.

Every rule is checked for the answer that was given, whatever led to it: the proofs (docs/theory.md,
docs/e-lucb.md) hold for any answer for which the rule's condition is met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bestk.verification.arrays import Bools, Floats, Ints
from bestk.verification.claims import EXCHANGE, LEAD, PAIR, REGRET, SETS, Claim
from bestk.verification.classes import Decision
from bestk.verification.evidence import Evidence, Normal
from bestk.verification.items import Scores
from bestk.verification.quantiles import Quantiles, certified_by_counts
from bestk.verification.sets import least_slack
from bestk.verification.tolerance import EXACT, LAST, last_places

HALVINGS = 40  # of the search for the end of a cell, at most
SHARP = 1.0 / 16.0  # of a cell: its end need not be known better
NARROWEST = 1e-10  # of the interval in doubt: no cell is narrower
MOST_CELLS = 20_000
SECTIONS, GOLDEN = 70, (math.sqrt(5.0) - 1.0) / 2.0  # of an interval: to 1e-14 of it


@dataclass(frozen=True)
class Verdict:
    """What a rule found. Arms are rows; bounds are as the policy sees them."""

    holds: bool
    how: str  # "bounds", "evidence", "lead", "sets" or "regret"
    statistic: float  # the gap, lead or regret that is compared with epsilon
    required: str
    found: str
    pair: tuple[int, int] | None = None  # weakest leader and strongest rival


@dataclass(frozen=True)
class Present:
    """The arms that compete, row by row; means and bounds are counted from `origin`."""

    means: Floats
    lower: Floats
    upper: Floats
    arms: Ints  # their numbers
    evidence: Evidence | None
    origin: float
    scale: float  # of rewards: what rounding is measured by

    def room(self, share: float, last: int = LAST) -> Floats:
        """How far each arm's bounds may be off: a share of the scale, and some last places."""
        ends = np.maximum(np.abs(self.origin + self.lower), np.abs(self.origin + self.upper))
        return share * self.scale + last * last_places(ends)

    def weights(self, decision: Decision, values: Floats) -> Floats:
        """Means or bounds to be added up; from zero where sets differ in size."""
        origin = 0.0 if decision.rank else self.origin
        return np.minimum(origin + values, decision.ceiling)


def judge(claim: Claim, decision: Decision, arms: Present, answer: Bools) -> Verdict:
    """Whether the claim's rule stops with this answer."""
    if claim.rule == LEAD:
        return _lead(claim, decision, arms, answer)
    if claim.rule == SETS:
        return _sets(claim, decision, arms, answer)
    if claim.rule in (PAIR, EXCHANGE):
        return _pairs(claim, decision, arms, answer)
    return _regret(claim, decision.k, arms, answer)


def _compared(statistic: float, epsilon: float, room: float, how: str, what: str) -> Verdict:
    holds = statistic <= epsilon + room + LAST * float(last_places(epsilon))
    return Verdict(holds, how, statistic, f"{what} at most {epsilon:g}", f"{statistic:.6g}")


# --- other sets and their totals ------------------------------------------------------------------


def _lead(claim: Claim, decision: Decision, arms: Present, answer: Bools) -> Verdict:
    """By how much another set may be better: lower bounds in the answer, upper bounds outside."""
    revised = arms.weights(decision, np.where(answer, arms.lower, arms.upper))
    rival = decision.best(revised)
    gained, lost = rival & ~answer, answer & ~rival
    lead = math.fsum(revised[gained]) - math.fsum(revised[lost])
    room = float(arms.room(EXACT)[gained | lost].sum())
    return _compared(lead, claim.epsilon, room, "lead", "largest possible lead of another set")


def _sets(claim: Claim, decision: Decision, arms: Present, answer: Bools) -> Verdict:
    """By how much another set may be better, by the evidence of all arms in which it differs."""
    least = least_slack(claim, decision, arms, answer)
    room = float(arms.room(EXACT).sum())
    return _compared(least, claim.epsilon, room, "sets", "slack that the evidence of sets needs")


def _regret(claim: Claim, k: int, arms: Present, answer: Bools) -> Verdict:
    """UGapE: the largest possible loss of an answered arm."""
    losses = np.where(answer, _losses(k, arms), -math.inf)
    room = 2.0 * float(arms.room(EXACT).max())
    worst = float(losses.max())
    return _compared(worst, claim.epsilon, room, "regret", "largest possible regret")


def _losses(k: int, arms: Present) -> Floats:
    """B_i of UGapE: the K-th largest upper bound of the other arms, minus the lower bound of i."""
    order = np.argsort(-arms.upper, kind="stable")
    rival = np.full(order.size, order[k - 1])
    rival[order[:k]] = order[k]  # an arm that is among the first K itself
    losses: Floats = arms.upper[rival] - arms.lower
    return losses


# --- pairs of arms --------------------------------------------------------------------------------


def _pairs(claim: Claim, decision: Decision, arms: Present, answer: Bools) -> Verdict:
    """Every answered arm against those that may replace it: by bounds, or by evidence together."""
    worst, pair = -math.inf, (-1, -1)
    doubtful: list[tuple[Ints, Ints]] = []
    for inside, outside in decision.exchanges(answer):
        leaders, rivals = np.array(inside), np.array(outside)
        h = int(leaders[np.argmin(arms.lower[leaders])])
        l = int(rivals[np.argmax(arms.upper[rivals])])  # noqa: E741 - the paper's name
        gap = claim.gap(float(arms.lower[h]), float(arms.upper[l]))
        if gap > claim.epsilon:
            doubtful.append((leaders, rivals))
        if gap > worst:
            worst, pair = gap, (h, l)
    room = float(arms.room(EXACT)[list(pair)].sum())
    verdict = _compared(worst, claim.epsilon, room, "bounds", "gap of the worst pair of bounds")
    if claim.product == 0.0:
        return replace(verdict, pair=pair)
    required = f"{verdict.required}, or evidence of both sides together at least 1/delta"
    if verdict.holds:
        return replace(verdict, required=required, found=f"a gap of {worst:.6g}", pair=pair)
    if isinstance(arms.evidence, Scores):
        holds, found = _scored(claim, arms.evidence, answer)
    else:
        holds, found = _all_certified(claim, arms, doubtful)
    found += f" (the gap of bounds is {worst:.6g})"
    return Verdict(holds, "evidence", worst, required, found, pair)


def _scored(claim: Claim, scores: Scores, answer: Bools) -> tuple[bool, str]:
    """Scores of items: all cells."""
    slack = claim.epsilon / claim.scale
    holds, at = scores.certifies(answer, claim.upper, claim.lower, claim.product, slack)
    return holds, "evidence of 1/delta" if holds else f"less evidence than 1/delta in cell {at:.6g}"


def _all_certified(
    claim: Claim, arms: Present, groups: list[tuple[Ints, Ints]]
) -> tuple[bool, str]:
    least = math.inf
    for leaders, rivals in groups:
        if isinstance(arms.evidence, Quantiles):
            rows = arms.arms[leaders], arms.arms[rivals]
            holds, found, at = certified_by_counts(claim, arms.evidence, *rows)
        else:
            test = pairs_certified if claim.pair > 0.0 else certified
            holds, found, at = test(claim, arms, leaders, rivals)
        least = min(least, found)
        if not holds:
            where = claim.sign * (arms.origin + at)
            return False, f"less evidence than 1/delta at {where:.6g}"
    return True, f"evidence of at least {math.exp(least):.4g}/delta"


def certified(
    claim: Claim, arms: Present, leaders: Ints, rivals: Ints
) -> tuple[bool, float, float]:
    """Whether for every c, X and Y the least evidence of a rival and of a leader at c,

        w1 X/K + w2 Y/(N-K) + w3 X Y/(K (N-K)) >= 1/nu.

    X rises in c and Y falls. So from any c on, the condition holds up to the last b at which Y(b)
    is enough beside X(c); b is the next c. That is rigorous, and needs few steps. Also returned:
    the least log of the left side times nu that was met, and the last c.
    """
    low = float(arms.lower[leaders].min())
    high = float(arms.upper[rivals].max()) - claim.epsilon
    # other arms have enough evidence by themselves wherever it is in doubt
    leaders = leaders[arms.lower[leaders] < high]
    rivals = rivals[arms.upper[rivals] - claim.epsilon > low]
    c, least = low, math.inf
    for _ in range(MOST_CELLS):
        x = _least(arms, -1, c + claim.epsilon, rivals)
        alone = claim.upper * math.exp(min(x, 700.0))
        if alone >= 1.0:
            return True, least, c
        beside = claim.lower + claim.product * math.exp(min(x, 700.0))
        needed = math.log1p(-alone) - math.log(beside)
        y = _least(arms, 1, c, leaders)
        least = min(least, math.log(alone + beside * math.exp(min(y, 700.0))))
        if _least(arms, 1, high, leaders) >= needed:
            return True, least, c
        enough, short = c, high
        for _ in range(HALVINGS):
            if short - enough <= SHARP * (enough - c):
                break
            middle = enough + (short - enough) / 2.0
            if _least(arms, 1, middle, leaders) >= needed:
                enough = middle
            else:
                short = middle
        if enough - c <= NARROWEST * (high - low):
            break  # just beyond c there is not enough
        c = enough
    return False, least, c


def pairs_certified(
    claim: Claim, arms: Present, leaders: Ints, rivals: Ints
) -> tuple[bool, float, float]:
    """Whether for every leader b, rival a and c, J the evidence of both in one mixture,

        w1 E_a/K + w2 E_b/(N-K) + w3 E_a E_b/(K (N-K)) + w4 J_ab/(K (N-K)) >= 1/nu.

    The log of the left side is convex in c, so its least value is found by golden section, for all
    pairs at once.
    """
    evidence = arms.evidence
    if not isinstance(evidence, Normal):
        raise ValueError("one mixture for a pair where rewards are not normal")
    first, second = (arms.arms[x.ravel()] for x in np.meshgrid(leaders, rivals))
    costs = np.array(claim.costs or (1.0,) * evidence.t.size)

    def reached(c: Floats) -> Floats:
        x = evidence.log_e(-1, c + claim.epsilon, second)
        y = evidence.log_e(1, c, first)
        joint = evidence.log_joint(first, second, c, claim.epsilon, claim.ratio, costs)
        sides = np.logaddexp(math.log(claim.upper) + x, math.log(claim.lower) + y)
        both = np.logaddexp(math.log(claim.product) + x + y, math.log(claim.pair) + joint)
        return np.logaddexp(sides, both)

    low = np.full(first.size, float(arms.lower[leaders].min()))
    high = np.full(first.size, float(arms.upper[rivals].max()) - claim.epsilon)
    for _ in range(SECTIONS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        falls = reached(a) > reached(b)
        low, high = np.where(falls, a, low), np.where(falls, high, b)
    least = np.minimum(reached(low), reached(high))
    worst = int(np.argmin(least))
    return bool(least[worst] >= 0.0), float(least[worst]), float(low[worst])


def _least(arms: Present, side: int, c: float, rows: Ints) -> float:
    """The least log E at c over some arms."""
    if arms.evidence is None:
        raise ValueError("a product of evidence where bounds are of another kind")
    return float(arms.evidence.log_e(side, c, arms.arms[rows]).min())


# --- which answer the policy gives ----------------------------------------------------------------


def is_best(claim: Claim, decision: Decision, arms: Present, answer: Bools) -> bool:
    """Whether the answer is what was best in the data; ties may go either way."""
    room = arms.room(EXACT)
    if claim.rule == REGRET:
        losses = _losses(decision.k, arms)
        return bool(losses[answer].max() <= losses[~answer].min() + 2.0 * float(room.max()))
    weights = arms.weights(decision, arms.means)
    best = decision.best(weights)
    differ = best != answer
    lead = math.fsum(weights[best & differ]) - math.fsum(weights[answer & differ])
    return lead <= float(room[differ].sum())
