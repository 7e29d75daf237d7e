"""What a study may claim: its stopping rule, its levels and its theorem, restated from the docs.

docs/theory.md has the LIL radius and its levels, docs/e-lucb.md the hybrid stop and its weights. A
specification that no theorem covers is an error here: nothing can be claimed of it. That goes for
every setting by itself: a policy has the settings listed here, with these values, and no others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bestk.verification.assumptions import QUANTILE, require, scales, seen_quantile
from bestk.verification.classes import Decision

# How the answer is compared with the others.
PAIR = "pair"  # its weakest arm with the strongest arm outside
EXCHANGE = "exchange"  # every arm with those that may replace it, on a matroid
LEAD = "lead"  # its total with that of any other set, under revised means
SETS = "sets"  # the evidence of all arms in which another set differs
REGRET = "regret"  # ugape: the largest possible loss of an answered arm

LIL, EVIDENCE, ROUNDS, SAMPLES = "lil", "evidence", "rounds", "samples"  # what bounds are made of
SPLIT, UNIFORM, HYBRID = "split", "uniform", "hybrid"  # how the error is spread

LEMMA_3_1 = "Lemma 2.1 with the union bound of Theorem 3.1"
LEMMA_4_1 = "Lemma 2.1 with the union bound of Theorem 4.1"


class Policy(NamedTuple):
    """What is proved of a policy, and the settings with which it is."""

    rule: str
    bounds: str
    levels: str
    theorem: str  # with evidence it is one of docs/e-lucb.md
    settings: tuple[str, ...] = ()


OF_LIL = ("eps", "bound")
POLICIES = {
    "e-lucb": Policy(PAIR, EVIDENCE, HYBRID, "", ("rule", "independent", "weights")),
    "e-clucb": Policy(LEAD, EVIDENCE, HYBRID, "", ("independent", "weights", "stop")),
    "lil-rand-lucb": Policy(
        PAIR,
        LIL,
        SPLIT,
        "Theorem 3.1 (uniform levels: Lemma 2.1 with the union bound of Theorem 4.1)",
        ("levels", "rule", *OF_LIL),
    ),
    "lucb++": Policy(PAIR, LIL, SPLIT, LEMMA_3_1, OF_LIL),
    "lil-lucb": Policy(PAIR, LIL, UNIFORM, LEMMA_4_1, OF_LIL),
    "uniform": Policy(PAIR, LIL, UNIFORM, LEMMA_4_1, OF_LIL),
    "lil-clucb": Policy(
        LEAD, LIL, UNIFORM, "Theorem 4.1 (other decision classes: Theorem 4.2)", OF_LIL
    ),
    "lucb": Policy(PAIR, ROUNDS, UNIFORM, "Kalyanakrishnan et al. (2012), correctness of LUCB1"),
    "clucb": Policy(LEAD, SAMPLES, UNIFORM, "Chen et al. (2014), Theorem 1"),
    "ugape": Policy(REGRET, SAMPLES, UNIFORM, "Gabillon et al. (2012), Theorem 2"),
}
JUDGES = ("e-lucb", "e-clucb")  # whose evidence may judge the answers of other policies
# What a setting may be; eps and weights are numbers, on which their theorems have conditions.
CHOICES: dict[str, tuple[str, ...]] = {
    "levels": (SPLIT, UNIFORM),  # both have their union bound; the hybrid levels have none here
    "bound": (LIL, EVIDENCE),
    "rule": ("random", "radius", "both", "least-sampled"),  # any: proofs do not look at it
    "independent": ("true", "false"),
    "stop": ("sets",),  # or by bounds, which goes without saying: all that version 0.1 had
}
PROBLEM = {
    "decision", "rewards", "delta", "epsilon", "policy", "variant", "params", "maximize",
}  # fmt: skip
EDITIONS = (1, 2)  # of the rules; a problem of the first does not say so
FAITHFUL_EPS = 0.01
PAIR_ARMS = 10  # as many at most are certified pair by pair
BALANCE = 4  # a side has many arms if it has at least a quarter of the other's


@dataclass(frozen=True)
class Claim:
    """Everything that the stopping rule reads, as numbers."""

    rule: str
    bounds: str
    theorem: str
    nu: float  # the error probability that is claimed
    epsilon: float  # the slack that the rule compares with
    sigma: float
    scale: float  # what differences are measured by: sigma, or the range of the rewards
    sign: float  # -1: rewards are negated, and the largest are wanted as ever
    eps: float = 0.0  # of the LIL
    lower: float = math.nan  # level of lower bounds
    upper: float = math.nan  # level of upper bounds
    product: float = 0.0  # what the product of both sides' evidence counts for; 0: split stop
    pair: float = 0.0  # what one mixture for both arms of a pair counts for; 0: none
    ratio: float = 1.0  # of the two arms in half of it
    balanced: bool = False  # which mixture of normal evidence
    edition: int = 1  # of the rules: 1 is version 0.1
    items: int = 0  # of an evaluation: how many
    costs: tuple[float, ...] = ()  # of a sample of each arm, where they differ
    q: float = 0.0  # of rewards as the policy sees them: which quantile is compared; 0: means are
    relative: bool = False  # whether the slack is a factor
    exact: bool = False  # whether the product is over the smaller union of Theorem 7

    def reach(self, c: float) -> float:
        """What an arm at c may be short of, within the slack."""
        if not self.relative:
            return c + self.epsilon
        return c * (1.0 + self.epsilon) if c > 0.0 else c / (1.0 + self.epsilon)

    def gap(self, lower: float, upper: float) -> float:
        """The least slack at which a lower bound reaches an upper one."""
        if not self.relative:
            return upper - lower
        if lower > 0.0:
            return upper / lower - 1.0
        return lower / upper - 1.0 if upper < 0.0 else math.inf

    @property
    def levels(self) -> dict[str, float] | None:
        """As the certificate has them; None where bounds depend on time."""
        if self.bounds in (ROUNDS, SAMPLES):
            return None
        return {
            "lower": self.lower, "upper": self.upper, "product": self.product, "pair": self.pair,
        }  # fmt: skip


# --- the settings of a policy ---------------------------------------------------------------------


def _settings(policy: Policy, problem: Mapping[str, Any]) -> dict[str, Any]:
    """The policy's own settings, once each is one that it has with a value that it allows."""
    params, name = problem["params"], problem["policy"]
    read = {}
    for setting, given in params.items():
        require(setting in policy.settings, f"{name} has no setting {setting}")
        require(given is not None, f"{setting} of {name} has no value")
        read[setting] = str(given).lower() if setting == "independent" else given
        allowed = CHOICES.get(setting, (read[setting],))
        require(read[setting] in allowed, f"{setting} of {name}: {given}")
    evidence = policy.bounds == EVIDENCE or read.get("bound") == EVIDENCE
    require(not (evidence and "eps" in read), "eps of the LIL where bounds are by evidence")
    variants = (None, "faithful") if policy.bounds == LIL and not evidence else (None,)
    require(problem["variant"] in variants, f"nothing is proved of a {problem['variant']} variant")
    return read


def _sides(share: float, n: int, k: int) -> tuple[float, float]:
    """w1 and w2, a share of the error that is split by the roots of the sizes of the sides."""
    to_low = math.sqrt(n - k) / (math.sqrt(n - k) + math.sqrt(k))
    return share * to_low, share * (1.0 - to_low)


def _rule(n: int, k: int, scale: float) -> tuple[float, float, float]:
    """w1, w2, w3 of the hybrid stop by the rule of docs/e-lucb.md."""
    ratio = max(k, n - k) / min(k, n - k)
    w3 = 1.0 / (1.0 + math.sqrt(n) / scale * ratio**0.3)
    return *_sides(1.0 - w3, n, k), w3


def _weights(params: Mapping[str, Any], n: int, k: int, scale: float) -> tuple[float, float, float]:
    """w1, w2, w3 of the hybrid stop: given, or by the rule."""
    independent = params.get("independent", "true") == "true"
    given = params.get("weights")
    if given is None:
        w1, w2, w3 = _rule(n, k, scale)
        return (w1, w2, w3) if independent else (w1 / (w1 + w2), w2 / (w1 + w2), 0.0)
    w1, w2, w3 = map(float, given.split(",") if isinstance(given, str) else given)
    total = w1 + w2 + w3
    require(w1 > 0 and w2 > 0 and w3 >= 0 and abs(total - 1.0) <= 1e-9, f"weights {given}")
    require(independent or w3 == 0.0, "a product of the evidence of dependent arms")
    return w1 / total, w2 / total, w3 / total


def _lil_levels(how: str, nu: float, n: int, k: int, eps: float) -> tuple[float, float]:
    """Levels at which Theorem 3.1 (split) or 4.1 (uniform) gives error nu."""
    require(0.0 < eps < 1.0, f"eps = {eps}")
    c_eps = (2.0 + eps) / eps * (1.0 / math.log1p(eps)) ** (1.0 + eps)
    if how == SPLIT:
        delta = nu / c_eps
        levels = delta / (2 * (n - k)), delta / (2 * k)
    else:
        delta = (nu * n**eps / c_eps) ** (1.0 / (1.0 + eps))
        levels = delta / n, delta / n
    require(max(levels) < math.log1p(eps) / math.e, "a level that Lemma 2.1 does not allow")
    return levels


def _theorem(rule: str, levels: _Levels, is_open: bool, is_quantile: bool) -> str:
    """Of the policies with evidence."""
    if rule == SETS:
        return "docs/e-clucb.md, Theorem 7"
    if is_open:
        number = 5
    elif rule == LEAD:
        number = 4
    elif levels.product == 0.0:
        number = 2
    else:
        number = 3 if rule == EXCHANGE else levels.theorem
    if is_quantile:
        return f"docs/e-lucb.md, Theorems {number} and 9"
    return f"docs/e-lucb.md, Theorem {number}"


# --- the claim ------------------------------------------------------------------------------------


class _Levels(NamedTuple):
    """Of lower and of upper bounds, and what the product of both sides' evidence counts for."""

    lower: float = math.nan
    upper: float = math.nan
    product: float = 0.0
    pair: float = 0.0
    ratio: float = 1.0
    theorem: int = 1  # of docs/e-lucb.md, where the K best are compared pair by pair


def _hybrid_levels(
    rule: str, nu: float, n: int, k: int, params: Mapping[str, Any], scale: float = 7.0
) -> _Levels:
    """Theorems 1 and 3 of docs/e-lucb.md; Theorem 4 where totals are compared."""
    if rule in (LEAD, SETS):
        require("weights" not in params, "weights of a hybrid stop without a matroid")
        return _Levels(nu / n, nu / n)
    w1, w2, w3 = _weights(params, n, k, scale)
    return _Levels(nu * w2 / (n - k), nu * w1 / k, nu * w3 / (k * (n - k)))


def _pair_levels(nu: float, n: int, k: int) -> _Levels:
    """Theorem 8 of docs/e-lucb.md: at most ten arms, normal rewards."""
    w3, w4 = (0.1, 0.8) if n == 2 else (0.2, 0.5)
    w1, w2 = _sides(1.0 - w3 - w4, n, k)
    of_pairs = nu / (k * (n - k))
    return _Levels(
        nu * w2 / (n - k), nu * w1 / k, w3 * of_pairs, w4 * of_pairs, math.sqrt((n - k) / k), 8
    )


def _exact_levels(nu: float, n: int, k: int, scale: float) -> _Levels:
    """Theorem 7 of docs/e-lucb.md: no slack, and at least two arms on either side."""
    of_k, of_rest = (math.fsum(1.0 / i for i in range(1, m + 1)) for m in (k, n - k))
    union = min((n - k - 1) * of_k + k, (k - 1) * of_rest + n - k)
    w1, w2, w3 = _rule(n, k, scale)
    product = 0.1 * w3 / (k * (n - k)) + 0.9 * w3 / union
    return _Levels(nu * w2 / (n - k), nu * w1 / k, nu * product, theorem=7)


def _sharp_levels(
    nu: float, n: int, k: int, slack: float, params: Mapping[str, Any], family: str
) -> _Levels:
    """Of the K best in the second edition of the rules."""
    scales = (1.8, 1.8) if family == QUANTILE else (12.0, 7.0)
    if "weights" not in params and params.get("independent", "true") == "true":
        if n <= PAIR_ARMS and family in ("gaussian", "subgaussian"):
            return _pair_levels(nu, n, k)
        if slack == 0.0 and min(k, n - k) > 1:
            return _exact_levels(nu, n, k, scales[0])
    return _hybrid_levels(PAIR, nu, n, k, params, scales[1])


def _open_levels(
    bounds: str, nu: float, n: int, k: int, max_arms: int, params: Mapping[str, Any]
) -> _Levels:
    """Theorem 5 of docs/e-lucb.md."""
    require(bounds == EVIDENCE and k > 0, "an open study of this kind")
    require("weights" not in params, "weights of a hybrid stop in an open study")
    require(type(max_arms) is int and max_arms >= n, f"{n} arms in a study of {max_arms}")
    return _Levels(nu / (2 * max_arms), nu / (2 * max_arms))


def _costs(problem: Mapping[str, Any], n: int) -> tuple[float, ...]:
    """What samples cost, where that is said; other policies than e-lucb and e-clucb ignore it."""
    if "costs" not in problem:
        return ()
    costs = problem["costs"]
    are_numbers = type(costs) is list and all(type(x) is float and 0 < x < math.inf for x in costs)
    require(are_numbers and len(costs) == n, "costs that are no positive numbers, one for each arm")
    return tuple(costs)


def judged(problem: Mapping[str, Any], max_arms: int | None) -> Mapping[str, Any]:
    """A problem whose answer came from a policy in Python as that of its judge; others as they are.

    Evidence holds whatever is sampled, and proves any answer for which its condition is met
    (docs/e-lucb.md, Theorems 1 to 4; docs/e-clucb.md, Theorem 7). Other bounds follow rules.
    """
    if "judge" not in problem:
        return problem
    judge = problem["judge"]
    require(judge.keys() == {"policy", "params"}, "a judge with other settings than are known")
    require(judge["policy"] in JUDGES, f"answers of others are not judged by {judge['policy']}")
    require(max_arms is None, "a policy of another's where arms come and go")
    require(not {"items", "costs"} & problem.keys(), "items or costs that the judge ignores")
    rest = {name: value for name, value in problem.items() if name != "judge"}
    return {**rest, "policy": judge["policy"], "variant": None, "params": judge["params"]}


def read_claim(problem: Mapping[str, Any], max_arms: int | None, decision: Decision) -> Claim:
    """What the problem's policy claims when it stops, with the arms that there are."""
    edition = problem.get("edition", 1)
    known = PROBLEM | ({"edition", "items", "costs"} & problem.keys())
    require(problem.keys() == known, "a problem with other settings than are known")
    require(type(edition) is int and edition in EDITIONS, f"edition {edition} of the rules")
    name = problem["policy"]
    require(name in POLICIES, f"nothing is proved of the policy {name}")
    rule, bounds, how, theorem, _ = POLICIES[name]
    params = _settings(POLICIES[name], problem)
    nu, slack, maximize = float(problem["delta"]), float(problem["epsilon"]), problem["maximize"]
    require(0.0 < nu < 1.0 and 0.0 <= slack < math.inf, f"delta = {nu}, epsilon = {slack}")
    require(maximize in (True, False), f"maximize = {maximize}")
    require(not (maximize and decision.ceiling == 0.0), "costs that are maximised")
    require(decision.k > 0 or rule == LEAD, f"{name} answers with the K best only")
    bounds = EVIDENCE if params.get("bound") == EVIDENCE else bounds
    how = params.get("levels", how)
    n, k = decision.n_arms, decision.k
    eps, levels = 0.0, _Levels()
    if max_arms is not None:
        levels = _open_levels(bounds, nu, n, k, max_arms, params)
    elif how == HYBRID:
        if name == "e-clucb" and decision.rank:
            rule, k = EXCHANGE, decision.rank
            slack /= min(k, n - k)  # of the total, over so many exchanges
        elif "stop" in params:
            rule = SETS
            dependent = params.get("independent", "true") != "true"
            require(not dependent, "a product of the evidence of dependent arms")
        if rule == PAIR and edition > 1:
            levels = _sharp_levels(nu, n, k, slack, params, problem["rewards"]["family"])
        else:
            levels = _hybrid_levels(rule, nu, n, k, params)
    elif bounds == EVIDENCE:
        levels = _Levels(nu / n, nu / n)
        if how == SPLIT:
            levels = _Levels(nu / (2 * (n - k)), nu / (2 * k))
    elif bounds == LIL:
        eps = float(params.get("eps", FAITHFUL_EPS))
        levels = _Levels(*_lil_levels(how, nu, n, k, eps))
    if bounds == EVIDENCE:
        theorem = _theorem(rule, levels, max_arms is not None, "q" in problem["rewards"])
    items = problem.get("items", 0)
    if "items" in problem:
        covered = name == "e-lucb" and levels.product > 0.0 and max_arms is None
        require(type(items) is int and items > 0 and covered, "an evaluation of this kind")
        theorem = "docs/evaluation.md, Theorem 1"
    most = n if max_arms is None else max_arms
    require(rule == SETS or "stop" not in params, "a stop by sets where pairs are compared")
    sigma, scale = scales(problem["rewards"])
    compares = rule == PAIR and bounds == EVIDENCE and not items
    return Claim(
        rule=rule, bounds=bounds, theorem=theorem, nu=nu, epsilon=slack, edition=edition,
        sigma=sigma, scale=scale, sign=1.0 if maximize else -1.0, eps=eps,
        lower=levels.lower, upper=levels.upper, product=levels.product,
        pair=levels.pair, ratio=levels.ratio, exact=levels.theorem == 7, items=items,
        costs=_costs(problem, n) if how == HYBRID and max_arms is None else (),
        balanced=k == 0 or BALANCE * min(k, most - k) >= max(k, most - k),
        q=seen_quantile(problem["rewards"], maximize, compares),
        relative=problem["rewards"].get("relative", False),
    )  # fmt: skip
