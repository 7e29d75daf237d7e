"""A program is the kernels without what a policy never does."""

import ast

import pytest

from bestk.compiled.programs import KINDS, LIVE, PLAY, Axes, Program
from bestk.compiled.specialise import Specialisation
from bestk.kernels import loop, types
from bestk.kernels.types import EVIDENCE, LIL, NORMAL, PAIR


def functions(source):
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def test_what_a_policy_never_does_is_not_in_its_program():
    source = Specialisation(Axes(PAIR, LIL)._asdict(), [loop.play_many]).source("x")
    names = " ".join(functions(source))
    for absent in ("evidence", "hybrid", "kinetic", "clucb", "ugape", "oracles"):
        assert absent not in names
    assert "slopes" not in source
    assert "levels" not in source
    axes = Axes(PAIR, EVIDENCE, hybrid=True, kind=NORMAL)._asdict()
    assert "evidence_bound" in functions(Specialisation(axes, [loop.play_many]).source("x"))


def test_a_program_is_the_same_every_time():
    program = Program(LIVE, Axes(PAIR, EVIDENCE, hybrid=True, kind=types.BETTING))
    assert program._written() == program._written()


def test_axes_are_fields_that_no_other_structure_has():
    fields = [*types.Spec._fields, *types.Evidence._fields, *types.State._fields]
    fields += [*types.World._fields, *types.Slot._fields]
    assert all(fields.count(axis) == 1 for axis in types.AXES)
    assert set(types.AXES) == set(Axes._fields)


@pytest.mark.parametrize("kind", KINDS)
def test_no_kernel_hides_behind_a_keyword(kind):
    """Calls are specialised by position."""
    for kernel in KINDS[kind]:
        assert kernel.__kwdefaults__ is None


def test_programs_have_names_that_say_what_they_are():
    axes = Axes(PAIR, EVIDENCE, hybrid=True, kind=NORMAL)
    assert Program(PLAY, axes).name == "play-pair-evidence-hybrid-normal"
