"""Pulls that came back in the order asked are folded as columns: to the state of one by one."""

import random
import sqlite3

import pytest

from bestk.errors import StorageError
from bestk.rewards import Bounded
from bestk.storage import Event, MemoryStorage, SQLiteStorage
from bestk.storage import events as ev
from bestk.study import Study, answered, journal
from bestk.study.extras import written
from bestk.study.fold import Fold

SEEN = ("seen", "last", "told", "rounds", "handed", "waiting", "open", "answers", "gone", "failed")


def begun(storage, policy="e-lucb"):
    study = Study("s", "abcd", k=1, policy=policy, rewards=Bounded(), seed=1, storage=storage)
    return study.specification


def asked(key, arm, data="+"):
    return Event(ev.ASKED, key, arm, 0.0, data, 1.0)


def told(key, dice):
    return Event(ev.TOLD, key, -1, round(dice.random(), 3), "", 2.0)


def rounds(dice, names):
    """One to three pulls, and what becomes of them: mostly what most logs have."""
    keys = [f"k{next(names)}" for _ in range(dice.choice((1, 1, 1, 2, 3)))]
    opening = [asked(key, dice.randrange(4)) for key in keys]
    answers = [told(key, dice) for key in keys]
    match dice.randrange(70):
        case 0:
            dice.shuffle(answers)
        case 1:
            answers[0] = Event(ev.FORGOTTEN, keys[0], at=2.0)
        case 2:
            answers.append(told(keys[0], dice))  # a second answer
        case 3:
            opening.append(asked(keys[0], 3))  # a name used twice
        case 4:
            opening.append(asked(f"{keys[0]}b", 1, ""))  # a round of several arms
            answers.append(told(f"{keys[0]}b", dice))
        case 5:
            answers[-1] = answers[-1]._replace(data=written({"tokens": 3}))
        case 6:
            answers.append(Event(ev.OBSERVED, f"own {keys[0]}", 1, 0.25, "", 2.0))
        case 7:
            return [asked("k0", 1), told("k0", dice)]  # a name of long ago
    return opening + answers


def logs(seed):
    dice, names = random.Random(seed), iter(range(10**6))
    if seed % 3 == 0:  # a window of pulls that slides: always some open, for a while
        keys = [f"w{i}" for i in range(300)]
        yield from (asked(key, dice.randrange(4)) for key in keys[:5])
        for here, later in zip(keys, keys[5:], strict=False):
            yield told(here, dice)
            yield asked(later, dice.randrange(4))
        yield from (told(key, dice) for key in keys[-5:])
    for _ in range(600):
        yield from rounds(dice, names)


def same(one, two):
    for fold in (one, two):
        fold.machine.settle()
    for name in SEEN:
        assert getattr(one, name) == getattr(two, name), name
    assert vars(one.extras) == vars(two.extras)
    for name in ("counts", "sums", "keys"):
        assert getattr(one.state, name).tobytes() == getattr(two.state, name).tobytes(), name
    assert one.plan() == two.plan()


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(6))
def test_columns_and_single_events_give_one_state(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "STRETCH", 100)
    monkeypatch.setattr(answered, "BLOCK", 40)  # most of them plain
    storage = SQLiteStorage(tmp_path / "s.db")
    specification = begun(storage)
    storage.append("s", list(logs(seed)))
    singly, at_once = Fold(specification), Fold(specification)
    for event in storage.read("s"):
        singly.apply([event])
    at_once.apply(storage.read("s"))
    same(at_once, singly)
    same(Study("s", storage=SQLiteStorage(tmp_path / "s.db"))._fold, singly)


@pytest.mark.parametrize("policy", ["e-lucb", "lucb"])  # lucb counts rounds: no columns there
def test_long_plain_logs_are_folded_as_columns(policy, tmp_path, monkeypatch):
    storage, dice = SQLiteStorage(tmp_path / "s.db"), random.Random(1)
    begun(storage, policy)
    plain = [(asked(f"k{i}", i % 4), told(f"k{i}", dice)) for i in range(2000)]
    storage.append("s", [event for pair in plain for event in pair])
    taken = []
    honest = Fold.pass_by
    monkeypatch.setattr(Fold, "pass_by", lambda *args: taken.append(len(args[1])) or honest(*args))
    opened = Study("s", storage=storage)
    assert opened.samples == 2000
    assert sum(taken) == (1500 if policy == "e-lucb" else 0)


def test_damage_in_a_plain_stretch_is_found_and_named(tmp_path):
    file, dice = tmp_path / "s.db", random.Random(1)
    storage = SQLiteStorage(file)
    begun(storage)
    plain = [(asked(f"k{i}", i % 4), told(f"k{i}", dice)) for i in range(2000)]
    storage.append("s", [event for pair in plain for event in pair])
    storage.close()
    for change in ("reward = reward / 2", "arm = 4.5", "key = 7", "at = 'x'"):
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE kept AS SELECT * FROM log_1 WHERE seq = 2503")
            connection.execute(f"UPDATE log_1 SET {change} WHERE seq = 2503")
        with pytest.raises(StorageError, match="event 2503 of s is not what was written"):
            Study("s", storage=file)
        with sqlite3.connect(file) as connection:
            connection.execute("REPLACE INTO log_1 SELECT * FROM kept")
            connection.execute("DROP TABLE kept")
    assert Study("s", storage=file).samples == 2000


def test_a_storage_in_memory_needs_no_columns():
    storage = MemoryStorage()
    begun(storage)
    storage.append("s", list(logs(1)))
    assert Study("s", storage=storage).samples > 600


def test_an_answer_before_its_question_is_refused():
    dice = random.Random(1)
    pairs = [(asked(f"k{i}", i % 4), told(f"k{i}", dice)) for i in range(20)]
    pairs[10] = pairs[10][::-1]
    with pytest.raises(StorageError, match="which nobody asked for"):
        Fold(begun(MemoryStorage())).apply(event for pair in pairs for event in pair)
