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
| hybrid stop                    | `holds`, `_enough` |

Scores are scaled to [0, 1] here. Wealth is a product of doubles, not a sum of logarithms: an
underflow to 0 only loses evidence.
"""

from __future__ import annotations

from math import exp, floor, inf

from bestk.kernels import rng
from bestk.kernels.types import (
    HIGH,
    LOW,
    PLANS,
    RUN,
    NodeArray,
    Spec,
    State,
    outlined,
)

CELLS = 400  # of the range of the scores; arbitrary: 200 cost 2% more samples, 800 more time
KEPT = 0.9  # the largest part of the wealth that a bet may lose; arbitrary
NEIGHBOURS = 3.0  # observations of no difficulty that every item has; arbitrary
PRIOR = 4.0  # scores at the mean of all that every arm's mean has; arbitrary
SPREAD = 4.0  # squares of 1/4 that every arm's variance has, the most there can be; arbitrary
LEAST_VARIANCE = 1e-4  # arbitrary
SLOPE = 1.0  # squares of z with regression coefficient 1 that every arm has; arbitrary
STEEPEST = 1.5  # regression coefficient; arbitrary
SAFETY = 1e-6  # of wealth, and of an end of the range: rounding never claims more
# rows of Items.fits: sums of scores, of x - g and its squares, of z x and z z
TOTAL_X, TOTAL_Y, TOTAL_YY, TOTAL_XZ, TOTAL_ZZ = range(5)
FITS = 5
# rows of Items.difficulty: sums of residuals, and how many; entries of Items.grand likewise
RESIDUALS, MANY = range(2)


def swap_in(order: NodeArray, t: int, seed: int, run: int, arm: int, stream: int) -> int:
    """Draw the item at place t of an arm's order, all places before it being drawn."""
    left = order.shape[0] - t
    coin = rng.uniform(seed, run, arm, t, stream)
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
        swap_in(state.items.order[arm], t, spec.seed, run, arm, stream)
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
    for u in range(t, n_items):
        j = items.order[arm, u]
        z = items.difficulty[RESIDUALS, j] / (items.difficulty[MANY, j] + NEIGHBOURS)
        total += z
        least = min(least, z)
        most = max(most, z)
    middle = total / (n_items - t)
    z = items.difficulty[RESIDUALS, item] / (items.difficulty[MANY, item] + NEIGHBOURS) - middle
    fits = items.fits
    slope = (fits[TOTAL_XZ, arm] + SLOPE) / (fits[TOTAL_ZZ, arm] + SLOPE)
    slope = min(max(slope, 0.0), STEEPEST)
    g = slope * z
    # what is expected of x - g: its mean and variance so far, shrunk
    usual = (items.grand[RESIDUALS] + 1.0) / (items.grand[MANY] + 2.0)
    mean = (fits[TOTAL_Y, arm] + PRIOR * usual) / (t + PRIOR)
    around = fits[TOTAL_YY, arm] - 2.0 * mean * fits[TOTAL_Y, arm] + t * mean * mean
    variance = max((around + SPREAD * 0.25) / (t + SPREAD), LEAST_VARIANCE)
    _bet(state, arm, x - g, mean, variance, slope * (least - middle), slope * (most - middle))
    # what this score says of the item, and of the arm
    expected = (fits[TOTAL_X, arm] + usual) / (t + 1.0)
    items.difficulty[RESIDUALS, item] += x - expected
    items.difficulty[MANY, item] += 1.0
    items.grand[RESIDUALS] += x
    items.grand[MANY] += 1.0
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
    wealth = state.items.wealth
    n_items, t = state.items.order.shape[1], state.counts[arm]
    left, total = n_items - t, state.items.fits[TOTAL_X, arm]
    for cell in range(CELLS):
        m = (n_items * (cell + 1) / CELLS - total) / left  # at the upper edge
        if m < -SAFETY:
            wealth[LOW, arm, cell] = inf
        elif mean > m:
            gap = mean - m
            stake = min(gap / (variance + gap * gap), KEPT / max(m + most, SAFETY))
            wealth[LOW, arm, cell] *= 1.0 + stake * (y - m)
        m = (n_items * cell / CELLS - total) / left  # at the lower edge
        if m > 1.0 + SAFETY:
            wealth[HIGH, arm, cell] = inf
        elif m > mean:
            gap = m - mean
            stake = min(gap / (variance + gap * gap), KEPT / max(1.0 - m - least, SAFETY))
            wealth[HIGH, arm, cell] *= 1.0 + stake * (m - y)


def bound(state: State, spec: Spec, arm: int, end: int) -> float:
    """An end of an arm's interval: all cells beyond it have wealth 1/level."""
    e = state.evidence
    low, width = e.levels[0], e.levels[1] - e.levels[0]
    if is_exhausted(state, arm):
        return state.means[arm]
    wealth = state.items.wealth
    if end == LOW:
        enough, cell = exp(-spec.log_lower), 0
        while cell < CELLS and wealth[LOW, arm, cell] >= enough:
            cell += 1
        return low + width * cell / CELLS
    enough, cell = exp(-spec.log_upper), CELLS
    while cell > 0 and wealth[HIGH, arm, cell - 1] >= enough:
        cell -= 1
    return low + width * cell / CELLS


# --- the hybrid stop ------------------------------------------------------------------------------
# For every c: w1 X(c + epsilon)/K + w2 Y(c)/(N-K) + w3 X Y/... >= 1/nu, where Y is the least wealth
# against "mean <= c" in High and X the least against "mean >= c" in Low (docs/e-lucb.md, Theorem
# 1). Wealth is made monotone: Y(c) is its least value in the cells up to that of c.


def _enough(spec: Spec, x: float, y: float) -> bool:
    """Whether evidence x and y is enough together."""
    both = 0.0 if x == 0.0 or y == 0.0 else exp(spec.log_both) * x * y
    return (1.0 - SAFETY) * (exp(spec.log_upper) * x + exp(spec.log_lower) * y + both) >= 1.0


def _gather(state: State, spec: Spec, only_in: int, only_out: int) -> None:
    """Y and X of every cell, over the arms that have items left; or of one pair alone."""
    items = state.items
    items.least[LOW, :] = inf
    items.least[HIGH, :] = inf
    for i in range(spec.n_arms):
        if is_exhausted(state, i):
            continue
        if state.high[i]:
            if only_in in (-1, i):
                least = inf
                for cell in range(CELLS):
                    least = min(least, items.wealth[LOW, i, cell])
                    items.least[LOW, cell] = min(items.least[LOW, cell], least)
        elif only_out in (-1, i):
            least = inf
            for cell in range(CELLS - 1, -1, -1):
                least = min(least, items.wealth[HIGH, i, cell])
                items.least[HIGH, cell] = min(items.least[HIGH, cell], least)


def _passes(state: State, spec: Spec, known_in: float, known_out: float) -> bool:
    """Whether every c has enough evidence by what was gathered.

    `known_in` is the lowest mean among the arms of High whose mean is known, `known_out` the
    highest of Low less the slack. A known arm of High refutes every c below its mean, a known arm
    of Low every c + epsilon that is not below its own; beyond that they count as no evidence.
    """
    least, e = state.items.least, state.evidence
    shift = int(floor(spec.epsilon / (e.levels[1] - e.levels[0]) * CELLS + 1e-9))
    for cell in range(CELLS):
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


@outlined
def holds(state: State, spec: Spec, h: int, l: int) -> bool:  # noqa: E741 - the paper's name
    """Whether the answer is certified; h and l have the worst bounds, so they are tried first."""
    e = state.evidence
    low, width = e.levels[0], e.levels[1] - e.levels[0]
    known_in, known_out = inf, -inf
    for i in range(spec.n_arms):
        if is_exhausted(state, i):
            mean = (state.means[i] - low) / width
            if state.high[i]:
                known_in = min(known_in, mean)
            else:
                known_out = max(known_out, mean - spec.epsilon / width)
    _gather(state, spec, h, l)
    if not _passes(state, spec, known_in, known_out):
        return False
    _gather(state, spec, -1, -1)
    return _passes(state, spec, known_in, known_out)


def reset(state: State) -> None:
    """Forget all scores."""
    items = state.items
    items.drawn[:] = 0
    items.wealth[:] = 1.0
    items.difficulty[:] = 0.0
    items.fits[:] = 0.0
    items.grand[:] = 0.0
    for i in range(items.order.shape[0]):
        for j in range(items.order.shape[1]):
            items.order[i, j] = j
