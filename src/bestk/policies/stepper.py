"""A policy one observation at a time: ask, tell, answer. Every live study moves by it.

Decisions are the kernels'. Here stands what needs Python: Algorithm 3 around a Python oracle, which
is called between the kernel's pieces (`kernels/cpe.py`) and caught when it contradicts itself, and
the search for the least slack that is certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from bestk.compiled.live import Machine, is_python
from bestk.decisions import DecisionClass
from bestk.errors import InputError, OracleError
from bestk.kernels.sets import AGAIN
from bestk.kernels.types import (
    ASKS,
    CPE,
    EMPIRICAL,
    EXCHANGE,
    LEAD,
    REVISED,
    SEEN,
    SETS,
    SHARE,
    TILT,
    BoolArray,
    FloatArray,
    State,
)
from bestk.policies.configure import Configured
from bestk.rewards import Rewards

REMEMBERED = 256  # answers whose differences are known at a time
NEGLIGIBLE = 1e-12  # of the means: a slack below it is as good as none


def show_weights(weights: FloatArray) -> str:
    """Weights for an error message, all digits, shortened in the middle if there are many."""
    with np.printoptions(precision=17, threshold=40, edgeitems=10, linewidth=100):
        return str(weights)


class Stepper:
    """One policy on one decision class, an observation at a time: ask, tell, answer."""

    def __init__(
        self, decision: DecisionClass, configured: Configured, rewards: Rewards | None = None
    ) -> None:
        self.decision = decision
        self.rewards = rewards  # the assumption that observations are held to, if any
        self.spec = configured.spec
        self.machine = Machine(self.spec, configured.new_state())
        self.out = np.zeros(max(2, self.spec.n_arms), np.int64)
        self._python = is_python(self.spec)
        self._shares: dict[bytes, FloatArray] = {}  # of the constant of a code, by answer
        self._tilts = [0, 0]  # where searches without and with the constant ended

    @property
    def state(self) -> State:
        """What the policy knows."""
        return self.machine.state

    def reset(self, run: int) -> None:
        """Forget all observations; `run` numbers the coins."""
        self.machine.reset(run)

    def ask(self) -> list[int]:
        """The arms to sample next; empty to stop."""
        if not self._python:
            n = self.machine.call("ask", self.out)
        else:
            n = self.finish(self.machine.call("ask_means", self.out))
        chosen: list[int] = self.out[:n].tolist()
        return chosen

    def finish(self, begun: int) -> int:
        """The rest of an ask that `step.ask_means` began: how many arms are in `out`, 0 to stop."""
        if begun > 0:
            return begun
        state = self.state
        asks = int(state.clock[ASKS])
        again = asks & (asks - 1) == 0  # asked twice the same at asks 1, 2, 4, 8, ...
        self._solve_both(again)
        n = self._chosen(again)
        self._tilts[0] = int(state.clock[TILT])
        if n == 0 and self.spec.constant > 0.0:
            # enough without the constant: spread it over the differences from this answer
            self._spread()
            n = self._chosen(again)
            self._tilts[1] = int(state.clock[TILT])
        return n

    def _chosen(self, again: bool) -> int:
        """What follows from M and Mt; the sets rule may want Mt at other weights."""
        state = self.state
        while (n := int(self.machine.call("choose", self.out))) == AGAIN:
            state.other[:] = self._best(REVISED, again)
        if n < 0:
            self._fail(REVISED, state.other, state.high)
        return n

    def _spread(self) -> None:
        """Shares of the constant of a code: 1 / (the least difference from M that an arm is in).

        They add up to at least 1 over any difference D, for each of its arms has 1/|D| or more. An
        arm is forced in or out by a weight larger than all others together.
        """
        state, n_arms = self.state, self.spec.n_arms
        key = state.high.tobytes()
        if key not in self._shares:
            shares, base = np.zeros(n_arms), np.where(state.high, 1.0, -1.0)
            for arm in range(n_arms):
                weights = base.copy()
                weights[arm] *= -(n_arms + 1.0)
                differ = self.decision.best(weights) != state.high
                if differ[arm]:
                    shares[arm] = 1.0 / np.count_nonzero(differ)
            if len(self._shares) >= REMEMBERED:
                self._shares.clear()
            self._shares[key] = shares
        state.codes[SHARE] = self._shares[key]
        state.clock[TILT] = self._tilts[1]
        self._revise()
        state.other[:] = self._best(REVISED, False)

    def _revise(self) -> None:
        if self.machine.call("revise"):
            self._fail(EMPIRICAL, self.state.high, self.state.other)

    def _solve_both(self, again: bool) -> None:
        """M and Mt from the oracle; `again`: ask it twice."""
        state = self.state
        state.other[:] = state.high  # the last M: known to be feasible
        state.high[:] = self._best(EMPIRICAL, again)
        if self.spec.constant > 0.0:
            state.codes[SHARE] = 0.0
            state.clock[TILT] = self._tilts[0]
        self._revise()
        state.other[:] = self._best(REVISED, again)

    def _fail(self, row: int, found: BoolArray, known: BoolArray) -> NoReturn:
        raise OracleError(
            f"the oracle of the class {self.decision.kind} is not exact: of the weights"
            f" {show_weights(self.state.weights[row])} it returned the arms"
            f" {np.flatnonzero(found).tolist()}, which weigh less than"
            f" {np.flatnonzero(known).tolist()}, its own earlier answer"
        )

    def _best(self, row: int, again: bool) -> BoolArray:
        weights = self._weights(row)
        found = self.decision.best(weights)
        if again:
            weights = self._weights(row)
            second = self.decision.best(weights)
            if not np.array_equal(found, second):
                raise OracleError(
                    f"the oracle of the class {self.decision.kind} changed its mind: of the weights"
                    f" {show_weights(self.state.weights[row])} it returned the arms"
                    f" {np.flatnonzero(found).tolist()} and then {np.flatnonzero(second).tolist()}"
                )
        return found

    def _weights(self, row: int) -> FloatArray:
        """A copy, the oracle's to keep or to change."""
        own = self.state.weights[row]
        cut: FloatArray = np.minimum(own, self.spec.ceiling)
        return cut

    def tell(self, arm: int, reward: float) -> None:
        """Record one observation: a reward, or a cost where the problem minimises."""
        if not 0 <= arm < self.spec.n_arms:
            raise InputError(
                f"arm {arm} was refused: arms are numbered 0 to {self.spec.n_arms - 1};"
                " nothing was recorded"
            )
        if self.rewards is not None:
            reward = self.rewards.read_for_policy(reward)
        self.machine.call("tell", arm, self.spec.sign * reward)

    def run(self, measure: Callable[[int], float]) -> list[int]:
        """Sample arms with `measure` until the rule stops; the answer, lowest index first."""
        while arms := self.ask():
            for arm in arms:
                self.tell(arm, measure(arm))
        return self.tested()

    @property
    def lead(self) -> float | None:
        """The stopping statistic of the last ask: by how much another answer could still be better.

        None for the policies of the K best, which compare single arms.
        """
        if self.spec.family not in (CPE, EXCHANGE, SETS):
            return None
        return float(self.state.widths[LEAD])

    @property
    def slack(self) -> float:
        """The least slack at which bounds, or the sets rule, certify the present answer."""
        if self._python:
            self.machine.call("means")
            self._solve_both(False)
            if self.spec.family == SETS:
                self._least_slack()
            self.machine.call("lead")
        return float(self.machine.call("slack"))

    @property
    def certifiable_epsilon(self) -> float | None:
        """The least slack at which the present answer is certified, to a thousandth of itself.

        The proofs hold for all slacks at once, so it may be read at any time and acted upon. None
        before every arm has been sampled, or for a policy without slack.
        """
        machine, spec = self.machine, self.spec
        if self.state.clock[SEEN] < spec.n_arms:
            return None
        slack = self.slack
        if not math.isfinite(slack):
            return None
        enough = max(0.0, slack)
        if spec.hybrid:
            exchanges = min(spec.k, spec.n_arms - spec.k) if spec.family == EXCHANGE else 1
            for tried in (0.0, spec.epsilon * exchanges):  # exactly, where they will do
                if tried < enough and machine.at(tried / exchanges).call("is_certified"):
                    enough = tried
                    break
            short = 0.0
            while enough - short > 1e-3 * enough:
                tried = short + (enough - short) / 2.0 if short > 0.0 else enough * 0.5
                if tried < NEGLIGIBLE * (1.0 + abs(float(self.state.means.max()))):
                    break
                if machine.at(tried / exchanges).call("is_certified"):
                    enough = tried
                else:
                    short = tried
        return enough

    def _least_slack(self) -> None:
        """Search all tilts around a Python oracle: no slack is enough, and the least is kept."""
        before, self.machine = self.machine, self.machine.at(-math.inf)
        try:
            if self.spec.constant > 0.0:
                self._spread()
            self._chosen(False)
        finally:
            self.machine = before

    def tested(self) -> list[int]:
        """The set that the last ask tested, lowest index first: what a stop has proved.

        An oracle that is called again may find another set of the same weight.
        """
        return np.flatnonzero(self.state.high).tolist() if self._python else self.answer()

    def answer(self) -> list[int]:
        """The current answer, lowest index first."""
        if self._python:
            self.machine.call("means")
            self.state.high[:] = self._best(EMPIRICAL, False)
        n = self.machine.call("recommend", self.out)
        return [int(arm) for arm in self.out[:n]]
