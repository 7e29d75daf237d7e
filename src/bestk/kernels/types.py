"""What kernels read and write: codes, Spec (numbers only) and State (arrays only)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
NodeArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

# --- axes, one if-ladder each -------------------------------------------------------------------
# family: how rounds are chosen, `step.py`
PAIR, CLUCB, UGAPE, LIL_UCB, CPE, EXCHANGE, SETS = range(7)
# radius: the width of a confidence bound, `bounds.py`
LIL, LUCB_ROUNDS, ALL_SAMPLES, EVIDENCE = range(4)
# rule: which of the pair (h, l) is sampled, `lucb.py`; RANDOM by counts, RADIUS by half-widths
RANDOM, BOTH, LEAST_SAMPLED, EVERY, RADIUS = range(5)
# structure: the oracle of a decision class, `oracles.py`; NO_ORACLE: none is compiled
NO_ORACLE, PARTITION, FOREST, DAG, ROADS, EXPLICIT = range(6)
# source of simulated rewards, `rng.py`
GAUSSIAN, BERNOULLI, TABLE, LOG_NORMAL = range(4)
# evidence: which family of formulas, `evidence.py`
NORMAL, BETA, BETTING, BERNSTEIN, COINS, FINITE, QUANTILE = range(7)

# Fields of Spec, Evidence and World that are constants in compiled code: the branches that a policy
# never takes are not compiled. No other field has such a name.
AXES = ("family", "radius", "structure", "hybrid", "pairs", "glr", "kind")


def outlined(function: F) -> F:
    """Mark a function that compiled code calls: its callers gain nothing from inlining it."""
    return function


FAR = 1024.0  # sigmas from 0, beyond which sums would lose digits that evidence needs; arbitrary

# --- State.clock --------------------------------------------------------------------------------
# samples so far, asks so far, LUCB's round number, arms sampled at least once, first arm that may
# be below the floor, the most sampled arm, this run's number, the floor (samples that every arm
# must have), the pair that last refuted the hybrid stop, and whether the state only plans; of the
# sets rule, where its search stands: the tilt, the last one below and the first above the minimum,
# and the arm to be sampled; of quantiles, how much of State.ordered is taken
TOTAL, ASKS, ROUND, SEEN, NEXT, MOST, RUN, FLOOR, WITNESS_IN, WITNESS_OUT, PLANS = range(11)
TILT, TILT_BELOW, TILT_ABOVE, CHOSEN, TAKEN = range(11, 16)
CLOCK_SIZE = 16

# --- State.widths ---------------------------------------------------------------------------------
# c(t), the common factor of radii that depend on time; the last lead of CPE; where the pair that
# last refuted the hybrid stop did so
WIDTH, LEAD, WITNESS_AT = range(3)
WIDTHS_SIZE = 3

# --- ends of an interval, and the direction in which they lie from the mean -----------------------
LOW, HIGH = range(2)
SIGN = (-1.0, 1.0)


class Slot(NamedTuple):
    """A tournament tree: its row in State.keys, and what it is for. Every tree finds its largest.

    The lowest of a set is found by negated keys. A tie goes to the lowest index, or to the last
    (`last`) where the lowest of a set ordered by (value descending, index ascending) is wanted.
    """

    row: int
    sign: float = 1.0
    last: bool = False


# M = High, the K largest means, in every family that needs it
MEAN_IN, MEAN_OUT = Slot(0, -1.0, True), Slot(1)  # High's lowest mean, Low's highest
# pair: h and l
LOWER, UPPER = Slot(2, -1.0), Slot(3)  # High's lowest lower bound, Low's highest upper bound
# clucb: Mt, the K largest revised means, and the symmetric difference of M and Mt by radius
REVISED_IN, REVISED_OUT, DIFFERENCE = Slot(2, -1.0, True), Slot(3), Slot(4)
# lil-ucb: the highest upper bound of all arms
INDEX = Slot(0)
# ugape: S, the K largest U; L by membership of S and J; L over J (a tie to the lowest index), and U
# outside J
U_IN, U_OUT = Slot(0, -1.0, True), Slot(1)
L_SJ, L_S, L_J, L_NONE = Slot(2, -1.0, True), Slot(3), Slot(4, -1.0, True), Slot(5)
L_ALL_J, U_REST = Slot(6, -1.0), Slot(7)

SLOTS = {PAIR: 4, CLUCB: 5, UGAPE: 8, LIL_UCB: 1, CPE: 1, EXCHANGE: 1, SETS: 1}

# --- rows of State.weights and State.orders for combinatorial classes -----------------------------
EMPIRICAL, REVISED = range(2)
# --- rows of State.codes: of an arm inside the answer, outside, its share of the constant, and all
# of it for the present answer
CODE_IN, CODE_OUT, SHARE, CODE = range(4)
# --- rows of State.places: where in State.ordered an arm's observations lie, and room for how many
START, ROOM = range(2)
TILTS = 8  # tilts whose revised means are kept at a time


class Spec(NamedTuple):
    """One policy on one problem, as numbers. Built in `policies/`, never by hand."""

    n_arms: int
    k: int
    family: int
    radius: int
    rule: int
    seed: int  # of the policy's coins
    sigma: float
    eps: float  # the LIL parameter of Lemma 2.1
    level_lower: float  # error given to an arm's lower bound (arms of High): w of U(T, w)
    level_upper: float  # error given to an arm's upper bound (arms of Low)
    scale: float  # factor on U: 1, or 1 + beta for lil-ucb
    nu: float  # the wanted error, for the radii that depend on time
    lam: float  # lambda of lil-ucb
    epsilon: float  # the user's slack
    sign: float = 1.0  # -1 to minimise: the simulator tells negated rewards, kernels maximise
    # combinatorial classes: the oracle, its nodes, and what no weight can exceed
    structure: int = NO_ORACLE
    n_nodes: int = 1
    source: int = 0
    target: int = 0
    ceiling: float = np.inf
    # evidence: logs of both levels, and of what both sides' product counts for (-inf: split stop
    # alone), with a slack and without one; every arm gets at least 1/share of an even share of the
    # samples (0: none)
    log_lower: float = 0.0
    log_upper: float = 0.0
    log_both: float = -np.inf
    log_exact: float = -np.inf
    hybrid: bool = False  # whether both sides' product counts
    # whether a mixture for both arms of a pair counts, for how much, and their ratio in half of it
    pairs: bool = False
    log_pair: float = -np.inf
    ratio: float = 1.0
    # whether likelihood ratios stop (`glr.py`): beyond -log_both, and this much of log(1 + log t)
    glr: bool = False
    iterated: float = 0.0
    share: int = 0
    n_items: int = 0  # that every arm has to score, without replacement; 0: samples never end
    constant: float = 0.0  # of the sets rule's code: spread over the arms of a difference


class Evidence(NamedTuple):
    """One family of evidence: constants fixed before any data. Built in `rewards/`."""

    kind: int
    sigma: float  # NORMAL
    levels: FloatArray  # ascending; first and last are the ends of the range
    points: FloatArray  # mixed over: n0 (NORMAL), theta (BETTING, COINS, QUANTILE), b (BERNSTEIN)
    log_weights: FloatArray
    log_rest: FloatArray  # log(1 - point) of bets and of BERNSTEIN; for NORMAL the shape
    # QUANTILE: which quantile, what a hit multiplies wealth by (rows LOW, HIGH; logs), whether
    # slacks are factors, and the weights where the product of both sides is meant
    q: float = 0.5
    log_lifts: FloatArray = np.zeros((2, 1))
    relative: bool = False
    log_paired: FloatArray = np.zeros(1)


NO_EVIDENCE = Evidence(NORMAL, 1.0, np.zeros(2), np.ones(1), np.zeros(1), np.zeros(1))


class Items(NamedTuple):
    """What evidence on a finite set of items keeps (FINITE, `finite.py`)."""

    order: NodeArray  # (arms, items): of every arm, drawn as far as `drawn` says
    drawn: IntArray
    wealth: FloatArray  # (2 arms, cells): row 2i + LOW against "mean <= c", 2i + HIGH against ">="
    least: FloatArray  # (2, cells): scratch
    difficulty: FloatArray  # (3, items): sums of residuals, how many, and z
    start: FloatArray  # (3, items): the same before any score, from those of other arms
    fits: FloatArray  # (sums, arms): see `finite.py`
    grand: FloatArray  # sums over all scores


class State(NamedTuple):
    """Everything a policy knows, one row an arm, plus index trees.

    It depends on what was told and how often was asked. The order of observations shows in the last
    bits of sums, and of bounds by coins (BETA) and by variance (BERNSTEIN).
    """

    counts: IntArray  # T_i
    origins: FloatArray  # what S_i is relative to: the first reward if it is far from 0, else 0
    sums: FloatArray  # S_i
    means: FloatArray  # m_i = origin + S_i / T_i; where quantiles are compared, the sample's
    high: BoolArray  # in M (ugape: in J)
    other: BoolArray  # in Mt (ugape: in S)
    keys: FloatArray  # (slots, width): leaves of the trees, -inf for arms not in a tree
    slopes: FloatArray  # (slots, width): change of a key per unit of `widths[0]`
    nodes: NodeArray  # (slots, width): winner below each inner node
    fails: FloatArray  # (slots, width): width at which a comparison below the node may turn
    widths: FloatArray  # single numbers, see WIDTH above
    radii: (
        FloatArray  # (2, table): radius of lower and of upper bound at T = 1, 2, ...; nan: unknown
    )
    clock: IntArray
    # combinatorial classes: what the oracle reads, the weights it is given, its order of the arms
    table: IntArray
    weights: FloatArray  # (2, arms): empirical and revised means
    orders: IntArray  # (2, arms)
    parent: IntArray  # scratch of the oracle
    value: FloatArray  # scratch of the oracle
    # evidence: its constants, counts of every level, running variance, last lower and upper bounds
    evidence: Evidence
    levels: IntArray  # (arms, levels + 1): the last column counts holes, see `evidence.betting`
    spread: FloatArray
    ends: FloatArray  # (2, arms)
    # sets rule: codes of the arms, revised means and evidence at the last tilts, how often the arm
    # had been sampled then
    codes: FloatArray  # (4, arms)
    coded: BoolArray  # the answer that the codes are for
    tilted: FloatArray  # (2 * TILTS, arms)
    stamps: IntArray  # (TILTS, arms + 1): the last column is the tilt
    items: Items
    root_costs: FloatArray  # square roots of the arms' costs, the largest 1; where evidence decides
    # quantiles: every arm's observations in ascending order, and where they are; see `quantile.py`
    ordered: FloatArray
    places: IntArray  # (2, arms)


class World(NamedTuple):
    """Where simulated rewards come from."""

    law: int
    means: FloatArray
    sigma: float
    # TABLE: the values of arm a at first[a] ... first[a+1]-1, with cumulated counts
    values: FloatArray = np.zeros(1)
    cumulated: IntArray = np.zeros(1, np.int64)
    first: IntArray = np.zeros(1, np.int64)
