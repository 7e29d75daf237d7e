"""At nu = 0.1 a proved policy errs at most that often on a small instance of every class.

Seeds are fixed; a test fails only if what it saw had probability below 1e-6 under P(wrong) <= nu.
"""

from functools import cache

import numpy as np
import pytest
from scipy import stats

import bestk
from bestk.simulation import generate, structured

TAIL, NU = 1e-6, 0.1


def generated(decision, text, gap):
    found = generate(text, decision, gap, True)
    return structured(found.decision, found.means)


def instances():
    """And the runs of either policy: fewer where an oracle is called from Python."""
    many = 5000, 5000
    program = bestk.BinaryProgram([[1.0, 2.0, 3.0]], [0], [3])  # {0, 1} or {2}
    roads = bestk.Path([(0, 1), (1, 2), (0, 2)], 0, 2, directed=False)
    return {
        "partition": (
            structured(bestk.PartitionMatroid([0, 0, 1, 1, 1], [1, 2]), [0.5, 0, 0, 0.5, 0.5]),
            *many,
        ),
        "explicit": (
            structured(bestk.ExplicitSets([[0, 1], [2, 3], [1, 2]]), [0.4, 0.4, 0, 0]),
            *many,
        ),
        "spanning-tree": (generated("spanning-tree", "grid:2x3", 0.5), *many),
        "path": (generated("path", "grid:2x3", 0.4), *many),
        "roads": (structured(roads, [0.3, 0.3, 1.1], maximize=False), *many),
        "matching": (generated("matching", "bipartite:2x2", 0.7), 200, 100),
        "binary-program": (structured(program, [1.0, 1.0, 0.0]), 30, 20),
    }


CASES, POLICIES = instances(), ("lil-clucb", "clucb")
EVERY = pytest.mark.parametrize(
    ("policy", "case"), [(policy, case) for policy in POLICIES for case in CASES]
)
pytestmark = pytest.mark.compiled


@cache
def simulated(policy, case):
    instance, *runs = CASES[case]
    return bestk.simulate(instance, policy, delta=NU, runs=runs[POLICIES.index(policy)], seed=21)


def check(result):
    assert result.unfinished == 0
    assert stats.binom.sf(result.wrong - 1, result.runs, NU) > TAIL, result.wrong


@EVERY
def test_a_proved_policy_errs_at_most_nu(policy, case):
    check(simulated(policy, case))


@EVERY
def test_no_proved_policy_beats_the_lower_bound(policy, case):
    result = simulated(policy, case)
    if result.lower_bound is not None:
        assert result.mean > result.lower_bound
    assert np.all(result.samples >= CASES[case][0].decision.n_arms)
