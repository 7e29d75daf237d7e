"""Policies: which arm to sample next, when to stop, what to answer, and what is proved of it."""

from bestk.policies.catalogue import CATALOGUE, DEFAULT, Parameter, Policy
from bestk.policies.configure import Configured, configure, find

__all__ = ["CATALOGUE", "DEFAULT", "Configured", "Parameter", "Policy", "configure", "find"]
