"""From a name and its settings to the numbers a kernel reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bestk.arguments import integer, shown
from bestk.bounds import levels as lv
from bestk.bounds.codes import Code, set_code
from bestk.compiled.programs import Axes
from bestk.decisions import DecisionClass, TopK
from bestk.errors import InputError
from bestk.kernels import step
from bestk.kernels import types as t
from bestk.policies.catalogue import (
    BOUNDS,
    BUDGET,
    EVIDENCE_BOUND,
    GROWING,
    INDEPENDENT,
    RULES,
    SETS,
    STOP,
    THRESHOLD,
    Policy,
)
from bestk.policies.checks import (
    check,
    check_items,
    check_open,
    check_quantile,
    refuse_quantile,
    refuse_stop,
)
from bestk.policies.parameters import read_costs, read_params, read_weights
from bestk.policies.registry import default_policy, find, find_or_absent
from bestk.rewards import Gaussian, Quantile, Rewards, SubGaussian
from bestk.rewards.evidence import Setting

DEPENDENT = (INDEPENDENT.name, False)
BALANCE = 4  # a side has many arms if it has at least a quarter of the other's; arbitrary
SHARE = 100  # every arm of e-lucb gets a hundredth of an even share: 1% of the samples at most


@dataclass(frozen=True)
class Configured:
    """A policy ready to run: what it is called, what is proved, what the kernel reads."""

    policy: Policy
    variant: str | None
    params: dict[str, Any]
    guarantee: float | None  # the error probability that is proved; None for a heuristic
    theorem: str | None  # what proves it
    spec: t.Spec
    table: t.IntArray | None  # what a compiled oracle reads
    evidence: t.Evidence  # what evidence reads
    code: Code | None = None  # of the sets rule
    costs: t.FloatArray | None = None  # of the arms
    judge: Configured | None = None  # of a policy in Python: whose evidence judges its answer

    @property
    def bets(self) -> bool:
        """Whether it stops by bets on single rewards, so that a lost one can count as the worst."""
        by_evidence = self.spec.radius == t.EVIDENCE and not self.spec.glr
        return by_evidence and self.evidence.kind in (t.BETTING, t.QUANTILE)

    @property
    def axes(self) -> Axes:
        """Which programs it needs."""
        return Axes.of(self.spec, self.evidence)

    def new_state(self) -> t.State:
        """The state before the first observation."""
        codes = None if self.code is None else self.code.arms
        return step.new_state(self.spec, self.table, self.evidence, codes, self.costs)


def _lil_ucb(variant: str | None, nu: float, n_arms: int, eps: float) -> tuple[float, float, float]:
    """(delta, 1 + beta, lambda) of lil'UCB."""
    if variant == "heuristic":  # Jamieson et al. (2014), Section 4; their own delta is nu/5
        return nu, 1.5, 1.0 + 10.0 / n_arms
    beta = 1.0
    return lv.lil_ucb_delta(nu, eps), 1.0 + beta, ((2.0 + beta) / beta) ** 2


def _lil(
    how: str, variant: str | None, nu: float, n_arms: int, k: int, eps: float
) -> tuple[float, float]:
    """Levels of lower and upper LIL bounds."""
    delta = nu if variant == "heuristic" else lv.faithful_delta(how, nu, n_arms, eps)
    high, low = lv.split_levels(how, delta, n_arms, k)
    if variant == "faithful":
        lv.check_lemma(max(high, low), eps)
    return high, low


def _balanced(n_arms: int, k: int) -> bool:
    """Whether both sides have many arms; so do the classes whose answers have no fixed size."""
    return k == 0 or BALANCE * min(k, n_arms - k) >= max(k, n_arms - k)


def _sharper(n_arms: int, k: int, epsilon: float, rewards: Rewards) -> lv.Weights:
    """Weights of e-lucb by N and K, the slack and the family of rewards: all fixed before data."""
    pairs = lv.pair_weights(n_arms, k) if isinstance(rewards, Gaussian | SubGaussian) else None
    if pairs is not None:
        return pairs
    scales = lv.EXACT_SCALE, lv.HYBRID_SCALE
    if isinstance(rewards, Quantile):
        scales = lv.QUANTILE_SCALE, lv.QUANTILE_SCALE
    if epsilon == 0.0:
        return lv.exact_weights(n_arms, k, *scales)
    return lv.hybrid_weights(n_arms, k, True, scales[1])


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _seed(seed: int) -> int:
    found = integer(seed, "seed")
    if not 0 <= found < 1 << 63:
        raise InputError(
            f"seed {shown(found)} was refused: it must be an integer from 0 to 2^63 - 1"
        )
    return found


def _stop(values: Mapping[str, Any], decision: DecisionClass) -> str:
    """How e-clucb stops where there is no matroid.

    Of costs that are not negative the sets rule bounds what the oracle cannot be shown; an arm that
    costs nothing would keep it from ending, so that bounds are the default there.
    """
    independent = bool(values["independent"])
    if values[STOP] == SETS and not independent:
        raise InputError(
            "stop=sets was refused: with independent=false the stop must be by bounds, because"
            " products of evidence need arms that do not depend on each other"
        )
    return values[STOP] or (BOUNDS if decision.minimise_only or not independent else SETS)


def _hybrid(
    values: dict[str, Any], rule: lv.Weights, delta: float, n_arms: int, k: int
) -> lv.HybridLevels:
    """Levels by the user's weights, which are noted, or the rule's; of glr e-lucb's for bounds.

    Its likelihood ratios count for delta: no union, no mixture.
    """
    if THRESHOLD in values:
        levels = lv.hybrid_levels(delta, n_arms, k, rule)
        return lv.HybridLevels(levels.lower, levels.upper, delta, delta, 0.0)
    weights = read_weights(values["weights"], rule, values["independent"])
    values["weights"] = list(weights)
    return lv.hybrid_levels(delta, n_arms, k, weights)


def _theorem(
    policy: Policy,
    evidence: bool,
    family: int,
    levels: lv.HybridLevels,
    max_arms: int | None,
    items: int | None,
    rewards: Rewards,
) -> str:
    if items is not None:
        return "docs/evaluation.md, Theorem 1"
    if not evidence:
        return policy.theorem
    if family == t.SETS:
        return "docs/e-clucb.md, Theorem 7"
    number = 3 if family == t.EXCHANGE else 1
    if levels.pair > 0.0:
        number = 8
    elif levels.exact > levels.both:
        number = 7
    if levels.both == 0.0:
        number = 4 if family in (t.CPE, t.CLUCB) else 2
    if max_arms is not None:
        number = 5
    if isinstance(rewards, Quantile):
        return f"docs/e-lucb.md, Theorems {number} and 9"
    return f"docs/e-lucb.md, Theorem {number}"


def _python(
    policy: Policy,
    variant: str | None,
    params: Mapping[str, Any],
    judge: Mapping[str, Any] | None,
    refused: Mapping[str, Any],
    **problem: Any,
) -> Configured:
    """A policy in Python: what kernels read is its judge's, of which alone something is proved."""
    check(policy, *(problem[name] for name in ("decision", "delta", "epsilon", "maximize")))
    for name, value in refused.items():
        if value is not None:
            raise InputError(
                f"{name} were refused: {policy.name}, a policy in Python, cannot use them"
            )
    if judge is None and isinstance(policy.python, str):  # our own: others may compare quantiles
        refuse_quantile(problem["rewards"], policy.name)
    values = read_params(policy, variant, params)[1] if policy.parameters else dict(params)
    if policy.budget and values[BUDGET.name] is None:
        raise InputError(
            f"the budget is missing: {policy.name} spends a fixed number of pulls; give"
            ' params={"budget": B} to a Study, budget=B to identify or simulate, --budget B to the'
            " command (beside policies that are to stop by themselves --param budget=B)"
        )
    if judge is None:
        given = {name: each for name, each in values.items() if (name, each) == DEPENDENT}
        judge = {"policy": default_policy(problem["decision"]), "params": given}
    found = configure(judge["policy"], None, judge["params"], **problem)
    return replace(found, policy=policy, params=values, guarantee=None, theorem=None, judge=found)


def configure(
    name: str,
    variant: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    decision: DecisionClass,
    delta: float,
    epsilon: float,
    rewards: Rewards,
    seed: int,
    maximize: bool = True,
    generalised: bool = False,
    max_arms: int | None = None,
    items: int | None = None,
    costs: Sequence[float] | None = None,
    edition: int = lv.EDITION,
    judge: Mapping[str, Any] | None = None,
) -> Configured:
    """Check every setting and resolve it to kernel numbers; refuse what no theorem covers.

    With epsilon > 0 every answered arm is within epsilon of the K-th best; lil-clucb and clucb
    promise more, that the answer's *total* is within epsilon of the best total. `generalised` runs
    Algorithm 3 on the K largest too, where Algorithm 2 makes the same decisions faster. `max_arms`
    is how many arms there ever are, where they come and go, `items` how many each arm scores, once,
    if those are what means are taken over, `costs` what samples cost. Version 0.1 was `edition` 1.
    `judge` (policy and params) judges the answer of a policy in Python; with it, one that is not
    registered here is no error.
    """
    policy = find(name) if judge is None else find_or_absent(name)
    if policy.is_python:
        return _python(
            policy, variant, params or {}, judge,
            {"max_arms": max_arms, "items": items, "costs": costs}, decision=decision, delta=delta,
            epsilon=epsilon, rewards=rewards, seed=seed, maximize=maximize, edition=edition,
        )  # fmt: skip
    check(policy, decision, delta, epsilon, maximize)
    n_arms, k = decision.n_arms, decision.k if isinstance(decision, TopK) else 0
    variant, values = read_params(policy, variant, params or {})
    evidence = policy.radius == t.EVIDENCE or values.get("bound") == EVIDENCE_BOUND
    family = policy.family if k and not generalised else t.CPE
    shape = decision.structure if family == t.CPE else None
    if items is not None:
        check_items(policy, decision, items, values, max_arms is not None)
    eps, glr = values.get("eps", 0.0), THRESHOLD in values
    check_quantile(rewards, policy, decision, evidence, glr)
    scale, lam, high, low = 1.0, 0.0, 1.0, 1.0
    hybrid = lv.NO_HYBRID
    code: Code | None = None
    if max_arms is not None:
        check_open(name, decision, evidence, values, max_arms)
        high = low = lv.open_level(delta, max_arms)
        lv.check_level(high)
    elif policy.radius == t.EVIDENCE:
        if shape is not None and shape.rank is not None:
            family, k = t.EXCHANGE, shape.rank
            epsilon = epsilon / min(k, n_arms - k)  # of the total, over so many exchanges
        if family == t.CPE:
            high, low = lv.split_levels(lv.UNIFORM, delta, n_arms, k)
            values[STOP] = _stop(values, decision)
            if values[STOP] == SETS:
                family, code = t.SETS, set_code(decision, delta)
            if values["weights"] is not None:
                raise InputError(
                    f"weights were refused: for the class {decision.kind} there is no hybrid stop,"
                    " which needs a matroid"
                )
        else:
            refuse_stop(values, decision)
            independent = values.get("independent", True)
            rule = lv.hybrid_weights(n_arms, k, independent)
            if edition > 1 and family == t.PAIR and independent:
                rule = _sharper(n_arms, k, epsilon, rewards)
            hybrid = _hybrid(values, rule, delta, n_arms, k)
            high, low = hybrid.lower, hybrid.upper
        lv.check_level(min(high, low))
    elif evidence:
        high, low = lv.split_levels(values.get("levels", policy.levels), delta, n_arms, k)
        lv.check_level(min(high, low))
    elif policy.family == t.LIL_UCB:
        high, scale, lam = _lil_ucb(variant, delta, n_arms, eps)
        low = high
    elif policy.radius == t.LIL:
        high, low = _lil(values.get("levels", policy.levels), variant, delta, n_arms, k, eps)
    proved = policy.proved and variant != "heuristic"
    return Configured(
        policy=policy,
        variant=variant,
        params=values,
        guarantee=delta if proved else None,
        theorem=_theorem(policy, evidence, family, hybrid, max_arms, items, rewards)
        if proved
        else None,
        spec=t.Spec(
            n_arms=n_arms,
            k=k,
            family=family,
            radius=t.EVIDENCE if evidence else policy.radius,
            rule=RULES[values["rule"]] if "rule" in values else policy.rule,
            seed=_seed(seed),
            sigma=float(rewards.sigma),
            eps=float(eps),
            level_lower=float(high),
            level_upper=float(low),
            scale=float(scale),
            nu=float(delta),
            lam=float(lam),
            epsilon=float(epsilon),
            sign=1.0 if maximize else -1.0,
            structure=shape.code if shape else t.NO_ORACLE,
            n_nodes=shape.n_nodes if shape else 1,
            source=shape.source if shape else 0,
            target=shape.target if shape else 0,
            ceiling=float(decision.ceiling),
            log_lower=math.log(high),
            log_upper=math.log(low),
            log_both=_log(hybrid.both),
            log_exact=_log(hybrid.exact),
            hybrid=hybrid.both > 0.0 and not glr,
            pairs=hybrid.pair > 0.0,
            log_pair=_log(hybrid.pair),
            ratio=hybrid.ratio,
            glr=glr,
            iterated=float(values.get(THRESHOLD) == GROWING),
            share=SHARE if policy.radius == t.EVIDENCE else 0,
            n_items=items or 0,
            constant=0.0 if code is None else code.constant,
        ),
        code=code,
        costs=None if costs is None else read_costs(policy, values, costs, n_arms, max_arms),
        table=shape.table if shape else None,
        evidence=(
            rewards.item_evidence(maximize)
            if items is not None
            else rewards.policy_evidence(
                Setting(maximize, _balanced(max_arms or n_arms, k), edition > 1, hybrid.both > 0.0)
            )
            if evidence
            else t.NO_EVIDENCE
        ),
    )
