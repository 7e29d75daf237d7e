"""What a run shows and says: on terminals, in notebooks, in pipes."""

import os
import pty
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

import bestk
from bestk.report.terminal import standings
from bestk.study import live
from bestk.study.advice import Adviser
from bestk.study.study import Study

EASY = {"k": 1, "seed": 1}
RUN = """
import bestk
from bestk.study import live
live.QUIET = {quiet}
bestk.identify(["alpha", "beta"], lambda arm: 0.5, k=1, seed=1, budget=60{more})
"""


def drawn(quiet, more=""):
    """What a run draws on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", RUN.format(quiet=quiet, more=more)], stderr=theirs, stdin=theirs,
        env=os.environ | {"BESTK_COMPILE": "never", "TERM": "xterm", "COLUMNS": "120"},
    ) as running:  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            said += piece
        assert running.wait() == 0
    os.close(ours)
    return said.decode()


def test_a_terminal_shows_a_run_that_lasts():
    shown = drawn(0.0)
    assert "pulls of at most 60" in shown
    assert "alpha" in shown
    assert "interval" in shown
    assert "undecided" in shown


def test_a_short_run_shows_nothing_and_neither_does_one_that_is_told_not_to():
    assert "alpha" not in drawn(3600.0)
    assert drawn(0.0, ", progress=False") == ""


def test_pipes_are_silent_unless_asked(monkeypatch, capfd):
    monkeypatch.setattr(live, "QUIET", 0.0)
    settings = EASY | {"budget": 5}
    bestk.identify("ab", lambda _: 0.5, **settings)
    assert capfd.readouterr() == ("", "")
    bestk.identify("ab", lambda _: 0.5, **settings, progress=True)
    assert "pulls of at most 5" in capfd.readouterr().err


def test_a_function_is_called_after_every_answer():
    seen = []
    bestk.identify("ab", lambda _: 0.5, **EASY, budget=5, progress=lambda s: seen.append(s.samples))
    assert seen == [1, 2, 3, 4, 5]


def test_a_notebook_has_one_display_that_is_updated(monkeypatch):
    pages = []

    def display(page, display_id):
        assert display_id
        pages.append(page)
        return SimpleNamespace(update=pages.append)

    shell = SimpleNamespace(config={"IPKernelApp": {}})
    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython, module.HTML, module.display = lambda: shell, str, display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(live, "QUIET", 0.0)
    monkeypatch.setattr(live.InNotebook, "every", 0.0)
    bestk.identify(["<a>", "b"], lambda _: 0.5, **EASY, budget=9)
    assert len(pages) > 5
    assert "&lt;a&gt;" in pages[-1]
    assert "<table>" in pages[-1]


def test_three_equal_arms_are_spoken_of_early_and_once(capfd):
    result = bestk.identify("abc", lambda _: 0.5, **EASY, budget=200, parallel=2)
    said = capfd.readouterr().err
    assert said.count("bestk: after") == 1
    assert int(said.split("after ")[1].split()[0]) <= 100
    assert "the present answer would be certified now" in said
    assert "left of the budget will reach about epsilon" in said
    assert result.warnings == ()  # by the end it is out of date
    assert "warning:" not in str(result)


def test_without_a_budget_a_tie_is_spoken_of_too():
    study = Study("s", "ab", **EASY)
    adviser, said = Adviser(study, None), []
    while study.samples < 200:
        (pull,) = study.ask()
        study.tell(pull, 0.5)
        said.append(adviser.look())
    (advice,) = filter(None, said)
    assert "no end is in sight" in advice
    assert "tied" in advice


@pytest.mark.parametrize("more", [{"budget": 1000}, {}])
def test_a_run_that_will_end_is_not_spoken_of(more, capfd):
    worth = {"a": 0.2, "b": 0.8, "c": 0.3}
    result = bestk.identify("abc", worth.get, **EASY, **more)
    assert result.certified
    assert (capfd.readouterr().err, result.warnings) == ("", ())


def test_the_slack_that_more_pulls_would_do_for_is_of_the_right_size():
    """It is an estimate: within a factor of three of what is certified after these."""
    study = Study("s", "abc", **EASY, rewards=bestk.Bernoulli())
    pulls, estimate = dict.fromkeys("abc", 0), None
    while study.samples < 400:
        (pull,) = study.ask()
        pulls[pull.arm] += 1
        study.tell(pull, pulls[pull.arm] % 2)
        if study.samples == 100:
            estimate = study.slack_for(300)
    found = study.result.certifiable_epsilon
    assert estimate / 3 < found < 3 * estimate
    assert study.slack_for(1000) < study.slack_for(100)


def test_of_a_study_that_has_not_stopped_one_more_pull_is_foretold_at_least():
    study = Study("x", ["a", "b"], k=1, rewards=bestk.Gaussian(0.01), seed=1)
    study.ask_each(5)  # the rule waits, however clear it is
    for _ in range(6):
        (pull,) = study.ask()
        study.tell(pull, 1.0 if pull.arm == "a" else 0.0)
    assert (study.result.stopped, study.result.forecast) == (None, 1)


def test_a_forecast_far_beyond_the_budget_is_no_number(capfd, monkeypatch):
    """The means are so close that hundreds of thousands of pulls would be needed."""
    worth = {"a": 0.5, "b": 0.501}
    monkeypatch.setattr(live, "QUIET", 0.0)
    monkeypatch.setattr(live, "LINE", 0.0)
    monkeypatch.setattr(live.InLines, "every", 0.0)
    result = bestk.identify(
        "ab", worth.get, **EASY, budget=200, rewards=bestk.Gaussian(), progress=True
    )
    assert result.forecast > 10 * 200
    said = capfd.readouterr().err
    assert "far more than the budget is needed at epsilon = 0" in said  # the advice
    assert "far more needed than the budget (an estimate)" in said  # what is shown
    assert "far more than the budget is needed (an estimate)" in standings.conclusion(result)
    assert not result.is_beyond(result.forecast)
    assert not result.is_beyond(None)
