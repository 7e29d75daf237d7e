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
        ("y 1", 0, {"n": "1", "c": "y"}),
        ("x 2", 0, {"n": "2", "c": "x"}),
        ("y 2", 0, {"n": "2", "c": "y"}),
        ("only 1", 1, {"n": "1"}),
        ("only 2", 1, {"n": "2"}),
        ("plain {other}", 2, {}),
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
