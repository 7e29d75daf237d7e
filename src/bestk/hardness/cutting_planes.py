"""T* of a decision class, by cutting planes.

Units: the smallest gap and 2 sigma^2 are 1, n_i = 1/y_i are the sample counts, D is the symmetric
difference of a feasible set S with OPT, g = mu(OPT) - mu(S). The nearest instance on which S is as
good as OPT is g^2 / y(D) away (Cauchy-Schwarz), and T* samples put all of them at least 1 away:

    T* = min sum 1/y_i   over y > 0 with   y(D) <= g^2   for every feasible S other than OPT.

The problem is solved for some of the sets; those its solution breaks are added (`separation`
finds them), until there are none.

Lower end. For any sets and any l >= 0 on them, with l_i the total of l over the D that hold arm i,

    sum l_S g_S^2 >= sum_i l_i / n_i >= (sum_i sqrt(l_i))^2 / sum n_i

for all feasible n: the dual with some of the sets is below T*, whatever sets and l were found.

Upper end. If y(D) <= R g^2 for every S, the counts R/y satisfy all sets and T* <= R sum 1/y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bestk.hardness.separation import Rivals, exchanges, separate, separate_exchanges
from bestk.kernels.types import BoolArray, FloatArray

NEWTON = 200  # steps of the interior point method; about 20 are needed
CLOSE = 1e-10  # the relative distance of primal and dual at which it ends


class Solution(NamedTuple):
    """T* lies in [low, high] in units of the smallest gap; `counts` achieve `high`."""

    low: float
    high: float
    counts: FloatArray


def solve(
    rivals: Rivals, gaps: FloatArray, first: list[BoolArray], is_matroid: bool, max_calls: int
) -> Solution:
    """T* and counts, from the gap of every arm and the sets that attain the finite ones."""
    unit, sampled, inside = float(gaps.min()), np.isfinite(gaps), rivals.optimum
    n_pairs = int((sampled & inside).sum() * (sampled & ~inside).sum())
    pairs = exchanges(rivals, sampled) if is_matroid and n_pairs <= max_calls else None
    cuts = {arms.tobytes(): arms for arms in first}
    low, high, counts = 0.0, math.inf, np.zeros(gaps.size)
    while True:
        rows = np.array(list(cuts.values()))
        limits = np.array([(rivals.gap(row) / unit) ** 2 for row in rows])
        y = np.zeros(gaps.size)
        y[sampled], dual = restricted(rows[:, sampled].astype(np.float64), limits)
        if pairs is None:
            worst, violated = separate(rivals, gaps, y, max_calls)
        else:
            worst, violated = separate_exchanges(rivals, gaps, y, pairs)
        low, total = max(low, dual), float((1.0 / y[sampled]).sum())
        if worst * total < high:
            high = worst * total
            counts[sampled] = worst / y[sampled]
        fresh = {arms.tobytes(): arms for arms in violated if arms.tobytes() not in cuts}
        if not fresh or (pairs is None and rivals.calls >= max_calls):
            return Solution(low, high, counts)
        cuts |= fresh


def restricted(rows: FloatArray, limits: FloatArray) -> tuple[FloatArray, float]:
    """The best y for some of the sets, and a dual value: a primal-dual interior point method.

    In z = y / start, with every limit 1: no unit of the instance is left.
    """
    share = (limits / rows.sum(axis=1))[:, None]
    start = 0.5 * np.where(rows > 0.0, share, np.inf).min(axis=0)
    weight = start.min() / start  # of 1/z
    matrix = rows * start / limits[:, None]
    z, best = np.ones(start.size), 0.0
    slack = 1.0 - matrix @ z
    price = 1.0 / slack
    price *= weight.sum() / price.sum()
    for _ in range(NEWTON):
        load = price @ matrix
        primal = float((weight / z).sum())
        best = max(best, float(np.sqrt(weight * load).sum() ** 2 / price.sum()))
        if primal <= best * (1.0 + CLOSE):
            break
        target = 0.1 * float(slack @ price) / slack.size
        hessian = (matrix.T * (price / slack)) @ matrix + np.diag(2.0 * weight / z**3)
        scale = 1.0 / np.sqrt(hessian.diagonal())
        slope = weight / z**2 - (target / slack) @ matrix
        dz = scale * np.linalg.solve(hessian * scale * scale[:, None], scale * slope)
        ds = -(matrix @ dz)
        dp = (target - price * ds) / slack - price
        old = _residual(weight / z**2 - load, slack * price - target)
        step = 0.99 * min(_reach(z, dz), _reach(slack, ds), _reach(price, dp))
        while step > 1e-12:
            new_z, new_slack, new_price = z + step * dz, slack + step * ds, price + step * dp
            new_load = weight / new_z**2 - new_price @ matrix
            if _residual(new_load, new_slack * new_price - target) <= (1.0 - 0.01 * step) * old:
                break
            step /= 2.0
        else:
            break
        z, price = new_z, new_price
        slack = 1.0 - matrix @ z
        if slack.min() <= 0.0:
            z /= (matrix @ z).max() * (1.0 + 1e-12)
            slack = 1.0 - matrix @ z
    return z * start, best / float(start.min())


def _reach(values: FloatArray, change: FloatArray) -> float:
    """The largest step, up to 1/0.99, that keeps all values nonnegative."""
    falling = change < 0.0
    return min(1.0 / 0.99, float((values[falling] / -change[falling]).min(initial=np.inf)))


def _residual(stationarity: FloatArray, centrality: FloatArray) -> float:
    return math.sqrt(float(stationarity @ stationarity) + float(centrality @ centrality))
