"""Simulation: the paper's instances, the Monte Carlo engine and its result records."""

from bestk.simulation.engine import simulate
from bestk.simulation.instances import INSTANCES, Instance, make_instance, read_means
from bestk.simulation.records import SimulationResult

__all__ = [
    "INSTANCES",
    "Instance",
    "SimulationResult",
    "make_instance",
    "read_means",
    "simulate",
]
