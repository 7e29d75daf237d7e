"""Comparing models and tasks of Inspect, with its mock models: nothing leaves this machine."""

import gc
import importlib.util
import random
import signal
from collections import Counter

import pytest

import bestk
from bestk.errors import ArmFailedError, InputError, UnknownName
from bestk.study.certificate import make_certificate
from bestk.verification import verify

if importlib.util.find_spec("inspect_ai") is None:
    pytest.skip(
        "inspect_ai is not installed: pip install 'bestk[inspect]'", allow_module_level=True
    )

import anyio
from inspect_ai import Epochs, SampleSource, Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, includes, scorer
from inspect_ai.solver import prompt_template

from bestk.inspect import compare
from bestk.inspect.comparison import Feed

N_ITEMS = 40
CHANCES = {"a": 0.95, "b": 0.9, "c": 0.4, "d": 0.3, "e": 0.2}
BEST = {"mockllm/a", "mockllm/b"}

# inspect_ai is not ours to mend: what it and its parts warn of is let pass
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    monkeypatch.setenv("BESTK_COMPILE", "never")
    yield
    gc.collect()  # its unclosed streams warn here, where that is let pass, and in no other test


def is_right(model, number):
    """Whether a model answers a question; the same each time."""
    return random.Random(f"{model} {number}").random() < CHANCES[model]


class Models:
    """Mock models that answer from a fixed table, and note what they were asked."""

    def __init__(self, names="abcde", fails=None):
        self.calls, self.fails, self.names = [], fails, names
        self.busy = self.most = 0

    def __iter__(self):
        for name in self.names:
            yield get_model(f"mockllm/{name}", custom_outputs=self.answers(name), memoize=False)

    def answers(self, name):
        async def answer(messages, *_):
            number = int(messages[-1].text.split()[1])
            self.calls.append((name, number))
            self.busy += 1
            self.most = max(self.most, self.busy)
            for _ in range(number % 7):  # answers come back in another order than asked
                await anyio.lowlevel.checkpoint()
            self.busy -= 1
            if self.fails and self.fails(number, self.calls.count((name, number))):
                raise OSError("no answer")
            return said("yes" if is_right(name, number) else "no")

        return answer


def said(text):
    output = ModelOutput.from_content("mockllm", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it is counted
    return output


def questions(n=N_ITEMS):
    return MemoryDataset(
        [Sample(input=f"question {n}", target="yes", id=f"q:{n}") for n in range(n)]
    )


def quiz(**more):
    return Task(**{"dataset": questions(), "scorer": includes(), "name": "quiz", **more})


@pytest.fixture
def run(tmp_path):
    def call(task=None, models=None, **more):
        settings = {
            "k": 2, "seed": 1, "log_dir": str(tmp_path / "logs"), "display": "none",
            "ctl_server": False, "log_realtime": False,
        }  # fmt: skip
        models = list(models) if isinstance(models, Models) else models
        return compare(task or quiz(), models, **{**settings, **more})

    return call


def logs_in(folder):
    return [read_eval_log(info) for info in list_eval_logs(str(folder / "logs"))]


def test_the_best_models_are_found_and_the_logs_have_what_counted(run, tmp_path):
    models = Models()
    result = run(models=models)
    assert result.certified
    assert set(result.top) == BEST
    assert result.share < 0.8
    assert len(set(models.calls)) == len(models.calls) == result.samples == len(result.cells)
    assert models.most <= 10
    for cell in result.cells:
        number = int(cell.item["input"].split()[1])
        assert cell.score == is_right(cell.arm.removeprefix("mockllm/"), number)
    logs = logs_in(tmp_path)
    logged = {log.eval.metadata["bestk_arm"]: len(log.samples) for log in logs}
    assert logged == {arm.label: arm.pulls for arm in result.arms}
    assert {log.status for log in logs} == {"success"}


def test_one_at_a_time_it_is_the_same_evaluation_as_without_inspect(run):
    result = run(models=Models(), parallel=1)
    plain = bestk.evaluate(
        [f"mockllm/{name}" for name in CHANCES], range(N_ITEMS),
        lambda arm, item: is_right(arm.removeprefix("mockllm/"), item), k=2, seed=1,
    )  # fmt: skip
    cells = [(cell.arm, cell.position, cell.score) for cell in result.cells]
    assert cells == [(cell.arm, cell.position, cell.score) for cell in plain.cells]


def test_target_and_costs_are_those_of_the_study(run, tmp_path):
    costs = [1.0 + n for n in range(len(CHANCES))]
    run(
        models=Models(), storage=tmp_path / "s.db", budget=20, target="population", costs=costs
    )  # fmt: skip
    study = bestk.Study("compare", storage=tmp_path / "s.db")
    assert study.specification.items.target == "population"
    assert study.problem.costs == tuple(costs)


def test_what_a_budget_cut_short_goes_on_and_can_be_certified(run, tmp_path):
    path, models = tmp_path / "study.db", Models()
    part = run(models=models, storage=path, budget=30)
    assert (part.certified, part.samples) == (False, 30)
    whole = run(models=models, storage=path)
    assert whole.certified
    assert len(set(models.calls)) == len(models.calls) == whole.samples
    again = run(models=models, storage=path)
    assert (again.top, len(models.calls)) == (whole.top, whole.samples)
    report = verify(make_certificate(path), path)
    assert report.verified, report.failed


def test_a_dataset_that_has_changed_is_refused(run, tmp_path):
    run(models=Models(), storage=tmp_path / "study.db", budget=5)
    changed = MemoryDataset([Sample(input="other 1", target="yes", id=s.id) for s in questions()])
    with pytest.raises(InputError, match=r"items.* refused"):
        run(quiz(dataset=changed), Models(), storage=tmp_path / "study.db")


def test_a_sample_that_fails_counts_as_the_worst_score_after_its_retries(run):
    models = Models(fails=lambda number, _: number % 10 == 0)
    result = run(models=models, retries=1)
    failed = [cell for cell in result.cells if int(cell.item["input"].split()[1]) % 10 == 0]
    assert failed
    assert {cell.score for cell in failed} == {0.0}
    assert sum(arm.failed for arm in result.arms) == len(failed)
    assert len(models.calls) == result.samples + len(failed)


def test_a_sample_that_fails_once_and_is_run_again_counts_once(run):
    shaky = Models(fails=lambda number, times: number % 3 == 0 and times == 1)
    result = run(models=shaky, retries=1, parallel=1)
    assert result.cells == run(models=Models(), parallel=1).cells


def test_a_failure_may_end_the_run_which_can_be_resumed(run, tmp_path):
    broken = Models(fails=lambda number, _: number == 3)
    with pytest.raises(ArmFailedError, match="no answer"):
        run(models=broken, on_fail="stop", storage=tmp_path / "study.db")
    whole = run(models=Models(), storage=tmp_path / "study.db")
    assert whole.certified
    assert sum(arm.failed for arm in whole.arms) == 0


def test_an_arm_whose_task_breaks_down_leaves_no_other_waiting(run, monkeypatch):
    feed = Feed._next_samples

    async def breaks(self):
        if self._model.name == "c" and self._comparison.study.samples > 10:
            raise OSError("the disk is full")
        return await feed(self)

    monkeypatch.setattr(Feed, "_next_samples", breaks)
    with pytest.raises(ArmFailedError, match=r"'mockllm/c'.*disk is full"):
        run(models=Models())


def test_tasks_are_compared_over_the_same_samples(run):
    def task(name):
        return quiz(name=name, solver=[prompt_template("{prompt} " + name), answer_as(name)])

    result = run([task(name) for name in CHANCES], get_model("mockllm/model"))
    assert result.certified
    assert set(result.top) == {"a", "b"}


def answer_as(name):
    from inspect_ai.solver import solver

    @solver(name="answer_as")
    def make():
        async def solve(state, _):
            number = int(state.user_prompt.text.split()[1])
            state.output = said("yes" if is_right(name, number) else "no")
            return state

        return solve

    return make()


def test_tasks_and_models_make_pairs(run):
    tasks = {"plain": quiz(), "polite": quiz(name="polite")}
    result = run(tasks, dict(zip("ac", Models("ac"), strict=True)))
    assert set(result.top) == {("plain", "a"), ("polite", "a")}


def test_epochs_are_averaged_within_a_cell(run):
    models = Models("abc")
    result = run(quiz(epochs=Epochs(2)), models)
    assert set(Counter(models.calls).values()) == {2}
    assert len(models.calls) == 2 * result.samples
    assert {cell.score for cell in result.cells} == {0.0, 1.0}


@scorer(metrics=[accuracy()])
def graded(values):
    async def score(state, _):
        return Score(value=values["yes" in state.output.completion])

    return score


@pytest.mark.parametrize(
    ("good", "bad"), [("C", "I"), ("P", "N"), (1, 0), (True, False), ("yes", "no"), ("0.75", 0.25)]
)
def test_values_are_read_as_inspect_reads_them(run, good, bad):
    from inspect_ai.scorer import value_to_float

    result = run(quiz(scorer=graded({True: good, False: bad})), Models("abc"), k=1)
    read = value_to_float()
    assert {cell.score for cell in result.cells} == {read(good), read(bad)}


@pytest.mark.parametrize("odd", ["splendid", [1, 0], {"f1": 0.5}, 2.0])
def test_a_value_that_is_no_number_in_range_is_refused_rather_than_taken_for_zero(run, odd):
    with pytest.raises((InputError, ArmFailedError), match=r"refused|assumption"):
        run(quiz(scorer=graded({True: odd, False: odd})), Models("abc"))


def test_a_sample_without_a_score_has_failed(run):
    result = run(quiz(scorer=graded({True: 1, False: float("nan")})), Models())
    assert set(result.top) == BEST
    assert sum(arm.failed for arm in result.arms) == sum(cell.score == 0 for cell in result.cells)


def test_other_values_are_made_numbers_as_told(run):
    task = quiz(scorer=graded({True: {"f1": 8}, False: {"f1": 2}}))
    result = run(task, Models("abc"), value=lambda value: value["f1"], high=10.0)
    assert {cell.score for cell in result.cells} == {8.0, 2.0}


def test_of_several_scorers_one_counts(run):
    task = quiz(scorer=[includes(), graded({True: 0, False: 1})])
    with pytest.raises(InputError, match="2 scorers"):
        run(task, Models())
    with pytest.raises(InputError, match=r"'other' was refused.*graded.*includes"):
        run(task, Models(), scorer="other")
    assert set(run(task, Models(), scorer="includes").top) == BEST
    assert set(run(task, Models("ade"), scorer="graded").top) == {"mockllm/d", "mockllm/e"}


def test_samples_of_messages_can_be_resumed(run, tmp_path):
    def task():
        return quiz(
            dataset=[
                Sample(input=[ChatMessageUser(content=f"question {n}")], target="yes")
                for n in range(N_ITEMS)
            ]
        )

    run(task(), Models(), storage=tmp_path / "study.db", budget=5)
    assert run(task(), Models(), storage=tmp_path / "study.db").certified


@pytest.mark.parametrize(
    ("change", "more", "said"),
    [
        ({"dataset": SampleSource()}, {}, "chooses its samples itself"),
        ({"early_stopping": object()}, {}, "chooses its samples itself"),
        ({"scorer": None}, {}, "no scorer"),
        ({"dataset": [Sample(input="x", id=1), Sample(input="y", id="1")]}, {}, "two samples"),
        ({}, {"limit": 3}, "limit was refused"),
        ({}, {"epochs": 3}, "epochs was refused"),
        ({}, {"models": ["mockllm/model"] * 2}, "there twice"),
        ({}, {"task": "quiz.py"}, "inspect_ai.Task"),
        ({}, {"task": {"a": quiz(), "b": quiz(dataset=questions(5))}}, "different samples"),
    ],
)
def test_what_would_choose_other_samples_is_refused_before_any_runs(run, change, more, said):
    with pytest.raises(InputError, match=said):
        run(**{"task": quiz(**change), "models": ["mockllm/x", "mockllm/y", "mockllm/z"], **more})


def test_an_unknown_way_to_deal_with_failures_is_refused(run):
    with pytest.raises(UnknownName, match="on_fail"):
        run(models=Models(), on_fail="skip")


def test_an_interrupt_keeps_what_was_scored(run, tmp_path):
    models, interrupted = Models(), []

    def progress(study):
        if study.samples >= 20 and not interrupted:  # scores may come several at once
            interrupted.append(study.samples)
            signal.raise_signal(signal.SIGINT)

    # tests may run in the background of a shell, whose children ignore interrupts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        part = run(models=models, storage=tmp_path / "study.db", progress=progress)
    finally:
        signal.signal(signal.SIGINT, before)
    assert part.stopped == "interrupted"
    assert part.samples >= 20
    assert run(models=models, storage=tmp_path / "study.db").certified


class Watch:
    """Inspect's early stopping, which only looks on."""

    def __init__(self):
        self.scheduled, self.completed = [], []

    async def start_task(self, *_, **__):
        return "watch"

    async def schedule_sample(self, id, _):
        self.scheduled.append(id)

    async def complete_sample(self, id, *_):
        self.completed.append(id)

    async def complete_task(self):
        return {}


def test_early_stopping_does_not_hear_of_failures_and_could_not_choose(tmp_path):
    """Why samples are fed instead: a failure unheard of would be a score that was skipped."""
    watch, models = Watch(), Models("a", fails=lambda number, _: number % 10 == 0)
    (log,) = eval(
        quiz(early_stopping=watch), list(models), display="none", log_dir=str(tmp_path),
        fail_on_error=False, ctl_server=False,
    )  # fmt: skip
    ids = [sample.id for sample in questions()]
    assert watch.scheduled == ids  # in the order of the dataset, whatever a study would ask for
    assert log.status == "success"
    assert set(watch.completed) == {id for id in ids if int(id.split(":")[1]) % 10}
