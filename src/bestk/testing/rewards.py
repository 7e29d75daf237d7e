"""What a reward family has to do (`bestk.rewards.RewardFamily`): refuse what it rules out, and give
evidence that errs no more often than it may."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bestk.confidence import confidence_sequence
from bestk.decisions import TopK
from bestk.errors import InputError
from bestk.kernels import evidence, quantile
from bestk.kernels.types import BERNSTEIN, BETTING, HIGH, LOW, QUANTILE, Evidence, FloatArray
from bestk.problem import Problem
from bestk.rewards import Quantile, Rewards, rewards_from_dict

NO_NUMBERS = (math.nan, math.inf, -math.inf, None, "1", 1j, [1.0], object())
FALSE_ALARM = 1e-6  # the probability that a test of frequencies fails a sound family
ALPHA = 0.1  # error of confidence sequences
DELTA = 0.1  # error of e-lucb


@dataclass(frozen=True)
class Source:
    """Rewards that fit an assumption: their true mean, and how to draw n of them.

    Of a family that compares quantiles, `mean` is the true quantile.
    """

    mean: float
    draw: Callable[[np.random.Generator, int], FloatArray]

    def rewards(self, seed: int, n: int) -> FloatArray:
        """So many rewards, the same for the same seed."""
        return np.asarray(self.draw(np.random.default_rng(seed), n), np.float64)


class RewardFamilyContract:
    """Tests of a reward family; derive from it, and give an object, rewards and sources.

    `sources` are at least two with different means, the extreme cases of the assumption among
    them. `runs`, `length` and `contests` say how much is drawn: raise them where kernels are
    compiled.
    """

    runs = 40  # confidence sequences of every source
    length = 40  # rewards of each
    contests = 25  # runs of e-lucb

    # --- what you give ----------------------------------------------------------------------------

    def make_rewards(self) -> Rewards:
        """An object of the family."""
        raise NotImplementedError("make_rewards(): an object of your family")

    def inside(self) -> Sequence[float]:
        """Rewards that the family allows, its ends and NumPy's numbers among them."""
        raise NotImplementedError("inside(): rewards that are allowed")

    def outside(self) -> Sequence[float]:
        """Finite numbers that it rules out; empty if it allows all."""
        raise NotImplementedError("outside(): finite numbers that are ruled out")

    def sources(self) -> Sequence[Source]:
        """Distributions that fit the assumption, with at least two different means."""
        raise NotImplementedError("sources(): distributions that fit the assumption")

    def from_dict(self, data: Mapping[str, Any]) -> Rewards:
        """Read what `to_dict` wrote; by default as bestk reads its own families."""
        return rewards_from_dict(data)

    # --- the assumption ---------------------------------------------------------------------------

    def test_what_it_allows_is_read_as_a_double(self) -> None:
        """By `validate`, `read`, `read_for_policy` and `allows` alike."""
        rewards = self.make_rewards()
        drawn = [x for i, each in enumerate(self.sources()) for x in each.rewards(i, 20).tolist()]
        for reward in (*self.inside(), *drawn):
            rewards.validate(reward)
            assert rewards.allows(float(reward))
            for found in (rewards.read(reward), rewards.read_for_policy(reward)):
                assert type(found) is float
                assert found == reward

    def test_what_it_rules_out_is_refused(self) -> None:
        """With an InputError that says the rule; never clipped, never rounded."""
        rewards = self.make_rewards()
        for reward in self.outside():
            assert not rewards.allows(reward), f"{reward} is allowed"
        for bad in (*self.outside(), *NO_NUMBERS):
            for refuse in (rewards.validate, rewards.read, rewards.read_for_policy):
                with pytest.raises(InputError) as refusal:
                    refuse(bad)
                assert rewards.rule in str(refusal.value)
            with pytest.raises(InputError):
                confidence_sequence(rewards, [*self.inside()[:1], bad])  # type: ignore[list-item]

    def test_it_survives_json(self) -> None:
        """`to_dict` tells all: what is read back is equal, and so is its sigma."""
        rewards = self.make_rewards()
        read = self.from_dict(json.loads(json.dumps(rewards.to_dict(), allow_nan=False)))
        assert type(read) is type(rewards)
        assert (read, hash(read)) == (rewards, hash(rewards))
        assert read.to_dict() == rewards.to_dict()
        assert read.sigma == rewards.sigma > 0.0

    # --- its evidence -----------------------------------------------------------------------------

    def test_evidence_falls_towards_what_the_data_say(self) -> None:
        """That the mean is above c: nonincreasing in c; that it is below c: nondecreasing."""
        rewards = self.make_rewards()
        e = rewards.evidence()
        for seed, source in enumerate(self.sources()):
            data = source.rewards(seed, 30)
            candidates = np.linspace(*_span(rewards, data), 41)
            for n in (1, 2, 10, 30):
                *_, seen = _all_statistics(e, data[:n])
                for sign in (evidence.PLUS, evidence.MINUS):
                    found = [_log_evidence(e, sign, seen, float(c)) for c in candidates]
                    assert not any(map(math.isnan, found))
                    ordered = found if sign == evidence.PLUS else found[::-1]
                    slack = 1e-12 * (1.0 + max(abs(x) for x in found if math.isfinite(x)))
                    for more, less in pairwise(ordered):
                        assert more >= less - slack, f"{rewards}, side {sign}, {n} rewards"

    def test_evidence_against_the_truth_hardly_ever_grows(self) -> None:
        """Each side reaches 1/alpha, at any time, in at most alpha of the runs (Ville)."""
        e = self.make_rewards().evidence()
        for source in self.sources():
            for sign in (evidence.PLUS, evidence.MINUS):
                wrong = 0
                for run in range(self.runs):
                    states = _all_statistics(e, source.rewards(run, self.length))
                    top = max(_log_evidence(e, sign, seen, source.mean) for seen in states)
                    wrong += top >= -math.log(ALPHA)
                self._require(wrong, self.runs, ALPHA, f"mean {source.mean:g}, side {sign:+g}")

    def test_intervals_cover_the_mean(self) -> None:
        """At all times at once, in all but alpha of the runs."""
        rewards = self.make_rewards()
        for source in self.sources():
            wrong = 0
            for run in range(self.runs):
                found = confidence_sequence(rewards, source.rewards(run, self.length), ALPHA)
                wrong += bool(np.any((found.low > source.mean) | (found.high < source.mean)))
            self._require(wrong, self.runs, ALPHA, f"mean {source.mean:g}")

    def test_intervals_surround_the_running_mean(self) -> None:
        """Inside the range, if there is one, and narrower for a larger error."""
        rewards = self.make_rewards()
        low, high = getattr(rewards, "low", -math.inf), getattr(rewards, "high", math.inf)
        for seed, source in enumerate(self.sources()):
            data = source.rewards(seed, self.length)
            wide, narrow = (confidence_sequence(rewards, data, alpha) for alpha in (0.01, 0.2))
            mean = np.cumsum(data) / np.arange(1, len(data) + 1)
            scale = rewards.sigma
            if isinstance(rewards, Quantile):
                scale = float(np.ptp(data))
                mean = np.array([np.quantile(data[: n + 1], rewards.q) for n in range(len(data))])
            np.testing.assert_allclose(wide.mean, mean, rtol=1e-9, atol=1e-9 * scale)
            for found in (wide, narrow):
                assert found.low.shape == found.high.shape == data.shape
                rounding = 1e-9 * scale
                assert np.all(found.low <= found.mean + rounding)
                assert np.all(found.mean <= found.high + rounding)
                assert found.low.min() >= low
                assert found.high.max() <= high
            assert np.all(wide.low <= narrow.low)
            assert np.all(narrow.high <= wide.high)

    # --- a policy on it ---------------------------------------------------------------------------

    def test_e_lucb_errs_no_more_than_allowed(self) -> None:
        """The sources as arms, the highest mean wanted; errors against Binomial(runs, delta)."""
        sources = self.sources()
        means = [source.mean for source in sources]
        best = means.index(max(means))
        assert len(set(means)) == len(means) >= 2, "sources() need different means"
        problem = Problem(TopK(len(means), 1), self.make_rewards(), DELTA, policy="e-lucb")
        wrong = 0
        for run in range(self.contests):
            supplies = [_endless(source, 1000 * run + arm) for arm, source in enumerate(sources)]
            found = problem.stepper(run).run(
                lambda arm, supplies=supplies: next(supplies[arm])  # type: ignore[misc]
            )
            wrong += found != [best]
        self._require(wrong, self.contests, DELTA, "e-lucb")

    # --- helpers ----------------------------------------------------------------------------------

    def _require(self, wrong: int, runs: int, error: float, what: str) -> None:
        most = int(stats.binom.isf(FALSE_ALARM, runs, error))
        assert wrong <= most, f"{what}: wrong in {wrong} of {runs} runs, at most {most} allowed"


def _endless(source: Source, seed: int) -> Iterator[float]:
    dice = np.random.default_rng(seed)
    while True:
        yield from np.asarray(source.draw(dice, 64), np.float64).tolist()


def _span(rewards: Rewards, data: FloatArray) -> tuple[float, float]:
    """Candidates for the mean: the range of rewards, or a wide one around the data."""
    wide = 20.0 * (rewards.sigma if math.isfinite(rewards.sigma) else float(np.ptp(data)))
    low, high = float(data.min()) - wide, float(data.max()) + wide
    return getattr(rewards, "low", low), getattr(rewards, "high", high)


Seen = tuple[float, float, float, Any]  # how many, their sum, their spread, counts of levels


def _all_statistics(e: Evidence, data: FloatArray) -> Iterator[Seen]:
    """What evidence reads, after every reward."""
    t, total, spread = 0.0, 0.0, 0.0
    counts = np.zeros((1, e.levels.size + 1), np.int64)
    for x in data.tolist():
        if e.kind == BETTING:
            counts[0, int(np.searchsorted(e.levels, x))] += 1
        elif e.kind == BERNSTEIN:
            spread = evidence.spread(e, t, total, spread, x)
        t, total = t + 1.0, total + x
        yield t, total, spread, np.sort(data[: int(t)]) if e.kind == QUANTILE else counts.copy()


def _log_evidence(e: Evidence, sign: float, seen: Seen, c: float) -> float:
    """Of the side `sign`, against the mean c; of a quantile, by what lies above c or below."""
    if e.kind == QUANTILE:
        t, _, _, seen_in_order = seen
        below = quantile.count_below(seen_in_order, 0, int(t), c)
        above = t - quantile.count_to(seen_in_order, 0, int(t), c)
        end, hits = (LOW, above) if sign > 0.0 else (HIGH, below)
        return quantile.log_evidence(e, e.log_weights, end, t, float(hits))
    return float(evidence.log_evidence(e, sign, *seen, 0, c)[0])
