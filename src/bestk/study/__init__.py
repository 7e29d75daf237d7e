"""Studies: find the best arms from observations as they come."""

from bestk.study.evaluation import Cell, Evaluation, evaluate
from bestk.study.identify import identify
from bestk.study.pulls import Pull
from bestk.study.result import ArmResult, Result
from bestk.study.runner import Runner
from bestk.study.study import Study

__all__ = [
    "ArmResult", "Cell", "Evaluation", "Pull", "Result", "Runner", "Study", "evaluate", "identify",
]  # fmt: skip
