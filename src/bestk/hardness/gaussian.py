"""T*, the constant of the lower bound, solved exactly by shooting along a staircase of pairs.

Units: the gap mu_K - mu_(K+1) and 2 sigma^2 are 1, and n_i = 1/y_i are the sample counts. Then

    T* = min sum 1/y_i   over y > 0 with   y_i + y_j <= (mu_i - mu_j)^2,   i in top, j outside.

Optimality. With multipliers l_ij >= 0 the conditions are sum_j l_ij = 1/y_i^2, the same for j, and
l_ij > 0 only on tight pairs: l is an optimal transport plan between the masses 1/y^2 of the two
sides at cost (mu_i - mu_j)^2. The cost is Monge, so with both sides in order of descending mean the
plan runs along a staircase: right to the next j while i has mass left, otherwise down to the next
i (the northwest corner rule). Tight pairs along it fix all y once the first is known, and by Monge
no other pair is then violated. Only one number is left to find.

The number. On a tight pair y_i = (mu_i - mu_j)(mu_i - c) and y_j = (mu_i - mu_j)(c - mu_j), where c
lies between mu_(K+1) and mu_K and moves up at every step, so nothing cancels. A larger c at the
start gives smaller y_i and larger y_j everywhere, hence more mass left on top at every shared cell,
and a staircase that stays on the right: the sign of the mass left at the end is monotone, bisect.

Ties. Where the two masses run out together the next c may be anything between its values by "down,
right" and "right, down". The last two walks of the bisection then part and meet again with
different c: the bisection goes on from there. Seldom more than a few times.

Certificates, valid whatever the walk did. Upper: scale y until every pair holds. Lower: for any
l >= 0 and any feasible n, Cauchy-Schwarz gives

    sum l_ij (mu_i - mu_j)^2 >= sum l_ij (1/n_i + 1/n_j) >= (sum sqrt(l_arm))^2 / sum n,

with l_arm the total of l over the pairs of an arm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestk.kernels.types import FloatArray, IntArray

FAR = 1e30  # distances are cut here: such an arm adds less than rounding, and squares stay finite
AGREE = 1e-7  # two walks agree on a cell while their y differ by less, relatively
BLOCK = 1 << 20  # pairs checked at a time

# i, j, c, carry (the mass of the groups before i minus that of the groups before j), y_i, y_j
Cell = tuple[int, int, float, float, float, float]


class Side(NamedTuple):
    """Arms of one side grouped by mean, in descending order of mean."""

    far: list[float]  # distance from mu_K (top) or mu_(K+1) (the rest)
    size: list[int]  # arms in the group
    group: IntArray  # the group of each arm


class Solution(NamedTuple):
    """T* lies in [low, high] up to rounding; `n_top` and `n_rest` achieve `high`."""

    low: float
    high: float
    n_top: FloatArray
    n_rest: FloatArray


def solve(top: FloatArray, rest: FloatArray) -> Solution:
    """T* and optimal counts, for the distances of both sides' arms in units of mu_K - mu_(K+1)."""
    upper, lower = _group(top, descending=True), _group(rest, descending=False)
    path = _balanced(upper, lower)
    y_top, y_rest = np.empty(len(upper.far)), np.empty(len(lower.far))
    for i, j, _, _, y_i, y_j in path:
        y_top[i], y_rest[j] = y_i, y_j
    worst = _worst_pair(np.array(upper.far), np.array(lower.far), y_top, y_rest)
    n_top, n_rest = (worst / y_top)[upper.group], (worst / y_rest)[lower.group]
    high = float(n_top.sum() + n_rest.sum())
    return Solution(_dual_value(upper, lower, path, y_top, y_rest), high, n_top, n_rest)


def _group(far: FloatArray, descending: bool) -> Side:
    sign = -1.0 if descending else 1.0
    key, group, size = np.unique(
        sign * np.minimum(far, FAR), return_inverse=True, return_counts=True
    )
    return Side((sign * key).tolist(), size.tolist(), group)


def _walk(top: Side, rest: Side, i: int, j: int, c: float, carry: float) -> tuple[list[Cell], bool]:
    """The staircase from cell (i, j) at c, and whether mass is left on top at its end."""
    a, b, p, q = top.far, rest.far, top.size, rest.size
    last_i, last_j = len(a) - 1, len(b) - 1
    width = 1.0 + a[i] + b[j]
    y_i, y_j = width * (a[i] + (1.0 - c)), width * (c + b[j])
    mass_i, mass_j = p[i] / (y_i * y_i), q[j] / (y_j * y_j)
    left = carry + mass_i - mass_j
    path = [(i, j, c, carry, y_i, y_j)]
    while i < last_i or j < last_j:
        if i == last_i or (left > 0.0 and j < last_j):
            j += 1  # right: y_i stays
            width = 1.0 + a[i] + b[j]
            c += (a[i] + (1.0 - c)) * (b[j] - b[j - 1]) / width
            y_j = width * (c + b[j])
            mass_j = q[j] / (y_j * y_j)
            path.append((i, j, c, left - mass_i, y_i, y_j))
            left -= mass_j
        else:
            i += 1  # down: y_j stays
            width = 1.0 + a[i] + b[j]
            c += (c + b[j]) * (a[i - 1] - a[i]) / width
            if c >= 1.0:  # beyond mu_K: no positive y_K further on, endless mass on top
                path.append((i, j, 1.0, left + mass_j, width * a[i], width * (1.0 + b[j])))
                return path, True
            y_i = width * (a[i] + (1.0 - c))
            mass_i = p[i] / (y_i * y_i)
            path.append((i, j, c, left + mass_j, y_i, y_j))
            left += mass_i
    return path, left > 0.0


def _balanced(top: Side, rest: Side) -> list[Cell]:
    """The staircase that ends with no mass left."""
    done: list[Cell] = []
    below: list[Cell] = []
    above: list[Cell] = []
    i, j = 0, 0
    (low, low_carry), (high, high_carry) = (0.0, 0.0), (1.0, 0.0)
    while True:
        while low < (c := (low + high) / 2.0) < high:
            carry = (low_carry + high_carry) / 2.0
            path, excess = _walk(top, rest, i, j, c, carry)
            if excess:
                above, high, high_carry = path, c, carry
            else:
                below, low, low_carry = path, c, carry
        step = _disagreement(below, above)
        if step == 0:
            return done + below
        done += below[:step]
        below, above = below[step:], above[step:]
        i, j, low, low_carry = below[0][:4]
        high, high_carry = above[0][2:4]


def _disagreement(below: list[Cell], above: list[Cell]) -> int:
    """The first step at which the walks share a cell but not its y; 0 if there is none."""
    for step, (low, high) in enumerate(zip(below, above, strict=False)):
        same_cell = low[0] == high[0]  # i + j is the same at the same step
        apart = low[4] > (1.0 + AGREE) * high[4] or high[5] > (1.0 + AGREE) * low[5]
        if step > 0 and same_cell and apart:
            return step
    return 0


def _worst_pair(a: FloatArray, b: FloatArray, y_top: FloatArray, y_rest: FloatArray) -> float:
    """max of (y_i + y_j) / (mu_i - mu_j)^2 over all pairs, in blocks of rows."""
    rows = max(1, BLOCK // len(b))
    worst = 0.0
    for s in range(0, len(a), rows):
        width = 1.0 + a[s : s + rows, None] + b
        worst = max(worst, float(((y_top[s : s + rows, None] + y_rest) / (width * width)).max()))
    return worst


def _dual_value(
    top: Side, rest: Side, path: list[Cell], y_top: FloatArray, y_rest: FloatArray
) -> float:
    """The lower certificate, for l = the northwest corner plan along `path`."""
    mass_i = (np.array(top.size) / y_top**2).tolist()
    mass_j = (np.array(rest.size) / y_rest**2).tolist()
    on_i, on_j, cost = [0.0] * len(mass_i), [0.0] * len(mass_j), 0.0

    def move(i: int, j: int, mass: float) -> float:
        on_i[i] += mass
        on_j[j] += mass
        return mass * (1.0 + top.far[i] + rest.far[j]) ** 2

    i, j, left_i, left_j, right = 0, 0, mass_i[0], mass_j[0], True
    for next_i, next_j, *_ in path[1:]:
        right = next_i == i
        if right:
            cost += move(i, j, left_j)
            left_i, left_j = max(left_i - left_j, 0.0), mass_j[next_j]
        else:
            cost += move(i, j, left_i)
            left_i, left_j = mass_i[next_i], max(left_j - left_i, 0.0)
        i, j = next_i, next_j
    cost += move(i, j, left_j if right else left_i)  # equal but for rounding: the fresh one
    roots = np.sqrt(np.multiply(top.size, on_i)).sum() + np.sqrt(np.multiply(rest.size, on_j)).sum()
    return float(roots * roots / cost)
