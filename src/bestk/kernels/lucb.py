"""The LUCB family: compare h, the weakest arm of High, with l, the strongest of Low.

lil'RandLUCB is Algorithm 1 of the paper. With the paper open, line by line:

| Algorithm 1      | here                                                                        |
|------------------|-----------------------------------------------------------------------------|
| line 1           | `step.begin`: every arm once, in the order of their numbers                 |
| lines 3 and 4    | `top_means`: High, the K largest empirical means; Low, the rest             |
| lines 5 and 6    | `_place`: m - U(T, w) of arms of High, m + U(T, w) of arms of Low, as keys  |
|                  | of two trees; U is `bounds.lil`, the w's are `bestk/bounds/levels.py`       |
| lines 7 and 8    | `critical`: h_t and l_t, the winners of these trees                         |
| line 9           | `ask`: stop when the two bounds separate                                    |
| line 10          | `choose`: h_t with probability T_l / (T_h + T_l), otherwise l_t             |
| line 11          | `step.tell`: T_i and the mean; `tell`: the trees                            |

On the same pair: LUCB (Kalyanakrishnan et al. 2012), lil'LUCB, LUCB++ (Simchowitz et al. 2017),
e-lucb (docs/e-lucb.md) and uniform sampling. They differ in the bounds and their levels, in the
rule that picks from the pair; e-lucb may stop before its bounds separate (`hybrid.py`), and glr is
e-lucb with a stop that takes no notice of them (`glr.py`).

| policy         | bounds (`Spec.radius`) | picks (`Spec.rule`)  | stops                       |
|----------------|------------------------|----------------------|-----------------------------|
| lil-rand-lucb  | LIL                    | RANDOM               | bounds separate             |
| lil-lucb       | LIL                    | BOTH                 | bounds separate             |
| lucb++         | LIL, split levels      | BOTH                 | bounds separate             |
| lucb           | LUCB_ROUNDS            | BOTH                 | bounds separate             |
| uniform        | LIL                    | EVERY                | bounds separate             |
| e-lucb         | EVIDENCE               | RADIUS               | these, or `hybrid.holds`    |
| glr            | EVIDENCE               | RADIUS               | `glr.holds` (unproved)      |
"""

from __future__ import annotations

from math import inf, sqrt

from bestk.kernels import bounds, finite, glr, hybrid, quantile_stop, rng, top_means, trees
from bestk.kernels.types import (
    ASKS,
    BOTH,
    EVERY,
    EVIDENCE,
    FINITE,
    HIGH,
    LEAST_SAMPLED,
    LOW,
    LOWER,
    QUANTILE,
    RADIUS,
    RUN,
    UPPER,
    IntArray,
    Spec,
    State,
    outlined,
)


def _place(state: State, spec: Spec, i: int) -> None:
    """Algorithm 1, lines 5 and 6: High arms show their lower bound, Low arms their upper bound."""
    if state.high[i]:
        bounds.place(state, spec, LOWER, i, LOW)
    else:
        bounds.place(state, spec, UPPER, i, HIGH)


@outlined
def build(state: State, spec: Spec) -> None:
    """All trees, once every arm has been sampled."""
    top_means.build(state, spec)
    for i in range(spec.n_arms):
        if state.high[i]:
            bounds.set_key(state, spec, LOWER, i, LOW)
        else:
            bounds.set_key(state, spec, UPPER, i, HIGH)
    bounds.build(state, spec, LOWER)
    bounds.build(state, spec, UPPER)


def ask(state: State, spec: Spec, out: IntArray) -> int:
    """The next round; 0 when the bounds separate."""
    h, l, lower, upper = critical(state, spec)  # noqa: E741 - the paper's name
    if spec.glr:
        return 0 if glr.holds(state, spec, h, l) else choose(state, spec, h, l, out)
    # Algorithm 1, line 9: stop when the bounds separate, up to the slack
    if bounds.gap(state, spec, lower, upper) <= spec.epsilon:
        return 0
    if hybrid.is_due(state, spec) and _both_hold(state, spec, h, l, lower, upper):
        return 0
    return choose(state, spec, h, l, out)


def critical(state: State, spec: Spec) -> tuple[int, int, float, float]:
    """The pair h, l, the lower bound of h and the upper bound of l."""
    bounds.advance(state, spec, LOWER)
    bounds.advance(state, spec, UPPER)
    # Algorithm 1, line 7: h_t, the arm of High with the lowest lower bound
    h = trees.winner(state.nodes, LOWER)
    # line 8: l_t, the arm of Low with the highest upper bound
    l = trees.winner(state.nodes, UPPER)  # noqa: E741
    return h, l, bounds.index(state, spec, LOWER, h), bounds.index(state, spec, UPPER, l)


@outlined
def is_certified(state: State, spec: Spec) -> bool:
    """Whether the present answer is proved, by bounds or by evidence of both sides together."""
    h, l, lower, upper = critical(state, spec)  # noqa: E741
    if bounds.gap(state, spec, lower, upper) <= spec.epsilon:
        return True
    return spec.hybrid and _both_hold(state, spec, h, l, lower, upper)


def _both_hold(state: State, spec: Spec, h: int, l: int, lower: float, upper: float) -> bool:  # noqa: E741
    """Whether the evidence of both sides together certifies the answer."""
    if state.evidence.kind == QUANTILE:
        return quantile_stop.holds(state, spec, h, l, lower, upper)
    return hybrid.holds(state, spec, h, l, lower, upper)


def choose(state: State, spec: Spec, h: int, l: int, out: IntArray) -> int:  # noqa: E741
    """What is sampled of the pair."""
    if spec.rule == EVERY:
        for i in range(spec.n_arms):
            out[i] = i
        return spec.n_arms
    if state.evidence.kind == FINITE and finite.is_exhausted(state, h):
        out[0] = l  # which has items left: two means that are known are told apart
        return 1
    if state.evidence.kind == FINITE and finite.is_exhausted(state, l):
        out[0] = h
        return 1
    if spec.rule == BOTH:
        out[0], out[1] = h, l
        return 2
    t_h, t_l = state.counts[h], state.counts[l]
    if spec.rule == LEAST_SAMPLED:
        # Gabillon et al. (2012), as in the paper's second footnote of Section 3
        out[0] = h if t_h <= t_l else l
        return 1
    coin = rng.uniform(spec.seed, state.clock[RUN], 0, state.clock[ASKS], rng.COIN)
    if spec.rule == RADIUS:
        # the wider interval more often: h_t with probability u_h / (u_h + u_l)
        u_h = bounds.half_width(state, spec, h, LOW)
        u_l = bounds.half_width(state, spec, l, HIGH)
        if spec.radius == EVIDENCE and state.evidence.kind == QUANTILE:
            u_h, u_l = max(u_h, 0.0), max(u_l, 0.0)
            if not 0.0 < u_h + u_l < inf:  # too few to have a bound, or all alike
                out[0] = h if t_h <= t_l else l
                return 1
        if spec.radius == EVIDENCE and min(state.root_costs[h], state.root_costs[l]) < 1.0:
            # of arms that cost c: u / c^(3/4), docs/e-lucb.md, "Costs"
            u_h /= state.root_costs[h] * sqrt(state.root_costs[h])
            u_l /= state.root_costs[l] * sqrt(state.root_costs[l])
        out[0] = h if coin * (u_h + u_l) < u_h else l
        return 1
    # Algorithm 1, line 10: h_t with probability T_l / (T_h + T_l), otherwise l_t
    out[0] = h if coin * (t_h + t_l) < t_l else l
    return 1


def tell(state: State, spec: Spec, i: int) -> None:
    """Restore High and the two trees of bounds after arm i got a new mean."""
    left, entered = top_means.refresh(state, i)
    if left >= 0:
        bounds.remove(state, spec, LOWER, left)
        bounds.remove(state, spec, UPPER, entered)
        _place(state, spec, left)
        _place(state, spec, entered)
    if i not in (left, entered):
        _place(state, spec, i)
