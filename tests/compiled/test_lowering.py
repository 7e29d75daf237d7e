"""The compiler of kernels: machine code computes what Python computes."""

import math
import random

import numpy as np
import pytest

from bestk.compiled.layout import INTEGER, REAL, kind_of
from bestk.compiled.machine import compiled, loaded

NUMBERS = [0.0, -0.0, 1.0, -1.5, 2.75, 1e300, math.inf, -math.inf, math.nan]
WHOLE = [-7, -3, -1, 0, 1, 2, 5, 1 << 30]


def compile_one(source, *kinds):
    """The function `f` of a source, compiled and interpreted."""
    entries = {"f": kinds}
    code, returns = compiled(source, entries)
    space = {"np": np, "math": math}
    exec(source, space)
    return loaded(code, entries, returns)["f"], space["f"]


def same(a, b):
    """Equal to the bit, but for the sign of a nan."""
    return np.array(a, float).tobytes() == np.array(b, float).tobytes() or (
        math.isnan(a) and math.isnan(b)
    )


@pytest.mark.parametrize(
    "expression",
    ["x + y * x", "x - y", "-x", "abs(x) + abs(y)", "min(x, y)", "max(x, y)", "max(x, y, 0.0)",
     "x if x < y else y", "float(x < y) + float(x != y)", "float(not x <= y)",
     "1.0 if x <= y or x == 1.0 else 2.0", "1.0 if 0.0 < x < y else 0.0",
     "1.0 if math.isnan(x) or math.isinf(y) else 3"],
)  # fmt: skip
def test_floats(expression):
    fast, slow = compile_one(f"def f(x, y):\n    return {expression}", REAL, REAL)
    for x in NUMBERS:
        for y in NUMBERS:
            assert same(fast(x, y), slow(x, y)), (x, y)


@pytest.mark.parametrize(
    "expression",
    ["a + b * 3", "a // b if b != 0 else 0", "a % b if b != 0 else 0", "a >> 1", "a & 7 | b ^ 3",
     "a / (b * b + 1)", "min(a, b) - max(a, b)", "a in (b, 2)", "a not in (b, 2)",
     "a < b and b < 5", "a + 0.5"],
)  # fmt: skip
def test_integers(expression):
    fast, slow = compile_one(f"def f(a, b):\n    return {expression}", INTEGER, INTEGER)
    for a in WHOLE:
        for b in WHOLE:
            assert fast(a, b) == slow(a, b), (a, b)


def test_functions_of_the_c_library_are_those_of_python():
    source = """
def f(x):
    part, power = math.frexp(x)
    whole = math.floor(x * 8.0)
    rest = math.ldexp(part, power - 3) + x ** 0.5 + math.sqrt(x)
    return whole + rest + math.log(x) + math.log1p(x) + math.exp(-x) + math.erfc(x)
"""
    fast, slow = compile_one(source, REAL)
    dice = random.Random(1)
    for _ in range(2000):
        x = dice.lognormvariate(0.0, 3.0)
        assert fast(x) == slow(x), x


LOOPS = """
def inner(values, stop):
    total = 0
    for i in range(values.shape[0]):
        if i == stop:
            break
        if values[i] < 0.0:
            continue
        total += values[i]
    return total, stop

def f(values, table, out):
    values[:2] = 0.5
    last = 0
    for i in range(table.shape[0] - 1, -1, -1):
        row = table[i]
        total, last = inner(values, row[0])
        out[i], out[i + 2] = np.searchsorted(values, 0.6), int(total * 4.0)
        table[i, 1] += last
    while True:
        last += 1
        if last > 20:
            return last
"""


def test_loops_rows_and_tuples():
    arrays = [np.array([3.0, -1.0, 0.25, -2.0, 0.75]), np.array([[4, 0], [5, 1]]), np.zeros(4, int)]
    fast, slow = compile_one(LOOPS, *(kind_of(array, {}) for array in arrays))
    ours, theirs = [a.copy() for a in arrays], [a.copy() for a in arrays]
    assert fast(*ours) == slow(*theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.tolist() == b.tolist()


def test_what_the_compiler_does_not_know_is_refused():
    with pytest.raises(NotImplementedError, match="cannot call cos"):
        compile_one("def f(x):\n    return math.cos(x)", REAL)


def test_an_array_of_another_type_is_refused():
    fast, _ = compile_one("def f(x):\n    return x[0]", kind_of(np.zeros(2), {}))
    with pytest.raises(Exception, match="contiguous"):
        fast(np.zeros((4, 4))[:, 1])
