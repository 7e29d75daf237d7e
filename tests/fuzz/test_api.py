"""Two thousand calls of the API, drawn from a seed: errors of bestk's or TypeErrors, nothing else.

And what is refused changes nothing: a study has the same observations, open pulls and result.
"""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import bestk
from bestk.errors import BestkError
from bestk.storage import MemoryStorage
from bestk.study import Runner, Study

CALLS = 500  # for each of four seeds
HUGE = 10**400


def half(_):
    """A pull, or a function where none is wanted."""
    return 0.5


ODD = [
    None, True, False, -1, 0, 1, 2, 0.5, -0.5, 1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324,
    HUGE, -HUGE, 10**5000, 1 << 63, 1 << 64, 0.5j, complex(math.nan), Decimal("0.5"),
    Decimal("nan"), Decimal("snan"), Decimal("1e400"), Fraction(1, 3), np.uint8(1), np.int8(-1),
    np.float16(0.5), np.float32("nan"), np.longdouble(0.5), np.longdouble("1e4000"),
    np.complex64(1), np.clongdouble(0.5), np.bool_(True), np.array(0.5), np.array([0.5]),
    np.array([[1, 2]]), np.array([]), np.array("x"), np.datetime64(1, "s"),
    np.timedelta64(1, "s"), "", "x", "0.5", "é", "\udc80", "\x00", b"x", bytearray(b"1"), [], [1],
    [[1], 2], (), ("a", "b"), {}, {"a": 1}, {1, 2}, range(3), iter([1, 2]), object(), object, int,
    len, half, bestk.Bernoulli, bestk.TopK, bestk.Bernoulli(), bestk.TopK(3, 1), MemoryStorage,
    slice(1), NotImplemented, ...,
]  # fmt: skip
SMALL = [1, 2, 5, np.uint8(7), 3.0]  # of what would take long: always these, or odd and refused
ENDLESS = [value for value in ODD if value is None or (isinstance(value, int) and value > 9)]
LIMITED = [value for value in ODD if not any(value is each for each in ENDLESS)]
ARMS = ["abc", ["a", "b", "c"], range(4), (1, "1", 2.5)]
MEANS = [[0.9, 0.5, 0.1], (1, 0), np.array([0.3, 0.2, 0.1, 0.0]), [Decimal("0.5"), Fraction(1, 3)]]
REWARDS = [
    bestk.Bernoulli(), bestk.Bounded(), bestk.Bounded(-1, 2), bestk.Gaussian(),
    bestk.Ratings([0, 1]),
]  # fmt: skip
TREE = bestk.SpanningTree([(0, 1), (1, 2), (0, 2)])
SETTINGS = {
    "delta": [0.05, 0.5, np.float32(0.25)], "epsilon": [0.0, 0.3, Decimal("0.1")],
    "rewards": REWARDS, "maximize": [True, False], "variant": ["faithful", "heuristic"],
    "policy": ["e-lucb", "lucb", "lil-rand-lucb", "uniform", "lil-ucb", "ugape", "glr"],
    "params": [{}, {"eps": 0.01}, {"bound": "evidence"}], "seed": [1, np.int64(7)],
    "lease": [10.0, 1e10], "max_arms": [5, 9], "durability": ["process", "full"],
    "decision": [bestk.TopK(3, 1), bestk.ExplicitSets([[0], [1, 2]])],
}  # fmt: skip
KINDS = [
    bestk.TopK, bestk.ExplicitSets, bestk.PartitionMatroid, bestk.SpanningTree,
    bestk.BipartiteMatching, bestk.Path, bestk.Oracle,
]  # fmt: skip
NOT_CALLS = ("__init__", "one", "some", "settings", "study")


class Draw:
    """Calls with arguments most of which make sense."""

    def __init__(self, seed, folder):
        self.rng, self.folder = random.Random(seed), folder

    def one(self, usual, odd=ODD, share=0.15):
        return self.rng.choice(odd if self.rng.random() < share else usual)

    def some(self, **choices):
        """A few settings by name."""
        names = self.rng.sample(list(choices), self.rng.randint(0, min(3, len(choices))))
        return {name: self.one(choices[name]) for name in names}

    def settings(self, names):
        return self.some(**{name: SETTINGS[name] for name in names.split()})

    def study(self):
        files = [None, None, MemoryStorage(), self.folder / f"{self.rng.random()}.db"]
        settings = self.some(**SETTINGS)
        if "decision" not in settings or self.rng.random() < 0.1:
            settings["k"] = self.one([1, np.uint8(1), 2])
        name, arms = self.one(["study", "é"]), self.one(ARMS)
        return Study(name, arms, storage=self.one(files), **settings)

    def identify(self):
        settings = self.settings("delta epsilon rewards maximize policy params seed lease")
        settings |= self.some(
            timeout=[5.0, 1e10, math.inf], retries=[0, 2], parallel=[1, 2],
            executor=[self.threads], progress=[half],
        )  # fmt: skip
        reward = self.one([0, 1, 0.5, 1.0])
        pull = self.one([lambda _: reward])
        arms, k, budget = self.one(ARMS), self.one([1, 2]), self.one(SMALL, LIMITED)
        return bestk.identify(arms, pull, k=k, budget=budget, backoff=0, **settings)

    def simulate(self):
        settings = self.settings("delta epsilon maximize policy variant params seed")
        settings |= self.some(jobs=[1, 2], executor=[self.threads])
        means = self.one([*MEANS, "1-sparse"])
        if isinstance(means, str):
            settings["arms"] = self.one([3, 5], LIMITED)
        return bestk.simulate(
            means, k=self.one([1, 2, "N/2"]), runs=self.one(SMALL, LIMITED),
            max_samples=self.one([1, 30, 300], LIMITED), **settings,
        )  # fmt: skip

    def plan(self):
        return bestk.plan(
            self.one(MEANS), k=self.one([1]), policies=self.one([["uniform"]]),
            epsilons=self.one([None, [0.5]]), runs=self.one([1, 2], LIMITED),
            max_samples=self.one([1, 100], LIMITED), **self.settings("delta epsilon maximize seed"),
        )  # fmt: skip

    def difficulty(self):
        some = self.some(delta=[0.1], sigma=[0.5, 1], eps=[0.01], rewards=REWARDS)
        return bestk.difficulty(self.one(MEANS), self.one([1, np.int8(1)]), **some)

    def combinatorial(self):
        some = self.some(delta=[0.1], sigma=[0.5, 1], eps=[0.01], max_calls=[10, 100])
        decision = self.one([bestk.TopK(3, 1), TREE])
        return bestk.combinatorial_difficulty(decision, self.one(MEANS), **some)

    def sequence(self):
        data = self.one([[0, 1, 1], [0.5, True], np.array([0.25, 1.0])])
        if isinstance(data, list) and self.rng.random() < 0.5:
            data = [*data, self.one([1])]
        return bestk.confidence_sequence(self.one(REWARDS), data, self.one([0.05, 0.5]))

    def assumption(self):
        family = self.rng.choice([bestk.Gaussian, bestk.SubGaussian, bestk.Ratings, bestk.Bounded])
        made = family(*(self.one([1, 2, [1, 2]]) for _ in range(self.rng.randint(0, 2))))
        return made.validate(self.one([1.0]))

    def problem(self):
        some = self.settings("delta epsilon rewards policy variant params maximize")
        made = bestk.Problem(self.one([bestk.TopK(3, 1), TREE]), **some)
        assert bestk.Problem.from_dict(made.to_dict()).to_dict() == made.to_dict()
        return made

    def decision(self):
        usual = [3, 1, [[0], [1]], [0, 0, 1], {0: 1, 1: 1}, [(0, 1), (1, 2), (0, 2)]]
        arguments = [self.one(usual, LIMITED) for _ in range(self.rng.randint(1, 3))]
        return self.rng.choice(KINDS)(*arguments)

    def instance(self):
        name, k = self.one(["1-sparse", "exponential", "means"]), self.one([1])
        some = self.some(alpha=[0.3], maximize=[True], means=MEANS)
        return bestk.make_instance(name, arms=self.one([3, 5], LIMITED), k=k, **some)

    def replayed(self):
        data = self.one([np.array([[1, 2], [3, 4]]), [[0.5, 0.25], [1.0, math.nan]]])
        return bestk.replay(data, k=self.one([1]), **self.some(draw=["table", "gaussian"]))

    def runner(self):
        some = self.some(parallel=[1, 2], seconds=[5.0], timeout=[5.0], retries=[1])
        pull, budget = self.one([lambda arm: arm == "b"]), self.one(SMALL, LIMITED)
        return Runner(Study("s", "abc", k=1, seed=1), pull, budget=budget, backoff=0, **some).run()


def state(study):
    result = study.result.to_dict()
    del result["seconds"]
    return study.samples, study.open, study.arms, study.is_stopped, result


def act(draw, study):
    """One step of a living study."""
    pulls = study.open or study.ask()
    pull = draw.one([*pulls, *(each.id for each in pulls)] or ["x"], share=0.2)
    reward = draw.one([0, 1, 0.5], share=0.5)
    return draw.rng.choice([
        lambda: study.ask(draw.one([1, 2, np.uint8(3)], LIMITED)),
        lambda: study.tell(pull, reward),
        lambda: study.tell_many([(each, draw.one([1.0], share=0.3)) for each in pulls]),
        lambda: study.tell_many(draw.one([[(pull, reward)]], share=0.5)),
        lambda: study.add(draw.one(study.arms), reward, draw.one(["a", "b", "c"])),
        lambda: study.fail(pull, draw.one(["why"])),
        lambda: study.forget(pull),
        lambda: study.add_arm(draw.one(["d", "e", 7])),
        lambda: study.withdraw_arm(draw.one(study.arms)),
    ])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_calls_are_answered_or_refused(seed, tmp_path):
    draw, studies, refused, answered = Draw(seed, tmp_path), [], 0, 0
    calls = [
        getattr(draw, name)
        for name, value in vars(Draw).items()
        if callable(value) and name not in NOT_CALLS
    ]
    with ThreadPoolExecutor(2) as draw.threads, np.errstate(all="ignore"):
        for number in range(CALLS):
            study = draw.rng.choice(studies) if studies and draw.rng.random() < 0.5 else None
            if study is not None:
                call = act(draw, study)
                before = state(study)
            else:
                call = draw.study if draw.rng.random() < 0.2 else draw.rng.choice(calls)
            try:
                made = call()
            except (BestkError, TypeError):
                refused += 1
                if study is not None:
                    assert state(study) == before, f"seed {seed}, call {number}"
            except Exception as error:
                error.add_note(f"seed {seed}, call {number}")
                raise
            else:
                answered += 1
                if isinstance(made, Study):
                    studies.append(made)
    assert min(refused, answered) > CALLS / 10  # neither was drawn in vain
