"""`costs=`: what pulls cost decides who is sampled, and nothing of what is proved."""

import random

import pytest

import bestk
from bestk.errors import InputError
from bestk.storage import MemoryStorage
from bestk.study.certificate import make_certificate
from bestk.verification import verify

MEANS = {"a": 0.9, "b": 0.5, "c": 0.1}
COSTS = {"a": 10, "b": 1, "c": 1}


def noisy(seed=1):
    dice = random.Random(seed)
    return lambda arm: dice.gauss(MEANS[arm], 0.5)


def settings(**more):
    return {"k": 1, "rewards": bestk.Gaussian(0.5), "seed": 3, **more}


def pulls(result):
    return {arm.label: arm.pulls for arm in result.arms}


def test_a_cheap_arm_is_pulled_more_and_the_result_says_what_pulls_cost():
    plain = pulls(bestk.identify("abc", noisy(), **settings()))
    result = bestk.identify("abc", noisy(), **settings(costs=COSTS))
    paid = pulls(result)
    assert paid["a"] / paid["b"] < 0.7 * plain["a"] / plain["b"]
    assert result.totals == {"cost": sum(COSTS[arm] * n for arm, n in paid.items())}
    assert result.certified


def test_costs_come_by_arm_or_in_order_and_only_their_ratios_matter():
    by_arm = bestk.identify("abc", noisy(), **settings(costs=COSTS))
    in_order = bestk.identify("abc", noisy(), **settings(costs=(40, 4, 4)))
    assert pulls(by_arm) == pulls(in_order)
    alike = bestk.identify("abc", noisy(), **settings(costs=[7, 7, 7]))
    assert pulls(alike) == pulls(bestk.identify("abc", noisy(), **settings()))


def test_a_study_without_costs_says_nothing_of_them():
    storage = MemoryStorage()
    bestk.Study("s", "abc", k=1, seed=1, storage=storage)
    assert "costs" not in next(iter(storage.read("s"))).data


def test_costs_are_kept_and_a_resumed_study_asks_for_the_same_arms(tmp_path):
    def asked(study, n):
        found = []
        for _ in range(n):
            (pull,) = study.ask()
            found.append(pull.arm)
            study.tell(pull, pulled(pull.arm))
        return found

    pulled = noisy()
    whole = asked(bestk.Study("s", "abc", **settings(costs=COSTS)), 30)
    pulled, path = noisy(), tmp_path / "s.db"
    first = asked(bestk.Study("s", "abc", **settings(costs=COSTS), storage=path), 12)
    again = bestk.Study("s", storage=path, costs=COSTS)
    assert again.problem.costs == (10.0, 1.0, 1.0)
    assert first + asked(again, 18) == whole
    with pytest.raises(InputError, match="begun with"):
        bestk.Study("s", storage=path, costs=[10, 1, 2])


def test_a_certificate_of_few_normal_arms_is_verified_with_their_costs(tmp_path):
    """There the evidence of a pair looks at the costs, which are in the log as well."""
    path = tmp_path / "s.db"
    bestk.identify("abc", noisy(7), **settings(costs=COSTS), storage=path)
    certificate = make_certificate(path)
    assert certificate["problem"]["costs"] == [10.0, 1.0, 1.0]
    assert not verify(certificate, path).failed
    certificate["problem"]["costs"] = [1.0, 10.0, 1.0]
    assert verify(certificate, path).failed


def test_an_evaluation_samples_by_costs_too():
    items = list(range(60))
    score = lambda arm, item: float(item % 10 < {"a": 8, "b": 5, "c": 1}[arm])  # noqa: E731
    plain = bestk.evaluate("abc", items, score, k=1, seed=3)
    paid = bestk.evaluate("abc", items, score, k=1, seed=3, costs=COSTS)
    assert paid.top == plain.top == ("a",)
    assert pulls(paid)["a"] < pulls(plain)["a"]
    assert paid.totals["cost"] < sum(COSTS[arm] * n for arm, n in pulls(plain).items())


def test_a_cost_budget_counts_what_pulls_returned_or_else_what_they_are_said_to_cost():
    result = bestk.identify("abc", noisy(), **settings(costs=COSTS), cost=30)
    assert (result.stopped, result.certified) == ("budget", False)
    assert 30 <= result.totals["cost"] < 40
    pull = noisy()
    result = bestk.identify(
        "abc", lambda arm: (pull(arm), {"cost": 2.5}), **settings(costs=COSTS), cost=10
    )
    assert (result.samples, result.totals["cost"]) == (4, 10.0)


@pytest.mark.parametrize(
    ("costs", "more", "why"),
    [
        ({"a": 1, "b": 2}, {}, "'c' is an arm without a cost"),
        ({"a": 1, "b": 2, "c": 1, "d": 1}, {}, "'d'"),
        ([1, 2], {}, "each of the 3 arms"),
        ([1, 2, 0], {}, "a positive number"),
        ([1, 2, float("inf")], {}, "a positive number"),
        (["1", "2", "3"], {}, "must all be numbers"),
        (3, {}, "as a mapping"),
        ([1, 2, 3], {"policy": "lucb"}, "its own rule chooses"),
        ([1, 2, 3], {"policy": "lil-rand-lucb"}, "e-lucb and e-clucb"),
        ([1, 2, 3], {"params": {"rule": "both"}}, "rule=both"),
        ([1, 2, 3], {"max_arms": 5}, "max_arms"),
    ],
)
def test_costs_that_cannot_be_heeded_are_refused(costs, more, why):
    with pytest.raises(InputError, match=why):
        bestk.Study("s", "abc", k=1, costs=costs, **more)
