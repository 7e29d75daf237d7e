"""Studies: find the best arms from observations as they come.

Names load when first used, so that `verification` runs without the kernels, as it must.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bestk.study.pull import Pull as Pull
    from bestk.study.result import ArmResult as ArmResult
    from bestk.study.result import Result as Result
    from bestk.study.runner import Runner as Runner
    from bestk.study.runner import identify as identify
    from bestk.study.study import Study as Study

_HOMES = {
    "ArmResult": "result",
    "Pull": "pull",
    "Result": "result",
    "Runner": "runner",
    "Study": "study",
    "identify": "runner",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604 - names of the table above


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bestk.study' has no attribute '{name}'")
    return getattr(import_module(f"bestk.study.{_HOMES[name]}"), name)
