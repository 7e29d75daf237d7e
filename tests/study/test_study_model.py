"""A seeded fuzz: any sequence of calls on a study file against a plain model of what it means."""

import math
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from bestk.errors import InputError, PullError
from bestk.storage import SQLiteStorage
from bestk.study import Study
from bestk.study.fold import Fold

REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])
BAD = st.sampled_from([math.nan, math.inf, -0.5, 1.5, "text", None])
POLICIES = ["e-lucb", "lil-rand-lucb", "lucb", "ugape", "uniform"]


class Calls(RuleBasedStateMachine):
    """The model: which pulls are open, what each answer was, what each arm got."""

    pulls = Bundle("pulls")
    ids = Bundle("ids")

    @initialize(policy=st.sampled_from(POLICIES), open_=st.booleans(), k=st.integers(1, 2))
    def begin(self, policy, open_, k):
        self.folder = Path(tempfile.mkdtemp())
        self.file = self.folder / "s.db"
        self.open_ = open_ and policy == "e-lucb"
        self.k = k
        self.study = Study("s", "abcd", k=k, policy=policy, seed=4, storage=self.file,
                           max_arms=6 if self.open_ else None)  # fmt: skip
        self.other = Study("s", storage=self.file)
        self.arms, self.all = list("abcd"), list("abcd")
        self.open, self.answers, self.observed = {}, {}, {}
        self.rewards = {arm: [] for arm in "abcd"}

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @rule(n=st.integers(1, 7), target=pulls)
    def ask(self, n):
        found = self.study.ask(n)
        assert len({pull.id for pull in found}) == len(found)
        for pull in found:
            assert pull.arm in self.arms
            assert self.open.setdefault(pull.id, pull.arm) == pull.arm
            assert pull.id not in self.answers
        assert len(found) == n or self.study.is_stopped or self.study.waiting_for
        return multiple(*found)

    @rule(pull=pulls, reward=REWARDS, by_name=st.booleans())
    def tell(self, pull, reward, by_name):
        named = pull.id if by_name else pull
        if pull.id in self.open:
            self.study.tell(named, reward)
            self.rewards[self.open.pop(pull.id)].append(reward)
            self.answers[pull.id] = reward
        elif self.answers.get(pull.id) == reward:
            self.study.tell(named, reward)
        else:
            with pytest.raises(PullError):
                self.study.tell(named, reward)

    @rule(pull=pulls, reward=BAD)
    def tell_nonsense(self, pull, reward):
        with pytest.raises(InputError):
            self.study.tell(pull, reward)

    @precondition(lambda self: self.open)
    @rule(reward=REWARDS)
    def tell_all(self, reward):
        self.study.tell_many([(key, reward) for key in self.open])
        for key, arm in self.open.items():
            self.rewards[arm].append(reward)
            self.answers[key] = reward
        self.open = {}

    @rule(pull=pulls)
    def forget(self, pull):
        if self.open.pop(pull.id, None) is None:
            with pytest.raises(PullError):
                self.study.forget(pull)
        else:
            self.study.forget(pull)

    @rule(pull=pulls)
    def fail(self, pull):
        if self.open.pop(pull.id, None) is not None:
            assert self.study.fail(pull, "it broke") >= 1
        else:
            with pytest.raises(PullError):
                self.study.fail(pull, "it broke")

    @rule(arm=st.sampled_from("abcdefx"), reward=REWARDS, name=st.integers(0, 5), target=ids)
    def add(self, arm, reward, name):
        known = self.observed.get(str(name))
        if arm not in self.arms:
            with pytest.raises(InputError):
                self.study.add(arm, reward, str(name))
        elif known not in (None, (arm, reward)):
            with pytest.raises(PullError):
                self.study.add(arm, reward, str(name))
        else:
            self.study.add(arm, reward, str(name))
            if known is None:
                self.observed[str(name)] = arm, reward
                self.rewards[arm].append(reward)
        return name

    @rule(pull=pulls, name=consumes(ids), reward=REWARDS)
    def an_id_is_no_pull(self, pull, name, reward):
        with pytest.raises(PullError):
            self.study.tell(str(name), reward)
        assert pull.id not in self.observed

    @rule(arm=st.sampled_from("abcdef"))
    def add_arm(self, arm):
        fits = arm in self.all or len(self.all) < 6
        if not self.open_ or arm in self.arms or not fits:
            with pytest.raises(InputError):
                self.study.add_arm(arm)
            return
        self.study.add_arm(arm)
        self.arms.append(arm)
        if arm not in self.all:
            self.all.append(arm)
            self.rewards[arm] = []

    @rule(arm=st.sampled_from("abcdef"))
    def withdraw_arm(self, arm):
        if not self.open_ or arm not in self.arms or len(self.arms) <= self.k + 1:
            with pytest.raises(InputError):
                self.study.withdraw_arm(arm)
            return
        self.study.withdraw_arm(arm)
        self.arms.remove(arm)
        self.open = {key: other for key, other in self.open.items() if other != arm}

    @rule()
    def resume(self):
        wanted = self.study._fold.plan()
        self.study = Study("s", storage=self.file)
        assert self.study._fold.plan() == wanted

    @rule()
    def let_another_process_go_on(self):
        self.study, self.other = self.other, self.study
        self.study.result  # noqa: B018 - it has read what happened

    @invariant()
    def the_study_knows_what_the_model_knows(self):
        if not hasattr(self, "study"):
            return
        result = self.study.result
        assert {pull.id: pull.arm for pull in self.study.open} == self.open
        assert result.samples == sum(map(len, self.rewards.values()))
        assert {arm.label for arm in result.arms} == set(self.arms)
        for arm in result.arms:
            rewards = self.rewards[arm.label]
            assert arm.pulls == len(rewards)
            assert arm.mean == (pytest.approx(sum(rewards) / len(rewards)) if rewards else None)
        afresh = Fold(self.study.specification)
        afresh.apply(SQLiteStorage(self.file).read("s"))
        assert afresh.plan() == self.study._fold.plan()
        assert result.certified == (self.study.is_stopped and result.theorem is not None)


TestCalls = Calls.TestCase
TestCalls.settings = settings(max_examples=40, stateful_step_count=40)
