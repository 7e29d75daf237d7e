"""Policies in Python get a name, a place in the catalogue, and are held to their contract."""

import io
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from rich.console import Console

import bestk
from bestk.policies import CATALOGUE, Parameter, find, load_installed, register, registry
from bestk.policies.driving import Driven, is_feasible
from bestk.report.terminal import tables
from helpers.command import bestk as command
from helpers.command import good
from helpers.python_policies import Coins, EvenSplit, Lucb, registered


@pytest.fixture(autouse=True)
def _policies():
    with registered():
        yield


def problem(**settings):
    settings = {"policy": "coins", **settings}
    return bestk.Problem(bestk.TopK(4, 2), **settings)


def test_a_registered_policy_is_in_the_catalogue_with_its_authors_words():
    entry = find("own-lucb")
    assert entry.is_python
    assert entry.claim == Lucb.guarantee
    assert (entry.proved, entry.variants) == (False, ())
    assert entry.about == "LUCB from its pseudocode."
    assert "EvenSplit" in find("even-split").source


def test_register_is_a_decorator_too():
    @register("decorated", about="words")
    class Decorated(Lucb):
        guarantee = None

    assert find("decorated").make().__class__ is Decorated
    assert find("decorated").claim is None


def test_a_class_may_be_registered_again_but_no_policy_of_bestk_be_replaced():
    register("own-lucb", EvenSplit)
    assert isinstance(find("own-lucb").make(), EvenSplit)
    with pytest.raises(bestk.InputError, match="one of bestk's own"):
        register("lucb", Lucb)


@pytest.mark.parametrize("name", ["", "two words", "a:b", 7, "new\nline"])
def test_a_name_that_cannot_be_typed_is_refused(name):
    with pytest.raises(bestk.InputError):
        register(name, Lucb)


def test_what_is_no_policy_is_refused():
    with pytest.raises(bestk.InputError, match="without ask, answer"):
        register("half", type("Half", (), {"start": print, "tell": print}))
    with pytest.raises(bestk.InputError, match="no class"):
        register("object", Lucb())
    with pytest.raises(bestk.InputError, match="guarantee"):
        register("odd", type("Odd", (Lucb,), {"guarantee": 0.05}))
    for parameter in ("rounds", Parameter("budget", 1, ""), Parameter("stop", 1, "")):
        with pytest.raises(bestk.InputError, match="parameter"):
            register("odd", Lucb, parameters=[parameter])
    assert "odd" not in CATALOGUE
    assert "half" not in CATALOGUE


def test_a_missing_budget_is_asked_for_in_a_way_that_a_study_takes():
    with pytest.raises(bestk.InputError, match=r'params=\{"budget": B\} to a Study.*=B to id'):
        bestk.Study("s", "abc", k=1, policy="sar")
    given = bestk.Study("s", "abc", k=1, policy="sar", params={"budget": 60})
    assert given.problem.params["budget"] == 60


def test_parameters_and_budgets_are_read_and_refused_like_those_of_any_policy():
    assert problem(params={"rounds": "7"}).configure(1).params["rounds"] == 7
    with pytest.raises(bestk.InputError, match="it has rounds"):
        problem(params={"round": 7})
    with pytest.raises(bestk.InputError, match=r"budget is missing.*--budget B"):
        problem(policy="even-split")
    for budget in (0, 2.5, "many"):
        with pytest.raises(bestk.InputError, match="budget"):
            problem(policy="even-split", params={"budget": budget})
    budget = problem(policy="even-split", params={"budget": "12"}).configure(1).params["budget"]
    assert (budget, type(budget)) == (12, int)
    with pytest.raises(bestk.InputError, match="no variants"):
        problem(variant="heuristic")
    with pytest.raises(bestk.InputError, match="costs were refused"):
        problem(costs=(1, 1, 1, 1))
    with pytest.raises(bestk.InputError, match="finds the K largest"):
        bestk.Problem(bestk.SpanningTree([(0, 1), (1, 2), (0, 2)]), policy="own-lucb")


def test_an_unknown_policy_says_which_one_was_meant():
    with pytest.raises(bestk.UnknownName, match="did you mean 'even-split'"):
        find("evensplit")


def test_its_problem_says_whose_evidence_judges_its_answer():
    own = problem(delta=0.2)
    configured = own.configure(1)
    assert configured.guarantee is None
    assert (configured.judge.guarantee, configured.judge.policy.name) == (0.2, "e-lucb")
    assert own.to_dict()["judge"] == {"policy": "e-lucb", "params": {}}
    assert bestk.Problem.from_dict(own.to_dict()) == own
    dependent = problem(params={"independent": False})
    assert dependent.to_dict()["judge"]["params"] == {"independent": False}
    assert dependent.configure(1).spec.log_both == -np.inf
    matching = bestk.BipartiteMatching([(a, b) for a in "ab" for b in "xy"])
    sets = bestk.Problem(matching, policy="coins")
    assert sets.to_dict()["judge"] == {"policy": "e-clucb", "params": {"stop": "sets"}}
    assert bestk.Problem.from_dict(sets.to_dict()) == sets


def test_a_problem_of_a_policy_that_is_not_here_can_be_read_but_not_run():
    written = {**problem().to_dict(), "policy": "of-somebody", "params": {"depth": 3}}
    read = bestk.Problem.from_dict(written)
    configured = read.configure(1)
    assert read.to_dict() == written
    with pytest.raises(bestk.PolicyError, match=r"of-somebody was refused: it is not registered"):
        Driven(configured, read, np.random.default_rng(1))


def test_no_compiled_stepper_goes_under_its_name():
    with pytest.raises(bestk.InputError, match="its own stepper"):
        problem().stepper()


# --- contracts broken -----------------------------------------------------------------------------


def driven(ask=None, answer=None, **settings):
    class Odd(Coins):
        def ask(self):
            return ask

        def answer(self):
            return answer

    register("odd", Odd, parameters=find("coins").parameters[:1], **settings)
    asked = problem(policy="odd", params={"budget": 3} if settings.get("budget") else {})
    from dataclasses import replace

    configured = asked.configure(1)
    asked = replace(asked, params={"rounds": 4, **configured.params})
    return Driven(configured, asked, np.random.default_rng(1))


@pytest.mark.parametrize("arms", [[4], [-1], [0.5], 3, None, "ab", [[0, 1]]])
def test_arms_that_are_none_are_refused_by_name(arms):
    with pytest.raises(bestk.PolicyError, match="odd asked for"):
        driven(ask=arms).ask()


@pytest.mark.parametrize("arms", [[0], [0, 0], [0, 1, 2], [0, 4], None])
def test_an_answer_that_is_no_set_of_the_class_is_refused(arms):
    with pytest.raises(bestk.PolicyError, match="odd answered"):
        driven(answer=arms).answer()


@pytest.mark.parametrize("method", ["__init__", "start", "ask", "tell", "answer"])
def test_what_a_policys_code_raises_names_the_policy_and_the_line(method):
    def fail(*_):
        raise KeyError("x")

    own = find("coins").parameters[:1]
    register("failing", type("Failing", (Coins,), {method: fail}), parameters=own)
    said = "could not be started" if method in ("__init__", "start") else "failed"
    line = fail.__code__.co_firstlineno + 1
    where = rf"policy failing {said}: KeyError: 'x' \(test_registry.py, line {line}\)"
    with pytest.raises(bestk.PolicyError, match=where) as caught:
        bestk.simulate([0.9, 0.1], "failing", k=1, runs=1)
    assert isinstance(caught.value.__cause__, KeyError)  # --debug shows all of it


def test_errors_of_bestk_in_a_policys_code_stay_as_they_are():
    def refuse(*_):
        raise bestk.InputError("too few pulls")

    register("failing", type("Failing", (Coins,), {"start": refuse}))
    with pytest.raises(bestk.InputError, match=r"^too few pulls$"):
        bestk.simulate([0.9, 0.1], "failing", k=1, runs=1)


def test_arms_may_be_any_sequence_of_integers():
    for arms in ((1, 2), np.array([1, 2]), range(1, 3), [np.int8(1), np.uint64(2)]):
        assert driven(ask=arms, answer=arms).ask() == [1, 2]
        assert driven(ask=arms, answer=arms).answer() == [1, 2]


def test_a_policy_that_overspends_its_budget_is_caught():
    policy = driven(ask=[0, 1], budget=True)
    assert policy.ask() == [0, 1]
    with pytest.raises(bestk.PolicyError, match="1 pulls more than its budget"):
        policy.ask()


def test_feasible_sets_are_told_from_others_in_every_kind_of_class():
    tree = bestk.SpanningTree([(0, 1), (1, 2), (0, 2)])
    path = bestk.Path([("a", "b"), ("b", "c"), ("a", "c")], "a", "c", directed=False)
    assert [is_feasible(tree, arms) for arms in ([0, 1], [0], [0, 1, 2])] == [True, False, False]
    assert path.minimise_only
    assert [is_feasible(path, arms) for arms in ([0, 1], [2], [0, 2], [1])] == [
        True, True, False, False,
    ]  # fmt: skip


# --- entry points ---------------------------------------------------------------------------------


def install(monkeypatch, *points):
    made = [EntryPoint(name, value, registry.GROUP) for name, value in points]
    monkeypatch.setattr(registry, "entry_points", lambda group: made if group else [])


def test_an_installed_policy_is_found_by_name_and_listed(monkeypatch):
    install(monkeypatch, ("of-a-package", "helpers.python_policies:EvenSplit"))
    assert isinstance(find("of-a-package").make(), EvenSplit)
    assert "of-a-package" in good("policies")


def test_one_that_cannot_be_loaded_spoils_no_other(monkeypatch):
    install(
        monkeypatch, ("broken", "no_such_module:Policy"), ("fine", "helpers.python_policies:Lucb")
    )
    assert find("fine").is_python
    with pytest.warns(UserWarning, match=r"broken \(bestk.policies: no_such_module:Policy\)"):
        assert "broken" not in load_installed()
    with pytest.raises(bestk.PolicyError, match="ModuleNotFoundError"):
        find("broken")


def test_asking_for_an_unknown_name_loads_no_others(monkeypatch):
    install(monkeypatch, ("broken", "no_such_module:Policy"))
    with pytest.raises(bestk.UnknownName, match="did you mean 'broken'"):  # and warns of nothing
        find("brokn")


# --- the list -------------------------------------------------------------------------------------


def test_the_list_shows_a_claim_as_the_authors():
    text = " ".join(good("policies").split())
    assert "its author claims:" in text
    assert "no claim" in text


def test_what_an_author_writes_does_not_steer_the_terminal():
    words = {name: f"{name} \x1b[31m[bold]" for name in ("title", "source", "about")}
    register("odd", type("Odd", (Lucb,), {"guarantee": "claim \x1b[31m[bold]"}), **words)
    console = Console(width=200, file=io.StringIO())
    console.print(tables.policies([find("odd")]))
    shown = console.file.getvalue()
    assert "\x1b" not in shown
    for word in ("title", "source", "about", "claim"):
        assert rf"{word} \x1b[31m[bold]" in shown


def test_a_file_of_policies_is_loaded_by_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "own_policies.py"
    file.write_text(
        "from bestk.policies import register\nfrom helpers.python_policies import EvenSplit\n"
        "register('of-a-file', EvenSplit, budget=True)\n"
    )
    setting = ("--arms", 4, "--k", 1, "--instance", "1-sparse", "--runs", 2, "--budget", 40)
    shown = good("--load", file, "simulate", "--policy", "of-a-file", *setting)
    assert "of-a-file" in shown
    missing = command("--load", tmp_path / "none.py", "policies")
    assert (missing.returncode, "none.py" in missing.stderr) == (2, True)
