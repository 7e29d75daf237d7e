"""lil'UCB (Jamieson, Malloy, Nowak and Bubeck 2014), for the single best arm."""

from __future__ import annotations

from bestk.kernels import bounds, trees
from bestk.kernels.types import HIGH, INDEX, MOST, TOTAL, IntArray, Spec, State, outlined


@outlined
def build(state: State, spec: Spec) -> None:
    """The tree of upper bounds m + (1 + beta) U(T, delta), once every arm has been sampled."""
    for i in range(spec.n_arms):
        bounds.set_key(state, spec, INDEX, i, HIGH)
    bounds.build(state, spec, INDEX)


def ask(state: State, spec: Spec, out: IntArray) -> int:
    """The highest upper bound; 0 once one arm outweighs all others."""
    # Figure 1 of Jamieson et al.: while T_i < 1 + lambda * sum of the other T_j for all i
    most = state.counts[state.clock[MOST]]
    if most >= 1.0 + spec.lam * (state.clock[TOTAL] - most):
        return 0
    out[0] = trees.winner(state.nodes, INDEX)
    return 1


def tell(state: State, spec: Spec, i: int) -> None:
    """The new upper bound of arm i."""
    bounds.place(state, spec, INDEX, i, HIGH)
