"""What a study survives: SIGKILL at any moment, and several processes at work on one file."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bestk.errors import PullError
from bestk.storage import SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study
from helpers import killed


def start(*arguments):
    done = subprocess.run(
        [sys.executable, str(Path(killed.__file__)), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def decisions(events):
    """Every ask, in order: the arm, and the round it began."""
    return [(event.arm, event.data) for event in events if event.kind == ev.ASKED]


def test_fifty_kills_lose_nothing_and_change_no_decision(tmp_path):
    file = tmp_path / "s.db"
    told = start("kill", file, 50, 7)
    assert told["killed"] == 50

    log = list(SQLiteStorage(file).read("s"))
    answers = Counter(event.key for event in log if event.kind == ev.TOLD)
    values = {event.key: event.reward for event in log if event.kind == ev.TOLD}
    assert set(answers.values()) == {1}  # nothing twice
    assert len(told["acknowledged"]) > 100
    for key, value in told["acknowledged"]:
        assert values[key] == value  # everything acknowledged is there
    # a pull whose answer was lost with its process was handed out again under the same name
    assert len(answers) == len(decisions(log)) == Study("s", storage=file).samples

    undisturbed = Study("s", killed.ARMS, storage=tmp_path / "u.db", **killed.SETTINGS)
    killed.work(undisturbed)
    assert decisions(log) == decisions(SQLiteStorage(tmp_path / "u.db").read("s"))
    left, right = Study("s", storage=file).result, undisturbed.result
    assert left.certified
    again = {event.key for event in log if event.kind == ev.REISSUED}
    said = (
        f"{len(again)} pull{'s were' if len(again) > 1 else ' was'} made again after a process died"
    )
    assert len(left.assumptions) == bool(again)
    assert not again or left.assumptions[0].startswith(said)
    same = {"seconds": 0, "assumptions": []}
    assert left.to_dict() | same == right.to_dict() | same


def test_processes_at_work_on_one_study_agree_and_count_each_answer_once(tmp_path):
    file = tmp_path / "s.db"
    together = start("together", file, 3)
    assert together["codes"] == [0, 0, 0]
    log = list(SQLiteStorage(file).read("s"))
    asked = [event.key for event in log if event.kind == ev.ASKED]
    told = [event.key for event in log if event.kind == ev.TOLD]
    assert len(set(asked)) == len(asked)
    assert len(set(told)) == len(told)
    assert set(told) <= set(asked)
    acknowledged = [key for one in together["acknowledged"] for key, _ in one]
    assert set(acknowledged) == set(told)  # a pull open at the start may be made by two
    assert all(together["acknowledged"])  # each did its share
    result = Study("s", storage=file).result
    assert result.certified
    assert result.top == ("b",)
    assert result.samples == len(told)


def test_of_two_answers_to_one_pull_the_first_in_the_log_counts(tmp_path):
    """Two objects that do not know of each other's answer yet, as in two processes."""
    file = tmp_path / "s.db"
    one = Study("s", killed.ARMS, storage=file, **killed.SETTINGS)
    two = Study("s", storage=file)
    (pull,) = one.ask()
    two.result  # noqa: B018 - two has read that the pull is open
    one.tell(pull, 0.25)
    with pytest.raises(PullError, match="another"):
        two.tell(pull.id, 0.75)
    two.tell(pull.id, 0.25)  # the same again
    for study in (one, two, Study("s", storage=file)):
        assert (study.samples, study.result.arms[0].mean) == (1, 0.25)
