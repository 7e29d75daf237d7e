"""Where pytest is not installed, the contract suites say how to get it."""

import subprocess
import sys

WITHOUT = """
import sys

sys.modules["pytest"] = None  # as if it were not installed
import bestk

try:
    from bestk.testing import PythonPolicyContract
except bestk.MissingPackageError as error:
    print(error)
"""


def test_the_extra_is_named():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert "pip install 'bestk[testing]'" in done.stdout, done.stderr
