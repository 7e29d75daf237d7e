"""Policies: which arm to sample next, when to stop, what to answer, and what is proved of it."""

from bestk.policies.catalogue import CATALOGUE, Parameter, Policy
from bestk.policies.configure import Configured, configure, default_policy, find

__all__ = [
    "CATALOGUE",
    "Configured",
    "Parameter",
    "Policy",
    "configure",
    "default_policy",
    "find",
]
