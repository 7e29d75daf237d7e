"""Parameters of commands: values as hyperfine has them, every combination once."""

import pytest

from bestk.commands.parameters import expand, read_parameters, scan, values
from bestk.commands.race import Race
from bestk.errors import InputError


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (("1", "3"), ["1", "2", "3"]),
        (("0", "1", "0.5"), ["0", "0.5", "1.0"]),  # as hyperfine writes them
        (("0.1", "0.3", "0.1"), ["0.1", "0.2", "0.3"]),  # no 0.30000000000000004
        (("-1", "1", "2"), ["-1", "1"]),
        (("1", "2.5"), ["1", "2"]),
        (("5", "5"), ["5"]),
    ],
)
def test_a_scan_goes_from_end_to_end(ends, expected):
    assert scan(*ends) == expected


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        (("a", "3"), "must be numbers"),
        (("1", "3", "0"), "above 0"),
        (("1", "inf"), "above 0"),
        (("3", "1"), "ends before it begins"),
        (("0", "1", "1e-9"), "values"),
    ],
)
def test_what_is_no_scan_is_refused(ends, why):
    with pytest.raises(InputError, match=why):
        scan(*ends)


def test_a_list_is_split_at_commas_that_are_not_escaped():
    assert values("gcc,clang") == ["gcc", "clang"]
    assert values(r"x\,y,z\\,,\n") == ["x,y", "z\\", "", r"\n"]


def test_every_combination_is_raced_once():
    given = read_parameters([("n", "1", "2")], [], [("c", "x,y")])
    found = expand(["{c} {n}", "only {n}", "plain {other}"], given)
    assert [(each.text, each.number, each.parameters) for each in found] == [
        ("x 1", 0, {"n": "1", "c": "x"}),
        ("only 1", 1, {"n": "1"}),
        ("plain {other}", 2, {}),
        ("x 2", 0, {"n": "2", "c": "x"}),
        ("only 2", 1, {"n": "2"}),
        ("y 1", 0, {"n": "1", "c": "y"}),
        ("y 2", 0, {"n": "2", "c": "y"}),
    ]


def test_steps_are_one_for_all_scans_or_one_for_each():
    scans = [("a", "0", "2"), ("b", "0", "2")]
    assert read_parameters(scans, ["2"], []) == {"a": ["0", "2"], "b": ["0", "2"]}
    assert read_parameters(scans, ["2", "1"], []) == {"a": ["0", "2"], "b": ["0", "1", "2"]}
    with pytest.raises(InputError, match="3 step sizes"):
        read_parameters(scans, ["1", "2", "3"], [])
    with pytest.raises(InputError, match="1 step sizes"):
        read_parameters([], ["1"], [])


def test_a_parameter_is_given_once_and_used():
    with pytest.raises(InputError, match="given twice"):
        read_parameters([("a", "0", "1")], [], [("a", "x")])
    with pytest.raises(InputError, match=r"no command has \{a\}"):
        Race(["true", "false"], parameters={"a": ["1"]})
    with pytest.raises(InputError, match=r"no command has \{a\}, nor what prepares it"):
        Race(["true", "false"], parameters={"a": ["1", "2"]}, setup="true {a}")


def test_parameters_are_filled_in_everywhere(tmp_path):
    race = Race(
        ["touch {dir}/{x}"], parameters={"x": ["1", "2"], "dir": [str(tmp_path)]},
        prepare="touch {dir}/prepared-{x}", setup="touch {dir}/setup-{x}", seed=1,
    )  # fmt: skip
    race.warm_up()
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"1", "2", "prepared-1", "prepared-2", "setup-1", "setup-2"}
    race.run(budget=2)
    assert [dict(one.parameters)["x"] for one in race.timings().values()] == ["1", "2"]


def test_a_parameter_of_the_preparation_alone_tells_equal_commands_apart(tmp_path):
    branch = tmp_path / "branch"
    race = Race(
        [f"sh -c 'sleep $(cat {branch})'"], names=["built"], parameters={"time": ["0", "0.05"]},
        prepare=f"sh -c 'echo {{time}} > {branch}'", seed=1,
    )  # fmt: skip
    assert list(race.entrants) == ["built (time=0)", "built (time=0.05)"]
    race.warm_up()
    assert race.run().result.top == ("built (time=0)",)
    assert [dict(one.parameters) for one in race.timings().values()] == [
        {"time": "0"}, {"time": "0.05"},
    ]  # fmt: skip


def test_commands_are_called_by_their_names():
    race = Race(["true {n}", "sleep 0.{n}"], names=["nothing {n}"], parameters={"n": ["1", "2"]})
    assert list(race.entrants) == ["nothing 1", "sleep 0.1", "nothing 2", "sleep 0.2"]
    assert [one.words for one in race.entrants.values()][2] == ("true", "2")
    same = {"prepare": ["true 1", "true 2"]}
    assert list(Race(["true", "true"], names=["a", "b"], **same).entrants) == ["a", "b"]
    with pytest.raises(InputError, match="two commands have it"):
        Race(["true", "true"], **same)
    with pytest.raises(InputError, match="3 names were refused"):
        Race(["true", "false"], names=["a", "b", "c"])


def test_commands_of_few_parameters_do_not_wait_for_all_combinations():
    """A thousand millions of them."""
    many = [str(i) for i in range(1000)]
    found = expand(["x {a}", "y {b}", "z {c}"], {"a": many, "b": many, "c": many})
    assert [found[i].text for i in (0, 1, 2, 3, -1)] == ["x 0", "y 0", "z 0", "x 1", "z 999"]
