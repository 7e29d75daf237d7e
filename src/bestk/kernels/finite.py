"""Evidence on a finite set of items, each scored at most once for every arm: docs/evaluation.md.

Arm i scores the items in an order of its own, drawn at random before any data. Given all that was
seen, its next item is uniform among those that are left, so that under "the mean over all M items
is c" its next score x has mean m(c) = (M c - S) / (M - t): S is the sum of its t scores so far. How
hard the item was to other arms predicts x. With a prediction g that has mean 0 over the items that
are left, wealth is multiplied by

    1 + lam (x - g - m(c))    against "mean <= c"  (row LOW: it makes lower bounds)
    1 - lam (x - g - m(c))    against "mean >= c"  (row HIGH: it makes upper bounds)

with a stake lam that depends on earlier scores alone. Candidates c lie in CELLS cells of the range.
A cell has one stake, and its wealth is that at the edge where it is least. After the last item the
mean is known.

| docs/evaluation.md             | here               |
|--------------------------------|--------------------|
| orders                         | `place`            |
| prediction g (control variate) | `score`            |
| bets                           | `_bet`             |
| bounds                         | `bound`            |
| hybrid stop                    | `holds`, `_passes` |

Scores are scaled to [0, 1] here. Wealth is a product of doubles, not a sum of logarithms: an
underflow to 0 only loses evidence.
"""

from __future__ import annotations

from math import exp, inf

import numpy as np

from bestk.kernels import rng
from bestk.kernels.types import (
    HIGH,
    LOW,
    PLANS,
    RUN,
    WITNESS_AT,
    Items,
    NodeArray,
    Spec,
    State,
    outlined,
)

CELLS = 400  # of the range of the scores; arbitrary: 200 cost 2% more samples, 800 more time
KEPT = 0.9  # the largest part of the wealth that a bet may lose; arbitrary
NEIGHBOURS = 3.0  # observations of no difficulty that every item has; arbitrary
PRIOR = 4.0  # scores at the mean of all that every arm's mean has; arbitrary
SPREAD = 4.0  # squares of the usual size that every arm's variance has; arbitrary
LARGEST_VARIANCE = 0.25  # of scores in [0, 1]
LEAST_VARIANCE = 1e-4  # arbitrary
SLOPE = 1.0  # squares of z with regression coefficient 1 that every arm has; arbitrary
STEEPEST = 1.5  # regression coefficient; arbitrary
SAFETY = 1e-6  # of wealth, and of an end of the range: rounding never claims more
# rows of Items.fits: sums of scores, of x - g and its squares, of z x and z z
TOTAL_X, TOTAL_Y, TOTAL_YY, TOTAL_XZ, TOTAL_ZZ = range(5)
FITS = 5
# rows of Items.difficulty: sums of residuals, how many, and z, their shrunk mean
RESIDUALS, MANY, Z = range(3)
GRAND, ALL, SQUARES = range(3)  # of Items.grand: all scores, how many, squares of x - g - mean


def swap_in(order: NodeArray, t: int, coin: float) -> int:
    """Draw the item at place t of an arm's order by a coin; all places before it are drawn."""
    left = order.shape[0] - t
    other = t + min(int(coin * left), left - 1)
    item = order[other]
    order[other] = order[t]
    order[t] = item
    return item


def place(state: State, spec: Spec, arm: int) -> int:
    """The next item of an arm, which must not have scored all of them.

    A state that only plans draws an item of its own: a plan must not know what is to come.
    """
    stream = rng.ORDER if state.clock[PLANS] == 0 else rng.PLANNING
    t, run = state.counts[arm], state.clock[RUN]
    if state.items.drawn[arm] <= t:
        swap_in(state.items.order[arm], t, rng.uniform(spec.seed, run, arm, t, stream))
        state.items.drawn[arm] = t + 1
    return state.items.order[arm, t]


def is_exhausted(state: State, arm: int) -> bool:
    """Whether an arm has scored every item."""
    return state.counts[arm] >= state.items.order.shape[1]


@outlined
def score(state: State, spec: Spec, arm: int, reward: float) -> None:
    """Bet on the score of an arm's next item, then learn from it."""
    items, e = state.items, state.evidence
    x = (reward - e.levels[0]) / (e.levels[1] - e.levels[0])
    n_items, t = items.order.shape[1], state.counts[arm]
    item = place(state, spec, arm)
    # how hard the items are that this arm has left, and the one it gets
    total, least, most = 0.0, inf, -inf
    order, hardness = items.order[arm], items.difficulty[Z]
    for u in range(t, n_items):
        z = hardness[order[u]]
        total += z
        if z < least:
            least = z
        if z > most:
            most = z
    middle = total / (n_items - t)
    z = hardness[item] - middle
    fits = items.fits
    slope = (fits[TOTAL_XZ, arm] + SLOPE) / (fits[TOTAL_ZZ, arm] + SLOPE)
    slope = min(max(slope, 0.0), STEEPEST)
    g = slope * z
    # what is expected of x - g: its mean and variance so far, shrunk
    usual = (items.grand[GRAND] + 1.0) / (items.grand[ALL] + 2.0)
    mean = (fits[TOTAL_Y, arm] + PRIOR * usual) / (t + PRIOR)
    around = fits[TOTAL_YY, arm] - 2.0 * mean * fits[TOTAL_Y, arm] + t * mean * mean
    wide = (items.grand[SQUARES] + LARGEST_VARIANCE) / (items.grand[ALL] + 1.0)
    variance = max((around + SPREAD * wide) / (t + SPREAD), LEAST_VARIANCE)
    _bet(state, arm, x - g, mean, variance, slope * (least - middle), slope * (most - middle))
    # what this score says of the item, and of the arm
    expected = (fits[TOTAL_X, arm] + usual) / (t + 1.0)
    residuals = items.difficulty[RESIDUALS, item] + (x - expected)
    many = items.difficulty[MANY, item] + 1.0
    items.difficulty[RESIDUALS, item], items.difficulty[MANY, item] = residuals, many
    items.difficulty[Z, item] = residuals / (many + NEIGHBOURS)
    items.grand[GRAND] += x
    items.grand[ALL] += 1.0
    items.grand[SQUARES] += (x - g - mean) * (x - g - mean)
    fits[TOTAL_X, arm] += x
    fits[TOTAL_Y, arm] += x - g
    fits[TOTAL_YY, arm] += (x - g) * (x - g)
    fits[TOTAL_XZ, arm] += (x - mean) * z
    fits[TOTAL_ZZ, arm] += z * z


def _bet(
    state: State, arm: int, y: float, mean: float, variance: float, least: float, most: float
) -> None:
    """Both wealths of an arm after y = x - g, in every cell.

    The stake is that of largest growth to second order, (m(c) - mean) / (variance + its square). It
    is capped so that no outcome in the range, with any g from `least` to `most`, loses more than
    KEPT of the wealth. A cell that has become impossible has all wealth.
    """
    lower, upper = state.items.wealth[2 * arm + LOW], state.items.wealth[2 * arm + HIGH]
    n_items, t, step = state.items.order.shape[1], state.counts[arm], 1.0 / CELLS
    left, total = n_items - t, state.items.fits[TOTAL_X, arm]
    for cell in range(CELLS):
        m = (n_items * (step * (cell + 1)) - total) / left  # at the upper edge
        if m >= mean:
            break
        if m < -SAFETY:
            lower[cell] = inf
        else:
            gap = mean - m
            stake, most_stake = gap / (variance + gap * gap), KEPT / max(m + most, SAFETY)
            lower[cell] *= 1.0 + (stake if stake < most_stake else most_stake) * (y - m)
    for cell in range(CELLS - 1, -1, -1):
        m = (n_items * (step * cell) - total) / left  # at the lower edge
        if m <= mean:
            break
        if m > 1.0 + SAFETY:
            upper[cell] = inf
        else:
            gap = m - mean
            stake, most_stake = gap / (variance + gap * gap), KEPT / max(1.0 - m - least, SAFETY)
            upper[cell] *= 1.0 + (stake if stake < most_stake else most_stake) * (m - y)


def bound(state: State, spec: Spec, arm: int, end: int) -> float:
    """An end of an arm's interval: all cells beyond it have wealth 1/level."""
    e = state.evidence
    low, width = e.levels[0], e.levels[1] - e.levels[0]
    if is_exhausted(state, arm):
        return state.means[arm]
    wealth = state.items.wealth
    if end == LOW:
        enough, cell = 1.0 / spec.level_lower, 0
        while cell < CELLS and wealth[2 * arm + LOW, cell] >= enough:
            cell += 1
        return low + width * cell / CELLS
    enough, cell = 1.0 / spec.level_upper, CELLS
    while cell > 0 and wealth[2 * arm + HIGH, cell - 1] >= enough:
        cell -= 1
    return low + width * cell / CELLS


# --- the hybrid stop ------------------------------------------------------------------------------
# For every c: w1 X(c + epsilon)/K + w2 Y(c)/(N-K) + w3 X Y/... >= 1/nu, where Y is the least wealth
# against "mean <= c" in High and X the least against "mean >= c" in Low (docs/e-lucb.md, Theorem
# 1). Wealth is made monotone: Y(c) is its least value in the cells up to that of c.


def _enough(spec: Spec, x: float, y: float) -> bool:
    """Whether evidence x and y is enough together."""
    together = spec.level_upper * x + spec.level_lower * y
    if x > 0.0 and y > 0.0:
        together += exp(spec.log_exact if spec.epsilon == 0.0 else spec.log_both) * x * y
    return together * (1.0 - SAFETY) >= 1.0


def _add_in(state: State, i: int) -> float:
    """Let an arm of High lower Y; its mean if that is known, else infinity."""
    if is_exhausted(state, i):
        return _scaled(state, i)
    items, least = state.items, inf
    for cell in range(CELLS):
        least = min(least, items.wealth[2 * i + LOW, cell])
        items.least[LOW, cell] = min(items.least[LOW, cell], least)
    return inf


def _add_out(state: State, spec: Spec, j: int) -> float:
    """Let an arm of Low lower X; its mean less the slack if that is known, else -infinity."""
    if is_exhausted(state, j):
        return _scaled(state, j) - _slack(state, spec)
    items, least = state.items, inf
    for cell in range(CELLS - 1, -1, -1):
        least = min(least, items.wealth[2 * j + HIGH, cell])
        items.least[HIGH, cell] = min(items.least[HIGH, cell], least)
    return -inf


def _scaled(state: State, i: int) -> float:
    low, high = state.evidence.levels[0], state.evidence.levels[1]
    return (state.means[i] - low) / (high - low)


def _slack(state: State, spec: Spec) -> float:
    return spec.epsilon / (state.evidence.levels[1] - state.evidence.levels[0])


def _passes(state: State, spec: Spec, known_in: float, known_out: float) -> bool:
    """Whether every c has enough evidence by what was gathered; keeps the first cell without.

    `known_in` is the lowest mean among the arms of High whose mean is known, `known_out` the
    highest of Low less the slack. A known arm of High refutes every c below its mean, a known arm
    of Low every c + epsilon that is not below its own; beyond that they count as no evidence.
    """
    least = state.items.least
    shift = int(_slack(state, spec) * CELLS + 1e-9)
    for cell in range(CELLS):
        state.widths[WITNESS_AT] = cell
        start, stop = cell / CELLS, (cell + 1) / CELLS
        if cell == CELLS - 1:
            stop = 2.0  # the last cell has its end
        y = least[LOW, cell]
        x = least[HIGH, cell + shift] if cell + shift < CELLS else inf
        if max(start, known_out) < min(stop, known_in) and not _enough(spec, x, y):
            return False
        if max(start, known_out, known_in) < stop and not _enough(spec, x, 0.0):
            return False
        if start < min(stop, known_out, known_in) and not _enough(spec, 0.0, y):
            return False
        if max(start, known_in) < min(stop, known_out):
            return False
    return True


def _is_refuted(state: State, spec: Spec, h: int, l: int) -> bool:  # noqa: E741
    """Whether the pair, of unknown means, fails at the cell that failed last."""
    if is_exhausted(state, h) or is_exhausted(state, l):
        return False
    cell = int(state.widths[WITNESS_AT])
    beyond = cell + int(_slack(state, spec) * CELLS + 1e-9)
    if beyond >= CELLS:
        return False
    items = state.items
    return not _enough(spec, items.wealth[2 * l + HIGH, beyond], items.wealth[2 * h + LOW, cell])


@outlined
def holds(state: State, spec: Spec, h: int, l: int) -> bool:  # noqa: E741 - the paper's name
    """Whether the answer is certified; h and l have the worst bounds, so they are tried first."""
    if _is_refuted(state, spec, h, l):
        return False
    state.items.least[:] = inf
    known_in, known_out = _add_in(state, h), _add_out(state, spec, l)
    if not _passes(state, spec, known_in, known_out):
        return False
    for i in range(spec.n_arms):
        if state.high[i]:
            known_in = min(known_in, _add_in(state, i))
        else:
            known_out = max(known_out, _add_out(state, spec, i))
    return _passes(state, spec, known_in, known_out)


def new_items(n: int, n_items: int) -> Items:
    """Room for the scores of n arms on so many items; 0: next to none."""
    cells = CELLS
    if n_items == 0:
        n = n_items = cells = 1
    return Items(
        order=np.tile(np.arange(n_items, dtype=np.int32), (n, 1)),
        drawn=np.zeros(n, np.int64),
        wealth=np.ones((2 * n, cells)),
        least=np.zeros((2, cells)),
        difficulty=np.zeros((3, n_items)),
        start=np.zeros((3, n_items)),
        fits=np.zeros((FITS, n)),
        grand=np.zeros(3),
    )


def reset(state: State) -> None:
    """Forget all scores."""
    items = state.items
    items.drawn[:] = 0
    items.wealth[:] = 1.0
    items.fits[:] = 0.0
    items.grand[:] = 0.0
    for i in range(items.order.shape[0]):
        for j in range(items.order.shape[1]):
            items.order[i, j] = j
    for row in range(3):
        for j in range(items.order.shape[1]):
            items.difficulty[row, j] = items.start[row, j]
