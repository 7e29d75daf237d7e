"""Two thousand command lines, drawn from a seed: documented exit codes, and nothing unexpected.

Half of what is drawn makes sense, the rest is what users, scripts and globs come up with. Only what
would take long, or reach beyond its own folder, is kept out: no device is ever named, since a
command that replaces files could replace it, too.
"""

import gc
import os
import random
import re
import shutil
import sqlite3

import pytest

from bestk.study import Study
from helpers.command import call

CALLS = 500  # for each of four seeds
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MAY_SAY_NO = ("verify", "doctor")  # commands that answer no with exit code 1
DOCUMENTED = (0, 1, 2, 3, 130)

ODD = [
    "", " ", "nan", "inf", "-inf", "-1", "0", "1e400", "9" * 40, "0x10", "é", "\x1b[31m", "=1+1",
    "[bold]", "a\nb", "\udcff", "x" * 300, "none", "--", "-", "../..", "'", "{name}", "1,2", "½",
    "1_0",
]  # fmt: skip
FILES = [
    "study.db", "odd.db", "heuristic.db", "damaged.db", "times.db", "names.db", "cut.db",
    "text.txt", "cert.json", "forged.json", "deep.json", "graph.json", "means.txt", "study.toml",
    "deep.toml", "folder", "missing", "missing/file", "link", "loop", "x" * 300, "",
]  # fmt: skip
OUTPUTS = [
    "out", "out.csv", "out.png", "folder", "missing/out", "study.db", "study.db-wal", "",
    "é\x1b[31m", "x" * 255, "x" * 256, "\udcff",
]  # fmt: skip
POLICIES = ["e-lucb", "lil-rand-lucb", "lucb", "uniform", "e-lucb:heuristic", "lucb++:heuristic"]
NUMBERS = ["1", "2", "0.5", "0.05", "1e-9", "1e10", "1e308"]
LIMITS = {"--runs": ["1", "2", "3"], "--max-samples": ["1", "30", "300"]}  # or it takes long
SIMULATED = {
    "--k": ["1", "2", "N/2", "3"], "--instance": ["1-sparse", "exponential", "means", "replay"],
    "--arms": ["2", "4", "9"], "--alpha": ["0.3", "0.6"], "--array": ["counts", "x"],
    "--means": ["0.9,0.1,0.5", "1,1,0", "means.txt"], "--data": FILES, "--minimize": None,
    "--draw": ["table", "gaussian"], "--delta": NUMBERS, "--epsilon": NUMBERS, "--sigma": NUMBERS,
    "--low": NUMBERS, "--high": NUMBERS, "--seed": ["1", "7"], "--jobs": ["1", "2"],
    "--rewards": ["gaussian", "subgaussian", "bernoulli", "ratings", "bounded"], "--json": None,
}  # fmt: skip
OPTIONS = {
    "status": {"--study": ["s", "no"], "--json": None},
    "list": {"--json": None},
    "report": {"-o": OUTPUTS, "--study": ["s", "no"]},
    "export": {"--format": ["csv", "json"], "-o": OUTPUTS, "--study": ["s", "odd"]},
    "certify": {"-o": OUTPUTS, "--study": ["s"]},
    "verify": {"--json": None},
    "doctor": {"--recover": OUTPUTS, "--json": None},
    "init": {},
    "policies": {"--json": None},
    "run": {"--json": None},
    "race": {
        "-k": ["1", "2"], "--warmup": ["0", "1"], "--max-time": ["0.5", "1e10"],
        "--prepare": ["true", "false"], "--epsilon": NUMBERS, "--delta": NUMBERS, "--shell": None,
        "--budget": ["1", "2", "3"], "--seed": ["1"], "--storage": ["race.db", *FILES],
        "--json": None, "--export": OUTPUTS, "--by": ["median", "mean"], "--quantile": NUMBERS,
    },
    "simulate": {
        **SIMULATED, "--graph": FILES, "--generate": ["grid:2x2", "layered:2x2", "bipartite:2x2"],
        "--decision": ["top-k", "path", "matching", "spanning-tree", "explicit", "partition"],
        "--gap": NUMBERS, "--policy": POLICIES, "--variant": ["faithful", "heuristic"],
        "--param": ["eps=0.01", "bound=evidence", "x"],
    },
    "plan": {**SIMULATED, "--policy": POLICIES, "--epsilon-sweep": ["auto", "0.1,0.2", "nan"]},
}  # fmt: skip
ARGUMENTS = {"verify": 2, "policies": 0, "race": 2, "simulate": 0, "plan": 0}  # others have one
REQUIRED = {"export": {"--format": "csv"}, "certify": {"-o": "out"}, "race": {"--budget": "2"}}
COMMANDS = ["true", "true x", "true y", "false", "sh -c 'exit 3'", "no-such-program", "echo '"]
STUDY = """
[study]
k = 1
[pull]
command = ["echo", "{value}"]
[budget]
pulls = 2
[[arms]]
name = "a"
value = 1
[[arms]]
name = "b"
value = 0
"""


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Files that are right, and files that are wrong in many ways."""
    home = tmp_path_factory.mktemp("originals")
    _study(home / "study.db", "s")
    _study(home / "odd.db", "odd\x1b[31m", arms=["=1", "\x1b[2J", "\udc80", 1, "1"], most=9)
    _study(home / "heuristic.db", "s", policy="lil-rand-lucb", variant="heuristic")
    for name, change in (
        ("damaged.db", "UPDATE log_1 SET data = '[7]' WHERE kind = 9"),
        ("times.db", "UPDATE log_1 SET at = 1e300"),
        ("names.db", "UPDATE studies SET name = x'ff00'"),
    ):
        shutil.copy(home / "study.db", home / name)
        connection = sqlite3.connect(home / name)
        connection.execute(change)
        connection.commit()
        connection.close()
    (home / "cut.db").write_bytes((home / "study.db").read_bytes()[:5000])
    (home / "text.txt").write_text("no study\n")
    (home / "means.txt").write_text("0.9\n0.5\n0.1\n")
    assert call("certify", home / "study.db", "-o", home / "cert.json").returncode == 0
    certificate = (home / "cert.json").read_text()
    (home / "forged.json").write_text(certificate.replace('"samples": ', '"samples": 1'))
    (home / "deep.json").write_text("[" * 100_000)
    (home / "deep.toml").write_text("x = " + "[" * 100_000)
    (home / "study.toml").write_text(STUDY)
    edges = '{"u": "a", "v": "b", "mean": 0.9}, {"u": "b", "v": "c", "mean": 0.1}'
    (home / "graph.json").write_text(
        f'{{"edges": [{edges}, {{"u": "a", "v": "c", "mean": 0}}], "source": "a", "target": "c"}}'
    )
    (home / "folder").mkdir()
    (home / "link").symlink_to("study.db")
    (home / "loop").symlink_to("loop")
    return home


def _study(path, name, arms="abc", most=None, **settings):
    study = Study(name, arms, k=1, storage=path, seed=1, epsilon=0.5, delta=0.2, **settings)
    while (most is None or study.samples < most) and (pulls := study.ask()):
        study.tell(pulls[0], float(pulls[0].arm == arms[1]))


def _value(rng, usual):
    return rng.choice(usual if rng.random() < 0.85 else ODD)


def _argument(rng, command):
    if command == "race":
        return _value(rng, COMMANDS)
    if command == "init":
        return _value(rng, OUTPUTS)
    right = {"run": "study.toml", "verify": "cert.json"}.get(command, "study.db")
    return right if rng.random() < 0.5 else _value(rng, FILES)


def draw(rng):
    """One command line."""
    command = rng.choice(list(OPTIONS))
    args = [_argument(rng, command) for _ in range(ARGUMENTS.get(command, 1))]
    if command == "verify" and rng.random() < 0.5:
        args = ["cert.json", rng.choice(["study.db", "damaged.db", "times.db"])]
    for name, value in REQUIRED.get(command, {}).items():
        args += [name, value]
    options = OPTIONS[command]
    for name in rng.sample(list(options), rng.randint(0, min(5, len(options)))):
        args.append(name)
        if options[name] is not None:
            args.append(_value(rng, options[name]))
    if command in ("simulate", "plan"):
        if rng.random() < 0.8:
            args += ["--means", "0.9,0.1,0.5", "--k", "1"]
        for name, values in LIMITS.items():
            args += [name, _value(rng, values)]
    if rng.random() < 0.05:
        args.insert(rng.randint(0, len(args)), rng.choice([*ODD, "--no-such-option", "--help"]))
    return command, args


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_command_line_ends_as_documented(seed, originals, tmp_path, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    codes = set()
    for number in range(CALLS):
        if number % 20 == 0:  # what was overwritten is made good
            _restore(originals, tmp_path)
        command, args = draw(rng)
        if any("deep" in arg for arg in args):
            gc.collect()  # or finalizers of earlier calls run where no stack is left, and say so
        done = call(command, *args)
        where = f"seed {seed}, call {number}: bestk {command} {args!r}\n{done.stderr}"
        codes.add(done.returncode)
        assert done.returncode in DOCUMENTED, where
        assert done.returncode != 1 or command in MAY_SAY_NO, where
        assert done.returncode != 2 or done.stderr, where
        assert "Traceback" not in done.stderr, where
        assert "unexpected " not in done.stderr.replace("unexpected extra", ""), where
        said = (done.stdout + done.stderr).replace("\r\n", "\n")
        assert not STEERING.search(said), where
    assert codes >= {0, 1, 2, 3}  # nothing was drawn in vain


def _restore(originals, folder):
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(originals, folder, symlinks=True, dirs_exist_ok=True)
    assert os.getcwd() == str(folder)
