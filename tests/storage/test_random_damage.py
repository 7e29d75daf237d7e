"""Random damage to a file and its write-ahead file: no wrong word about a study without a message.

Run as a program, it does so a given number of times and counts what came of it.
"""

import random
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from bestk.errors import BestkError
from bestk.storage import SQLiteStorage
from bestk.storage.doctor import Examination
from bestk.study.reading import choose, observations, open_storage, open_study
from helpers import damage

NAMES = ("s", "t")
PAGE = damage.PAGE


@cache
def originals():
    """Bytes of a closed file, and of one whose writer was killed with its write-ahead file."""
    with tempfile.TemporaryDirectory() as folder:
        closed, killed = Path(folder, "closed.db"), Path(folder, "killed.db")
        for path in (closed, killed):
            storage = SQLiteStorage(path)
            for name, pulls in zip(NAMES, (400, 150), strict=True):
                storage.append(name, list(damage.log(pulls)))
            storage.close()
        events = list(damage.log(600))[801:950]
        damage.append_and_die(killed, events)
        wal = Path(f"{killed}-wal").read_bytes()
        return {"closed": (closed.read_bytes(), b""), "killed": (killed.read_bytes(), wal)}


def flip(data, dice):
    where = dice.randrange(len(data))
    data[where] ^= 1 << dice.randrange(8)


def cut(data, dice):
    del data[dice.randrange(len(data)) :]


def cut_at_a_page(data, dice):
    del data[PAGE * dice.randrange(1, max(2, len(data) // PAGE)) :]


def swap_pages(data, dice):
    one, two = (PAGE * dice.randrange(len(data) // PAGE) for _ in range(2))
    page = data[one : one + PAGE]
    data[one : one + PAGE] = data[two : two + PAGE]
    data[two : two + PAGE] = page


def overwrite(data, dice):
    where, count = dice.randrange(len(data)), dice.randrange(1, 64)
    data[where : where + count] = dice.randbytes(min(count, len(data) - where))


HARM = [flip] * 6 + [cut, cut_at_a_page, swap_pages, overwrite]


def seen(path):
    """What is said of every study: its state and its observations, or the message."""
    words = {}
    for name in NAMES:
        try:
            storage = open_storage(path)
            result = open_study(path, name).result.to_dict()
            result.pop("forecast", None)
            result.pop("forecast_interval", None)
            words[name] = result, list(observations(storage, choose(storage, name)))
        except BestkError as error:
            words[name] = str(error)
    return words


def examined(path):
    """What the doctor says: state, notes, and of each study its name and what is whole of it."""
    with Examination(path) as found:
        named = [each.name for each in found.studies if each.note is None]
        studies = {name: list(found.read(name)) for name in named}
        return found.state, found.notes, studies


def lay(folder, main, wal):
    path = Path(folder, "study.db")
    path.write_bytes(main)
    if wal:
        Path(f"{path}-wal").write_bytes(wal)
    return path


@cache
def truth(kind):
    with tempfile.TemporaryDirectory() as folder:
        path = lay(folder, *originals()[kind])
        return seen(path), examined(path)


def is_cut(found, whole):
    """Whether these are the first observations of a log that goes on."""
    return found[1] == whole[1][: len(found[1])]


def harm(folder, seed):
    """Damage a copy in one way; what came of it: seen, refused, cut, or WRONG."""
    dice = random.Random(seed)
    kind = dice.choice(("closed", "killed"))
    main, wal = map(bytearray, originals()[kind])
    in_wal = bool(wal) and dice.random() < 0.6
    dice.choice(HARM)(wal if in_wal else main, dice)
    path = lay(folder, main, wal)
    words, doctor = seen(path), _doctor(path)
    true, (_, _, events) = truth(kind)
    outcome = "as it was"
    for name in NAMES:
        if isinstance(words[name], str):
            outcome = "refused"
        elif words[name] != true[name]:
            if not (in_wal and is_cut(words[name], true[name]) and doctor and doctor[1]):
                return f"WRONG {kind} {name} seed {seed}"
            outcome = "end of the write-ahead file lost, and mentioned"
    if doctor is not None:
        state, _, studies = doctor
        for name, found in studies.items():
            if state == "healthy" and name not in NAMES:
                return f"WRONG name {name} seed {seed}"
            if name in NAMES and found != events[name][: len(found)]:
                return f"WRONG recovery of {name} seed {seed}"
        if outcome == "refused" and state == "healthy":
            return f"WRONG refused, but healthy to the doctor, seed {seed}"
    return outcome


def _doctor(path):
    try:
        return examined(path)
    except BestkError:
        return None


def harmed(seed):
    with tempfile.TemporaryDirectory() as folder:
        return harm(folder, seed)


@pytest.mark.compiled
@pytest.mark.parametrize("block", range(4))
def test_random_damage_is_never_passed_over(block):
    found = Counter(harmed(seed) for seed in range(40 * block, 40 * block + 40))
    assert not [outcome for outcome in found if outcome.startswith("WRONG")], found
    assert found["refused"]


def test_rows_out_of_order_do_not_keep_the_doctor_for_ever():
    assert harmed(1292) == "refused"


if __name__ == "__main__":
    print(Counter(harmed(seed) for seed in range(int(sys.argv[1]), int(sys.argv[2]))))
