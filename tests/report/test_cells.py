"""Cells of CSV files: harmless in spreadsheets and terminals, and what they were when read back."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestk.report.cells import label_cell, text_cell
from helpers.cells import read_label_cell, read_text_cell

ODD = [
    "=1+1", "+1", "-1", "@x", "＝1", "\t=1", "\r=1", "\n=1", "'", "''=1", "1", "1.5", "true",
    "null", "NaN",
    "[1]", '"1"', '"', "", " ", " 1", "é", "\u202e", "\x1b[31m", "\x00", "\udc80", "a,b", 'a"b',
    "new\nline", "[" * 10_000,
]  # fmt: skip
texts = st.text() | st.sampled_from(ODD)
scalars = texts | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False)
labels = st.recursive(scalars, lambda inner: st.tuples(inner, inner), max_leaves=6)


def through_csv(cell):
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(["before", cell, "after"])
    stream.getvalue().encode()  # a file can hold it
    return next(csv.reader(io.StringIO(stream.getvalue(), newline="")))[1]


def is_harmless(cell):
    return cell.isprintable() and not cell.startswith(tuple("=+-@＝＋－＠"))


@given(texts)
def test_texts_are_harmless_and_read_back(text):
    assert is_harmless(text_cell(text))
    assert read_text_cell(through_csv(text_cell(text))) == text


@given(labels)
def test_labels_read_back_with_their_types(label):
    back = read_label_cell(through_csv(label_cell(label)))
    assert repr(back) == repr(label)  # 1, 1.0, True and "1" are four labels
    assert is_harmless(label_cell(label)) or isinstance(label, int | float)  # negative numbers


@pytest.mark.parametrize(("label", "cell"), [
    ("plain", "plain"), (1, "1"), ("1", "'1"), (-5, "-5"), ("-5", "'-5"), ("=1+1", "'=1+1"),
    (("t", 1), '["t", 1]'), ('["t", 1]', '\'["t", 1]'), ("'q", "''q"),
    ("two\nlines", r'"two\nlines"'),
])  # fmt: skip
def test_a_label_looks_like_this(label, cell):
    assert label_cell(label) == cell


def test_the_recipe_in_the_docs_reads_labels_back():
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    (code,) = [
        part for part in re.findall(r"```python\n(.*?)```", page, re.S) if "def label" in part
    ]
    recipe = {}
    exec(code, recipe)
    for label in [*ODD[:-1], 1, 1.0, -5, True, None]:
        assert repr(recipe["label"](label_cell(label))) == repr(label)
