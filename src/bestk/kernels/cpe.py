"""Algorithm 3 of the paper (generalised lil'CLUCB) and CLUCB over any decision class.

A step is split at the oracle: `means`, oracle, `revise`, oracle, `choose`. A compiled oracle runs
them inside `ask`; a Python oracle runs the same pieces from `policies/stepper.py`.

| Algorithm 3    | here                                                         |
|----------------|--------------------------------------------------------------|
| line 1         | `step.begin`: every arm once                                 |
| lines 3 and 4  | `means`, then the oracle (`solve`): M                        |
| lines 5 to 7   | `revise`: lower bounds inside M, upper bounds outside        |
| line 8         | the oracle again: Mt                                         |
| lines 9 and 10 | `choose`: stop, or the largest radius where M and Mt differ  |

Where no weight can exceed `ceiling` (costs that are not negative, minimised), means and upper
bounds are cut there: a bound stays valid, and the oracle never sees an impossible weight.
"""

from __future__ import annotations

from math import sqrt

from bestk.kernels import bounds, oracles
from bestk.kernels.types import (
    EMPIRICAL,
    EVIDENCE,
    HIGH,
    LEAD,
    LOW,
    NO_ORACLE,
    REVISED,
    SIGN,
    WIDTH,
    IntArray,
    Spec,
    State,
    outlined,
)

ROUNDING = 1e-9  # of all weights together: what an oracle in floating point may be off


def _radius(state: State, spec: Spec, i: int) -> float:
    """The distance of the revised mean from the mean: down inside M, up outside."""
    if bounds.grows(spec):
        return state.widths[WIDTH] * state.slopes[0, i]
    return bounds.half_width(state, spec, i, LOW if state.high[i] else HIGH)


def _revised(state: State, spec: Spec, i: int) -> float:
    """The lower bound of an arm of M, the upper bound of any other."""
    end = LOW if state.high[i] else HIGH
    if bounds.grows(spec):
        return state.means[i] + SIGN[end] * _radius(state, spec, i)
    return bounds.current(state, spec, i, end)


def means(state: State, spec: Spec) -> None:
    """Algorithm 3, line 3: the weights of the first oracle call."""
    for i in range(spec.n_arms):
        state.weights[EMPIRICAL, i] = min(state.means[i], spec.ceiling)


def revise(state: State, spec: Spec) -> bool:
    """Algorithm 3, lines 5 to 7: lower bounds inside M, upper bounds outside.

    True if M weighs less than the set in `other`, which no exact oracle returns: around a Python
    oracle that is the M before. A compiled oracle needs no such check.
    """
    lead, size, known = 0.0, 0.0, False
    for i in range(spec.n_arms):
        revised = _revised(state, spec, i)
        state.weights[REVISED, i] = min(revised, spec.ceiling)
        empirical = state.weights[EMPIRICAL, i]
        size += abs(empirical)
        known |= state.other[i]
        if state.high[i] != state.other[i]:
            lead += empirical if state.high[i] else -empirical
    return known and lead < -ROUNDING * size


def choose(state: State, spec: Spec, out: IntArray) -> int:
    """Algorithm 3, lines 9 and 10: 0 to stop, or 1 with the largest radius where M and Mt differ.

    -1 if Mt is worse than M under the revised means, which no exact oracle returns.
    """
    lead, size, largest, arm = 0.0, 0.0, 0.0, -1
    for i in range(spec.n_arms):
        revised = state.weights[REVISED, i]
        size += abs(revised)
        if state.high[i] != state.other[i]:
            lead += revised if state.other[i] else -revised
            u = _radius(state, spec, i)
            if spec.radius == EVIDENCE:  # u ~ 1/sqrt(T), so that T sqrt(c) is what is least
                u /= sqrt(state.root_costs[i])
            if arm < 0 or u > largest:
                largest, arm = u, i
    if lead < -ROUNDING * size:
        return -1
    state.widths[LEAD] = lead
    # "M = Mt", made safe for ties and for slack on the total
    if lead <= spec.epsilon:
        return 0
    out[0] = arm
    return 1


def solve(state: State, spec: Spec, row: int, fresh: bool) -> None:
    """Lines 4 and 8: M (row EMPIRICAL) or Mt (row REVISED), by the compiled oracle."""
    found = state.high if row == EMPIRICAL else state.other
    oracles.best(
        spec.structure, state.table, spec.source, spec.target, state.weights[row],
        state.orders[row], state.parent, state.value, fresh, found,
    )  # fmt: skip


@outlined
def ask(state: State, spec: Spec, out: IntArray) -> int:
    """One step with a compiled oracle."""
    compare(state, spec)
    return choose(state, spec, out)


@outlined
def compare(state: State, spec: Spec) -> None:
    """M, Mt and the lead of Mt, by the compiled oracle."""
    means(state, spec)
    solve(state, spec, EMPIRICAL, False)
    revise(state, spec)
    solve(state, spec, REVISED, False)
    lead(state, spec)


def lead(state: State, spec: Spec) -> None:
    """By how much Mt beats M under the revised means."""
    total = 0.0
    for i in range(spec.n_arms):
        if state.high[i] != state.other[i]:
            revised = state.weights[REVISED, i]
            total += revised if state.other[i] else -revised
    state.widths[LEAD] = total


@outlined
def build(state: State, spec: Spec) -> None:
    """Both sets once from scratch, after which a greedy oracle may skip what has not moved."""
    for i in range(spec.n_arms):
        state.orders[EMPIRICAL, i] = state.orders[REVISED, i] = i
        tell(state, spec, i)
    if spec.structure != NO_ORACLE:
        means(state, spec)
        solve(state, spec, EMPIRICAL, True)
        revise(state, spec)
        solve(state, spec, REVISED, True)


def tell(state: State, spec: Spec, i: int) -> None:
    """Keep 1/sqrt(T_i) or both bounds, whichever the radius needs."""
    if bounds.grows(spec):
        state.slopes[0, i] = 1.0 / float(state.counts[i]) ** 0.5
    elif bounds.inverts(state, spec):
        bounds.bound(state, spec, i, LOW)
        bounds.bound(state, spec, i, HIGH)
