"""Policies in Python in studies: they sample and answer, and our evidence judges."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import bestk
from bestk.policies import CATALOGUE, registry
from bestk.policies.driving import Driven, policy_generator
from bestk.report import words
from bestk.report.terminal.standings import conclusion
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import Study
from bestk.study.certificate import make_certificate
from bestk.verification import verify
from helpers.command import good
from helpers.python_policies import registered

MEANS = (0.9, 0.8, 0.3, 0.1)
SETTINGS = {"k": 2, "rewards": bestk.Bernoulli(), "seed": 5}


@pytest.fixture(autouse=True)
def policies():
    with registered():
        yield


class Drawn:
    """The n-th reward of an arm, whoever asks for it when."""

    def __init__(self):
        self.table = np.random.default_rng(7).random((4, 5000)) < np.array(MEANS)[:, None]
        self.taken = [0] * 4

    def __call__(self, arm):
        self.taken[arm] += 1
        return float(self.table[arm, self.taken[arm] - 1])


def begun(policy="own-lucb", storage=None, name="s", **more):
    return Study(name, range(4), policy=policy, storage=storage, **{**SETTINGS, **more})


def run(study, measure, most=10_000):
    """Pulls one after the other; the arms that were asked for."""
    arms = []
    while len(arms) < most and (pulls := study.ask()):
        arms.append(pulls[0].arm)
        study.tell(pulls[0], measure(pulls[0].arm))
    return arms


def driven(problem, seed=5):
    """What a simulation's loop asks for and answers on the same rewards."""
    configured = problem.configure(seed)
    question = replace(problem, params=configured.params)
    policy, measure, asked = Driven(configured, question, policy_generator(seed, 0)), Drawn(), []
    while arms := policy.ask():
        for arm in arms:
            policy.tell(arm, measure(arm))
        asked += arms
    return asked, policy.answer()


@pytest.mark.parametrize(
    ("policy", "params"),
    [("own-lucb", {}), ("coins", {"rounds": 20}), ("even-split", {"budget": 40})],
)
def test_a_study_asks_and_answers_as_a_simulation_does(policy, params):
    study = begun(policy, params=params)
    asked, answer = driven(study.problem)
    assert run(study, Drawn()) == asked
    assert study.is_stopped
    assert sorted(study.result.top) == answer


def test_a_policy_need_not_have_an_answer_before_every_arm_was_sampled():
    study = begun()  # it samples one arm at a time, and divides by how often
    run(study, Drawn(), most=3)
    assert study.result.top == ()
    run(study, Drawn(), most=1)
    assert len(study.result.top) == 2


def test_costs_are_told_negated():
    study = begun(maximize=False)
    run(study, Drawn())
    assert sorted(study.result.top) == [2, 3]
    assert study.result.certified


def test_a_study_killed_in_the_middle_of_a_round_goes_on_with_the_same_arms(tmp_path):
    whole = run(begun("coins", params={"rounds": 9}), Drawn())
    measure, first = Drawn(), begun("coins", tmp_path / "a.db", params={"rounds": 9})
    arms = run(first, measure, 10)  # the first of the three pulls of a round
    pull = first.ask()[0]
    del first
    second = Study("s", storage=tmp_path / "a.db")
    again = second.ask()[0]
    assert again == pull
    second.tell(again, measure(again.arm))
    assert [*arms, again.arm, *run(second, measure)] == whole


@pytest.mark.parametrize("lose", ["fail", "forget"])
def test_a_lost_pull_is_handed_out_again_as_a_new_pull_of_the_same_arm(lose):
    study, asked = begun("even-split", params={"budget": 8}), []
    pulls = study.ask(9)
    assert [pull.arm for pull in pulls] == [0, 1, 2, 3]
    getattr(study, lose)(pulls[1])
    for pull in (pulls[0], *pulls[2:]):
        study.tell(pull, 1.0)
    (again,) = study.ask(9)
    assert again.arm == 1
    assert again.id != pulls[1].id
    study.tell(again, 0.0)
    for pull in (pulls := study.ask(9)):
        asked.append(pull.arm)
        study.tell(pull, float(pull.arm > 1))
    assert asked == [0, 1, 2, 3]
    assert study.ask() == []
    assert sorted(study.result.top) == [2, 3]
    assert study.samples == 8


def test_the_next_round_waits_until_all_answers_are_there_in_whatever_order():
    study = begun("even-split", params={"budget": 8})
    pulls = study.ask(9)
    for pull in pulls[:0:-1]:
        study.tell(pull, 1.0)
        assert study.ask(9) == []
    assert study.waiting_for == [pulls[0]]
    study.tell(pulls[0], 0.0)
    assert len(study.ask(9)) == 4


def test_parallel_pulls_on_an_executor_spend_the_budget_exactly():
    with ThreadPoolExecutor(4) as executor:
        result = bestk.identify(
            range(4), lambda arm: MEANS[arm], policy="even-split", budget=200, executor=executor,
            parallel=4, **{**SETTINGS, "rewards": bestk.Bounded()},
        )  # fmt: skip
    assert (result.samples, result.stopped, set(result.top)) == (200, "rule", {0, 1})
    assert [arm.pulls for arm in result.arms] == [50] * 4


def test_every_result_says_at_which_slack_it_is_certified():
    result = bestk.identify(range(4), Drawn(), policy="even-split", budget=24, **SETTINGS)
    assert not result.certified
    assert "not certified; with epsilon = 0." in str(result)
    slack = result.certifiable_epsilon
    wider = bestk.identify(
        range(4), Drawn(), policy="even-split", budget=24, epsilon=slack * 1.01, **SETTINGS
    )
    assert wider.certified
    assert f"slack {slack * 1.01:g}" in str(wider)


def test_an_answer_that_is_not_the_first_of_the_table_is_named():
    table = {0: [0.9] * 30, 1: [0.3] * 7 + [5.0] * 23, 2: [0.2] * 7 + [6.0] * 23}
    pulls = {arm: iter(rewards) for arm, rewards in table.items()}
    result = bestk.identify(
        range(3), lambda arm: next(pulls[arm]), k=2, policy="sar", budget=30, seed=1,
        rewards=bestk.Gaussian(1.0),
    )  # fmt: skip
    # after 7 of each the first arm is accepted; then the third beats the second
    assert set(result.top) == {0, 2}
    assert [arm.label for arm in result.ranked] == [2, 1, 0]
    assert result.answer_line == "answer: 2, 0"
    assert "\nanswer: 2, 0\n" in str(result)
    first = bestk.identify(range(4), Drawn(), policy="even-split", budget=24, **SETTINGS)
    assert first.answer_line is None
    many = replace(result, top=tuple(range(30)), arms=result.arms * 20)
    assert many.answer_line.endswith("18, 19 and 10 more")


def test_the_authors_claim_is_printed_as_the_authors():
    study = begun()
    run(study, Drawn(), 5)
    assert "author claims, which bestk has not proved: error <= delta" in str(study.result)
    assert study.result.error_bound is None
    assert "claim" in study.result.to_dict()
    assert "claim" not in begun("e-lucb", name="t").result.to_dict()


def stopped(path, answer=None):
    """A study with enough evidence; its policy's answer, or another one, ends it."""
    study = begun("even-split", path, params={"budget": 800})
    if answer is None:
        run(study, Drawn())
    else:
        run(study, Drawn(), 796)
        study._journal.log(ev.STOPPED, "", 0, json.dumps(answer))
    return study


def test_what_is_certified_is_verified(tmp_path):
    path = tmp_path / "a.db"
    assert stopped(path).result.certified
    made = make_certificate(path)
    assert made["answer"] == [0, 1]
    assert verify(made, path).verified
    made["answer"] = [0, 2]
    assert not verify(made, path).verified


def test_a_wrong_answer_is_not_certified_whoever_gives_it(tmp_path):
    path = tmp_path / "a.db"
    study = stopped(path, [0, 2])
    assert study.is_stopped
    assert not study.result.certified
    assert study.result.certifiable_epsilon > 0.3
    with pytest.raises(bestk.BestkError, match="does not prove its answer"):
        make_certificate(path)


def test_a_stop_with_what_may_not_be_answered_is_no_stop(tmp_path):
    for number, answer in enumerate(([0], [0, 0], [0, 9], "01", [True, False])):
        assert not stopped(tmp_path / f"{number}.db", answer).is_stopped


def test_a_study_whose_policy_is_not_registered_can_be_read_but_not_asked(tmp_path):
    study = begun(storage=tmp_path / "a.db")
    run(study, Drawn(), 30)
    known = study.result
    del CATALOGUE["own-lucb"]
    absent = Study("s", storage=tmp_path / "a.db")
    assert absent.result.arms == known.arms
    assert "not registered here" in absent.result.warnings[0]
    with pytest.raises(bestk.PolicyError, match="not registered here"):
        absent.ask()


def test_so_can_one_whose_package_cannot_be_imported_any_more(tmp_path, monkeypatch):
    study = begun(storage=tmp_path / "a.db")
    run(study, Drawn(), 30)
    known = study.result
    del CATALOGUE["own-lucb"]
    point = EntryPoint("own-lucb", "no_such_module:Policy", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group else [])
    broken = Study("s", storage=tmp_path / "a.db")
    assert broken.result.arms == known.arms
    assert "cannot be loaded: ModuleNotFoundError" in broken.result.warnings[0]
    with pytest.raises(bestk.PolicyError, match="cannot be loaded: ModuleNotFoundError"):
        broken.ask()
    with pytest.raises(bestk.PolicyError, match="cannot be loaded"):
        begun(name="another")


@pytest.mark.parametrize("method", ["start", "ask", "tell", "answer"])
def test_a_study_whose_policy_raises_can_be_read_but_not_asked(tmp_path, monkeypatch, method):
    run(begun(storage=tmp_path / "a.db"), Drawn(), 30)

    def fail(*_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(CATALOGUE["own-lucb"].python, method, fail)
    study = Study("s", storage=tmp_path / "a.db")
    assert sorted(study.result.top) == [0, 1]
    (said,) = study.result.warnings
    assert "own-lucb" in said
    assert "ZeroDivisionError: oh" in said
    assert "The answer shown is that of bestk's own evidence" in said
    assert "ZeroDivisionError: oh" in good("status", tmp_path / "a.db")
    if method != "answer":
        with pytest.raises(bestk.PolicyError, match="oh"):
            study.ask()
    monkeypatch.undo()
    assert study.result.warnings == ()


def test_a_policy_that_asks_for_other_arms_than_its_log_is_refused(tmp_path):
    run(begun("coins", tmp_path / "a.db", params={"rounds": 9}), Drawn(), 6)
    CATALOGUE["coins"] = replace(CATALOGUE["coins"], python=CATALOGUE["own-lucb"].python)
    with pytest.raises(bestk.PolicyError, match="other arms than the study's log holds"):
        Study("s", storage=tmp_path / "a.db").ask()


def test_what_a_policy_in_python_knows_nothing_of_is_refused():
    for more in ({"max_arms": 9}, {"costs": [1, 1, 1, 2]}, {"items": range(9)}):
        with pytest.raises(bestk.InputError, match="cannot use them"):
            begun(**more)
    with pytest.raises(bestk.InputError, match="told what it asked for"):
        begun().add(0, 1.0, "id")


def test_a_second_process_that_begins_the_same_round_does_no_harm():
    study = begun("even-split", params={"budget": 8})
    study.ask()
    study._journal.append(Event(ev.ASKED, "other-1", 0, 0.0, "+1,2,3", 0.0))
    arms = [pull.arm for pull in study.ask(9)]
    assert arms == [1, 2, 3, 0]  # the last one is that of the other process, which is gone


def test_an_answer_that_is_proved_before_the_policy_stops_is_said_to_be():
    study = begun("even-split", params={"budget": 4000}, epsilon=0.1)
    run(study, Drawn(), 3200)
    found = study.result
    assert (found.certified, found.error_bound) == (False, None)
    assert found.to_dict()["proved"]
    said = "the answer is proved by now, but the policy has not stopped"
    for text in (str(found), *map(" ".join, (conclusion(found), certificate_in_words(study)))):
        assert said in text
        assert "it would be" not in text
    run(study, Drawn())
    assert study.result.certified
    assert not study.result.proved
    assert "proved" not in study.result.to_dict()


def certificate_in_words(study):
    return words.certificate(study.specification, study.result)
