"""Mistakes that newcomers make: what the command says of them."""

import pytest

from bestk.study import Study
from helpers.command import bestk


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study.toml").write_text("[study]\nk = 1\n")
    Study("s", "ab", k=1, storage=tmp_path / "study.db").ask(1)
    return tmp_path


def said(*command):
    done = bestk(*map(str, command))
    assert done.returncode == 2
    assert "codec" not in done.stderr
    return " ".join(done.stderr.split())


def test_run_is_given_the_study_s_file(folder):
    assert "it is a study's file" in said("run", folder / "study.db")


def test_verify_is_given_its_arguments_in_the_wrong_order(folder):
    assert "the certificate comes first" in said("verify", folder / "study.db", "cert.json")


def test_report_is_given_the_study_toml(folder):
    assert f"did you mean {folder / 'study.db'}?" in said("report", folder / "study.toml")
    (folder / "study.db").unlink()
    assert "did you mean" not in said("report", folder / "study.toml")


def test_init_twice(folder):
    assert "already exists; edit it, or remove it first" in said("init", folder / "study.toml")


def test_a_policy_of_ones_own_has_to_be_loaded():
    simulate = "simulate", "--means", "0.9,0.1", "--k", "1", "--policy", "racer"
    assert "a policy of your own needs --load FILE" in said(*simulate)
