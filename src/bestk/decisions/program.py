"""The best 0/1 vector of a linear system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bestk.decisions.base import NumberedArms, PythonOracle, read_weights, require_choice
from bestk.errors import InputError, OracleError
from bestk.kernels.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

TOLERANCE = 1e-6  # of HiGHS: how far a row may be outside its bounds


@dataclass(frozen=True)
class BinaryProgram(NumberedArms, PythonOracle):
    """The sets whose 0/1 vectors x have lower <= A x <= upper, one column of A an arm.

    Bounds are one number or one a row, infinite where there is none. Rows hold within a tolerance
    of 1e-6 of their largest coefficient.
    """

    A: ArrayLike
    lower: ArrayLike
    upper: ArrayLike

    kind: ClassVar[str] = "binary-program"
    width_source: ClassVar[str] = "upper bound: the number of arms (no exchange moves more)"

    def __post_init__(self) -> None:
        matrix = _numbers(self.A, "A")
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InputError(f"A of shape {matrix.shape} was refused: it needs rows and columns")
        if not np.isfinite(matrix).all():
            raise InputError("A was refused: its numbers must be finite")
        lower, upper = (
            _bound(bound, what, len(matrix))
            for bound, what in ((self.lower, "lower"), (self.upper, "upper"))
        )
        for row in np.flatnonzero((lower > upper) | (lower == math.inf) | (upper == -math.inf)):
            raise InputError(
                f"row {row} was refused: nothing is between {lower[row]} and {upper[row]}"
            )
        # tuples: classes are compared and hashed
        object.__setattr__(self, "A", tuple(map(tuple, matrix.tolist())))
        object.__setattr__(self, "lower", tuple(lower.tolist()))
        object.__setattr__(self, "upper", tuple(upper.tolist()))
        require_choice(self)

    @cached_property
    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """A, the bounds, and how far each row may be outside."""
        matrix = np.array(self.A, np.float64)
        slack = TOLERANCE * np.maximum(1.0, np.abs(matrix).max(axis=1))
        return matrix, np.array(self.lower), np.array(self.upper), slack

    @cached_property
    def _constraint(self) -> LinearConstraint:
        from scipy.optimize import LinearConstraint

        return LinearConstraint(*self._rows[:3])

    @property
    def n_arms(self) -> int:
        """How many columns A has."""
        return int(self._rows[0].shape[1])

    @property
    def width(self) -> int:
        """The number of arms."""
        return self.n_arms

    def contains(self, chosen: BoolArray) -> bool:
        """Whether a set is feasible."""
        matrix, lower, upper, slack = self._rows
        totals = matrix @ chosen
        return bool((totals >= lower - slack).all() and (totals <= upper + slack).all())

    def best(self, weights: FloatArray) -> BoolArray:
        """The feasible set of largest total weight, by HiGHS, which is deterministic."""
        from scipy.optimize import Bounds, milp

        values = read_weights(weights, self.n_arms)
        # HiGHS accepts an absolute gap of 1e-6 that scipy cannot set: a power of two makes the
        # largest weight 2^12 to 2^13, exactly, and so the gap small beside it
        exponent = math.frexp(float(np.abs(values).max()))[1]
        result = milp(
            -np.ldexp(values, 13 - exponent),
            integrality=np.ones(self.n_arms, np.int64),
            bounds=Bounds(0.0, 1.0),
            constraints=self._constraint,
            options={"mip_rel_gap": 0.0},
        )
        if result.status == 2:
            raise InputError("the program was refused: it is infeasible")
        if result.x is None:
            raise OracleError(f"HiGHS failed: {result.message} Weights: {values.tolist()}")
        chosen: BoolArray = np.asarray(result.x) > 0.5
        if not self.contains(chosen):
            raise OracleError(
                f"HiGHS gave the infeasible set {np.flatnonzero(chosen).tolist()} "
                f"for the weights {values.tolist()}"
            )
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form; no bound is null."""
        matrix, lower, upper, _ = self._rows
        return {
            "class": self.kind,
            "A": matrix.tolist(),
            "lower": [None if math.isinf(bound) else bound for bound in lower.tolist()],
            "upper": [None if math.isinf(bound) else bound for bound in upper.tolist()],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BinaryProgram:
        """The class that wrote `data`."""
        lower = [-math.inf if bound is None else bound for bound in data["lower"]]
        upper = [math.inf if bound is None else bound for bound in data["upper"]]
        return cls(data["A"], lower, upper)


def _numbers(values: ArrayLike, what: str) -> FloatArray:
    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} was refused: it must be an array of numbers") from None


def _bound(values: ArrayLike, what: str, n_rows: int) -> FloatArray:
    bound = _numbers(values, what)
    if bound.shape not in ((), (1,), (n_rows,)):
        raise InputError(f"{what} of shape {bound.shape} was refused: A has {n_rows} rows")
    if np.isnan(bound).any():
        raise InputError(f"{what} was refused: it has a NaN")
    return np.broadcast_to(bound, n_rows)
