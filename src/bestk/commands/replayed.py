"""What an evaluation would have cost on a table of scores that is already there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestk.kernels.types import FloatArray, IntArray
from bestk.rewards import Bounded
from bestk.simulation import replay, simulate
from bestk.simulation.spreading import Progress
from bestk.study.evaluation import evaluate


@dataclass(frozen=True, eq=False)
class Replayed:
    """Evaluations of a finished table, one or several."""

    arms: Sequence[str]
    items: int
    k: int
    delta: float
    epsilon: float
    seed: int
    evaluations: IntArray  #: of every run
    wrong: int  #: runs whose answer is not valid
    best: list[str]  #: the k best of the table, the best first
    answer: list[str] | None  #: of the only run; None if there are several

    @property
    def table(self) -> int:
        """Cells of the whole table."""
        return len(self.arms) * self.items

    @property
    def share(self) -> float:
        """Of the table that was scored, on average."""
        return float(self.evaluations.mean()) / self.table

    def to_dict(self) -> dict[str, Any]:
        """What `bestk eval --table --json` prints."""
        found = self.evaluations
        counts = {"mean": float(found.mean()), "min": int(found.min()), "max": int(found.max())}
        return {
            "arms": len(self.arms), "items": self.items, "table": self.table, "k": self.k,
            "delta": self.delta, "epsilon": self.epsilon, "seed": self.seed, "runs": found.size,
            "evaluations": counts, "share": self.share, "answer": self.answer, "best": self.best,
            "wrong": self.wrong,
        }  # fmt: skip


def replay_table(
    arms: Sequence[str],
    scores: FloatArray,
    *,
    k: int,
    delta: float = 0.05,
    epsilon: float = 0.0,
    low: float = 0.0,
    high: float = 1.0,
    maximize: bool = True,
    seed: int = 1,
    runs: int = 1,
    progress: Progress | None = None,
) -> Replayed:
    """Evaluate a table whose scores are all known, and compare the answer with the best arms.

    The first run is the evaluation that `bestk.evaluate` makes with this seed; the others draw
    other orders of the items.
    """
    instance = replay(scores, k=k, without_replacement=True, maximize=maximize)
    settings: dict[str, Any] = {"delta": delta, "epsilon": epsilon, "seed": seed}
    result = simulate(
        instance, rewards=Bounded(low, high), runs=runs, progress=progress, **settings
    )
    answer = None
    if result.runs == 1:
        rows = dict(zip(arms, scores, strict=True))
        live = evaluate(
            arms, range(scores.shape[1]), lambda arm, item: float(rows[arm][item]), k=k, low=low,
            high=high, maximize=maximize, **settings,
        )  # fmt: skip
        answer = [str(label) for label in live.top]
    ranked = np.argsort(-instance.values, kind="stable")[: instance.decision.k].tolist()  # type: ignore[attr-defined]
    return Replayed(
        arms, scores.shape[1], k, delta, epsilon, seed, result.samples, result.wrong,
        [arms[arm] for arm in ranked], answer,
    )  # fmt: skip
