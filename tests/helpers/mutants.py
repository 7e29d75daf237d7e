"""Contract suites on implementations that are broken on purpose: their tests must fail."""

from __future__ import annotations

import inspect

import pytest


def suite_of(contract) -> set[str]:
    """The names of all tests of a suite."""
    return {name for name in dir(contract) if name.startswith("test_")}


def survived(contract, names: str, folder) -> set[str]:
    """Which of these tests pass or skip."""
    passed = set()
    for number, name in enumerate(names.split()):
        test, given = getattr(contract(), name), {}
        if "tmp_path" in inspect.signature(test).parameters:
            given["tmp_path"] = folder / str(number)
            given["tmp_path"].mkdir()
        try:
            test(**given)
        except pytest.skip.Exception:
            passed.add(name)
        except (Exception, pytest.fail.Exception):
            continue
        passed.add(name)
    return passed


def never_failing(contract, broken: dict) -> set[str]:
    """The tests of a suite that no broken implementation is said to fail."""
    return suite_of(contract) - {name for names in broken.values() for name in names.split()}
