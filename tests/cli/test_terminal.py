"""What the command line says of odd names, and of files that it can do nothing with.

Control characters of names never reach the terminal, and what cannot be used is exit code 2 with
one paragraph.
"""

import json
import os
import re
import shutil
import stat

import pytest

from bestk.study import Study
from helpers import damage
from helpers.command import bestk, call

EVIL = "evil\x1b[31m\x07\r\x9b2J\u202ename"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def certified(path, name=EVIL, arms=("a\x1b[2J", "b\x1b[31m", "c")):
    study = Study(name, arms, k=1, storage=path, seed=1, epsilon=0.2, delta=0.2)
    while pulls := study.ask():
        study.tell(pulls[0], 0.9 if pulls[0].arm == arms[1] else 0.1)
    return path


def said(*args, code=0, **more):
    """What a command prints on both streams; never anything that steers a terminal."""
    done = bestk(*map(str, args), **more) if more else call(*args)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    text = (done.stdout + done.stderr).replace("\r\n", "\n")  # the line ends of CSV
    assert not STEERING.search(text)
    return text


def refused(*args, **more):
    text = said(*args, code=2, **more)
    assert text.startswith("bestk: ")
    assert text.count("\n") == 1  # one paragraph
    assert "unexpected" not in text
    return text


def test_names_never_steer_the_terminal(tmp_path):
    path, cert = certified(tmp_path / "a\x1b[31m.db"), tmp_path / "c\x1b[31m.json"
    assert r"evil\x1b[31m\x07\r\x9b2J\u202ename: the answer is b\x1b[31m" in said(
        "certify", path, "-o", cert
    )
    assert r"evil\x1b[31m" in said("verify", cert, path)
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(json.loads(cert.read_text()) | {"study": "no\x1b[31m"}))
    said("verify", forged, path, code=1)
    said("status", path)
    said("list", path)
    said("doctor", path)
    said("report", path)
    assert r'"a\u001b[2J"' in said("export", path, "--format", "csv")
    said("export", path, "--format", "json")
    assert r"unknown study 'no\x1b[31m'" in refused("status", path, "--study", "no\x1b[31m")
    refused("export", path, "--format", "csv\x1b[31m")
    refused("export", path, "--format", "csv", "-o", tmp_path / "no\x1b[31m" / "out.csv")
    refused("init", tmp_path / "no\x1b[31m" / "study.toml")
    refused("run", tmp_path / "no\x1b[31m.toml")
    refused("race", "true\x1b[31m", "false\x1b[31m", "true\x1b[31m")
    refused("simulate", "--k", "1", "--means", "\x1b[31m,2")
    refused("simulate", "--decision", "path", "--graph", tmp_path / "\x1b[31m.json")
    for usage in (["status\x1b[31m"], ["status", path, "\x1b[31m"], ["list", "--\x1b[31m", path]):
        assert r"\x1b[31m" in said(*usage, code=2)


def test_bytes_that_are_no_text_are_escaped(tmp_path):
    here = {"cwd": tmp_path}  # in processes of their own, whose streams are real
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff")
    assert r"odd\udcff.db was refused" in refused("status", odd + ".db", **here)
    path = certified(odd + ".db", "plain", ("a", "b\udc80", "c"))
    assert r"\udcff" in said("certify", path, "-o", odd + ".json", **here)
    assert r"\udcff" in said("report", path, **here)
    assert r'"b\udc80"' in said("export", path, "--format", "csv", **here)
    ascii_ = os.environ | {"PYTHONIOENCODING": "ascii"}
    plain = certified(tmp_path / "é.db", "é")
    assert r"\xe9" in said("certify", plain, "-o", tmp_path / "é.json", env=ascii_)


def test_markup_in_names_of_files_is_text(tmp_path):
    graph = tmp_path / "[bold]g[nonsense].json"
    triangle = [("a", "b", 0.9), ("b", "c", 0.6), ("a", "c", 0.1)]
    edges = [{"u": u, "v": v, "mean": mean} for u, v, mean in triangle]
    graph.write_text(json.dumps({"edges": edges}))
    text = said("simulate", "--decision", "spanning-tree", "--graph", graph, "--runs", "2")
    assert "[bold]g[nonsense].json" in text


LONG = "x" * 300


@pytest.mark.parametrize("args", [
    ("status", LONG), ("list", LONG), ("doctor", LONG), ("run", LONG), ("verify", LONG, "{file}"),
    ("verify", "{cert}", LONG), ("init", LONG), ("certify", "{file}", "-o", LONG),
    ("report", "{file}", "-o", LONG), ("export", "{file}", "--format", "csv", "-o", LONG),
    ("doctor", "{file}", "--recover", LONG), ("race", "true", "false", "--storage", LONG),
    ("race", "true", "false", "--export", LONG),
    ("plan", "--means", "1,0", "--k", "1", "--plot", LONG + ".png"),
    ("certify", "{file}", "-o", ""), ("report", "{file}", "-o", ""), ("init", ""),
    ("export", "{file}", "--format", "csv", "-o", ""), ("race", "true", "false", "--export", ""),
    ("status", ""), ("run", ""), ("verify", "", "{file}"), ("doctor", ""),
    ("run", "{deep.toml}"), ("run", "{digits.toml}"), ("verify", "{deep.json}", "{file}"),
    ("simulate", "--decision", "path", "--graph", "{deep.json}"),
    ("simulate", "--decision", "explicit", "--graph", "{deep.json}"),
    ("simulate", "--means", "1,0", "--k", "1", "--runs", str(10**17)),
])  # fmt: skip
def test_what_cannot_be_used_is_exit_code_2(args, tmp_path, whole, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.toml").write_text("x = " + "[" * 100_000)
    (tmp_path / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    (tmp_path / "digits.toml").write_text("[study]\nk = " + "9" * 5000)
    names = {"{file}": str(whole[0]), "{cert}": str(whole[1])}
    names |= {f"{{{path.name}}}": str(path) for path in tmp_path.iterdir()}
    before = sorted(tmp_path.iterdir())
    refused(*(names.get(arg, arg) for arg in args))
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    path, cert = certified(folder / "study.db", "study"), folder / "cert.json"
    said("certify", path, "-o", cert)
    return path, cert


@pytest.mark.parametrize("change", [
    "UPDATE studies SET name = x'ff00'",
    "UPDATE studies SET name = CAST(x'ff41' AS TEXT)",
    "UPDATE log_1 SET at = 1e300",
    "UPDATE log_1 SET at = 'soon'",
    "UPDATE log_1 SET at = 9e999 WHERE kind = 9",
    "UPDATE log_1 SET data = '[7]' WHERE kind = 9",
    f"UPDATE log_1 SET data = '{'[' * 100_000}' WHERE kind = 9",
    f"UPDATE log_1 SET data = '{'[' * 100_000}' WHERE seq = 1",
    "UPDATE log_1 SET data = '5' WHERE seq = 1",
    "UPDATE log_1 SET data = '+x' WHERE seq = 2",
])  # fmt: skip
def test_damaged_names_times_and_texts_are_exit_code_2_or_do_no_harm(change, tmp_path, whole):
    path = shutil.copy(whole[0], tmp_path / "study.db")
    damage.sql(path, change)
    codes = set()
    for command in (
        ["status"], ["status", "--json"], ["list"], ["export", "--format", "csv"], ["report"],
        ["certify", "-o", str(tmp_path / "cert.json")],
    ):  # fmt: skip
        done = call(command[0], path, *command[1:])
        assert done.returncode in (0, 2), (command, done.stderr)
        assert "unexpected" not in done.stderr
        codes.add(done.returncode)
    assert 2 in codes


def test_a_folder_that_may_not_be_entered_is_exit_code_2(tmp_path, whole):
    damage.needs_powerless()
    closed = tmp_path / "closed"
    closed.mkdir()
    shutil.copy(whole[0], closed / "study.db")
    shutil.copy(whole[1], closed / "cert.json")
    shutil.copy(whole[0], tmp_path / "study.db")
    (closed / "study.toml").write_text("")
    closed.chmod(stat.S_IWUSR)
    tmp_path.chmod(0o755)
    file, cert, mine = closed / "study.db", closed / "cert.json", tmp_path / "study.db"
    try:
        for args in (
            ["status", file], ["doctor", file], ["verify", cert, mine],
            ["run", closed / "study.toml"], ["export", mine, "--format", "csv", "-o", cert],
            ["race", "true", "false", "--storage", closed / "new.db"],
        ):  # fmt: skip
            refused(*args, preexec_fn=damage.powerless)
    finally:
        closed.chmod(0o755)


def test_help_says_how_labels_are_escaped():
    text = " ".join(said("export", "--help").split())
    assert "= + - @" in text
    assert "apostrophe" in text
