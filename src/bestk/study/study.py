"""A study: the live path. Ask which arm to sample, tell what came out, at any time read the result.

Everything that happens is an event in the study's log (`storage`), and the state is a fold over it
(`fold.py`), so that a study survives its process: opened again it goes on where it stood.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

from bestk.arguments import as_float, count, shown, string
from bestk.decisions import DecisionClass
from bestk.decisions.labels import label, read_arms, read_pairs, thaw
from bestk.errors import InputError, OracleError, PullError
from bestk.kernels.types import LIL_UCB
from bestk.rewards import Rewards
from bestk.storage import Storage, forks
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import blocks, extras
from bestk.study.figures import Figures
from bestk.study.handover import Handover
from bestk.study.items import read_evaluation
from bestk.study.journal import Journal
from bestk.study.pulls import Names, Pull, Requested, key_of
from bestk.study.specification import Costs, given, specify

_event = partial(tuple.__new__, Event)  # quicker than its own constructor


class Study(Figures):
    """Find the best arms from observations as they arrive, crash-safe and shareable.

    `arms` are any hashable labels (in a file: texts, numbers, or tuples of them), of which `k` are
    wanted, or a `decision` class over them. Rewards are checked against the assumption `rewards`,
    by default numbers in [0, 1]. `storage` is a file name, a `postgresql://` address, a `Storage`,
    or None for memory. If the study is already there, it is opened, and the settings must agree
    with it. Open pulls of a process that has died are handed out again first, with the same ids,
    except with a `lease` (seconds), after which they are given up. All methods are thread-safe.

    Rewards may come back in any order: they count in the order asked (docs/studies.md). A pull that
    fails, is given up or whose lease runs out never counts, and a new attempt is a new pull. With
    `lost="skip"` such pulls are passed over, which assumes that losses do not depend on the reward;
    with `lost="worst"` they count as the worst reward possible, with no assumption (Ratings and
    Bounded rewards).

    With `items` the study is an evaluation (docs/evaluation.md): pulls carry an item, every arm
    scores each item at most once, and the means over these items are compared. A pull that fails
    counts as the lowest score. With `target="population"` the items are a sample, and the means
    over the population that they come from are compared.

    `costs` (by arm, or in the order of the arms) says what pulls cost: cheap arms are pulled more
    often, with the same guarantee (docs/e-lucb.md, "Costs").

    With `max_arms`, arms may be added and withdrawn at any time, up to that many in all; the
    guarantee stays, at a price: every bound then has level delta / (2 max_arms), and the product of
    both sides' evidence is not used (docs/e-lucb.md, Theorem 5).
    """

    def __init__(
        self,
        name: str,
        arms: Iterable[Hashable] | None = None,
        *,
        k: int | None = None,
        decision: DecisionClass | None = None,
        delta: float | None = None,
        epsilon: float | None = None,
        rewards: Rewards | None = None,
        maximize: bool | None = None,
        policy: str | None = None,
        variant: str | None = None,
        params: Mapping[str, Any] | None = None,
        storage: Storage | str | os.PathLike[str] | None = None,
        durability: str = "process",
        seed: int | None = None,
        lease: float | None = None,
        max_arms: int | None = None,
        lost: str | None = None,
        items: Iterable[Any] | None = None,
        target: str = "items",
        history: Any = None,
        costs: Costs | None = None,
    ) -> None:
        self.name = string(name, "name")
        self._lock = threading.RLock()
        forks.guard(self, self._lock, forks.STUDY)
        self._journal = journal = Journal(self.name, storage, durability)
        settings = given(
            rewards=rewards, delta=delta, epsilon=epsilon, policy=policy, variant=variant,
            params=params, maximize=maximize, costs=costs,
        )  # fmt: skip
        self.items, of_items = read_evaluation(items, target, history, rewards)
        rest = given(k=k, seed=seed, lease=lease, max_arms=max_arms, lost=lost, items=of_items)
        labels = None if arms is None else read_arms(arms)
        begun = journal.begun() or journal.begin(specify(labels, decision, settings, **rest))
        begun.check_given(labels, decision, settings, rest)
        self.specification, self.problem = begun, begun.problem
        self._fold = journal.open(begun)
        self._handover = Handover(journal, self._fold)
        self._least = 0  # pulls of each arm before the policy decides

    # --- ask and tell -----------------------------------------------------------------------------

    def ask(self, n: int = 1) -> list[Pull]:
        """Up to n pulls to make next, given those still open; empty once the study has stopped.

        Also empty, or fewer, while what is told would be enough but earlier pulls are open: tell
        those (`waiting_for`), or give them up.
        """
        with self._lock, self._handover.handing():
            return self._ask(count(n, "n", 1), self._handover.names)

    def _ask(self, n: int, names: Names | Requested, spared: Collection[str] = ()) -> list[Pull]:
        pulls: list[Pull] = []
        with self._lock:
            self._journal.sync()
            self._handover.lapse()
            fold = self._fold
            while len(pulls) < n:
                if fold.stopped is not None:
                    break
                if (taken := self._handover.take(names, spared)) is not None:
                    pulls.append(self._pull(taken))
                    continue
                if fold.spec.family == LIL_UCB and fold.open:
                    if pulls:
                        break
                    self.require_order(f"the ask, with pull {next(iter(fold.open))} open,")
                if (due := blocks.due(fold, self._least)) is not None:
                    arm, data = due, ev.ALONE
                elif fold.waiting:
                    arm, data = fold.waiting[0], ""
                else:
                    arms = fold.plan()
                    if arms is None:
                        self._stop()
                        continue  # unless something came at that moment
                    if not arms:
                        if self._handover.look(spared):
                            continue
                        break
                    arm, data = arms[0], "+" + ",".join(map(str, arms[1:]))
                if not fold.has_items(arm):
                    left = [other for other in fold.arms if fold.has_items(other)]
                    if fold.spec.n_items or not left:
                        break  # the last scores of these items are on their way, or there are none
                    arm, data = min(left, key=fold.asked.__getitem__), "+"
                key = self._handover.name(names)
                self._journal.log(ev.ASKED, key, arm, data)
                if key in fold.open:
                    pulls.append(self._pull(key))
        return pulls

    def ask_each(self, least: int) -> None:
        """Let every arm have so many pulls, in blocks of one of each, before the policy decides.

        The bounds of the policies that this is for hold whatever is sampled. Nothing of it is in
        the log: an object that goes on with the study has to be told again.
        """
        self.require_order("asking for each arm")
        self.specification.refuse_in_evaluation("asking for each arm")
        if self.problem.judge is not None:
            raise InputError(f"asking for each arm was refused: {self.problem.policy} is in Python")
        self._least = count(least, "least", 0)

    def _stop(self) -> None:
        fold = self._fold
        answer, seen = fold.decide(), fold.seen
        if answer is None:
            return
        self._journal.log(ev.STOPPED, "", fold.changes, json.dumps(answer))
        if fold.stopped is None and fold.seen == seen + 1:  # nobody came in between
            raise OracleError(
                f"the oracle of the class {self.problem.decision.kind} changed its mind: of the"
                " same weights it found another answer than the one that the rule stopped with"
            )

    def release(self, pulls: Iterable[Pull]) -> None:
        """Nobody makes these pulls any more, as a run was cut short: they are handed out again."""
        with self._lock:
            self._handover.release(map(key_of, pulls))

    def is_held_elsewhere(self, pull: Pull) -> bool:
        """Whether another study object or process that lives makes an open pull."""
        return self._handover.is_held_elsewhere(pull.id)

    def check(self) -> bool:
        """Whether the answer is certain by now; asks for nothing."""
        with self._lock:
            self._journal.sync()
            fold = self._fold
            if fold.stopped is None and not fold.waiting and fold.plan() is None:
                self._stop()
            return fold.stopped is not None

    def require_order(self, what: str) -> None:
        """Refuse `what`, which breaks the order of samples, where the policy's proof needs it."""
        if self._fold.spec.family == LIL_UCB:
            raise InputError(
                f"{what} was refused: the theorem of lil-ucb holds only if its own rule chose every"
                " sample, one after the other"
            )

    def _pull(self, key: str) -> Pull:
        pull = self._fold.open[key]
        self._handover.see(key)
        label, position = self._fold.all_labels[pull.arm], self._fold.positions.get(key)
        item = None if self.items is None or position is None else self.items[position]
        return Pull(key, label, pull.order, item, position)

    def tell(self, pull: Pull | str, reward: float, extra: Any = None) -> None:
        """Record the reward of a pull, exactly once; durable on return.

        A second, different value is refused; telling the same value again changes nothing. A reward
        that the assumption rules out is refused, and the pull stays open. `extra` (JSON: a
        transcript, tokens, costs) is kept with the reward; no decision depends on it.
        """
        self._tell(pull, reward, extras.written(extra))

    def _tell(self, pull: Pull | str, reward: float, data: str) -> None:
        key = pull.id if isinstance(pull, Pull) else pull
        with self._lock:
            if isinstance(key, str) and key in self._fold.open:  # as it nearly always is: quickly
                value = self.problem.rewards.read_for_policy(reward)
                self._journal.append(_event((ev.TOLD, key, -1, value, data, time.time())))
                if self._fold.answers.get(key) == value:
                    return
                raise PullError(  # another process was first
                    f"the answer to pull {key} was refused: it has another reward already"
                )
        self.tell_many([(pull, reward)])

    def tell_many(self, answers: Iterable[tuple[Pull | str, float]]) -> None:
        """Record several rewards at once, all or nothing: much faster if the storage is a file."""
        pairs = [(*pair, "") for pair in read_pairs(answers)]
        with self._lock:
            with self._journal.alone():  # who might answer one of them meanwhile
                self._journal.sync()
                fresh = self._fresh(pairs)
                self._journal.write(fresh)
            self._journal.believe(fresh)

    def _fresh(self, answers: Iterable[tuple[Pull | str, float, str]]) -> list[Event]:
        """What is new in these answers and their data, all of which are fit to be told."""
        fold, fresh, beside = self._fold, dict[str, float](), dict[str, str]()
        for pull, reward, data in answers:
            key = key_of(pull)
            if key not in fold.open:
                self._journal.sync()  # another process may have asked
            if key in fold.open and key not in fresh:
                fresh[key], beside[key] = self.problem.rewards.read_for_policy(reward), data
                continue
            before = fresh.get(key, fold.answers.get(key))
            if before is None:
                why = "it was given up, its lease ran out, or nobody asked for it"
                raise PullError(f"pull {key} was refused: {why}")
            if before != as_float(reward):
                why = f"it was {before}, now {shown(reward)}"
                raise PullError(f"a second answer to pull {key} was refused: {why}")
        now = time.time()
        return [_event((ev.TOLD, key, -1, x, beside[key], now)) for key, x in fresh.items()]

    def fail(self, pull: Pull | str, why: str = "") -> int:
        """Record that a pull came to nothing: a late answer to it will be refused.

        Returns how often pulls of its arm have failed. A new attempt is a new pull: ask for it. In
        a study of version 0.1 the pull stays open, to be tried again.
        """
        with self._lock:
            key = self._require_open(pull)
            arm = self._fold.open[key].arm
            self._journal.log(ev.FAILED, key, data=string(why, "why"))
            return self._fold.failed[arm]

    def retry(self, pull: Pull | str, why: str = "") -> None:
        """Record that an attempt came to nothing and the pull, in its place, is made again.

        That assumes what `lost="skip"` assumes: failing does not depend on the reward.
        """
        with self._lock:
            if self.specification.lost == "worst":
                raise InputError(
                    'making a pull again was refused: with lost="worst" what failed counts as the'
                    " worst; let it fail, and ask for another"
                )
            self._journal.log(ev.RETRIED, self._require_open(pull), data=string(why, "why"))

    def fail_low(self, pull: Pull | str, why: str = "") -> None:
        """Let a pull that failed count as the worst reward there is, which the result then says.

        What is compared are then the means of rewards that are the worst where a pull fails.
        """
        worst = self.specification.worst_reward
        if worst is None:
            raise InputError(
                f"the lowest reward was refused for a failure: {self.problem.rewards} has none"
            )
        self._tell(pull, worst, extras.written(failed=string(why, "why")))

    def forget(self, pull: Pull | str) -> None:
        """Give an open pull up: a late answer to it will be refused.

        With `lost="skip"` harmless only if what is given up does not depend on the reward.
        """
        with self._lock:
            self.specification.refuse_in_evaluation("giving a pull up")
            self._journal.log(ev.FORGOTTEN, self._require_open(pull))

    def _require_open(self, pull: Pull | str) -> str:
        key = key_of(pull)
        self._journal.sync()
        if key not in self._fold.open:
            raise PullError(f"pull {key} was refused: it is not open")
        return key

    def add(self, arm: Hashable, reward: float, id: str) -> None:
        """Record an observation made elsewhere, once for each id; again it changes nothing."""
        with self._lock:
            fold = self._fold
            self.require_order("the observation")
            self.specification.refuse_from_elsewhere()
            id, number = string(id, "id"), self._present(arm)
            value = self.problem.rewards.read_for_policy(reward)
            if id not in fold.observed:
                self._journal.append(Event(ev.OBSERVED, id, number, value, "", time.time()))
            known = fold.observed.get(id)
            if known != (number, value):
                was = "lost" if known is None else f"{known[1]} of {fold.all_labels[known[0]]!r}"
                now = f"{value} of {shown(arm)}"
                raise PullError(f"observation {id} was refused: it was {was}, now {now}")

    def _present(self, arm: Hashable) -> int:
        """The number of an arm that is in the study."""
        self._journal.sync()
        fold = self._fold
        number = fold.numbers.get(label(arm, "arm"))
        if number is None or number not in fold.rows:
            raise InputError(f"arm {shown(arm)} was refused: the study has no such arm")
        return number

    # --- arms that come and go --------------------------------------------------------------------

    def add_arm(self, arm: Hashable) -> None:
        """Let an arm join, or one that was withdrawn come back with what is known of it."""
        with self._lock:
            fold, most = self._fold, self.specification.require_max_arms(arm)
            named = label(arm, "arm")
            self._journal.sync()
            number = fold.numbers.get(named, len(fold.all_labels))
            if number in fold.rows:
                raise InputError(f"arm {shown(arm)} was refused: it is in the study already")
            if number >= most:
                why = f"the study was begun with max_arms={most}, and so many there have been"
                raise InputError(f"arm {shown(arm)} was refused: {why}")
            data = "" if self._journal.is_private else json.dumps(thaw(named))
            if self._journal.is_private:
                fold.newcomers[number] = named
            self._journal.log(ev.ARM_ADDED, "", number, data)
            if fold.numbers.get(named) not in fold.rows:  # another process was quicker
                self.add_arm(arm)

    def withdraw_arm(self, arm: Hashable) -> None:
        """Take an arm out: it is asked for no more, and its open pulls are given up."""
        with self._lock:
            self.specification.require_max_arms(arm)
            number, fold = self._present(arm), self._fold
            if len(fold.arms) <= fold.spec.k + 1:
                why = f"of which {fold.spec.k} are wanted, none can be spared"
                raise InputError(
                    f"withdrawing {shown(arm)} was refused: of {len(fold.arms)} arms, {why}"
                )
            self._journal.log(ev.ARM_WITHDRAWN, "", number)

    # --- reading ----------------------------------------------------------------------------------

    @property
    def open(self) -> list[Pull]:
        """Pulls that wait for an answer."""
        with self._lock:
            return [self._pull(key) for key in self._fold.open]

    @property
    def waiting_for(self) -> list[Pull]:
        """Open pulls that later answers wait for: these do not count before those are settled."""
        with self._lock:
            return [self._pull(key) for key in self._fold.blocking]
