"""Reading what others may have written: certificates and logs that mean one thing, or none."""

import copy
import json
import sqlite3

import numpy as np
import pytest

from bestk.errors import InputError
from bestk.study.certificate import make_certificate
from bestk.verification import read_certificate, verify
from bestk.verification.schema import FORMATS, WARNINGS, Each, Maybe, Value
from helpers.certified import begin, copied, drive, edit, failed, sha_of

CASE = ("e-lucb", "bounded", None, {"independent": False}, True)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The file of a study that has stopped, and its certificate."""
    path = tmp_path_factory.mktemp("study") / "study.db"
    drive(begin(path, CASE), CASE[1], np.random.default_rng(7))
    return path, make_certificate(path)


# --- JSON -----------------------------------------------------------------------------------------

TEXTS = {
    "a key twice": ('"format": 2', '"format": 2, "format": 2', "comes twice"),
    "a key of an arm twice": ('"pulls": ', '"pulls": 1, "pulls": ', "comes twice"),
    "NaN": ('"product": 0.0', '"product": NaN', "no number"),
    "infinity": ('"product": 0.0', '"product": -Infinity', "no number"),
    "beyond a double": ('"product": 0.0', '"product": 1e999', "beyond"),
    "no end": ('"log": {', '"log": ', "it is not a certificate"),
    "more after the end": ('{"format"', '{} {"format"', "it is not a certificate"),
    "nested deeply": ('"answer": [', '"answer": ' + "[" * 100_000, "it is not a certificate"),
    "many digits": ('"seed": 4', '"seed": ' + "4" * 10_000, "it is not a certificate"),
    "another encoding": ('"made": "', '"made": "\udcff', "it is not a certificate"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_json_that_can_be_read_in_two_ways_is_refused(stopped, tmp_path, what):
    old, new, why = TEXTS[what]
    text, file = json.dumps(stopped[1]), tmp_path / "cert.json"
    file.write_text(text)
    assert verify(read_certificate(file), stopped[0]).verified
    assert old in text
    file.write_bytes(text.replace(old, new, 1).encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=why) as refused:
        read_certificate(file)
    assert len(str(refused.value)) < 500 + len(str(file))


# --- types ----------------------------------------------------------------------------------------


def values_of(shape, value, keys=()):
    """Every single value of a certificate: where it is, and what it may be."""
    if isinstance(shape, Maybe):
        if value is not None:
            yield from values_of(shape.shape, value, keys)
    elif isinstance(shape, Each):
        for place, each in enumerate(value):
            yield from values_of(shape.shape, each, (*keys, place))
    elif isinstance(shape, Value):
        yield keys, shape.what
    else:
        for name, inner in shape.items():
            yield from values_of(inner, value[name], (*keys, name))


OTHERS = {
    "a whole number, not negative": [True, 1.0, -1, "1", [1], {}],
    "a finite number with a decimal point": [True, 1, "0.5", float("nan"), float("inf"), [0.5]],
    "a text": [None, 0, True, ["x"], {}],
    "true or false": [0, 1, "true", None],
    "a JSON value": [float("nan"), (1, 2), {1: 2}, {"x"}],
    "a JSON object": [None, [], "problem", {"x": float("inf")}],
}


def changed(certificate, keys, to):
    other = copy.deepcopy(certificate)
    place = other
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    return other


def test_every_value_has_its_type(stopped):
    path, certificate = stopped
    tried = 0
    for keys, what in values_of(FORMATS[1], certificate):
        for value in OTHERS[what]:
            with pytest.raises(InputError, match="certificate"):
                verify(changed(certificate, keys, value), path)
            tried += 1
    assert tried > 400


def test_null_stands_only_where_a_number_may_be_missing(stopped):
    path, certificate = stopped
    for keys, _ in values_of(FORMATS[1], certificate):
        other = changed(certificate, keys, None)
        if keys[-1] == "label" or keys[0] == "answer":
            assert failed(other, path)  # null may be a label, but it is not this one
        elif keys[-1] in ("mean", "seen_mean", "low", "high", "bound", "statistic"):
            assert failed(other, path)
        else:
            with pytest.raises(InputError, match="certificate"):
                verify(other, path)


@pytest.mark.parametrize("value", [0, True, -1, 1.0, "1", None])
def test_a_format_that_is_none_is_refused(stopped, value):
    with pytest.raises(InputError, match="not a certificate"):
        verify({**stopped[1], "format": value}, stopped[0])


def test_a_newer_format_is_refused(stopped):
    with pytest.raises(InputError, match="newer bestk"):
        verify({**stopped[1], "format": max(FORMATS) + 1}, stopped[0])


def test_missing_and_unknown_fields_are_refused(stopped):
    path, certificate = stopped
    places = [(), ("stop",), ("stop", "rival"), ("log",), ("levels",), ("arms", 3)]
    for keys in places:
        inside = certificate
        for key in keys:
            inside = inside[key]
        fewer = [{key: inside[key] for key in inside if key != name} for name in inside]
        for other in (*fewer, {**inside, "surprise": 1}):
            forged = changed(certificate, keys, other) if keys else other
            with pytest.raises(InputError, match="certificate"):
                verify(forged, path)


def test_settings_and_labels_are_compared_with_their_types(tmp_path):
    """To Python 1, 1.0 and True are equal."""
    path = tmp_path / "study.db"
    study = begin(path, CASE, arms=[0, 1, 2, "3", 4, 5])
    drive(study, CASE[1], np.random.default_rng(7))
    certificate = make_certificate(path)
    assert failed(certificate, path) == set()
    for keys, value, check in (
        (("problem", "maximize"), 1, "problem"),
        (("problem", "decision", "k"), 2.0, "problem"),
        (("problem", "epsilon"), "0.3", "problem"),
        (("problem", "params", "independent"), 0, "problem"),
        (("arms", 1, "label"), True, "arms"),
        (("arms", 1, "label"), 1.0, "arms"),
        (("arms", 3, "label"), 3, "arms"),
        (("answer", 0), float(certificate["answer"][0]), "answer"),
        (("stop", "rival", "label"), float(certificate["stop"]["rival"]["label"]),
         "stopping statistic"),
    ):  # fmt: skip
        assert check in failed(changed(certificate, keys, value), path), keys


def test_a_warning_that_says_less_is_refuted(stopped):
    path, certificate = stopped
    assert certificate["warning"] == WARNINGS[certificate["lost"]]
    for text in ("", " ", certificate["warning"] + " ", certificate["warning"].replace("only", "")):
        assert failed({**certificate, "warning": text}, path) == {"warning"}


# --- the log --------------------------------------------------------------------------------------


def rewritten(certificate, path):
    """The certificate with the hash of that log, which whoever changed it could write."""
    other = copy.deepcopy(certificate)
    other["log"]["sha256"] = sha_of(path, other["log"]["events"])
    return other


def run(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log_1 SET seq = seq + 1000000 WHERE seq > 20",  # a gap
        "UPDATE log_1 SET seq = seq - 1000000",
        "UPDATE log_1 SET seq = 0 WHERE seq = 1",
    ],
)
def test_a_gap_in_the_sequence_is_refuted(stopped, tmp_path, statement):
    path = copied(stopped[0], tmp_path)
    edit(path, statement)
    assert failed(rewritten(stopped[1], path), path) == {"numbers of events"}


COLUMNS = "seq, kind, key, arm, reward, data, at"
SCHEMAS = {
    "a view": ["ALTER TABLE log_1 RENAME TO hidden", "CREATE VIEW log_1 AS SELECT * FROM hidden"],
    "a view of studies": [
        "ALTER TABLE studies RENAME TO hidden",
        "CREATE VIEW studies AS SELECT * FROM hidden",
    ],
    "a trigger": ["CREATE TRIGGER t AFTER INSERT ON log_1 BEGIN SELECT 1; END"],
    "a view beside": ["CREATE VIEW other AS SELECT 1"],
    "a computed column": [
        "ALTER TABLE log_1 RENAME TO hidden",
        "CREATE TABLE log_1 (seq INTEGER PRIMARY KEY, kind INTEGER, key TEXT, arm INTEGER,"
        " own REAL, data TEXT, at REAL, reward REAL AS (own))",
        f"INSERT INTO log_1 ({COLUMNS.replace('reward', 'own')}) SELECT {COLUMNS} FROM hidden",
    ],
    "no key": [
        "ALTER TABLE log_1 RENAME TO hidden",
        f"CREATE TABLE log_1 AS SELECT {COLUMNS} FROM hidden",
    ],
    "a virtual table": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET rootpage = 0, sql ="
        " 'CREATE VIRTUAL TABLE log_1 USING fts5(a)' WHERE name = 'log_1'",
    ],
    "a study twice": [
        "ALTER TABLE studies RENAME TO hidden",
        "CREATE TABLE studies (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO studies SELECT id, name FROM hidden",
        "INSERT INTO studies (name) SELECT name FROM hidden",
    ],
}


@pytest.mark.parametrize("what", SCHEMAS)
def test_only_plain_tables_are_read(stopped, tmp_path, what):
    path = copied(stopped[0], tmp_path)
    assert failed(stopped[1], path) == set()
    run(path, *SCHEMAS[what])
    with pytest.raises(InputError, match="was refused"):
        verify(stopped[1], path)


@pytest.mark.parametrize("value", ["'many'", "x'00'", "NULL", "1"])
@pytest.mark.parametrize("column", ["kind", "arm", "reward", "data", "key", "at"])
def test_events_hold_values_of_their_types(stopped, tmp_path, column, value):
    """SQLite stores what it is given, in a table whose columns have no types."""
    path = copied(stopped[0], tmp_path)
    run(path, "ALTER TABLE log_1 RENAME TO hidden",
        "CREATE TABLE log_1 (seq INTEGER PRIMARY KEY, kind, key, arm, reward, data, at)",
        f"INSERT INTO log_1 SELECT {COLUMNS} FROM hidden")  # fmt: skip
    assert failed(stopped[1], path) == set()
    edit(path, f"UPDATE log_1 SET {column} = {value} WHERE seq = 5")
    assert failed(stopped[1], path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed": 4', '"seed": 5, "seed": 4'),
        ('"maximize": true', '"maximize": true, "maximize": true'),
        ('"epsilon": 0.3', '"epsilon": NaN'),
        ('"delta": 0.1', '"delta": 1e999'),
        ('{"format": 2', '{"format": 7'),
        ('{"format": 2', '{"format": true'),
        ('{"format": 2', '{"more": 0, "format": 2'),
        ('"lease": null, ', ""),
    ],
)
def test_the_specification_in_the_log_is_read_strictly(stopped, tmp_path, old, new):
    path = copied(stopped[0], tmp_path)
    edit(path, "UPDATE log_1 SET data = replace(data, ?, ?) WHERE kind = 0", old, new)
    assert "recomputation" in failed(rewritten(stopped[1], path), path)


@pytest.mark.parametrize("answer", ["[true, 4]", "[1.0, 4]", "[-5, 4]", "[4, 4]", "4", "null", ""])
def test_the_answer_in_the_log_is_a_list_of_arms(stopped, tmp_path, answer):
    path = copied(stopped[0], tmp_path)
    edit(path, "UPDATE log_1 SET data = ? WHERE kind = 9", answer)
    assert "recomputation" in failed(rewritten(stopped[1], path), path)


def test_a_stop_of_other_arms_is_refuted(stopped, tmp_path):
    """The event counts how often arms had come or gone; a study takes no other stop for its own."""
    path = copied(stopped[0], tmp_path)
    edit(path, "UPDATE log_1 SET arm = 1 WHERE kind = 9")
    assert failed(rewritten(stopped[1], path), path) == {"stop in the log"}


def test_a_file_that_is_no_study_is_refused(stopped, tmp_path):
    path, certificate = stopped
    whole = copied(path, tmp_path)
    with open(whole, "rb") as file:
        data = file.read()
    half = tmp_path / "half.db"
    half.write_bytes(data[: len(data) // 2])
    text = tmp_path / "text.db"
    text.write_text("no database at all, but quite a long text " * 10)
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    for file in (half, text, other, tmp_path / "nowhere.db"):
        with pytest.raises(InputError, match="was refused"):
            verify(certificate, file)
    edit(whole, "UPDATE log_1 SET data = 'no JSON' WHERE kind = 0")
    assert "recomputation" in failed(certificate, whole)
