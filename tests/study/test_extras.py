"""What pulls return beside their rewards, and the budgets that it, or the clock, sets."""

import csv
import gc
import io
import json
import sys
import threading

import pytest

import bestk
from bestk.errors import InputError
from bestk.study import Study
from bestk.study.extras import read, split, written
from helpers import command
from helpers.command import good

WORTH = {"a": 0.1, "b": 0.9}
EASY = {"k": 1, "seed": 1}


def fine(*args):
    done = command.bestk(*args)
    assert done.returncode == 0, done.stderr


def priced(arm):
    return WORTH[arm], {"cost": 0.5, "tokens": 7, "text": f"said by {arm}", "ok": True}


@pytest.fixture
def file(tmp_path):
    bestk.identify("ab", priced, **EASY, storage=tmp_path / "s.db")
    return tmp_path / "s.db"


def test_extras_are_kept_summed_and_change_nothing(file):
    result, plain = Study("identify", storage=file).result, bestk.identify("ab", WORTH.get, **EASY)
    assert result.samples == plain.samples
    assert result.arms == plain.arms
    assert result.totals == {"cost": 0.5 * plain.samples, "tokens": 7 * plain.samples}
    assert result.to_dict()["totals"] == result.totals
    assert plain.totals == {}


def test_extras_are_exported_reported_and_certified(file, tmp_path):
    rows = json.loads(good("export", file, "--format", "json"))
    assert {row["extra"]["text"] for row in rows} == {"said by a", "said by b"}
    table = list(csv.DictReader(io.StringIO(good("export", file, "--format", "csv"))))
    assert [json.loads(row["extra"]) for row in table] == [row["extra"] for row in rows]
    assert json.loads(good("status", file, "--json"))["totals"]["tokens"] == 7 * len(rows)
    assert "sum of tokens" in good("status", file)
    fine("report", file, "-o", tmp_path / "page.html")
    assert "sum of cost" in (tmp_path / "page.html").read_text()
    fine("certify", file, "-o", tmp_path / "c.json")
    fine("verify", tmp_path / "c.json", file)
    fine("doctor", file)


def test_a_study_with_pulls_made_again_is_verified(tmp_path):
    tried = set()

    def pull(arm, pull):
        if pull.index % 5 == 0 and pull.id not in tried:
            tried.add(pull.id)
            raise OSError("busy")
        return WORTH[arm]

    file = tmp_path / "s.db"
    bestk.identify("ab", pull, **EASY, storage=file, backoff=0)
    fine("certify", file, "-o", tmp_path / "c.json")
    fine("verify", tmp_path / "c.json", file)
    fine("doctor", file)
    assert len(json.loads(good("export", file, "--format", "json"))) > len(tried) > 1


def test_what_json_cannot_hold_is_kept_as_a_text():
    ring = []
    ring.append(ring)
    for extra in ({"x": float("nan")}, {1j: 2}, ring, {"x": object()}, "\udcff", {"a": {1, 2}}):
        assert read(written(extra)) is not None
    assert read(written({"x": [1, None, "é"]})) == {"x": [1, None, "é"]}
    assert (written(), read(""), read("no JSON")) == ("", None, None)
    assert split((1, 2)) == (1, 2)
    assert split([1, 2]) == ([1, 2], None)


def test_a_cost_budget_ends_the_run_and_holds_over_resumptions(tmp_path):
    settings = EASY | {"storage": tmp_path / "s.db", "epsilon": 0.0}
    first = bestk.identify("ab", priced, **settings, cost=2)
    assert (first.samples, first.stopped, first.totals["cost"]) == (4, "budget", 2.0)
    again = bestk.identify("ab", priced, **settings, cost=2.5)
    assert again.samples == 5
    with pytest.raises(InputError, match="returned no cost"):
        bestk.identify("ab", WORTH.get, **EASY, cost=2)


def test_a_run_ends_when_its_time_is_over():
    result = bestk.identify("ab", lambda _: 0.5, **EASY, seconds=0.3, progress=False)
    assert (result.stopped, result.certified) == ("budget", False)


def test_a_run_whose_time_is_over_does_not_wait_for_retries(tmp_path):
    failed = threading.Event()

    def pull(arm):
        failed.set()
        raise OSError(f"{arm} is busy")

    result = bestk.identify(
        "ab", pull, **EASY, seconds=2.0, backoff=1000.0, storage=tmp_path / "s.db"
    )
    assert result.stopped == "budget"
    assert failed.is_set()
    gc.collect()  # the study of that run is gone, so that its open pulls are handed out again
    assert bestk.identify("ab", WORTH.get, **EASY, storage=tmp_path / "s.db").certified


@pytest.mark.parametrize("cost", [1.7e308, 10**400, -1.7e308], ids=["most", "more", "least"])
def test_totals_beyond_all_numbers_leave_a_study_usable(tmp_path, cost):
    path = tmp_path / "s.db"
    study = Study("s", ["a", "b"], k=1, seed=1, storage=path)
    for pull in study.ask(4):
        study.tell(pull, WORTH[pull.arm], {"cost": cost, "n": 1})
    again = Study("s", storage=path).result
    assert again.samples == 4
    assert again.totals["n"] == 4
    assert again.totals.get("cost", 0) in (sys.float_info.max, -sys.float_info.max, 0)
    assert json.loads(good("status", path, "--json"))["totals"] == again.totals


def test_costs_of_arms_may_add_up_to_more_than_a_number_holds(tmp_path):
    path = tmp_path / "s.db"
    study = Study("s", ["a", "b"], k=1, seed=1, costs=[1e308, 1e308], storage=path)
    study.tell_many((pull, WORTH[pull.arm]) for pull in study.ask(4))
    assert json.loads(good("status", path, "--json"))["totals"]["cost"] == sys.float_info.max


def test_names_without_end_do_not_fill_every_result(tmp_path):
    study = Study("s", ["a", "b"], k=1, seed=1, storage=tmp_path / "s.db")
    for i, pull in enumerate(study.ask(4)):
        many = {f"{i}-{j}": 1 for j in range(400)}
        study.tell(pull, WORTH[pull.arm], {"cost": 1, "unit": "u" * 101, "n" * 101: 1, **many})
    again = Study("s", storage=tmp_path / "s.db").result
    assert again.totals["cost"] == 4
    assert again.totals["0-399"] == again.totals["1-399"] == 1
    assert len(again.totals) == 1000
    assert max(map(len, again.totals)) <= 100
    assert again.unit is None
