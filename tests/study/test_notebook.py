"""A result shows itself: HTML with bars, a drawing, a table; and says what would certify it."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib.pyplot
import pytest

import bestk
from bestk.commands.outcome import RaceResult
from bestk.report.terminal import race as race_table
from bestk.report.terminal import standings
from bestk.study.result import ArmResult, Result

matplotlib.use("Agg")

LONG = "Answer in the style of a <b>pirate</b> & price everything from $5 to $7, " * 3
ARMS = (
    ArmResult("low", 0.2, 0.1, 0.4, 30, 1, "out"),
    ArmResult(LONG, 0.8, 0.5, None, 20, 0, "in"),
    ArmResult(("a", 2), 0.6, 0.3, 0.7, 50, 0, "undecided"),
    ArmResult("unseen", None, None, None, 0, 0, "undecided"),
)
OPEN = Result(
    study="prompts", top=(LONG,), certified=False, error_bound=None, theorem=None, samples=100,
    seconds=1.0, stopped="budget", tied=False, certifiable_epsilon=0.12341, forecast=70, arms=ARMS,
)  # fmt: skip
PROVED = replace(
    OPEN, certified=True, error_bound=0.05, theorem="Theorem 1", certifiable_epsilon=0.1
)


def many(count, answered):
    """A result of many arms, whose means fall."""
    arms = tuple(
        ArmResult(i, 1.0 - i / count, 0.9 - i / count, 1.0, 5, 0, "out") for i in range(count)
    )
    return replace(OPEN, arms=arms, top=tuple(range(answered)))


def cells(html):
    """The texts of the table, row by row; the page must be well-formed."""
    root = ElementTree.fromstring(html)
    rows = [["".join(cell.itertext()) for cell in row.iter("td")] for row in root.iter("tr")]
    return root, [row for row in rows if row]


def test_html_has_every_arm_with_its_full_label_and_its_numbers():
    _, rows = cells(OPEN._repr_html_())
    assert [row[1] for row in rows] == [LONG, "('a', 2)", "low", "unseen"]
    assert [row[3:] for row in rows] == [
        ["0.8", "[0.5, inf]", "20", "in"],
        ["0.6", "[0.3, 0.7]", "50", "undecided"],
        ["0.2", "[0.1, 0.4]", "30", "out"],
        ["-", "[-inf, inf]", "0", "undecided"],
    ]


def test_html_draws_intervals_to_one_scale():
    root, _ = cells(OPEN._repr_html_())
    bars = {
        svg.find("title").text: (
            float(svg.find("rect").get("x")[:-1]),
            float(svg.find("rect").get("width")[:-1]),
            float(svg.find("circle").get("cx")[:-1]),
        )
        for svg in root.iter("svg")
    }
    # from 0.1 to 0.8, with 3% of that on either side
    place = {x: 100 * (x - 0.079) / (0.821 - 0.079) for x in (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.8)}
    wanted = {
        "0.8 in [0.5, inf]": (place[0.5], 100 - place[0.5], place[0.8]),
        "0.6 in [0.3, 0.7]": (place[0.3], place[0.7] - place[0.3], None),
        "0.2 in [0.1, 0.4]": (place[0.1], place[0.4] - place[0.1], place[0.2]),
    }
    assert bars.keys() == wanted.keys()
    for says, expected in wanted.items():
        for found, value in zip(bars[says], expected, strict=True):
            assert value is None or found == pytest.approx(value, abs=0.01)


def test_no_label_or_name_becomes_markup():
    evil = "<script>alert(1)</script>"
    arms = (replace(ARMS[0], label=evil), replace(ARMS[1], label="x\x1b[2J"))
    result = replace(OPEN, arms=arms, top=(evil,), warnings=("<i>loud</i>",))
    html = result._repr_html_()
    assert "<script" not in html
    assert "<i>" not in html
    assert "\x1b" not in html
    study = bestk.Study("<img src=x>", ["a", "b"], k=1)
    assert "<img" not in study._repr_html_()


def test_of_many_arms_html_shows_the_first_and_the_boundary_and_says_what_is_left_out():
    _, rows = cells(many(1000, 100)._repr_html_())
    ranks = [row[0] for row in rows]
    assert ranks[:11] == [*map(str, range(1, 11)), ""]
    assert [row[1] for row in rows if not row[0]] == ["... 75 more arms", "... 880 more arms"]
    assert {"86", "100", "101", "120"} < set(ranks)
    assert len(cells(many(60, 3)._repr_html_())[1]) == 60


def test_a_study_shows_its_name_its_state_and_its_bars():
    study = bestk.Study("raters", ["left", "right"], k=1, rewards=bestk.Bernoulli(), seed=1)
    assert [row[1] for row in cells(study._repr_html_())[1]] == ["left", "right"]  # before any pull
    pulls = study.ask(2)
    study.tell(pulls[0], 1)
    root, rows = cells(study._repr_html_())
    assert "study raters: 1 samples, 1 open pulls, not certified" in "".join(root.itertext())
    assert rows[0][1] == "left"
    assert len(list(root.iter("svg"))) == 1


def test_what_is_not_certified_says_at_which_epsilon_it_would_be():
    said = "not certified; with epsilon = 0.124 it would be"  # rounded up: no more than is proved
    assert said in str(OPEN)
    assert said in OPEN._repr_html_()
    assert said in OPEN.plot().get_title(loc="left")
    assert "with epsilon = 0.124 it would be certified now" in standings.conclusion(OPEN)
    assert (
        "certified as it is with a slack of 0.124"
        in race_table.lines(RaceResult(OPEN, 1.0, {}, {}))[0]
    )
    unknown = replace(OPEN, certifiable_epsilon=None)
    assert "not certified\n" in str(unknown) + "\n"
    assert "epsilon" not in str(unknown)


def test_what_is_certified_says_the_error_and_the_slack():
    assert str(PROVED).endswith("certified: error <= 0.05, slack 0.1 (Theorem 1)")
    assert replace(PROVED, unit="s").proof == "certified: error <= 0.05, slack 100 ms (Theorem 1)"
    assert "slack 0.1 points (" in replace(PROVED, unit="points").proof
    assert "slack 10% (" in replace(PROVED, unit="s", relative_slack=True).proof
    assert "a slack of 12.4% it" in replace(OPEN, unit="s", relative_slack=True).proof
    assert [PROVED.rounded_up(x) for x in (0.05, 0.1, 0.097641, 2, 1234.5)] == [
        "0.05", "0.1", "0.0977", "2", "1240",
    ]  # fmt: skip
    exact = replace(PROVED, certifiable_epsilon=0.0)
    assert str(exact).endswith("certified: error <= 0.05 (Theorem 1)")


def test_text_has_full_labels():
    lines = str(OPEN).splitlines()
    assert LONG in lines[1]
    assert lines[2].split("  ")[2] == "('a', 2)"
    assert lines[3].index("out") == lines[0].index("status") < 80  # the long one moves itself only


def test_a_table_for_pandas():
    table = OPEN.to_pandas()
    assert list(table.columns) == [
        "arm", "label", "pulls", "failed", "mean", "lower", "upper", "status", "in_answer",
    ]  # fmt: skip
    assert list(table["label"]) == [LONG, ("a", 2), "low", "unseen"]
    assert list(table["arm"]) == [1, 2, 0, 3]
    assert list(table["pulls"]) == [20, 50, 30, 0]
    assert list(table["failed"]) == [0, 0, 1, 0]
    assert list(table["mean"][:3]) == [0.8, 0.6, 0.2]
    assert math.isnan(table["mean"][3])
    assert list(table["lower"]) == [0.5, 0.3, 0.1, -math.inf]
    assert list(table["upper"]) == [math.inf, 0.7, 0.4, math.inf]
    assert list(table["status"]) == ["in", "undecided", "out", "undecided"]
    assert list(table[table["in_answer"]]["label"]) == [LONG]


def test_a_drawing_has_every_interval_and_label(tmp_path):
    axes = OPEN.plot()
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert "from\n\\$5 to \\$7" in labels[0] or "from \\$5 to \\$7" in labels[0]  # no formula
    assert re.sub(r"\s+", " ", labels[0].replace("\\$", "$")) == LONG.strip()
    assert labels[1:] == ["('a', 2)", "low", "unseen"]
    drawn = sorted(
        tuple(float(x) for x, _ in segment)
        for lines in axes.collections
        for segment in lines.get_segments()
    )
    edge = axes.get_xlim()[1]
    assert drawn == [(0.1, 0.4), (0.3, 0.7), (0.5, edge)]
    axes.figure.savefig(tmp_path / "drawing.png")
    matplotlib.pyplot.close(axes.figure)


def test_a_drawing_goes_where_it_is_asked_for():
    figure, (left, right) = matplotlib.pyplot.subplots(1, 2)
    assert PROVED.plot(ax=right) is right
    assert not left.has_data()
    assert right.has_data()
    matplotlib.pyplot.close(figure)
    axes = many(100, 5).plot()
    assert len(axes.get_yticks()) == 25
    assert "75 more arms" in axes.get_title(loc="left")
    matplotlib.pyplot.close(axes.figure)


MISSING = """
import sys
sys.modules["pandas"] = sys.modules["matplotlib"] = None
import bestk
result = bestk.Study("s", "ab", k=1).result
assert "<table" in result._repr_html_()
for call in (result.to_pandas, result.plot):
    try:
        call()
    except bestk.BestkError as error:
        print(error)
"""


def test_without_pandas_and_matplotlib_html_works_and_the_rest_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", MISSING], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "Result.to_pandas needs pandas, which is not installed: pip install 'bestk[pandas]'",
        "Result.plot needs matplotlib, which is not installed: pip install 'bestk[plot]'",
    ]


def test_reading_a_result_imports_neither_pandas_nor_matplotlib():
    code = (
        "import sys, bestk; str(bestk.Study('s', 'ab', k=1).result);"
        " assert not {'pandas', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
