"""What verification lets a study claim: what the library promises of it, and nothing else."""

import math
from itertools import product

import pytest

import bestk
from bestk.policies import CATALOGUE
from bestk.problem import Problem
from bestk.verification import classes
from bestk.verification.claims import POLICIES, read_claim

# Every setting of every policy, with values that some policy allows and values that none does.
SETTINGS = {
    "levels": ["split", "uniform", "hybrid", "Split", True],
    "rule": ["random", "radius", "both", "least-sampled", "every", 1],
    "bound": ["lil", "evidence", "rounds", ""],
    "independent": [True, False, "false", "TRUE", 0, "no"],
    "weights": ["0.5,0.25,0.25", [0.6, 0.4, 0.0], [0.5, 0.5, 0.5], [0.5, 0.5], [1, 0, 0], None],
    "eps": [0.02, "0.05", 0.0, 1.0, -0.5, "much", True],
    "temperature": [1.0],
}
VARIANTS = [None, "faithful", "heuristic", "odd"]
DECISIONS = [
    bestk.TopK(2, 1),
    bestk.TopK(10, 3),
    bestk.PartitionMatroid(list("aabbb"), {"a": 1, "b": 2}),
    bestk.SpanningTree([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)]),
    bestk.ExplicitSets([[0], [1, 2]]),
]


def single_settings():
    """Nothing, every value of every setting, and some that only make sense or nonsense together."""
    yield {}
    for name, values in SETTINGS.items():
        for value in values:
            yield {name: value}
    for name, value in (("levels", "uniform"), ("levels", "hybrid"), ("eps", 0.02),
                        ("weights", "0.5,0.25,0.25"), ("rule", "both")):  # fmt: skip
        yield {"bound": "evidence", name: value}
    for weights in ([0.3, 0.3, 0.4], [0.5, 0.5, 0.0]):
        yield {"independent": False, "weights": weights}
    yield {"levels": "uniform", "eps": 0.02, "rule": "radius", "bound": "lil"}


def promised(problem, max_arms):
    """What the library promises of a problem; None if it refuses it or promises nothing."""
    try:
        decision = problem["decision"]
        made = Problem(decision, **{name: value for name, value in problem.items()
                                    if name != "decision"})  # fmt: skip
        configured = made.configure(0, max_arms)
    except bestk.InputError:
        return None
    return None if configured.guarantee is None else (made.to_dict(), configured)


def claimed(problem, max_arms, decision):
    """What verification lets it claim; None if it is refused."""
    try:
        return read_claim(problem, max_arms, decision)
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize("policy", CATALOGUE)
def test_a_setting_is_allowed_where_the_library_promises_something_and_nowhere_else(policy):
    allowed = refused = 0
    for decision in DECISIONS:
        restated = classes.read_decision(decision.to_dict(), decision.n_arms)
        for params, variant, max_arms in product(single_settings(), VARIANTS, (None, 120, 1)):
            given = {"decision": decision, "policy": policy, "params": params, "variant": variant,
                     "epsilon": 0.1 if CATALOGUE[policy].slack else 0.0}  # fmt: skip
            expected = promised(given, max_arms)
            plain = {**Problem(decision).to_dict(), **given, "decision": decision.to_dict()}
            found = claimed(plain, max_arms, restated)
            assert (found is None) == (expected is None), (params, variant, max_arms, decision)
            if expected is None or found is None:
                refused += 1
                continue
            allowed += 1
            data, configured = expected
            if "stop" in data["params"].keys() - params.keys():
                found = claimed(data, max_arms, restated)  # recorded: 0.1 said nothing of it
            assert claimed(data, max_arms, restated) == found
            assert_same(found, configured)
    assert refused > 100
    assert allowed > 1 or policy in ("lil-ucb", "glr") or CATALOGUE[policy].is_python


def assert_same(claim, configured):
    spec = configured.spec
    assert (claim.nu, claim.theorem) == (configured.guarantee, configured.theorem)
    assert claim.epsilon == spec.epsilon
    if claim.levels is not None:
        both = math.exp(spec.log_both) if spec.log_both > -math.inf else 0.0
        expected = (spec.level_lower, spec.level_upper, both)
        assert (claim.lower, claim.upper, claim.product) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [2, 30, 101])
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_levels_and_theorems_are_those_of_the_catalogue(policy, n):
    for k in {1, n // 2, n - 1}:
        problem = Problem(bestk.TopK(n, k), policy=policy, epsilon=0.1)
        claim = read_claim(problem.to_dict(), None, classes.TopK(n, k))
        assert_same(claim, problem.configure(0))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"policy": "lil-ucb"}, "policy lil-ucb"),
        ({"policy": "glr"}, "policy glr"),
        ({"policy": "lil-lucb", "variant": "heuristic"}, "heuristic"),
        ({"variant": "faithful"}, "faithful variant"),
        ({"delta": 1.5}, "delta"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"maximize": "yes"}, "maximize"),
        ({"rewards": {"family": "cauchy"}}, "cauchy"),
        ({"rewards": {"family": "gaussian", "sigma": 0.0}}, "sigma"),
        ({"rewards": {"family": "bernoulli", "sigma": 0.1}}, "bernoulli"),
        ({"rewards": {"family": "bounded", "low": 1.0, "high": 0.0}}, "sigma"),
        ({"policy": "lil-lucb", "params": {"eps": 1.5}}, "eps"),
        ({"params": {"weights": [0.5, 0.5, 0.5]}}, "weights"),
        ({"params": {"weights": [0.3, 0.3, 0.4], "independent": False}}, "dependent"),
        ({"policy": "lil-rand-lucb", "params": {"levels": "hybrid"}}, "levels"),
        ({"policy": "lil-lucb", "params": {"levels": "split"}}, "no setting levels"),
        ({"surprise": 1}, "other settings"),
    ],
)
def test_what_no_theorem_covers_is_an_error(change, why):
    problem = {**Problem(bestk.TopK(5, 2)).to_dict(), **change}
    with pytest.raises(ValueError, match=why):
        read_claim(problem, None, classes.TopK(5, 2))
