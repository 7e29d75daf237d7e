"""Every reward family keeps the contract of reward families; broken ones are caught."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from bestk.kernels import evidence
from bestk.rewards import FAMILIES, Bernoulli, Bounded, Gaussian, Quantile, Ratings, SubGaussian
from bestk.testing import RewardFamilyContract, Source
from helpers.mutants import never_failing, survived


def normal(mean, sigma):
    return Source(mean, lambda dice, n: dice.normal(mean, sigma, n))


def of(values, shares):
    mean = float(np.dot(values, shares))
    return Source(mean, lambda dice, n: dice.choice(np.array(values, float), n, p=shares))


class TestGaussian(RewardFamilyContract):
    family = Gaussian(0.5)

    def make_rewards(self):
        return self.family

    def inside(self):
        return [0, -3.5, 1e6, True, np.float32(0.5), np.int8(-4), Fraction(1, 4), Decimal("2.5")]

    def outside(self):
        return []

    def sources(self):
        return [normal(0.0, 0.5), normal(-1.0, 0.5), normal(1.2, 0.5)]


class TestSubGaussian(TestGaussian):
    """Coins of +-sigma are as far out as it gets."""

    family = SubGaussian(2.0)

    def sources(self):
        return [of([-1, 3], [0.5, 0.5]), of([2, 6], [0.5, 0.5]), normal(-1.0, 2.0)]


class TestQuantile(TestGaussian):
    """Atoms at the quantile, heavy tails, and a median that is not unique."""

    family = Quantile()

    def sources(self):
        return [
            Source(0.0, lambda dice, n: dice.standard_cauchy(n)),
            Source(2.0, lambda dice, n: dice.choice([0.0, 2.0, 9.0], n, p=[0.3, 0.4, 0.3])),
            Source(-3.0, lambda dice, n: dice.choice([-4.0, -2.0], n)),
        ]


class TestUpperQuantile(TestGaussian):
    family = Quantile(0.9, relative=True)

    def inside(self):
        return [1, 3.5, 1e6, True, np.float32(0.5), Fraction(1, 4), Decimal("2.5")]

    def outside(self):
        return [0.0, -1.0, -1e-300]

    def sources(self):
        return [
            Source(float(np.log(10)), lambda dice, n: dice.exponential(1.0, n)),
            Source(10.0, lambda dice, n: dice.choice([1.0, 10.0, 20.0], n, p=[0.5, 0.45, 0.05])),
        ]


class TestBernoulli(RewardFamilyContract):
    def make_rewards(self):
        return Bernoulli()

    def inside(self):
        return [0, 1, 1.0, True, np.bool_(False), np.uint8(1), Fraction(1), Decimal(0)]

    def outside(self):
        return [0.5, -1, 2, 1e-300, np.nextafter(1, 2)]

    def sources(self):
        return [of([0, 1], [1 - p, p]) for p in (0.02, 0.5, 0.95)]


class TestRatings(RewardFamilyContract):
    runs = 25  # bets are slow to invert where nothing is compiled
    length = 30
    contests = 12

    def make_rewards(self):
        return Ratings((1, 2, 3, 4, 5))

    def inside(self):
        return [1, 5, 3.0, np.float16(2), Fraction(4), Decimal(2)]

    def outside(self):
        return [0, 6, 1.5, -1, np.nextafter(5, 6)]

    def sources(self):
        return [of([1, 5], [0.95, 0.05]), of([1, 2, 3, 4, 5], [0.0, 0.0, 0.0, 0.2, 0.8])]


class TestBounded(RewardFamilyContract):
    contests = 12

    def make_rewards(self):
        return Bounded(-1, 3)

    def inside(self):
        return [-1, 3, 0, 0.125, True, np.float32(2.5), Fraction(1, 2), Decimal("0.25")]

    def outside(self):
        return [np.nextafter(-1, -2), np.nextafter(3, 4), 1e300]

    def sources(self):
        beta = Source(-1 + 4 * 0.2, lambda dice, n: 4 * dice.beta(2, 8, n) - 1)
        return [beta, of([-1, 3], [0.98, 0.02]), of([-1, 2.5, 3], [0.02, 0.49, 0.49])]


def test_every_family_is_here():
    suites = (TestGaussian, TestSubGaussian, TestBernoulli, TestRatings, TestBounded, TestQuantile)
    assert {type(suite().make_rewards()) for suite in suites} == set(FAMILIES.values())


# --- a family of one's own, and broken ones -------------------------------------------------------


@dataclass(frozen=True)
class Percent(Bounded):
    """Whole percents: stricter than the family whose evidence they have."""

    low: float = 0.0
    high: float = 100.0

    @property
    def rule(self):
        return "percents are whole numbers from 0 to 100"

    def allows(self, reward):
        return super().allows(reward) and reward == int(reward)


class PercentContract(RewardFamilyContract):
    make, runs, length, contests = Percent, 25, 30, 8

    def make_rewards(self):
        return type(self).make()

    def inside(self):
        return [0, 100, 7.0]

    def outside(self):
        return [0.5, -1, 101]

    def sources(self):
        return [of([0, 100], [0.9, 0.1]), of([60, 80, 100], [0.2, 0.3, 0.5])]

    def from_dict(self, data):
        settings = {key: value for key, value in data.items() if key != "family"}
        return type(self).make(**settings)


class Clipping(Percent):
    def read(self, reward):
        return super().read(min(max(reward, 0), 100) if isinstance(reward, int) else reward)


class Strict(Percent):
    """Refuses its own end."""

    def allows(self, reward):
        return super().allows(reward) and reward < 100


class Integer(Percent):
    """Gives back what it was given."""

    def read(self, reward):
        super().read(reward)
        return reward


class Closemouthed(Percent):
    def to_dict(self):
        return {"family": self.name, "low": 10.0}


@dataclass(frozen=True)
class Overconfident(Gaussian):
    """A sigma far below what it should be: a standard error, for instance."""

    sigma: float = 0.02


class NormalContract(TestGaussian):
    family = Overconfident()

    def sources(self):
        return [normal(0.01 * i, 0.5) for i in range(6)]


NORMAL = (
    "test_evidence_against_the_truth_hardly_ever_grows test_intervals_cover_the_mean"
    " test_e_lucb_errs_no_more_than_allowed"
)
BROKEN = {
    Clipping: "test_what_it_rules_out_is_refused",
    Strict: "test_what_it_allows_is_read_as_a_double",
    Integer: "test_what_it_allows_is_read_as_a_double",
    Closemouthed: "test_it_survives_json",
    Overconfident: NORMAL,
}


class TestPercent(PercentContract):
    pass


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_family_is_caught(broken, tmp_path):
    contract = type("Contract", (PercentContract,), {"make": broken})
    if broken is Overconfident:
        contract = NormalContract
    assert survived(contract, BROKEN[broken], tmp_path) == set()


def upside_down(e, sign, *rest):
    return original(e, -sign, *rest)


original = evidence.log_evidence
KERNELS = {
    "log_evidence": "test_evidence_falls_towards_what_the_data_say",
    "confidence_sequence": "test_intervals_surround_the_running_mean",
}


def test_evidence_of_the_wrong_side_is_caught(monkeypatch, tmp_path):
    monkeypatch.setattr(evidence, "log_evidence", upside_down)
    assert survived(TestGaussian, KERNELS["log_evidence"], tmp_path) == set()


def test_intervals_that_miss_the_data_are_caught(monkeypatch, tmp_path):
    from bestk.testing import rewards

    def shifted(family, data, alpha=0.05):
        found = rewards_sequence(family, data, alpha)
        return type(found)(found.mean, found.low + 9.0, found.high + 9.0, alpha)

    rewards_sequence = rewards.confidence_sequence
    monkeypatch.setattr(rewards, "confidence_sequence", shifted)
    assert survived(TestGaussian, KERNELS["confidence_sequence"], tmp_path) == set()


def test_every_test_of_the_suite_can_fail():
    assert never_failing(RewardFamilyContract, BROKEN | KERNELS) == set()
