"""Contract suites: what a storage, decision class, reward family or policy has to do, as tests.

Derive a class from a suite, say how your implementation is made, and let pytest run it:

    class TestMine(StorageContract):
        def make_storage(self, folder): ...
        def reopen(self, storage): ...

Needs pytest (`pip install 'bestk[testing]'`); nothing else of bestk imports it.
"""

from bestk.errors import MissingPackageError

try:
    import pytest
except ModuleNotFoundError as error:
    raise MissingPackageError("bestk.testing", "pytest", "testing") from error

for _module in ("storage", "decisions", "rewards", "policies", "python_policies"):
    pytest.register_assert_rewrite(f"bestk.testing.{_module}")  # so that failures show values

from bestk.testing.decisions import DecisionClassContract  # noqa: E402 - rewritten on import
from bestk.testing.policies import PolicyContract, Steps  # noqa: E402
from bestk.testing.python_policies import PythonPolicyContract  # noqa: E402
from bestk.testing.rewards import RewardFamilyContract, Source  # noqa: E402
from bestk.testing.storage import StorageContract  # noqa: E402

__all__ = [
    "DecisionClassContract", "PolicyContract", "PythonPolicyContract", "RewardFamilyContract",
    "Source", "Steps", "StorageContract",
]  # fmt: skip
