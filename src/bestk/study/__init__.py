"""Studies: find the best arms from observations as they come."""

from bestk.study.pulls import Pull
from bestk.study.result import ArmResult, Result
from bestk.study.runner import Runner, identify
from bestk.study.study import Study

__all__ = ["ArmResult", "Pull", "Result", "Runner", "Study", "identify"]
