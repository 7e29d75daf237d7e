"""Kernels as LLVM's intermediate code: the source of a program, statement by statement.

Kernels use little of Python: numbers, arrays of one or two dimensions, parts of one that are copied
to another, tuples that are taken apart at once, `if`, `while`, `for ... in range`. Types follow
from the arguments. A variable that is an integer here and a float there makes the function be
written again, with a float. Arithmetic is that of Python: nothing is reordered or fused, so that
results are the same to the bit. Indices are taken as they are, neither negative nor out of range.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from bestk.compiled.layout import INTEGER, REAL, TRUTH, UNSIGNED, ArrayKind, Layout, size_of

WORD, SHORT, BYTE, BIT, DOUBLE = (*map(ir.IntType, (64, 32, 8, 1)), ir.DoubleType())
NUMBERS = {INTEGER: WORD, UNSIGNED: WORD, REAL: DOUBLE, TRUTH: BIT}
ELEMENTS = {"int64": WORD, "int32": SHORT, "float64": DOUBLE, "bool": BYTE}
SIZES = {"int64": 8, "int32": 4, "float64": 8, "bool": 1}  # of them, in bytes
BYTES = BYTE.as_pointer()
RANKS = (TRUTH, INTEGER, REAL)  # a later one holds an earlier one
PRELUDE = ast.parse("""
def searchsorted(values, x):
    low, high = 0, values.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low
""").body


class Number(NamedTuple):
    """A value of one word, and its kind."""

    kind: str
    value: Any


class Array(NamedTuple):
    """Elements somewhere in memory."""

    kind: ArrayKind
    pointer: Any
    sizes: tuple[Any, ...]


class Structure(NamedTuple):
    """Fields somewhere in memory."""

    kind: Layout
    pointer: Any


def common(a: Any, b: Any) -> Any:
    """The kind that holds values of both kinds."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(common(x, y) for x, y in zip(a, b, strict=True))
    return a if a == b else RANKS[max(RANKS.index(a), RANKS.index(b))]


def kind_of_value(value: Any) -> Any:
    """The kind of a number or of a tuple of numbers; None of nothing."""
    if value is None:
        return None
    plain = isinstance(value, Number)
    return value.kind if plain else tuple(kind_of_value(part) for part in value)


def returned_type(kind: Any) -> Any:
    """What a function returns values of a kind as."""
    if kind is None:
        return ir.VoidType()
    if isinstance(kind, tuple):
        return ir.LiteralStructType([NUMBERS[part] for part in kind])
    return NUMBERS[kind]


class Lowering:
    """A program: its functions are written when they are called for, once for each kind of call."""

    def __init__(self, source: str) -> None:
        self.module = ir.Module("program")
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, Any] = {}
        self._written: dict[tuple[Any, ...], tuple[ir.Function, Any]] = {}
        self._tags: dict[str, Any] = {}
        self.unchanging = self.module.add_metadata([])
        for node in (*PRELUDE, *ast.parse(source).body):
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.constants[node.targets[0].id] = self._constant(node.value)

    def _constant(self, node: ast.expr) -> Any:
        """A global: an unsigned number, or floats to be looked up by an index."""
        if isinstance(node, ast.Call):
            (number,) = node.args
            assert isinstance(number, ast.Constant)
            return Number(UNSIGNED, WORD(number.value))
        values = ir.Constant(
            ir.ArrayType(DOUBLE, len(found := ast.literal_eval(node))), list(map(float, found))
        )
        place = ir.GlobalVariable(self.module, values.type, f"constant{len(self.constants)}")
        place.linkage, place.global_constant, place.initializer = "internal", True, values
        pointer = place.bitcast(DOUBLE.as_pointer())
        return Array(ArrayKind("float64", 1, "constants"), pointer, (WORD(len(found)),))

    def function(self, name: str, kinds: tuple[Any, ...]) -> tuple[ir.Function, Any]:
        """A function for arguments of these kinds, and the kind that it returns."""
        key = (name, kinds)
        if key not in self._written:
            from bestk.compiled.writing import Writing

            self._written[key] = Writing(self, self.functions[name], kinds).function()
        return self._written[key]

    def entry(self, name: str, kinds: Sequence[Any]) -> Any:
        """A function that can be called from outside, `name`; returns what kind it returns.

        Structures and arrays are given by address, and a tuple is written to one more.
        """
        inner, returns = self.function(name, tuple(kinds))
        several = isinstance(returns, tuple)
        types = [NUMBERS.get(kind, WORD.as_pointer()) for kind in kinds]
        types += [returned_type(returns).as_pointer()] if several else []
        result = ir.VoidType() if several else WORD if returns == TRUTH else returned_type(returns)
        outer = ir.Function(self.module, ir.FunctionType(result, types), f"enter_{name}")
        builder = ir.IRBuilder(outer.append_basic_block())
        arguments: list[Any] = []
        for kind, value in zip(kinds, outer.args, strict=False):
            arguments += self.flat(self.read(builder, kind, value))
        found = builder.call(inner, arguments)
        if several:
            builder.store(found, outer.args[-1])
        if several or returns is None:
            builder.ret_void()
        else:
            builder.ret(builder.zext(found, WORD) if returns == TRUTH else found)
        return returns

    def read(self, builder: ir.IRBuilder, kind: Any, pointer: Any) -> Any:
        """What lies at an address; a number is there itself."""
        if isinstance(kind, Layout):
            return Structure(kind, pointer)
        if not isinstance(kind, ArrayKind):
            return Number(kind, pointer)
        words = [self.word(builder, pointer, at) for at in range(1 + kind.dimensions)]
        data = builder.inttoptr(words[0], ELEMENTS[kind.dtype].as_pointer())
        return Array(kind, data, tuple(words[1:]))

    def field(self, builder: ir.IRBuilder, owner: Structure, name: str) -> Any:
        """A field of a structure."""
        at = 0
        for field, kind in owner.kind.fields:
            if field == name:
                place = builder.gep(owner.pointer, [WORD(at)])
                if isinstance(kind, Layout | ArrayKind):
                    return self.read(builder, kind, place)
                word = self.word(builder, place, 0)
                return Number(kind, builder.bitcast(word, DOUBLE) if kind == REAL else word)
            at += size_of(kind)
        raise KeyError(name)

    def word(self, builder: ir.IRBuilder, pointer: Any, at: int) -> Any:
        """One word of a block, which nobody changes during a call."""
        word = builder.load(builder.gep(pointer, [WORD(at)]))
        word.set_metadata("invariant.load", self.unchanging)
        return word

    @staticmethod
    def flat(value: Any) -> list[Any]:
        """How a value is handed to a function."""
        if isinstance(value, Array):
            return [value.pointer, *value.sizes]
        return [value.pointer if isinstance(value, Structure) else value.value]

    @staticmethod
    def types(kind: Any) -> list[Any]:
        """The types of the same."""
        if isinstance(kind, ArrayKind):
            return [ELEMENTS[kind.dtype].as_pointer(), *[WORD] * kind.dimensions]
        return [WORD.as_pointer()] if isinstance(kind, Layout) else [NUMBERS[kind]]

    def tag(self, kind: ArrayKind) -> Any:
        """What LLVM is told of an element's place: type-based alias analysis, a type a field."""
        name = f"{kind.dtype}.{kind.tag}" if kind.tag else kind.dtype
        if name not in self._tags:
            node = self.module.add_metadata(["bestk"])
            for part in dict.fromkeys((kind.dtype, name)):  # elements, then those of the field
                node = self.module.add_metadata([part, node, WORD(0)])
            self._tags[name] = self.module.add_metadata([node, node, WORD(0)])
        return self._tags[name]
