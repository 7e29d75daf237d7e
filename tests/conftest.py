"""Tests run interpreted kernels; those marked `compiled` run machine code.

So what is compiled, and how long the tests take, does not depend on the machine's speed, as it does
for users (`bestk/compiled/modes.py`).
"""

import os

import pytest

from bestk.compiled.modes import NEVER, NOW, VARIABLE


@pytest.hookimpl(tryfirst=True)  # before the fixtures of any scope
def pytest_runtest_setup(item):
    os.environ[VARIABLE] = NOW if item.get_closest_marker("compiled") else NEVER
