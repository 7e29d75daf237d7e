"""Studies: find the best arms from observations as they come."""

from bestk.study.evaluation import Cell, Evaluation, aevaluate, evaluate
from bestk.study.identification import aidentify, identify
from bestk.study.pulls import Pull
from bestk.study.result import ArmResult, Result
from bestk.study.runner import Runner
from bestk.study.study import Study

__all__ = [
    "ArmResult", "Cell", "Evaluation", "Pull", "Result", "Runner", "Study", "aevaluate",
    "aidentify", "evaluate", "identify",
]  # fmt: skip
