"""bestk: find the K best of N noisy options, with a guarantee, in as few samples as possible.

Public names load when first used, so that `import bestk` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bestk.ahead import compile as compile
    from bestk.confidence import ConfidenceSequence as ConfidenceSequence
    from bestk.confidence import confidence_sequence as confidence_sequence
    from bestk.decisions import BinaryProgram as BinaryProgram
    from bestk.decisions import BipartiteMatching as BipartiteMatching
    from bestk.decisions import ExplicitSets as ExplicitSets
    from bestk.decisions import Oracle as Oracle
    from bestk.decisions import PartitionMatroid as PartitionMatroid
    from bestk.decisions import Path as Path
    from bestk.decisions import SpanningTree as SpanningTree
    from bestk.decisions import TopK as TopK
    from bestk.errors import ArmFailedError as ArmFailedError
    from bestk.errors import BestkError as BestkError
    from bestk.errors import ExecutorError as ExecutorError
    from bestk.errors import InputError as InputError
    from bestk.errors import MissingPackageError as MissingPackageError
    from bestk.errors import NothingToCertifyError as NothingToCertifyError
    from bestk.errors import OracleError as OracleError
    from bestk.errors import PolicyError as PolicyError
    from bestk.errors import PullError as PullError
    from bestk.errors import ResultsFileError as ResultsFileError
    from bestk.errors import StorageError as StorageError
    from bestk.errors import TiedMeansWarning as TiedMeansWarning
    from bestk.errors import UnknownName as UnknownName
    from bestk.hardness import CombinatorialDifficulty as CombinatorialDifficulty
    from bestk.hardness import Difficulty as Difficulty
    from bestk.hardness import combinatorial_difficulty as combinatorial_difficulty
    from bestk.hardness import difficulty as difficulty
    from bestk.policies import CATALOGUE as CATALOGUE
    from bestk.problem import Problem as Problem
    from bestk.rewards import Bernoulli as Bernoulli
    from bestk.rewards import Bounded as Bounded
    from bestk.rewards import Gaussian as Gaussian
    from bestk.rewards import Quantile as Quantile
    from bestk.rewards import Ratings as Ratings
    from bestk.rewards import SubGaussian as SubGaussian
    from bestk.simulation import Instance as Instance
    from bestk.simulation import Plan as Plan
    from bestk.simulation import SimulationResult as SimulationResult
    from bestk.simulation import custom as custom
    from bestk.simulation import make_instance as make_instance
    from bestk.simulation import plan as plan
    from bestk.simulation import register_instance as register_instance
    from bestk.simulation import replay as replay
    from bestk.simulation import simulate as simulate
    from bestk.simulation import structured as structured
    from bestk.study import Evaluation as Evaluation
    from bestk.study import Pull as Pull
    from bestk.study import Result as Result
    from bestk.study import Study as Study
    from bestk.study import aevaluate as aevaluate
    from bestk.study import aidentify as aidentify
    from bestk.study import evaluate as evaluate
    from bestk.study import identify as identify
    from bestk.study.remote import connect as connect

__version__ = "0.2.0.dev0"

_HOMES = {
    "ConfidenceSequence": "confidence",
    "confidence_sequence": "confidence",
    "BinaryProgram": "decisions",
    "BipartiteMatching": "decisions",
    "ExplicitSets": "decisions",
    "Oracle": "decisions",
    "PartitionMatroid": "decisions",
    "Path": "decisions",
    "SpanningTree": "decisions",
    "TopK": "decisions",
    "ArmFailedError": "errors",
    "BestkError": "errors",
    "ExecutorError": "errors",
    "InputError": "errors",
    "MissingPackageError": "errors",
    "NothingToCertifyError": "errors",
    "OracleError": "errors",
    "PolicyError": "errors",
    "PullError": "errors",
    "ResultsFileError": "errors",
    "StorageError": "errors",
    "TiedMeansWarning": "errors",
    "UnknownName": "errors",
    "CombinatorialDifficulty": "hardness",
    "Difficulty": "hardness",
    "combinatorial_difficulty": "hardness",
    "difficulty": "hardness",
    "CATALOGUE": "policies",
    "Problem": "problem",
    "Bernoulli": "rewards",
    "Bounded": "rewards",
    "Gaussian": "rewards",
    "Quantile": "rewards",
    "Ratings": "rewards",
    "SubGaussian": "rewards",
    "Instance": "simulation",
    "Plan": "simulation",
    "SimulationResult": "simulation",
    "custom": "simulation",
    "make_instance": "simulation",
    "plan": "simulation",
    "register_instance": "simulation",
    "replay": "simulation",
    "simulate": "simulation",
    "structured": "simulation",
    "Evaluation": "study",
    "Pull": "study",
    "Result": "study",
    "compile": "ahead",
    "Study": "study",
    "connect": "study.remote",
    "aevaluate": "study",
    "aidentify": "study",
    "evaluate": "study",
    "identify": "study",
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604 - names of the table above


def __getattr__(name: str) -> Any:
    if name == "policies":  # for bestk.policies.register
        return import_module("bestk.policies")
    if name not in _HOMES:
        raise AttributeError(f"module 'bestk' has no attribute '{name}'")
    value = getattr(import_module(f"bestk.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
