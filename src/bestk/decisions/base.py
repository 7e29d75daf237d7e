"""What every decision class offers, and the checks they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bestk.arguments import shown
from bestk.errors import InputError
from bestk.kernels.types import FOREST, PARTITION, ROADS, BoolArray, FloatArray, IntArray

Forced = NDArray[np.int8]  # of each arm: 1 in the set, -1 not in it, 0 either


class Structure(NamedTuple):
    """What a compiled oracle reads (`kernels/oracles.py`): its code, its table, its nodes."""

    code: int
    n_arms: int
    table: IntArray
    n_nodes: int = 1  # groups of a partition, nodes of a graph
    source: int = 0
    target: int = 0

    @property
    def rank(self) -> int | None:
        """The size of a basis, where the feasible sets are the bases of a matroid."""
        if self.code == PARTITION:
            return int(self.table[1, : self.n_nodes].sum())
        return self.n_nodes - 1 if self.code == FOREST else None

    @property
    def n_scratch(self) -> int:
        """Integers that the oracle needs to work with."""
        return 2 * self.n_nodes if self.code == ROADS else self.n_nodes


class Extent(NamedTuple):
    """How many sets a class has: what `bounds/codes.py` makes the sets rule's code of.

    `counts` maps a number d of arms to the logarithm of how many sets differ from any one set in
    exactly d arms, at most. `inside` and `outside` are code lengths of a path's arms, up to what
    depends on the error (`steps`: how many edges a path has at most).
    """

    smallest: int  # set
    largest: int
    least: int | None = None  # in so many arms two sets differ at least; None: look at each answer
    n_sets: float | None = None  # at most
    counts: Mapping[int, float] | None = None
    inside: FloatArray | None = None
    outside: FloatArray | None = None
    steps: int = 0
    two_way: bool = False  # whether a path may go along another one backwards


class DecisionClass(Protocol):
    """A family of feasible sets of arms with an exact maximisation oracle (paper, Section 4.2).

    `bestk.testing.DecisionClassContract` tests one.
    """

    @property
    def kind(self) -> str:
        """The name of the class: "top-k", "spanning-tree", ..."""
        ...

    @property
    def n_arms(self) -> int:
        """How many arms the sets are made of."""
        ...

    @property
    def names(self) -> tuple[Hashable, ...]:
        """What each arm is: an edge, a pair, a number."""
        ...

    @property
    def width(self) -> int:
        """The width of Chen et al. (2014), Section 3.1, or an upper bound of it."""
        ...

    @property
    def width_source(self) -> str:
        """Whether `width` is exact or a bound, and where it comes from."""
        ...

    @property
    def ceiling(self) -> float:
        """No weight is above it: infinity, or 0 where costs are known not to be negative."""
        ...

    @property
    def minimise_only(self) -> bool:
        """Whether the oracle is right for negated non-negative costs only."""
        ...

    @property
    def structure(self) -> Structure | None:
        """What the compiled oracle reads; None where the oracle is Python."""
        ...

    def best(self, weights: FloatArray) -> BoolArray:
        """The feasible set of largest total weight, the same one every time on ties."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form, with the kind under "class"."""
        ...


OFFERED = tuple(name for name in vars(DecisionClass) if not name.startswith("_"))


class NumberedArms:
    """A class whose arms have no names but their numbers."""

    @property
    def names(self: DecisionClass) -> tuple[int, ...]:
        """The numbers of the arms."""
        return tuple(range(self.n_arms))


class PythonOracle:
    """What holds for a class unless it says otherwise."""

    @property
    def ceiling(self) -> float:
        """No weight is above it."""
        return math.inf

    @property
    def minimise_only(self) -> bool:
        """Whether the oracle is right for negated non-negative costs only."""
        return self.ceiling < math.inf

    @property
    def structure(self) -> Structure | None:
        """None: nothing is compiled."""
        return None


class CompiledOracle(PythonOracle):
    """The oracle of a class with a compiled structure."""

    @property
    def structure(self) -> Structure:
        """What the compiled oracle reads."""
        raise NotImplementedError

    def best(self, weights: FloatArray) -> BoolArray:
        """The feasible set of largest total weight; ties are decided by the order of the arms."""
        from bestk.kernels import oracles

        shape = self.structure
        n_arms = shape.n_arms
        values = read_weights(weights, n_arms)
        if self.ceiling < math.inf:
            values = np.minimum(values, self.ceiling)
        out = np.empty(n_arms, np.bool_)
        # greedy oracles sort by insertion, and find it done; scratch of its own for every call
        parent, value = np.empty(shape.n_scratch, np.int64), np.empty(shape.n_nodes)
        oracles.best(
            shape.code, shape.table, shape.source, shape.target,
            values, np.argsort(-values, kind="stable"), parent, value, True, out,
        )  # fmt: skip
        return out


def read_weights(weights: FloatArray, n_arms: int) -> FloatArray:
    """Weights as the oracles read them: one finite number an arm."""
    values = np.ascontiguousarray(weights, np.float64)
    if values.shape != (n_arms,):
        raise InputError(
            f"weights of shape {values.shape} were refused: there must be one for each of "
            f"{n_arms} arms"
        )
    with np.errstate(over="ignore"):
        square = values.dot(values)  # the fast way to find a NaN or an infinity
    if not math.isfinite(square) and not np.isfinite(values).all():
        raise InputError(f"weights {values.tolist()} were refused: they must be finite")
    return values


def constrained(
    best: Callable[[FloatArray], BoolArray], weights: FloatArray, forced: Forced
) -> BoolArray | None:
    """The feasible set of largest weight that obeys `forced`; None if no set does.

    One call of an oracle for any real weights: a weight beyond the sum of all others forces an arm
    in or out.
    """
    free = forced == 0
    big = 1.01 * float(np.abs(weights[free]).sum()) or 1.0
    chosen: BoolArray = np.asarray(best(np.where(free, weights, big * forced)), dtype=np.bool_)
    return chosen if (free | (chosen == (forced > 0))).all() else None


def extent_of(decision: DecisionClass) -> Extent:
    """What a class says of its sets, or else what its oracle does: the least and the most arms."""
    own: Extent | None = getattr(decision, "extent", None)
    if own is not None:
        return own
    if decision.minimise_only:
        return Extent(0, decision.n_arms)
    ones = np.ones(decision.n_arms)
    sizes = [int(decision.best(sign * ones).sum()) for sign in (-1.0, 1.0)]
    n_sets: float | None = getattr(decision, "n_sets", None)
    return Extent(sizes[0], sizes[1], n_sets=n_sets)


def require_decision(decision: object) -> None:
    """Refuse what is no decision class: a name, a class instead of its object, a number."""
    if isinstance(decision, type) or not all(hasattr(decision, name) for name in OFFERED):
        raise InputError(
            f"decision={shown(decision)} was refused: give a decision class, such as"
            " TopK(n_arms, k), or k itself"
        )


def require_choice(decision: DecisionClass) -> None:
    """Refuse a class with a single answer: nothing needs to be sampled to find it.

    With weight -1 on the answer and +1 elsewhere, any other feasible set weighs more.
    """
    answer = decision.best(np.zeros(decision.n_arms))
    if np.array_equal(decision.best(np.where(answer, -1.0, 1.0)), answer):
        raise InputError(
            f"the {decision.kind} class was refused: it has one feasible set only"
            " (or its oracle does not maximise)"
        )
