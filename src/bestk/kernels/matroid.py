"""e-clucb on matroids: compare arms that can replace each other in the answer.

M is the best basis of the empirical means. If M is not optimal, some arm a of the best basis can
replace an arm b of M outside it, with mu_a > mu_b (Brualdi 1969; docs/e-lucb.md). So M is certified
when every such pair is: by bounds that separate, or by both arms' evidence together (`hybrid.py`).
Of all pairs the one with the largest gap between a's upper and b's lower bound is sampled.

An arm a outside M replaces the arms of M in its group (PARTITION), or on the cycle that it closes
in the tree M (FOREST).
"""

from __future__ import annotations

from math import inf

from bestk.kernels import bounds, cpe, hybrid, lucb
from bestk.kernels.types import (
    EMPIRICAL,
    HIGH,
    LEAD,
    LOW,
    PARTITION,
    REVISED,
    WITNESS_IN,
    WITNESS_OUT,
    IntArray,
    Spec,
    State,
    outlined,
)

# The rows REVISED of `orders` and `weights` belong to a second oracle call, which is not needed
# here. They hold, for each group, its weakest arm in M and that arm's lower bound; for each node of
# the tree M, the edge that leads to the root and the depth.


def _lower(state: State, spec: Spec, i: int) -> float:
    return bounds.current(state, spec, i, LOW)


def _upper(state: State, spec: Spec, i: int) -> float:
    return bounds.current(state, spec, i, HIGH)


def _scan_groups(state: State, spec: Spec) -> None:
    """The weakest arm of M in every group."""
    weakest, bound = state.orders[REVISED], state.weights[REVISED]
    bound[: spec.n_nodes] = inf
    for i in range(spec.n_arms):
        if state.high[i]:
            group, lower = state.table[0, i], _lower(state, spec, i)
            if lower < bound[group]:
                weakest[group], bound[group] = i, lower


def _hang_tree(state: State, spec: Spec) -> None:
    """Root the tree M at node 0, edge by edge outwards; nothing to do if M has not changed."""
    same = True
    for i in range(spec.n_arms):
        same &= state.other[i] == state.high[i]
        state.other[i] = state.high[i]
    if same:
        return
    above, depth = state.orders[REVISED], state.weights[REVISED]
    depth[: spec.n_nodes] = inf
    depth[0], above[0] = 0.0, -1
    for _ in range(spec.n_nodes):
        for i in range(spec.n_arms):
            if state.high[i]:
                a, b = state.table[0, i], state.table[1, i]
                if depth[a] > depth[b]:
                    a, b = b, a
                if depth[b] == inf and depth[a] < inf:
                    depth[b], above[b] = depth[a] + 1.0, i


def _first(state: State, spec: Spec, a: int) -> tuple[int, int]:
    """Where to start the walk over the arms that a replaces: two ends of a path, or arm 0."""
    if spec.structure == PARTITION:
        return 0, 0
    return state.table[0, a], state.table[1, a]


def _next(state: State, spec: Spec, a: int, u: int, v: int) -> tuple[int, int, int]:
    """The next arm of M that a replaces, or -1, and where to go on."""
    if spec.structure == PARTITION:
        while u < spec.n_arms:
            if state.high[u] and state.table[0, u] == state.table[0, a]:
                return u, u + 1, v
            u += 1
        return -1, u, v
    if u == v:
        return -1, u, v
    above, depth = state.orders[REVISED], state.weights[REVISED]
    if depth[u] < depth[v]:
        u, v = v, u
    b = above[u]
    return b, state.table[0, b] + state.table[1, b] - u, v


def _weakest(state: State, spec: Spec, a: int) -> tuple[int, float]:
    """Of the arms that a replaces the one with the lowest lower bound (ties: any fixed order)."""
    if spec.structure == PARTITION:
        group = state.table[0, a]
        return state.orders[REVISED, group], state.weights[REVISED, group]
    weakest, bound = -1, inf
    u, v = _first(state, spec, a)
    b, u, v = _next(state, spec, a, u, v)
    while b >= 0:
        lower = _lower(state, spec, b)
        if lower < bound or (lower == bound and b < weakest):
            weakest, bound = b, lower
        b, u, v = _next(state, spec, a, u, v)
    return weakest, bound


def _replaces(state: State, spec: Spec, a: int, wanted: int) -> bool:
    """Whether a, outside M, can replace that arm of M."""
    u, v = _first(state, spec, a)
    b, u, v = _next(state, spec, a, u, v)
    while b >= 0 and b != wanted:
        b, u, v = _next(state, spec, a, u, v)
    return b >= 0


@outlined
def _worst(state: State, spec: Spec) -> tuple[int, int, float]:
    """The pair b in M, a outside with the largest gap between their bounds, and that gap."""
    if spec.structure == PARTITION:
        _scan_groups(state, spec)
    else:
        _hang_tree(state, spec)
    worst_b, worst_a, worst = -1, -1, -inf
    for a in range(spec.n_arms):
        if not state.high[a]:
            b, lower = _weakest(state, spec, a)
            gap = _upper(state, spec, a) - lower
            if b >= 0 and gap > worst:
                worst_b, worst_a, worst = b, a, gap
    return worst_b, worst_a, worst


@outlined
def _holds(state: State, spec: Spec, h: int, l: int) -> bool:  # noqa: E741
    """Whether every pair is certified by its evidence; (h, l) is the worst by bounds."""
    j = state.clock[WITNESS_OUT]
    if j >= 0 and not state.high[j] and _replaces(state, spec, j, state.clock[WITNESS_IN]):
        low = _lower(state, spec, state.clock[WITNESS_IN])
        if hybrid.is_refuted(state, spec, low, _upper(state, spec, j) - spec.epsilon):
            return False
    if not hybrid.pair_holds(state, spec, h, l, _lower(state, spec, h), _upper(state, spec, l)):
        return False
    for a in range(spec.n_arms):
        if state.high[a]:
            continue
        upper = _upper(state, spec, a)
        if upper - _weakest(state, spec, a)[1] <= spec.epsilon:
            continue
        u, v = _first(state, spec, a)
        b, u, v = _next(state, spec, a, u, v)
        while b >= 0:
            if not hybrid.pair_holds(state, spec, b, a, _lower(state, spec, b), upper):
                return False
            b, u, v = _next(state, spec, a, u, v)
    return True


@outlined
def critical(state: State, spec: Spec) -> tuple[int, int, float]:
    """M brought up to date, its worst pair and the gap between their bounds."""
    cpe.means(state, spec)
    cpe.solve(state, spec, EMPIRICAL, False)
    h, l, gap = _worst(state, spec)  # noqa: E741 - the paper's names for such a pair
    # mu(OPT) - mu(M) is a sum over at most so many exchanges
    state.widths[LEAD] = gap * min(spec.k, spec.n_arms - spec.k)
    return h, l, gap


@outlined
def is_certified(state: State, spec: Spec) -> bool:
    """Whether the present answer is proved, by bounds or by evidence of both sides together."""
    h, l, gap = critical(state, spec)  # noqa: E741
    if gap <= spec.epsilon:
        return True
    return spec.hybrid and _holds(state, spec, h, l)


@outlined
def ask(state: State, spec: Spec, out: IntArray) -> int:
    """One arm of the worst pair; 0 when every pair is certified."""
    h, l, gap = critical(state, spec)  # noqa: E741
    if gap <= spec.epsilon:
        return 0
    if hybrid.is_due(state, spec) and _holds(state, spec, h, l):
        return 0
    return lucb.choose(state, spec, h, l, out)


@outlined
def build(state: State, spec: Spec) -> None:
    """The first basis."""
    for i in range(spec.n_arms):
        state.orders[EMPIRICAL, i] = i
        cpe.tell(state, spec, i)
    cpe.means(state, spec)
    cpe.solve(state, spec, EMPIRICAL, True)
