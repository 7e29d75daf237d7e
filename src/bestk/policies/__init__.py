"""Policies: which arm to sample next, when to stop, what to answer, and what is proved of it."""

from bestk.policies import in_python
from bestk.policies.catalogue import CATALOGUE, Parameter, Policy
from bestk.policies.configure import Configured, configure
from bestk.policies.protocol import PythonPolicy, Question
from bestk.policies.registry import default_policy, find, load_installed, register

__all__ = [
    "CATALOGUE", "Configured", "Parameter", "Policy", "PythonPolicy", "Question", "configure",
    "default_policy", "find", "load_installed", "register",
]  # fmt: skip

in_python.add()
