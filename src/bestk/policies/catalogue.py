"""The catalogue: what each policy is, where it comes from, what is proved of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from bestk.bounds.levels import FAITHFUL_EPS, SPLIT, UNIFORM
from bestk.kernels import types as t

PAPER = "Jiang, Li and Qiao (2017)"


@dataclass(frozen=True)
class Parameter:
    """A policy's own setting."""

    name: str
    default: Any
    about: str
    choices: tuple[str, ...] = ()  # empty: numbers
    count: int = 1  # how many numbers; more than one: separated by commas
    whole: bool = False  # a positive integer


LIL_BOUND, EVIDENCE_BOUND = "lil", "evidence"
FLAG = ("true", "false")

EPS = Parameter("eps", FAITHFUL_EPS, "the LIL parameter of Lemma 2.1 (heuristic variant: 0)")
BOUND = Parameter(
    "bound",
    LIL_BOUND,
    "the paper's LIL radius, or the evidence of the reward family",
    (LIL_BOUND, EVIDENCE_BOUND),
)
INDEPENDENT = Parameter(
    "independent",
    True,
    "false where arms may depend on each other, such as scores on shared items",
    FLAG,
)
WEIGHTS = Parameter(
    "weights", None, "w1,w2,w3 of the hybrid stop (default: a rule in N and K)", count=3
)
BUDGET = Parameter("budget", None, "how many pulls there are in all; must be given", whole=True)


@dataclass(frozen=True)
class Policy:
    """One entry of the catalogue: facts for people, codes for kernels.

    A policy in plain Python (`python`: its class, or "module:Class" to be imported when needed)
    samples and answers by itself; what is proved of its answers in a study is e-lucb's evidence,
    or e-clucb's, whose codes the kernels read in its place.
    """

    name: str
    title: str
    source: str
    theorem: str  # what proves the faithful variant; of a policy without variants, the policy
    about: str
    family: int
    radius: int = t.LIL
    rule: int = t.BOTH
    levels: str = UNIFORM
    proved: bool = True
    slack: bool = True
    single: bool = False  # K = 1 only
    combinatorial: bool = False  # answers any decision class, not the K largest alone
    parameters: tuple[Parameter, ...] = field(default=(EPS, BOUND))
    python: Callable[[], Any] | str | None = None
    claim: str | None = None  # what the author of a policy in Python says is proved of it

    @property
    def is_python(self) -> bool:
        """Whether it is a class in plain Python, not compiled."""
        return self.python is not None

    @property
    def budget(self) -> bool:
        """Whether it spends a fixed budget."""
        return BUDGET in self.parameters

    def make(self) -> Any:
        """A new object of a policy in Python."""
        if isinstance(self.python, str):
            module, _, name = self.python.partition(":")
            return getattr(import_module(module), name)()
        assert self.python is not None
        return self.python()

    @property
    def variants(self) -> tuple[str, ...]:
        """Faithful and heuristic where the LIL is used."""
        return ("faithful", "heuristic") if self.radius == t.LIL else ()


RULES = {"random": t.RANDOM, "radius": t.RADIUS, "both": t.BOTH, "least-sampled": t.LEAST_SAMPLED}
RULE_ABOUT = (
    "which of the pair is sampled: at random by counts or by radius, both, the less sampled"
)

STOP, SETS, BOUNDS = "stop", "sets", "bounds"
STOPS = Parameter(
    STOP,
    None,
    "evidence of whole sets, or bounds of single arms (not for matroids)",
    (SETS, BOUNDS),
)

THRESHOLD, GROWING, FIXED = "threshold", "growing", "fixed"
THRESHOLDS = Parameter(
    THRESHOLD, GROWING, "log((1 + log t)/delta) after t samples, or log(1/delta)", (GROWING, FIXED)
)

_ENTRIES = (
    Policy(
        "e-lucb",
        "e-LUCB",
        "this library; pair and random rule after Jiang, Li and Qiao (2017)",
        "docs/e-lucb.md, Theorems 1, 7 and 8 (independent=false: Theorem 2)",
        "lil-rand-lucb with evidence for bounds; stops on the evidence of both sides together",
        t.PAIR,
        radius=t.EVIDENCE,
        rule=t.RADIUS,
        parameters=(Parameter("rule", "radius", RULE_ABOUT, tuple(RULES)), INDEPENDENT, WEIGHTS),
    ),
    Policy(
        "e-clucb",
        "e-CLUCB",
        "this library; after Jiang, Li and Qiao (2017), Algorithm 3",
        "docs/e-lucb.md, Theorem 3 (matroids); docs/e-clucb.md, Theorem 7 (other classes)",
        "stops on the evidence of whole sets; on matroids it compares arms that replace each other",
        t.CPE,
        radius=t.EVIDENCE,
        rule=t.RADIUS,
        combinatorial=True,
        parameters=(INDEPENDENT, WEIGHTS, STOPS),
    ),
    Policy(
        "lil-rand-lucb",
        "lil'RandLUCB",
        f"{PAPER}, Algorithm 1",
        "Theorem 3.1 (uniform levels: Lemma 2.1 with the union bound of Theorem 4.1)",
        "compares the weakest leader with the strongest rival, samples one of them at random",
        t.PAIR,
        rule=t.RANDOM,
        levels=SPLIT,
        parameters=(
            Parameter("levels", SPLIT, "how delta is spread over the arms", (SPLIT, UNIFORM)),
            Parameter("rule", "random", RULE_ABOUT, tuple(RULES)),
            EPS,
            BOUND,
        ),
    ),
    Policy(
        "lil-clucb",
        "lil'CLUCB",
        f"{PAPER}, Algorithms 2 and 3",
        "Theorem 4.1 (other decision classes: Theorem 4.2)",
        "samples the least known arm on which best and optimistic answer differ",
        t.CLUCB,
        combinatorial=True,
    ),
    Policy(
        "lucb",
        "LUCB",
        "Kalyanakrishnan, Tewari, Auer and Stone (2012)",
        "Kalyanakrishnan et al. (2012), correctness of LUCB1",
        "samples both arms of the pair; radius grows with the number of rounds",
        t.PAIR,
        radius=t.LUCB_ROUNDS,
        parameters=(),
    ),
    Policy(
        "lil-lucb",
        "lil'LUCB",
        "Jamieson and Nowak (2014), for any K as the paper runs it",
        "Lemma 2.1 with the union bound of Theorem 4.1",
        "LUCB with the LIL radius, the same level for every arm",
        t.PAIR,
    ),
    Policy(
        "lucb++",
        "LUCB++",
        "Simchowitz, Jamieson and Recht (2017), as the paper runs it",
        "Lemma 2.1 with the union bound of Theorem 3.1",
        "LUCB with the LIL radius, levels split between leaders and rivals",
        t.PAIR,
        levels=SPLIT,
    ),
    Policy(
        "lil-ucb",
        "lil'UCB",
        "Jamieson, Malloy, Nowak and Bubeck (2014)",
        "none: its theorem's condition on lambda holds for lambda = 9 only in the limit",
        "samples the highest upper bound until one arm outweighs all others (K = 1)",
        t.LIL_UCB,
        proved=False,
        slack=False,
        single=True,
        parameters=(EPS,),
    ),
    Policy(
        "glr",
        "GLR stop",
        "Garivier and Kaufmann (2016), Section 3.2; samples as e-lucb does",
        "none: where means are close enough, it is wrong more often than delta (docs/limits.md)",
        "e-lucb, but stops when every pair's likelihood ratio is large: what a proof costs",
        t.PAIR,
        radius=t.EVIDENCE,
        rule=t.RADIUS,
        proved=False,
        slack=False,
        parameters=(THRESHOLDS,),
    ),
    Policy(
        "clucb",
        "CLUCB",
        "Chen, Lin, King, Lyu and Chen (2014), Algorithm 1",
        "Chen et al. (2014), Theorem 1",
        "lil-clucb with a radius that grows with the number of samples",
        t.CLUCB,
        radius=t.ALL_SAMPLES,
        combinatorial=True,
        parameters=(),
    ),
    Policy(
        "ugape",
        "UGapE",
        "Gabillon, Ghavamzadeh and Lazaric (2012), fixed confidence",
        "Gabillon et al. (2012), Theorem 2",
        "samples the less known of the two arms that bound the largest possible regret",
        t.UGAPE,
        radius=t.ALL_SAMPLES,
        parameters=(),
    ),
    Policy(
        "uniform",
        "uniform sampling",
        "the baseline people use; bounds of lil'LUCB",
        "Lemma 2.1 with the union bound of Theorem 4.1",
        "samples every arm in turn, checks after each full round",
        t.PAIR,
        rule=t.EVERY,
    ),
)

CATALOGUE: dict[str, Policy] = {policy.name: policy for policy in _ENTRIES}
DEFAULT = "e-lucb"
COMBINATORIAL_DEFAULT = "e-clucb"
