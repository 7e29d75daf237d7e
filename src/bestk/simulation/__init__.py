"""Simulation: the paper's instances, the Monte Carlo engine and its result records."""

from bestk.simulation.comparison import Comparison
from bestk.simulation.engine import simulate
from bestk.simulation.families import INSTANCES, known_instances, register_instance
from bestk.simulation.instances import Instance, make_instance, read_means, structured
from bestk.simulation.own_draws import custom
from bestk.simulation.planning import Plan, plan
from bestk.simulation.pools import DRAWS, read_replay, replay
from bestk.simulation.records import SimulationResult
from bestk.simulation.structures import DECISIONS, generate, read_graph

__all__ = [
    "DECISIONS", "DRAWS", "INSTANCES", "Comparison", "Instance", "Plan", "SimulationResult",
    "custom", "generate", "known_instances", "make_instance", "plan", "read_graph", "read_means",
    "read_replay", "register_instance", "replay", "simulate", "structured",
]  # fmt: skip
