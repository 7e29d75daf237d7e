"""`bestk certify` and `bestk verify`: yes, no, and everything that is neither."""

import json
import sqlite3
import subprocess
import sys

import pytest

import bestk as library
from bestk.study import Study
from helpers.command import bestk, good


def run(path, name="prompts", **settings):
    """A study of three arms, 0.9 and 0.1 and 0.1, to its end."""
    settings = {"k": 1, "seed": 1, "rewards": library.Bernoulli(), **settings}
    study = Study(name, "abc", storage=path, **settings)
    told = 0
    while pulls := study.ask():
        told += 1
        if told == 3:
            study.fail(pulls[0], "no answer")
            continue
        lucky = told % 10 != 0
        study.tell(pulls[0], float(lucky if pulls[0].arm == "b" else not lucky))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certified")
    path, certificate = folder / "study.db", folder / "cert.json"
    run(path)
    done = bestk("certify", str(path), "-o", str(certificate))
    assert done.returncode == 0, done.stderr
    return path, certificate, done


def test_certify_says_what_is_proved_and_how_to_check_it(files):
    path, certificate, done = files
    assert "the answer is b" in done.stdout
    assert "at most 0.05" in done.stdout
    assert f"bestk verify {certificate} {path}" in done.stdout
    assert "failed or were given up 1 times" in done.stderr  # with the warning that goes with it
    assert "does not depend on the reward" in done.stderr
    data = json.loads(certificate.read_text())
    assert (data["format"], data["study"], data["answer"]) == (2, "prompts", ["b"])
    assert sum(arm["failed"] for arm in data["arms"]) == 1
    assert "does not depend on the reward" in data["warning"]


def test_verify_says_yes(files):
    path, certificate, _ = files
    said = good("verify", str(certificate), str(path))
    assert "stopping rule" in said
    assert "Yes: the certificate follows from the log" in said
    report = json.loads(good("verify", str(certificate), str(path), "--json"))
    assert report["verified"] is True
    assert {"name", "holds", "required", "found", "detail"} == set(report["checks"][0])
    assert all(check["holds"] for check in report["checks"])


def test_verify_says_what_was_required_and_what_was_found(tmp_path):
    """A stop on the evidence of both sides comes before the bounds are epsilon apart."""
    path, certificate = tmp_path / "study.db", tmp_path / "cert.json"
    study = Study("two", "ab", k=1, rewards=library.Gaussian(0.5), epsilon=0.05, seed=1,
                  storage=path)  # fmt: skip
    while pulls := study.ask():
        study.tell(pulls[0], float(pulls[0].arm == "a"))
    good("certify", str(path), "-o", str(certificate))
    stop = json.loads(certificate.read_text())["stop"]
    assert stop["rule"] == "evidence"
    assert stop["statistic"] > stop["epsilon"]
    report = json.loads(good("verify", str(certificate), str(path), "--json"))
    checks = {check["name"]: check for check in report["checks"]}
    rule, shown = checks["stopping rule"], checks["stopping statistic"]
    assert rule["required"] == (
        "gap of the worst pair of bounds at most 0.05, or evidence of both sides together at least"
        " 1/delta"
    )
    assert rule["found"].startswith("evidence of at least 1.")
    assert f"/delta (the gap of bounds is {stop['statistic']:.6g})" in rule["found"]
    assert shown["required"] == f"as recomputed: {shown['found']}"
    assert shown["found"].startswith("stopped by evidence, ")
    said = good("verify", str(certificate), str(path))
    assert [word in said for word in ("required", "found", "compared with")] == [True, True, False]


def test_verify_says_no(files, tmp_path):
    path, certificate, _ = files
    data = json.loads(certificate.read_text())
    data["answer"] = ["a"]
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(data))
    done = bestk("verify", str(forged), str(path))
    assert (done.returncode, done.stderr) == (1, "")
    assert "No: 1 of" in done.stdout
    done = bestk("verify", str(forged), str(path), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["verified"] is False
    assert [check["name"] for check in report["checks"] if not check["holds"]] == ["answer"]


def test_what_a_certificate_says_does_not_steer_the_terminal(files, tmp_path):
    path, certificate, _ = files
    data = json.loads(certificate.read_text())
    data["theorem"] = "\x1b[2J\ud800 Theorem 1"
    data["answer"] = ["\x07"]
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(data))
    done = bestk("verify", str(forged), str(path))
    assert (done.returncode, done.stderr) == (1, "")
    assert "\\x1b[2J\\ud800 Theorem 1" in done.stdout
    assert all(c.isprintable() or c == "\n" for c in done.stdout)


def test_verify_says_no_to_a_changed_observation(files, tmp_path):
    path, certificate, _ = files
    copy = tmp_path / "copy.db"
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        target.execute("UPDATE log_1 SET reward = 1 - reward WHERE seq = 3")
    source.close()
    target.close()
    done = bestk("verify", str(certificate), str(copy))
    assert (done.returncode, done.stderr) == (1, "")
    assert "hash of the log" in done.stdout


def test_verify_refuses_what_it_cannot_read(files, tmp_path):
    path, certificate, _ = files
    text, twice, odd = (tmp_path / name for name in ("text.json", "twice.json", "odd.json"))
    text.write_text("{")
    whole = certificate.read_text()
    twice.write_text(whole.replace('"format": 2', '"format": 2, "format": 2'))
    odd.write_text(whole.replace('"product": ', '"product": NaN, "more": '))
    for given in ((text, path), (tmp_path / "none.json", path), (certificate, certificate),
                  (twice, path), (odd, path)):  # fmt: skip
        done = bestk("verify", *map(str, given))
        assert (done.returncode, done.stdout) == (2, "")
        assert "was refused" in done.stderr
        assert "Traceback" not in done.stderr


def test_certify_refuses_what_is_not_proved(tmp_path):
    path, output = tmp_path / "study.db", tmp_path / "cert.json"
    Study("begun", "abc", k=1, storage=path)
    done = bestk("certify", str(path), "-o", str(output))
    assert done.returncode == 3
    assert "not certified" in done.stderr
    assert "nothing to certify" in done.stderr
    assert not output.exists()


def test_certify_asks_which_study_and_never_writes_over_it(files, tmp_path):
    path = tmp_path / "two.db"
    run(path, "first")
    run(path, "second")
    done = bestk("certify", str(path), "-o", str(tmp_path / "cert.json"))
    assert done.returncode == 2
    assert "first, second" in done.stderr
    before = path.read_bytes()
    for output, why in (
        (path, "the study's own file"),
        (tmp_path / "no" / "cert.json", "no folder"),
    ):
        done = bestk("certify", str(path), "--study", "second", "-o", str(output))
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
    assert path.read_bytes() == before
    done = bestk("certify", str(path), "--study", "second", "-o", str(tmp_path / "cert.json"))
    assert done.returncode == 0
    assert bestk("verify", str(tmp_path / "cert.json"), str(path)).returncode == 0
    other = bestk("verify", str(tmp_path / "cert.json"), str(files[0]))
    assert other.returncode == 1  # the only study there has another name


def test_verify_runs_without_the_kernels(files):
    path, certificate, _ = files
    code = (
        "import sys; from bestk.verification import read_certificate, verify;"
        f" assert verify(read_certificate({str(certificate)!r}), {str(path)!r}).verified;"
        " print([name for name in sys.modules if 'llvmlite' in name or 'bestk.kernels' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
