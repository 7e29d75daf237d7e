"""The policies once more: slow, obvious, straight from the pseudocode. The kernels must agree.

Plain floats and lists, everything recomputed at every ask; nothing is shared with `bestk`.
Algorithms and lemmas are numbered as in Jiang, Li and Qiao, "Practical algorithms for best-K
identification in multi-armed bandits". Notation: N arms, T_i samples of arm i with sum S_i and
mean m_i, radius u_i; nu is the wanted error, delta a policy's own parameter, eps that of Lemma 2.1
and epsilon the user's slack. Ties go to the lowest index everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, log, sqrt

Radius = Callable[[int], float]  # T -> u
Oracle = Callable[[list[float]], list[int]]  # weights -> the arms of the best set, sorted


# --- the LIL radius and its parameters ------------------------------------------------------------


def lil_radius(t: int, w: float, eps: float, sigma: float) -> float:
    """U(t, w) of Lemma 2.1, with the "+2" of Section 5."""
    inner = log(log((1 + eps) * t + 2) / w)
    return (1 + sqrt(eps)) * sqrt(2 * sigma**2 * (1 + eps) / t * inner)


def c(eps: float) -> float:
    """The constant c_eps of Lemma 2.1."""
    return (2 + eps) / eps * (1 / log(1 + eps)) ** (1 + eps)


def delta_for(levels: str, variant: str, n: int, nu: float, eps: float) -> float:
    """The delta at which a theorem gives error nu, or nu itself for the heuristic variants."""
    if variant == "heuristic":
        return nu
    if levels == "split":  # Theorem 3.1: error at most c_eps delta
        return nu / c(eps)
    if levels == "uniform":  # Theorem 4.1: error at most c_eps delta^(1+eps) / N^eps
        return (nu * n**eps / c(eps)) ** (1 / (1 + eps))
    # Jamieson et al. 2014: error at most 4 sqrt(c_eps delta) + 4 c_eps delta
    return (sqrt(1 + nu) - 1) ** 2 / (4 * c(eps))


# --- orders with ties to the lowest index ---------------------------------------------------------


def best(values: list[float], k: int) -> list[int]:
    """The first k arms in the order (value descending, index ascending), sorted by index."""
    return sorted(sorted(range(len(values)), key=lambda i: (-values[i], i))[:k])


def others(arms: list[int], n: int) -> list[int]:
    return [i for i in range(n) if i not in arms]


def argmin(arms: list[int], values: list[float]) -> int:
    return min(sorted(arms), key=lambda i: values[i])


def argmax(arms: list[int], values: list[float]) -> int:
    return max(sorted(arms), key=lambda i: values[i])


# --- what all policies share ----------------------------------------------------------------------


class Naive:
    """Sample each arm once, lowest index first; from then on `round` decides."""

    def __init__(self, n, k, epsilon):
        self.n, self.k, self.epsilon = n, k, epsilon
        self.T = [0] * n
        self.S = [0.0] * n
        self.asks = 0

    def ask(self) -> list[int]:
        """The arms of the next round; [] = stop."""
        self.asks += 1
        for i in range(self.n):
            if self.T[i] == 0:
                return [i]
        return self.round()

    def tell(self, arm: int, reward: float) -> None:
        self.T[arm] += 1
        self.S[arm] += reward

    def answer(self) -> list[int]:
        """High: the K largest means."""
        return best(self.means(), self.k)

    def means(self) -> list[float]:
        return [self.S[i] / self.T[i] for i in range(self.n)]

    def round(self) -> list[int]:
        raise NotImplementedError


# --- LUCB and its relatives -----------------------------------------------------------------------


class Pair(Naive):
    """Algorithm 1 (lil'RandLUCB), with its levels and its sampling rule left open."""

    def __init__(self, n, k, epsilon, radius_high: Radius, radius_low: Radius, rule, coin):
        super().__init__(n, k, epsilon)
        self.radius_high, self.radius_low = radius_high, radius_low
        self.rule, self.coin = rule, coin

    def round(self) -> list[int]:
        m = self.means()
        high = best(m, self.k)  # line 3: High, the K largest means
        low = others(high, self.n)  # line 4: Low, the rest
        # lines 5 and 6: radii by side; L_i matters in High and U_i in Low
        lower = [m[i] - self.radius_high(self.T[i]) for i in range(self.n)]
        upper = [m[i] + self.radius_low(self.T[i]) for i in range(self.n)]
        h = argmin(high, lower)  # line 7
        l = argmax(low, upper)  # line 8  # noqa: E741 (the paper's name)
        if upper[l] - lower[h] <= self.epsilon:  # line 9: the bounds separate
            return []
        return self.sample(h, l)

    def sample(self, h: int, l: int) -> list[int]:  # noqa: E741
        if self.rule == "every":  # uniform sampling: round robin
            return list(range(self.n))
        if self.rule == "both":  # LUCB
            return [h, l]
        if self.rule == "least-sampled":  # Section 3, footnote, after Gabillon et al. 2012
            return [h] if self.T[h] <= self.T[l] else [l]
        # line 10: h with probability T_l / (T_h + T_l)
        heads = self.coin(self.asks) * (self.T[h] + self.T[l]) < self.T[l]
        return [h] if heads else [l]


class Lucb(Pair):
    """Kalyanakrishnan et al. 2012, LUCB1: the radius depends on the round r."""

    def __init__(self, n, k, epsilon, nu, sigma):
        super().__init__(n, k, epsilon, self.radius, self.radius, "both", None)
        self.nu, self.sigma = nu, sigma
        self.r = 0

    def radius(self, t: int) -> float:
        return self.sigma * sqrt(2 * log(1.25 * self.n * self.r**4 / self.nu) / t)

    def round(self) -> list[int]:
        # its proof needs T_i <= r at every check; on its own rounds r counts the checks from 1
        self.r = max(self.r + 1, *self.T)
        return super().round()


# --- CLUCB and UGapE ------------------------------------------------------------------------------


class Clucb(Naive):
    """Algorithm 2 (lil'CLUCB), and with the other radius CLUCB of Chen et al. 2014."""

    def __init__(self, n, k, epsilon, radius: Callable[[int, int], float]):
        super().__init__(n, k, epsilon)
        self.radius = radius  # of T_i and of t, the samples so far

    def round(self) -> list[int]:
        m = self.means()
        top = best(m, self.k)  # line 3: M, the K largest means
        total = sum(self.T)
        u = [self.radius(t, total) for t in self.T]  # line 4
        # lines 5 and 6: revised means
        revised = [m[i] - u[i] if i in top else m[i] + u[i] for i in range(self.n)]
        top_revised = best(revised, self.k)  # line 7: Mt
        # line 8: M = Mt, made safe for ties, and with slack
        gain = sum(m[i] + u[i] for i in range(self.n) if i in top_revised and i not in top)
        loss = sum(m[i] - u[i] for i in range(self.n) if i in top and i not in top_revised)
        if gain - loss <= self.epsilon:
            return []
        # line 9: the largest radius in the symmetric difference
        return [argmax([i for i in range(self.n) if (i in top) != (i in top_revised)], u)]


def best_of(sets: list[list[int]]) -> Oracle:
    """The oracle that looks at every feasible set: the first one of largest total."""
    sets = [sorted(arms) for arms in sets]
    return lambda weights: max(sets, key=lambda arms: sum(weights[i] for i in arms))


class Combinatorial(Naive):
    """Algorithm 3: lil'CLUCB, or CLUCB, on a decision class with a maximisation oracle."""

    def __init__(self, n, epsilon, radius: Callable[[int, int], float], oracle: Oracle, ceiling):
        super().__init__(n, 0, epsilon)
        self.radius, self.oracle, self.ceiling = radius, oracle, ceiling

    def answer(self) -> list[int]:
        """M: the best set in means, none of them above the ceiling."""
        return self.oracle(self.weights())

    def weights(self) -> list[float]:
        """Line 3: the empirical means."""
        return [min(m, self.ceiling) for m in self.means()]

    def radii(self) -> list[float]:
        """Line 5."""
        total = sum(self.T)
        return [self.radius(t, total) for t in self.T]

    def revised(self, top: list[int]) -> list[float]:
        """Lines 6 and 7: means revised against M."""
        m, u = self.means(), self.radii()
        signs = [-1 if i in top else 1 for i in range(self.n)]
        return [min(m[i] + signs[i] * u[i], self.ceiling) for i in range(self.n)]

    def round(self) -> list[int]:
        top = self.answer()  # line 4: M
        rival = self.oracle(self.revised(top))  # line 8: Mt
        if self.lead(top, rival) <= self.epsilon:  # line 9, made safe for ties, and with slack
            return []
        return self.sample(top, rival)

    def lead(self, top: list[int], rival: list[int]) -> float:
        """By how much Mt beats M in revised means; arms of both cancel."""
        mt, total = self.revised(top), 0.0
        for i in range(self.n):
            if i in rival and i not in top:
                total += mt[i]
            elif i in top and i not in rival:
                total -= mt[i]
        return total

    def sample(self, top: list[int], rival: list[int]) -> list[int]:
        """Line 10: the largest radius in the symmetric difference."""
        return [argmax([i for i in range(self.n) if (i in top) != (i in rival)], self.radii())]

    def allowed(self, sets: list[list[int]]) -> Iterator[tuple[list[int], list[int]]]:
        """Every (round, answer) that rounding leaves open when sets tie, over all `sets`."""
        small = 1e-11
        for top in nearly_best(sets, self.weights(), small):
            for rival in nearly_best(sets, self.revised(top), small):
                lead = self.lead(top, rival)
                if lead <= self.epsilon + small:
                    yield [], top
                if lead > self.epsilon - small and top != rival:
                    yield self.sample(top, rival), top


def nearly_best(sets: list[list[int]], weights: list[float], within: float) -> list[list[int]]:
    totals = [sum(weights[i] for i in arms) for arms in sets]
    return [sorted(arms) for arms, x in zip(sets, totals, strict=True) if x >= max(totals) - within]


class Ugape(Naive):
    """Gabillon et al. 2012, UGapEc (fixed confidence)."""

    def __init__(self, n, k, epsilon, radius: Callable[[int, int], float]):
        super().__init__(n, k, epsilon)
        self.radius = radius

    def bounds(self) -> tuple[list[float], list[float], list[float]]:
        m = self.means()
        total = sum(self.T)
        u = [self.radius(t, total) for t in self.T]
        lower = [m[i] - u[i] for i in range(self.n)]
        upper = [m[i] + u[i] for i in range(self.n)]
        gaps = []
        for i in range(self.n):  # B_i: the K-th largest U among the other arms, minus L_i
            rivals = sorted(upper[:i] + upper[i + 1 :], reverse=True)
            gaps.append(rivals[self.k - 1] - lower[i])
        return lower, upper, gaps

    def answer(self) -> list[int]:
        """J: the K smallest B."""
        _, _, gaps = self.bounds()
        return best([-b for b in gaps], self.k)

    def round(self) -> list[int]:
        return self.sample(self.answer())

    def sample(self, chosen: list[int]) -> list[int]:
        """The round that J leads to."""
        lower, upper, gaps = self.bounds()
        if max(gaps[i] for i in chosen) <= self.epsilon:
            return []
        inside = argmin(chosen, lower)
        outside = argmax(others(chosen, self.n), upper)
        return [inside] if self.T[inside] <= self.T[outside] else [outside]

    def ties(self, chosen: list[int]) -> bool:
        """Whether rounding alone tells this J from the K smallest B.

        If the arms i and j with the K-th and the (K+1)-th largest U have the same mean, then
        B_i = B_j = u_i + u_j whatever their counts, and in floats either may come out smaller.
        """
        _, _, gaps = self.bounds()
        worst, spared = max(gaps[i] for i in chosen), [gaps[i] for i in others(chosen, self.n)]
        return worst <= min(spared) + 1e-13


# --- lil'UCB --------------------------------------------------------------------------------------


class LilUcb(Naive):
    """Jamieson et al. 2014, lil'UCB (K = 1)."""

    def __init__(self, n, delta, eps, sigma, beta, lam):
        super().__init__(n, 1, 0.0)
        self.delta, self.eps, self.sigma, self.beta, self.lam = delta, eps, sigma, beta, lam

    def answer(self) -> list[int]:
        """The most sampled arm."""
        return [argmax(list(range(self.n)), self.T)]

    def round(self) -> list[int]:
        total = sum(self.T)
        if any(t >= 1 + self.lam * (total - t) for t in self.T):
            return []
        m = self.means()
        index = [
            m[i] + (1 + self.beta) * lil_radius(self.T[i], self.delta, self.eps, self.sigma)
            for i in range(self.n)
        ]
        return [argmax(list(range(self.n)), index)]


# --- the catalogue --------------------------------------------------------------------------------

LEVELS_AND_RULE = {  # the LIL family: theory, section 2
    "lil-rand-lucb": ("split", "random"),
    "lucb++": ("split", "both"),
    "lil-lucb": ("uniform", "both"),
    "uniform": ("uniform", "every"),
}


def clucb_radius(
    policy: str, variant: str | None, n: int, nu: float, sigma: float, eps: float
) -> Callable[[int, int], float]:
    """u of T_i and of t, the samples so far: lil-clucb's, or that of clucb and ugape."""
    if policy == "lil-clucb":
        w = delta_for("uniform", variant, n, nu, eps) / n
        return lambda t, _: lil_radius(t, w, eps, sigma)
    return lambda t, total: sigma * sqrt(2 * log(4 * n * total**3 / nu) / t)


def make(
    policy: str,
    variant: str | None,
    n: int,
    k: int,
    nu: float,
    sigma: float = 0.5,
    epsilon: float = 0.0,
    params: dict[str, object] | None = None,
    coin: Callable[[int], float] | None = None,
) -> Naive:
    """A policy by its name; coin(ask number) is a uniform in (0, 1)."""
    params = params or {}
    eps = params.get("eps", 0.01) if variant == "faithful" else 0.0
    if policy == "lucb":
        return Lucb(n, k, epsilon, nu, sigma)
    if policy in ("lil-clucb", "clucb", "ugape"):
        family = Ugape if policy == "ugape" else Clucb
        return family(n, k, epsilon, clucb_radius(policy, variant, n, nu, sigma, eps))
    if policy == "lil-ucb":
        delta = delta_for("lil-ucb", variant, n, nu, eps)
        beta = 1.0 if variant == "faithful" else 0.5
        lam = ((2 + beta) / beta) ** 2 if variant == "faithful" else 1 + 10 / n
        return LilUcb(n, delta, eps, sigma, beta, lam)
    levels, rule = LEVELS_AND_RULE[policy]
    levels, rule = params.get("levels", levels), params.get("rule", rule)
    delta = delta_for(levels, variant, n, nu, eps)
    if levels == "split":
        w_high, w_low = delta / (2 * (n - k)), delta / (2 * k)
    else:
        w_high = w_low = delta / n
    high, low = (
        (lambda t: lil_radius(t, w_high, eps, sigma)),
        (lambda t: lil_radius(t, w_low, eps, sigma)),
    )
    return Pair(n, k, epsilon, high, low, rule, coin)


def make_combinatorial(
    policy: str,
    variant: str | None,
    sets: list[list[int]],
    n: int,
    nu: float,
    sigma: float = 0.5,
    epsilon: float = 0.0,
    params: dict[str, object] | None = None,
    oracle: Oracle | None = None,
    ceiling: float = inf,
) -> Combinatorial:
    """lil-clucb or clucb over the feasible `sets`; without an oracle, over all of them."""
    eps = (params or {}).get("eps", 0.01) if variant == "faithful" else 0.0
    radius = clucb_radius(policy, variant, n, nu, sigma, eps)
    return Combinatorial(n, epsilon, radius, oracle or best_of(sets), ceiling)
