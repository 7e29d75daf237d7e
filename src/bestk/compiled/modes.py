"""BESTK_COMPILE: whether live work may use compiled kernels.

| value | what happens                                                                            |
|-------|-----------------------------------------------------------------------------------------|
| auto  | interpreted at first; compiled once that pays, by a process in the background (default) |
| now   | compiled before the first decision                                                      |
| never | interpreted, simulations too                                                            |
"""

from __future__ import annotations

import os

from bestk.errors import UnknownName

AUTO, NOW, NEVER = MODES = ("auto", "now", "never")
VARIABLE = "BESTK_COMPILE"


def mode() -> str:
    """What the environment asks for."""
    chosen = os.environ.get(VARIABLE) or AUTO
    if chosen not in MODES:
        raise UnknownName(VARIABLE, chosen, MODES)
    return chosen
