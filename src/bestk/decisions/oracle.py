"""Any class at all: the user's own maximisation oracle."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from bestk.arguments import integer, real
from bestk.decisions.base import PythonOracle, read_weights, require_choice
from bestk.decisions.labels import items, label
from bestk.errors import InputError, OracleError
from bestk.kernels.types import BoolArray, FloatArray


@dataclass(frozen=True, init=False)
class Oracle(PythonOracle):
    """The feasible sets that a function finds.

    `best(weights)` gives the set of largest total weight, for any real weights and the same one
    every time: an array of n_arms booleans, or the numbers of its arms. `contains(chosen)`, if
    given, says whether an array of booleans is a feasible set. `n_sets` is how many feasible sets
    there are, or more: with it e-clucb needs fewer samples, and with too small a number its
    guarantee does not hold.
    """

    n_arms: int
    function: Callable[[FloatArray], object]
    contains: Callable[[BoolArray], bool] | None
    names: tuple[Hashable, ...]
    n_sets: float | None

    kind: ClassVar[str] = "oracle"
    width_source: ClassVar[str] = "upper bound: the number of arms (no exchange moves more)"

    def __init__(
        self,
        n_arms: int,
        best: Callable[[FloatArray], object],
        contains: Callable[[BoolArray], bool] | None = None,
        names: Iterable[Hashable] | None = None,
        n_sets: float | None = None,
    ) -> None:
        n_arms = integer(n_arms, "n_arms")
        if n_arms < 1:
            raise InputError(f"n_arms={n_arms} was refused: an empty class")
        if not callable(best) or not (contains is None or callable(contains)):
            raise InputError("the oracle was refused: `best` and `contains` must be functions")
        given = items(range(n_arms) if names is None else names, "names")
        labels = tuple(label(name, "name") for name in given)
        if len(labels) != n_arms or len(set(labels)) != n_arms:
            raise InputError(f"{len(labels)} names were refused: give {n_arms} different ones")
        object.__setattr__(self, "n_arms", n_arms)
        object.__setattr__(self, "function", best)
        object.__setattr__(self, "contains", contains)
        object.__setattr__(self, "names", labels)
        if n_sets is not None:
            n_sets = real(n_sets, "n_sets", "give how many feasible sets there are, or more")
            if not n_sets >= 2:
                raise InputError(f"n_sets={n_sets:g} was refused: there must be at least 2 sets")
        object.__setattr__(self, "n_sets", n_sets)
        require_choice(self)

    @property
    def width(self) -> int:
        """The number of arms."""
        return self.n_arms

    def best(self, weights: FloatArray) -> BoolArray:
        """What the function answers, checked; the function gets a copy of the weights."""
        values = read_weights(weights, self.n_arms)
        try:
            answer = self.function(values.copy())
        except Exception as error:
            raise OracleError(_said(f"raised {error!r}", values)) from error
        chosen = self._mask(answer, values)
        if self.contains is not None:
            try:
                feasible = bool(self.contains(chosen.copy()))
            except Exception as error:
                raise OracleError(
                    _said(f"has a `contains` that raised {error!r}", values)
                ) from error
            if not feasible:
                arms = np.flatnonzero(chosen).tolist()
                raise OracleError(_said(f"gave the infeasible set {arms}", values))
        return chosen

    def _mask(self, answer: object, values: FloatArray) -> BoolArray:
        def refuse(reason: str) -> NoReturn:
            raise OracleError(_said(f"answered {answer!r}: {reason}", values))

        if not isinstance(answer, np.ndarray):
            if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
                refuse("not a set of arms")
            answer = list(answer)
        try:
            given = np.asarray(answer)
        except ValueError:
            refuse("not a set of arms")
        n_arms = self.n_arms
        if given.dtype == np.bool_:
            if given.shape != (n_arms,):
                refuse(f"booleans must be {n_arms} in a row")
            return given.copy()
        chosen = np.zeros(n_arms, np.bool_)
        if given.size == 0 and given.ndim == 1:
            return chosen
        if given.ndim != 1 or given.dtype.kind not in "iu":
            refuse(f"neither {n_arms} booleans nor numbers of arms")
        if given.min() < 0 or given.max() >= n_arms:
            refuse(f"arms are numbered 0 to {n_arms - 1}")
        chosen[given] = True
        if np.count_nonzero(chosen) < given.size:
            refuse("an arm is named twice (0s and 1s must be booleans)")
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """Refused: a function cannot be written down."""
        raise InputError("an oracle class was refused: a function cannot be written as JSON")


def _said(what: str, weights: FloatArray) -> str:
    return f"the oracle {what}; it was given the weights {weights.tolist()}"
