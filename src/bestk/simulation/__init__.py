"""Simulation: the paper's instances, the Monte Carlo engine and its result records."""

from bestk.simulation.engine import simulate
from bestk.simulation.instances import (
    INSTANCES,
    Instance,
    make_instance,
    read_means,
    structured,
)
from bestk.simulation.records import SimulationResult
from bestk.simulation.replay import DRAWS, read_replay, replay
from bestk.simulation.structures import DECISIONS, generate, read_graph

__all__ = [
    "DECISIONS",
    "DRAWS",
    "INSTANCES",
    "Instance",
    "SimulationResult",
    "generate",
    "make_instance",
    "read_graph",
    "read_means",
    "read_replay",
    "replay",
    "simulate",
    "structured",
]
