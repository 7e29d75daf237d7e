"""T* of the K best, solved exactly by shooting along a staircase of pairs.

With d the divergence of rewards with two means and n_i = 1/y_i the sample counts,

    T* = min sum n   over n with   n_i d(mu_i, c) + n_j d(mu_j, c) >= 1   for all c,

i in top, j outside (Garivier and Kaufmann 2016; Kaufmann, Cappé and Garivier 2016). Only the c from
mu_(K+1) to mu_K matter. They are kept as x = c - mu_(K+1), with left = mu_K - c: nothing cancels.
`gaussian` and `bernoulli` say what d is and how c moves.

Crossing. On one side of c, d(mu, c)/|mu - c| is larger for farther mu, so log d(mu, c) changes more
slowly with c. Hence n_i d(mu_i, c) of two arms of one side cross at most once, and the arm with the
smallest goes down in mean as c goes up, on both sides: the tight pairs form a staircase. There

    y_i = d(mu_i, c) + (mu_i - c)/(c - mu_j) d(mu_j, c),     y_j = y_i (c - mu_j)/(mu_i - c).

Plan. The multipliers l_ij >= 0 fill every arm: sum_j l_ij d(mu_i, c_ij) = 1 for all i, and the same
for all j. Along the staircase: as much as both arms have room for, then the next arm instead of the
full one (the northwest corner rule). From one cell to the next one y stays, and c moves up. A
larger first c gives a larger c, more room in i and less in j at every shared cell, and a staircase
that stays on the right: room on top at the end is monotone, bisect.

Ties. Where both arms are full at once the next c may be anything between its values by "down,
right" and "right, down". The last two walks of the bisection then part and meet again with
different c: the bisection goes on from there. Seldom more than a few times.

Certificates, valid whatever the walk did: `_bound` and `_scale`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestk.kernels.types import FloatArray, IntArray

AGREE = 1e-7  # two walks agree on a cell while their y differ by less, relatively; T* is flat there
END = 1e-60  # the smallest x/gap and left/gap; a walk that would go beyond mu_K stays there
CUT = 100.0  # cuts of an envelope have |log(x/left)| below this

Divergence = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # of far, x and left

# i, j, x, the room that the plan has left in i and in j, y_i, y_j
Cell = tuple[int, int, float, float, float, float, float]


class Side(NamedTuple):
    """Arms of one side grouped by mean, in descending order of mean."""

    far: list[float]  # distance from mu_K (top) or mu_(K+1) (the rest)
    size: list[float]  # arms in the group
    group: IntArray  # the group of each arm


class Step(NamedTuple):
    """From one cell to the next: right to the next arm of the rest, or down to that of the top."""

    right: bool
    at: int  # the group that is left
    o: float  # distances from c of the old arm, the new one and the one that stays
    w: float
    v: float
    d_old: float  # d(old, c)


class Solution(NamedTuple):
    """T* lies in [low, high] up to rounding; `n_top` and `n_rest` achieve `high`."""

    low: float
    high: float
    n_top: FloatArray
    n_rest: FloatArray


class Case(NamedTuple):
    """Both sides, mu_K - mu_(K+1), and the geometry of the rewards."""

    top: Side
    rest: Side
    gap: float
    d: Callable[[float, float, float], float]  # d(c + step, c) of step, x and left
    d_all: Divergence  # the same for arrays
    move: Callable[[Step, float, float], float]  # how far c moves up in a step; of step, x, left
    fine: float = AGREE  # how closely two walks agree at the end of the bisection

    def to_top(self, far: FloatArray, x: FloatArray, left: FloatArray) -> FloatArray:
        """d(mu_i, c) for arms of the top."""
        return self.d_all(far + left, x, left)

    def to_rest(self, far: FloatArray, x: FloatArray, left: FloatArray) -> FloatArray:
        """d(mu_j, c) for arms outside."""
        return self.d_all(-far - x, x, left)


def touching(top: FloatArray, rest: FloatArray) -> Solution:
    """Where the sides touch: infinite, counts equal."""
    return Solution(math.inf, math.inf, np.ones(len(top)), np.ones(len(rest)))


def solve(case: Case) -> Solution:
    """T* and optimal counts."""
    path, bound = _balanced(case)
    y_top, y_rest = np.empty(len(case.top.far)), np.empty(len(case.rest.far))
    for i, j, *_, y_i, y_j in path:
        y_top[i], y_rest[j] = y_i, y_j
    scale = _scale(case, y_top, y_rest)
    n_top, n_rest = (scale / y_top)[case.top.group], (scale / y_rest)[case.rest.group]
    return Solution(bound, float(n_top.sum() + n_rest.sum()), n_top, n_rest)


def _walk(case: Case, i: int, j: int, start: FloatArray) -> tuple[list[Cell], bool]:
    """The staircase from (i, j), `start` being x and rooms, and whether top has room at its end."""
    top, rest, gap = case.top, case.rest, case.gap
    x, room_i, room_j = start.tolist()
    last_i, last_j = len(top.far) - 1, len(rest.far) - 1
    y_i = y_j = 0.0
    path: list[Cell] = []
    while True:
        left = max(gap - x, END * gap)
        w_i, w_j = top.far[i] + left, rest.far[j] + x
        d_i, d_j = case.d(w_i, x, left), case.d(-w_j, x, left)
        if not path or path[-1][0] < i:  # otherwise it stays
            y_i = d_i + w_i / w_j * d_j
        if not path or path[-1][1] < j:
            y_j = d_j + w_j / w_i * d_i
        path.append((i, j, x, room_i, room_j, y_i, y_j))
        excess = room_i * d_j > room_j * d_i
        if i == last_i and j == last_j:
            return path, excess
        if i == last_i or (excess and j < last_j):
            room_i, room_j = max(room_i - room_j * d_i / d_j, 0.0), rest.size[j + 1]
            step = Step(True, j, w_j, rest.far[j + 1] + x, w_i, d_j)
            j += 1
        else:
            room_i, room_j = top.size[i + 1], max(room_j - room_i * d_j / d_i, 0.0)
            step = Step(False, i, w_i, top.far[i + 1] + left, w_j, d_i)
            i += 1
        if x < gap:
            x = min(x + case.move(step, x, left), gap)


def _balanced(case: Case) -> tuple[list[Cell], float]:
    """The staircase that ends with no room left, and the lower certificate from its plan."""
    i, j, before = 0, 0, np.zeros(len(case.top.far) + len(case.rest.far) + 1)
    rooms, done = (case.top.size[0], case.rest.size[0]), list[Cell]()
    low, high = np.array([END * case.gap, *rooms]), np.array([case.gap, *rooms])
    below, above = _walk(case, i, j, low)[0], _walk(case, i, j, high)[0]
    while True:
        while _disagreement(below, above, 0, case.fine) is not None:
            middle = (low + high) / 2.0
            if high[0] > 2.0 * low[0]:
                middle[0] = math.sqrt(low[0] * high[0])
            if not low[0] < middle[0] < high[0]:
                break
            path, excess = _walk(case, i, j, middle)
            if excess:
                above, high = path, middle
            else:
                below, low = path, middle
        step = _disagreement(below, above, 1)
        end = len(below) if step is None else step
        plan = before + _plan(case, below, end)
        if step is None:
            return done + below, _bound(case, plan, before + _plan(case, above, end))
        done, before = done + below[:step], plan
        below, above = below[step:], above[step:]
        i, j = below[0][:2]
        low, high = np.array(below[0][2:5]), np.array(above[0][2:5])


def _disagreement(
    below: list[Cell], above: list[Cell], first: int, agree: float = AGREE
) -> int | None:
    """The first step, from `first` on, at which the walks share a cell but not its y."""
    for step in range(first, len(below)):
        one, two = below[step], above[step]
        apart = one[5] > (1.0 + agree) * two[5] or two[6] > (1.0 + agree) * one[6]
        if one[0] == two[0] and apart:  # i + j is the same at the same step
            return step
    return None


def _plan(case: Case, path: list[Cell], steps: int) -> FloatArray:
    """Over the first cells, sum_j l_ij d(mu_i, c_ij) for every i, the same for j, and sum l."""
    i, j, x, room_i, room_j = (np.array(v) for v in list(zip(*path, strict=True))[:5])
    down = np.diff(i) > 0  # i is full then; the last cell fills the arm that has just begun
    down = np.append(down, down[-1:] if len(path) > 1 else False)
    left = np.maximum(case.gap - x, END * case.gap)
    d_i = case.to_top(np.array(case.top.far)[i], x, left)
    d_j = case.to_rest(np.array(case.rest.far)[j], x, left)
    mass = np.where(np.arange(len(path)) < steps, np.where(down, room_i / d_i, room_j / d_j), 0.0)
    on_top = np.bincount(i, mass * d_i, len(case.top.far))
    on_rest = np.bincount(j, mass * d_j, len(case.rest.far))
    return np.concatenate((on_top, on_rest, [mass.sum()]))


def _bound(case: Case, one: FloatArray, two: FloatArray) -> float:
    """The lower certificate, from the best mixture of two plans.

    For any l >= 0 and feasible n, sum l <= sum l_ij (n_i d(mu_i, c_ij) + n_j d(mu_j, c_ij)), which
    is at most sum n times the largest load of an arm, its sum of l d. The plans of the last two
    walks load one arm at the end too much and too little, a mixture of them all arms alike.
    """
    size, shares = np.array(case.top.size + case.rest.size), [0.0, 1.0]
    for arm in (len(case.top.size) - 1, len(size) - 1):
        over, under = one[arm] - size[arm], size[arm] - two[arm]
        if over * under > 0.0:
            shares.append(over / (over + under))
    mixtures = [(1.0 - share) * one + share * two for share in shares]
    return max(float(plan[-1] / (plan[:-1] / size).max()) for plan in mixtures)


def _scale(case: Case, y_top: FloatArray, y_rest: FloatArray) -> float:
    """The upper certificate: a factor that makes the counts 1/y feasible.

    At every c the pair of the smallest d/y of either side must reach 1. By the crossing property
    these are the pairs whose intervals on the lower envelopes of the two sides meet. A pair is at
    its smallest where the distances from c are as y_i to y_j, or at the nearest c that matters.
    """
    top, cut_top = _envelope(case.to_top, np.array(case.top.far), y_top, case.gap)
    rest, cut_rest = _envelope(case.to_rest, np.array(case.rest.far), y_rest, case.gap)
    cuts = np.concatenate(([-CUT], cut_top, cut_rest))
    i = top[np.searchsorted(cut_top, cuts, side="right")]
    j = rest[np.searchsorted(cut_rest, cuts, side="right")]
    far_i, far_j, y_i, y_j = (
        np.array(case.top.far)[i],
        np.array(case.rest.far)[j],
        y_top[i],
        y_rest[j],
    )
    width, least = case.gap + far_i + far_j, END * case.gap
    x = np.clip(width * (y_j / (y_i + y_j)) - far_j, least, case.gap)
    left = np.clip(width * (y_i / (y_i + y_j)) - far_i, least, case.gap)
    d_i, d_j = case.to_top(far_i, x, left), case.to_rest(far_j, x, left)
    return float(1.0 / (d_i / y_i + d_j / y_j).min())


def _envelope(
    d: Divergence, far: FloatArray, y: FloatArray, gap: float
) -> tuple[IntArray, FloatArray]:
    """The groups with the smallest d/y somewhere, and log(x/left) where one follows another.

    A group that its successor undercuts before it undercuts its predecessor is never smallest.
    """
    from scipy.special import expit

    kept = np.arange(len(y))
    while True:
        a, b = kept[:-1], kept[1:]
        low, high = np.full(len(a), -CUT), np.full(len(a), CUT)
        for _ in range(60):  # to the last bit of x and left
            cut = (low + high) / 2.0
            x, left = gap * expit(cut), gap * expit(-cut)
            is_before = d(far[a], x, left) / y[a] <= d(far[b], x, left) / y[b]
            low, high = np.where(is_before, cut, low), np.where(is_before, high, cut)
        somewhere = np.diff(cut, prepend=-CUT, append=CUT) > 0.0
        if somewhere.all():
            return kept, cut
        kept = kept[somewhere]
