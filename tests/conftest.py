"""Tests run interpreted kernels; those marked `compiled` run machine code.

So what is compiled, and how long the tests take, does not depend on the machine's speed, as it does
for users (`bestk/compiled/modes.py`).
"""

import os

import pytest
from hypothesis import HealthCheck, settings

from bestk.compiled.modes import NEVER, NOW, VARIABLE

settings.register_profile(  # the same examples on every day, and on a slow one
    "fixed", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")

LONG = (  # files of half a minute
    "test_command_line", "test_dask", "test_docs", "test_examples", "test_inspect", "test_pages",
    "test_pages_mistakes", "test_pages_words", "test_race",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Long files come first, so that at the end no worker has one of them for itself."""
    items.sort(key=lambda item: item.path.stem not in LONG)


@pytest.hookimpl(tryfirst=True)  # before the fixtures of any scope
def pytest_runtest_setup(item):
    os.environ[VARIABLE] = NOW if item.get_closest_marker("compiled") else NEVER
