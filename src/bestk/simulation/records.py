"""What a simulation gives back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bestk.errors import MissingPackageError
from bestk.hardness import combinatorial_difficulty, kl_of_error, t_star
from bestk.kernels.types import BERNOULLI, BoolArray, FloatArray, IntArray
from bestk.problem import Problem
from bestk.rewards import Quantile, Rewards
from bestk.simulation.instances import Instance
from bestk.simulation.laws import Law
from bestk.simulation.shares import wilson

if TYPE_CHECKING:
    from pandas import DataFrame

# of a table of runs; a run is made again by the same seed and number, on any computer
RUN_COLUMNS = (
    "policy", "variant", "instance", "alpha", "arms", "k", "budget", "seed", "run", "samples",
    "finished", "right",
)  # fmt: skip
LARGEST_LOWER_BOUND = 10**4  # arms up to which T* is solved
MOST_CALLS = 2000  # of an oracle for T*; the bound stays valid if the search ends there


def best_k_limit(instance: Instance, rewards: Rewards) -> tuple[float | None, str | None]:
    """T* of finding the K best without slack, or why there is none."""
    assert instance.k is not None
    if instance.items is not None:
        return None, "not known for scores without replacement"
    if rewards.law is None and instance.draws is None:
        return None, f"not solved for {rewards.name} rewards"
    if instance.tied:
        return None, "tied means cannot be told apart"
    if len(instance.means) > LARGEST_LOWER_BOUND:
        return None, f"not computed for more than {LARGEST_LOWER_BOUND:,} arms"
    if instance.draws is not None:
        return None, "not known for rewards that you draw yourself"
    if instance.pool is not None and not instance.pool.is_normal(rewards.sigma):
        return None, "not known for rewards drawn from data"
    values = instance.values
    if rewards.law == BERNOULLI and not instance.maximize:
        values = 1.0 - instance.means  # the rarest ones are the most frequent zeros
    value, _ = t_star(values, instance.k, rewards=rewards)
    if not math.isfinite(value):
        return None, "the K-th and the next mean are too close"
    return value, None


def _scatter(rewards: Rewards, instance: Instance) -> dict[str, Any]:
    """What is assumed of the scatter; of a quantile nothing is, but how rewards are drawn."""
    if not isinstance(rewards, Quantile):
        return {"sigma": rewards.sigma}
    law = (instance.law or Law()) if instance.pool is None else None
    return {
        "sigma": None,
        "q": rewards.q,
        "relative": rewards.relative,
        "law": None if law is None else law.name,
        "spread": None if law is None else law.spread,
    }


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """One policy on one instance, many runs; `to_dict()` is the JSON contract."""

    instance: Instance
    problem: Problem
    variant: str | None
    params: dict[str, Any]
    guarantee: float | None  #: the error probability that is proved; None for a heuristic
    seed: int
    max_samples: int
    seconds: float
    samples: IntArray  #: per run, unfinished runs at their count
    top_samples: IntArray  #: per run, of which from arms that may be answered
    finished: BoolArray  #: per run
    right: BoolArray  #: per run: finished, and a valid answer
    budget: int | None = None  #: pulls after which every run ends, and its answer counts
    claim: str | None = None  #: what the author of a policy in Python claims; nothing we checked

    @property
    def runs(self) -> int:
        """How many runs."""
        return len(self.samples)

    @property
    def wrong(self) -> int:
        """Finished runs whose answer is not valid."""
        return int(np.sum(self.finished & ~self.right))

    @property
    def wrong_ci(self) -> tuple[float, float]:
        """A 95% interval of the probability of a wrong answer (Wilson's)."""
        return wilson(self.wrong, self.runs)

    @property
    def unfinished(self) -> int:
        """Runs cut off at max_samples; never counted as right."""
        return int(np.sum(~self.finished))

    @property
    def mean(self) -> float:
        """Mean number of samples."""
        return float(np.mean(self.samples))

    @property
    def sem(self) -> float:
        """Standard error of the mean; 0 for a single run, where it is unknown."""
        if self.runs < 2:
            return 0.0
        return float(np.std(self.samples, ddof=1)) / math.sqrt(self.runs)

    def summary(self) -> dict[str, float]:
        """The distribution of the number of samples."""
        values: FloatArray = self.samples.astype(np.float64)
        return {
            "mean": self.mean,
            "sem": self.sem,
            "median": float(np.median(values)),
            "p95": float(np.percentile(values, 95)),
            "min": float(values.min()),
            "max": float(values.max()),
        }

    @cached_property
    def lower_bound(self) -> float | None:
        """kl(nu, 1-nu) T*, below which no policy with this error can get; None where unsolved."""
        problem, instance = self.problem, self.instance
        if problem.epsilon > 0:
            return None
        if instance.k is not None:
            value, _ = best_k_limit(instance, problem.rewards)
            return None if value is None else kl_of_error(problem.delta) * value
        unsolved = (
            instance.decision.n_arms > LARGEST_LOWER_BOUND
            or problem.rewards.law == BERNOULLI
            or instance.decision.ceiling < math.inf
            or instance.draws is not None
            or instance.tied
        )
        if unsolved:
            return None
        bound = combinatorial_difficulty(
            instance.decision,
            instance.values,
            delta=min(problem.delta, 0.5),  # a coin is right half of the time without any sample
            sigma=problem.rewards.sigma,
            max_calls=MOST_CALLS,
        ).lower_bound
        return bound if math.isfinite(bound) else None

    def to_dict(self) -> dict[str, Any]:
        """What `bestk simulate --json` prints: finite numbers and nulls only."""
        problem, instance = self.problem, self.instance
        return {
            "policy": problem.policy,
            "variant": self.variant,
            "params": self.params,
            "instance": instance.name,
            "alpha": instance.alpha,
            "arms": instance.decision.n_arms,
            "items": instance.items,
            "k": instance.k,
            "decision": instance.decision.kind,
            "rewards": problem.rewards.name,
            **_scatter(problem.rewards, instance),
            "delta": problem.delta,
            "epsilon": problem.epsilon,
            "runs": self.runs,
            "seed": self.seed,
            "max_samples": self.max_samples,
            "samples": self.summary(),
            "wrong": self.wrong,
            "wrong_ci": list(self.wrong_ci),
            "unfinished": self.unfinished,
            "guarantee": self.guarantee,
            "claim": self.claim,
            "budget": self.budget,
            "lower_bound": self.lower_bound,
            "seconds": self.seconds,
            "steps_per_second": float(self.samples.sum()) / max(self.seconds, 1e-9),
        }

    def rows(self) -> list[tuple[Any, ...]]:
        """Every run, by `RUN_COLUMNS`."""
        instance, columns = self.instance, (self.samples, self.finished, self.right)
        of = instance.name, instance.alpha, instance.decision.n_arms, instance.k
        head = self.problem.policy, self.variant, *of, self.budget, self.seed
        runs = zip(*(column.tolist() for column in columns), strict=True)
        return [(*head, number, *run) for number, run in enumerate(runs)]

    def to_pandas(self) -> DataFrame:
        """A table with a row for each run; needs pandas.

        Columns: `policy`, `variant`, `instance` with its `alpha`, `arms` and `k`, `budget`, `seed`
        (None where there is no such thing), `run`, `samples`, `finished`, and `right` (finished,
        with a valid answer).
        """
        return frame(self.rows())

    @property
    def proved(self) -> str:
        """What is known of the error, for people; an author's claim is named as such."""
        if self.guarantee is not None:
            return f"error <= {self.guarantee:g} proved"
        if self.claim is not None:
            return f"its author claims: {self.claim}"
        if self.budget is not None:
            return "nothing proved at a budget"
        return "heuristic" if self.problem.judge is None else "no claim"

    def __str__(self) -> str:
        proved = self.proved
        name = f"{self.problem.policy}" + (f" ({self.variant})" if self.variant else "")
        what = f"K={self.instance.k}" if self.instance.k else self.instance.decision.kind
        return (
            f"{name} on {self.instance.name}, N={self.instance.decision.n_arms}, "
            f"{what}: {self.mean:,.0f} +- {self.sem:,.0f} samples, "
            f"{self.wrong} wrong and {self.unfinished} unfinished of {self.runs} runs; {proved}"
        )


def frame(rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """Rows by `RUN_COLUMNS` as a table of pandas."""
    try:
        from pandas import DataFrame
    except ImportError:
        raise MissingPackageError("a table of runs", "pandas", "pandas") from None
    return DataFrame(rows, columns=list(RUN_COLUMNS))
