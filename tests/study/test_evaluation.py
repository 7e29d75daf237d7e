"""Evaluations: the K best on a fixed set of items."""

import asyncio
import threading
from concurrent.futures import Executor, Future

import numpy as np
import pytest

import bestk
from bestk.errors import ArmFailedError, InputError
from bestk.kernels import finite, step
from bestk.problem import Problem
from bestk.study.calls import DaemonThreads
from bestk.study.certificate import make_certificate
from bestk.verification import verify

N_ARMS, N_ITEMS = 6, 40
TABLE = np.random.default_rng(2).random((N_ARMS, N_ITEMS)) < np.linspace(0.9, 0.3, N_ARMS)[:, None]
ARMS = [f"model {arm}" for arm in range(N_ARMS)]
ITEMS = [{"question": number} for number in range(N_ITEMS)]
BEST = {"model 0", "model 1"}
HISTORY = np.random.default_rng(3).random((9, N_ITEMS)) < np.linspace(0.05, 0.95, N_ITEMS)
HISTORY = np.where(np.random.default_rng(4).random((9, N_ITEMS)) < 0.2, np.nan, HISTORY)


class Scorer:
    """A table that notes who asks for what."""

    def __init__(self, table=TABLE):
        self.table, self.calls = table, []

    def __call__(self, arm, item):
        self.calls.append((arm, item["question"]))
        return float(self.table[ARMS.index(arm), item["question"]])


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    monkeypatch.setenv("BESTK_COMPILE", "never")


def evaluate(scorer, **more):
    return bestk.evaluate(ARMS, ITEMS, scorer, **{"k": 2, "seed": 1, **more})


@pytest.mark.parametrize("parallel", [1, 3, 8])
def test_the_best_are_found_and_no_cell_is_scored_twice(parallel):
    scorer = Scorer()
    result = evaluate(scorer, parallel=parallel)
    assert result.certified
    assert set(result.top) == BEST
    assert len(set(scorer.calls)) == len(scorer.calls) >= result.samples
    assert result.table == N_ARMS * N_ITEMS
    assert result.share == result.samples / result.table < 1.0
    assert f"{result.samples:,} of 240 evaluations" in str(result)


class Slow(Executor):
    """Answers the oldest of its calls only when another was told, or four are waiting."""

    def __init__(self):
        self.waiting = []

    def submit(self, fn, /, *args):
        self.waiting.append((Future(), fn, args))
        future = self.waiting[-1][0]
        if len(self.waiting) == 4:
            self.answer()
        return future

    def answer(self, _=None):
        if self.waiting:
            future, fn, args = self.waiting.pop(0)
            future.set_result(fn(*args))


def test_scores_that_are_still_on_their_way_at_the_end_do_no_harm():
    slow = Slow()
    result = evaluate(Scorer(), executor=slow, parallel=4, progress=slow.answer)
    assert slow.waiting
    assert result.certified
    assert set(result.top) == BEST


def test_a_live_evaluation_is_the_simulated_one():
    result = evaluate(Scorer())
    made = Problem(bestk.TopK(N_ARMS, 2), bestk.Bounded(), 0.05, items=N_ITEMS).configure(1)
    state, out, told = made.new_state(), np.zeros(N_ARMS, np.int64), []
    step.reset(state, made.spec, 0)
    while step.ask(state, made.spec, out):
        arm = int(out[0])
        item = int(finite.place(state, made.spec, arm))
        told.append((ARMS[arm], item, float(TABLE[arm, item])))
        step.tell(state, made.spec, arm, told[-1][2])
    assert [(cell.arm, cell.position, cell.score) for cell in result.cells] == told
    assert all(cell.item == ITEMS[cell.position] for cell in result.cells)


def test_an_evaluation_that_was_cut_short_goes_on_where_it_stood(tmp_path):
    whole, scorer = evaluate(Scorer()), Scorer()
    for budget in (30, 77, None):
        part = evaluate(scorer, storage=tmp_path / "e.db", budget=budget)
    assert part.cells == whole.cells
    assert part.to_dict()["arms"] == whole.to_dict()["arms"]
    assert len(set(scorer.calls)) == len(scorer.calls) == whole.samples


def test_other_items_are_refused(tmp_path):
    evaluate(Scorer(), storage=tmp_path / "e.db", budget=10)
    with pytest.raises(InputError, match=r"items=.* was refused"):
        bestk.evaluate(ARMS, ITEMS[::-1], Scorer(), k=2, storage=tmp_path / "e.db")


def test_a_failure_counts_as_the_worst_score_and_is_said():
    scorer = Scorer()

    def failing(arm, item):
        score = scorer(arm, item)
        if item["question"] % 10 == 0:
            raise OSError("no answer")
        return score

    result = evaluate(failing, retries=0)
    failed = [cell for cell in result.cells if cell.position % 10 == 0]
    assert failed
    assert {cell.score for cell in failed} == {0.0}
    assert sum(arm.failed for arm in result.arms) == len(failed)
    assert f"{len(failed)} evaluations failed, and count as the worst score" in str(result)


def test_a_cell_that_failed_is_tried_again_before_it_counts():
    scorer, tried = Scorer(), set()

    def shaky(arm, item):
        score = scorer(arm, item)
        if (arm, item["question"]) not in tried:
            tried.add((arm, item["question"]))
            raise OSError("busy")
        return score

    result = evaluate(shaky, retries=1, backoff=0)
    assert result.cells == evaluate(Scorer()).cells
    assert len(scorer.calls) == 2 * result.samples


def test_a_failure_may_end_the_run_which_can_be_resumed(tmp_path):
    def broken(arm, item):
        if item["question"] == 3:
            raise OSError("no answer")
        return Scorer()(arm, item)

    with pytest.raises(ArmFailedError, match="item 3") as kept:  # and the study of that run
        evaluate(broken, on_fail="stop", retries=0, storage=tmp_path / "e.db")
    again = evaluate(Scorer(), storage=tmp_path / "e.db", seconds=60)  # else it would wait for ever
    assert again.cells == evaluate(Scorer()).cells
    del kept


class OneBehind(DaemonThreads):
    """Every call lasts until another is made, so that something runs when the rule stops."""

    def __init__(self):
        self.last = threading.Event()

    def submit(self, fn, /, *args, **kwargs):
        self.last.set()
        self.last = next_one = threading.Event()

        def call():
            next_one.wait(1.0)
            return fn(*args, **kwargs)

        return super().submit(call)


def test_what_still_runs_when_the_rule_stops_is_no_matter():
    result = evaluate(Scorer(), parallel=2, executor=OneBehind())
    assert result.certified
    assert set(result.top) == BEST


def test_coroutines_score_too():
    async def score(arm, item):
        await asyncio.sleep(0)
        return Scorer()(arm, item)

    assert evaluate(score).cells == evaluate(Scorer()).cells


def test_repeats_are_averaged_within_a_cell():
    scorer = Scorer()
    result = evaluate(scorer, repeats=3)
    assert len(scorer.calls) == 3 * result.samples
    assert result.cells == evaluate(Scorer()).cells


def test_costs_are_minimised():
    result = evaluate(Scorer(~TABLE), maximize=False)
    assert set(result.top) == BEST


def test_ask_and_tell_carry_items():
    study = bestk.Study("e", ARMS, k=2, items=ITEMS, seed=1)
    scorer = Scorer()
    while pulls := study.ask(3):
        for pull in reversed(pulls):
            assert pull.item == ITEMS[pull.position]
            study.tell(pull, scorer(pull.arm, pull.item))
    assert study.result.certified
    assert len(set(scorer.calls)) == len(scorer.calls)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"policy": "lil-rand-lucb"}, "found by e-lucb"),
        ({"params": {"independent": False}}, "order of its own"),
        ({"rewards": bestk.Gaussian()}, "need a range"),
        ({"max_arms": 9}, "arms of an evaluation are fixed"),
        ({"lease": 5}, "a lease"),
        ({"items": []}, "empty"),
        ({"items": "abc"}, "list of items"),
    ],
)
def test_what_no_proof_covers_is_refused(more, said):
    with pytest.raises(InputError, match=said):
        bestk.Study("e", ARMS, **{"k": 2, "items": ITEMS, **more})


def test_no_score_is_skipped_or_added():
    study = bestk.Study("e", ARMS, k=2, items=ITEMS)
    (pull,) = study.ask()
    with pytest.raises(InputError, match="no score may be chosen or skipped"):
        study.forget(pull)
    with pytest.raises(InputError, match="no score may be chosen or skipped"):
        study.add(ARMS[0], 1.0, id="mine")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"epsilon": 0.05},
        {"maximize": False},
        {"parallel": 4},
        {"target": "population", "epsilon": 0.9},
        {"history": HISTORY},
        {"history": HISTORY, "maximize": False, "high": 2.0},
    ],
)
def test_a_certificate_is_confirmed_by_other_code(tmp_path, more):
    path = tmp_path / "e.db"

    def score(arm, item):
        if item["question"] == 7:
            raise OSError("no answer")
        return Scorer()(arm, item) / 2 + item["question"] / 100

    result = evaluate(score, storage=path, retries=0, **more)
    certificate = make_certificate(path)
    report = verify(certificate, path)
    assert report.verified, report.failed
    assert certificate["samples"] == sum(arm.pulls for arm in result.arms)
    number = 2 if "target" in more else 1
    page = "e-lucb" if "target" in more else "evaluation"
    assert certificate["theorem"] == f"docs/{page}.md, Theorem {number}"


def test_a_certificate_of_an_earlier_or_another_answer_is_refused(tmp_path):
    path = tmp_path / "e.db"
    evaluate(Scorer(), storage=path)
    certificate = make_certificate(path)
    forged = {**certificate, "problem": {**certificate["problem"], "items": N_ITEMS + 1}}
    assert not verify(forged, path).verified
    forged = {**certificate, "answer": [ARMS[0], ARMS[4]]}
    assert not verify(forged, path).verified
    forged = {**certificate, "items": {**certificate["items"], "target": "population"}}
    assert not verify(forged, path).verified
    forged = {**certificate, "items": {**certificate["items"], "digest": "0" * 64}}
    assert not verify(forged, path).verified


def test_of_a_population_nothing_is_known_for_certain():
    result = evaluate(Scorer(), target="population")
    assert not result.certified  # so few items cannot tell the best of a population
    assert result.samples == result.table
    assert result.stopped == "budget"
    assert "with epsilon = " in result.proof
    assert all(arm.low < arm.mean < arm.high for arm in result.arms)


# --- scores of other arms -------------------------------------------------------------------------


def test_scores_of_other_arms_say_which_items_are_hard():
    """Arms that differ on easy and hard items alike: most of their spread is the items'."""
    generator = np.random.default_rng(5)
    hardness = generator.permutation(np.repeat([0.0, 1.0], 200))
    table = np.clip(0.8 * hardness + generator.uniform(0, 0.1, (8, 400)), 0, 1)
    table[0] += 0.1
    arms, items = list(range(8)), list(range(400))

    def samples(**more):
        return bestk.evaluate(
            arms, items, lambda arm, item: table[arm, item], k=1, seed=1, **more
        ).samples

    with_history = samples(history=np.clip(0.8 * hardness, 0, 1)[None, :].repeat(20, axis=0))
    assert with_history < 0.8 * samples()


def test_an_evaluation_with_a_history_resumes_as_it_was_begun(tmp_path):
    path = tmp_path / "e.db"
    whole = evaluate(Scorer(), history=HISTORY)
    assert evaluate(Scorer(), history=HISTORY, budget=9, storage=path).samples == 9
    with pytest.raises(InputError, match=r"was begun with 40 items .*, with a history"):
        evaluate(Scorer(), storage=path)
    assert evaluate(Scorer(), history=HISTORY, storage=path).cells == whole.cells


def test_a_certificate_of_another_history_is_refused(tmp_path):
    path = tmp_path / "e.db"
    evaluate(Scorer(), history=HISTORY, storage=path)
    certificate = make_certificate(path)
    known = certificate["items"]["history"]
    for other in (None, {**known, "residuals": [0.5, *known["residuals"][1:]]}):
        forged = {**certificate, "items": {**certificate["items"], "history": other}}
        assert not verify(forged, path).verified


@pytest.mark.parametrize(
    ("history", "more", "said"),
    [
        (np.zeros((2, N_ITEMS + 1)), {}, "a column for each of the 40 items"),
        (np.zeros(N_ITEMS), {}, "a column for each"),
        (np.full((2, N_ITEMS), 1.5), {}, "does not lie between 0 and 1"),
        (np.full((2, N_ITEMS), np.inf), {}, "does not lie between 0 and 1"),
        ([["a"] * N_ITEMS], {}, "must all be numbers"),
        (HISTORY, {"target": "population"}, "each arm's own scores"),
    ],
)
def test_histories_that_do_not_fit_are_refused(history, more, said):
    with pytest.raises(InputError, match=said):
        evaluate(Scorer(), history=history, **more)
