"""One policy's share of the kernels, as the source of a module: what is compiled.

Kernels are plain Python and serve all policies at once. Given what is fixed for a policy (the axes,
`kernels/types.py`), the branches that it never takes are cut, constant arguments go into the
functions that they are given to, and structures keep the fields that are still read. What remains
is a small part of the whole, and compiles in a small part of the time.

This is partial evaluation (Jones, Gomard and Sestoft 1993) of the few kinds of statements that
kernels use. The result computes the same numbers in the same order: the tests compare it with the
kernels to the bit.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import isfinite, isnan
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from bestk.kernels import types

Kernel = Callable[..., Any]

PACKAGE = "bestk.kernels"
STRUCTURES = (types.Spec, types.Evidence, types.Items, types.State, types.World)
OUTLINED = types.outlined.__name__
HEAD = '''"""{title}: written by bestk/compiled/specialise.py from bestk/kernels."""

import math

import numpy as np

'''
UNKNOWN = object()


class Specialisation:
    """Kernels and all that they call, for one choice of the axes."""

    def __init__(self, axes: Mapping[str, int], entries: Iterable[Kernel]) -> None:
        self.axes = dict(axes)
        self._names: dict[tuple[object, ...], str] = {}  # of functions with constant arguments
        self._functions: dict[str, ast.FunctionDef] = {}  # callees first
        self._outlined: set[str] = set()
        self._globals: dict[str, str] = {}  # constants that need a name
        self.read: set[str] = set()  # fields
        self._entries = [self.name_of(kernel, {}) for kernel in entries]

    def source(self, title: str) -> str:
        """The module: structures, constants, functions."""
        calls = {*self._entries, *self._outlined}
        blocks = ["\n".join(f"{name} = {value}" for name, value in self._globals.items())]
        for function in self._reachable():
            mark = "" if function.name in calls else "@inlined\n"
            blocks.append(mark + ast.unparse(function))
        return HEAD.format(title=title) + "\n\n".join(blocks) + "\n"

    def _reachable(self) -> list[ast.FunctionDef]:
        """The functions that the entries call, by way of others too; callees first."""
        needed, found = set(self._entries), []
        for function in reversed(self._functions.values()):
            if function.name in needed:
                needed.update(n.id for n in ast.walk(function) if isinstance(n, ast.Name))
                found.append(function)
        return found[::-1]

    def fields(self) -> dict[str, list[str]]:
        """Those of each structure that are read."""
        return {
            structure.__name__: [name for name in structure._fields if name in self.read]
            for structure in STRUCTURES
        }

    def name_of(self, kernel: Kernel, given: Mapping[str, object]) -> str:
        """The name of a kernel's version for the constant arguments that are given."""
        key = (kernel, *((name, type(value), value) for name, value in sorted(given.items())))
        if key not in self._names:
            base = f"{_short(kernel)}_{kernel.__name__.strip('_')}"
            taken = sum(known[0] is kernel for known in self._names)
            name = self._names[key] = f"{base}_{taken}" if taken else base
            if is_outlined(kernel):
                self._outlined.add(name)
            self._functions[name] = _Reduction(self, kernel, given).reduced(name)
        return self._names[key]

    def expression(self, name: str, arguments: list[ast.expr]) -> ast.expr | None:
        """What a call returns, if the function does nothing but return it."""
        function = self._functions.get(name)
        if function is None or name in self._outlined or len(function.body) > 1:
            return None
        only = function.body[0]
        if not isinstance(only, ast.Return) or only.value is None:
            return None
        parameters = [argument.arg for argument in function.args.args]
        uses = [node.id for node in ast.walk(only.value) if isinstance(node, ast.Name)]
        bound = dict(zip(parameters, arguments, strict=True))
        if any(uses.count(name) > 1 and not _is_cheap(value) for name, value in bound.items()):
            return None
        found: ast.expr = _Substitution(bound).visit(_parsed(ast.unparse(only.value)))
        return found

    def constant(self, kernel: Kernel, name: str, value: Any) -> ast.expr | None:
        """How a constant of a kernel's module is written."""
        if is_plain(value):
            return ast.Constant(value)
        if isinstance(value, float):
            return _parsed("np.nan" if isnan(value) else "np.inf")
        if isinstance(value, np.generic | tuple):
            plain = value.item() if isinstance(value, np.generic) else value
            alias = f"{_short(kernel)}_{name.strip('_')}_"
            kind = f"np.{type(value).__name__}" if isinstance(value, np.generic) else ""
            self._globals[alias] = f"{kind}({plain!r})"
            return ast.Name(alias, ast.Load())
        if getattr(value, "__module__", None) == "math":
            return _parsed(f"math.{name}")
        return None


class _Substitution(ast.NodeTransformer):
    """Arguments in place of parameters."""

    def __init__(self, bound: Mapping[str, ast.expr]) -> None:
        self._bound = bound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name that is bound."""
        return self._bound.get(node.id, node)


def _is_cheap(node: ast.expr) -> bool:
    """Whether an expression may be evaluated twice: a name, a field, a number."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


def _short(kernel: Kernel) -> str:
    return kernel.__module__.rpartition(".")[2]


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def is_plain(value: object) -> bool:
    """Whether a value may be written into an expression."""
    if isinstance(value, types.Slot):
        return True
    return isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value))


@cache
def _module(name: str) -> dict[str, ast.FunctionDef]:
    """The functions of a kernel module, by name."""
    path = sys.modules[name].__file__
    assert path is not None
    body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def definition(kernel: Kernel) -> ast.FunctionDef:
    """The source of a kernel."""
    return _module(kernel.__module__)[kernel.__name__]


def is_outlined(kernel: Kernel) -> bool:
    """Whether a kernel is marked so."""
    marks = definition(kernel).decorator_list
    return any(isinstance(mark, ast.Name) and mark.id == OUTLINED for mark in marks)


@cache
def stored(kernel: Kernel) -> frozenset[str]:
    """Names that a kernel assigns to."""
    return frozenset(
        node.id
        for node in ast.walk(definition(kernel))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


class _Reduction(ast.NodeTransformer):
    """One function, reduced to what its constants leave of it."""

    def __init__(self, whole: Specialisation, kernel: Kernel, given: Mapping[str, object]) -> None:
        self._whole, self._kernel, self._given = whole, kernel, dict(given)
        self._globals: dict[str, Any] = kernel.__globals__
        parameters = definition(kernel).args.args
        self._locals = {argument.arg for argument in parameters} | stored(kernel)
        self._parameters = [arg.arg for arg in parameters if arg.arg not in given]

    def reduced(self, name: str) -> ast.FunctionDef:
        """The function under that name."""
        source = definition(self._kernel)
        body = source.body[1:] if ast.get_docstring(source) is not None else source.body
        arguments = [ast.arg(name) for name in self._parameters]
        return ast.FunctionDef(
            name=name,
            args=ast.arguments([], arguments, None, [], [], None, []),
            body=self._block(body) or [ast.Pass()],
            decorator_list=[],
            lineno=0,
        )

    def _block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements, up to the first that leaves."""
        found: list[ast.stmt] = []
        for statement in statements:
            copy = ast.parse(ast.unparse(statement)).body[0]
            reduced = self.visit(copy)
            found += reduced if isinstance(reduced, list) else [] if reduced is None else [reduced]
            if leaves(found):
                break
        return found

    # --- statements

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt]:
        node.test = self.visit(node.test)
        value = _value(node.test)
        if value is not UNKNOWN:
            return self._block(node.body if value else node.orelse)
        node.body = self._block(node.body) or [ast.Pass()]
        node.orelse = self._block(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> ast.For | list[ast.stmt]:
        if isinstance(node.iter, ast.Name) and isinstance(node.target, ast.Name):
            values = self._globals.get(node.iter.id)
            if node.iter.id not in self._locals and isinstance(values, tuple):
                return [each for value in values for each in self._turn(node, value)]
        node.iter = self.visit(node.iter)
        node.body = self._block(node.body)
        return node

    def _turn(self, node: ast.For, value: object) -> list[ast.stmt]:
        """The body of a loop for one value of its variable."""
        assert isinstance(node.target, ast.Name)
        self._given[node.target.id] = value
        body = self._block(node.body)
        del self._given[node.target.id]
        return body

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self.visit(node.test)
        node.body = self._block(node.body)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        node.value = self.visit(node.value)
        return None if isinstance(node.value, ast.Constant) else node

    # --- expressions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._given and isinstance(node.ctx, ast.Load):
            return ast.Constant(self._given[node.id])  # type: ignore[arg-type]
        if node.id in self._locals or node.id not in self._globals:
            return node
        return self._whole.constant(self._kernel, node.id, self._globals[node.id]) or node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id not in self._locals:
            owner = self._globals.get(node.value.id)
            if isinstance(owner, ModuleType):
                name = owner.__name__.rpartition(".")[2]
                value = getattr(owner, node.attr)
                return ast.Constant(value) if is_plain(value) and name != "numpy" else node
        if node.attr in self._whole.axes:
            return ast.Constant(self._whole.axes[node.attr])
        node.value = self.visit(node.value)
        if isinstance(node.value, ast.Constant):  # of a slot
            return ast.Constant(getattr(node.value.value, node.attr))
        self._whole.read.add(node.attr)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        place = self.visit(node.slice)
        if isinstance(node.value, ast.Name) and node.value.id not in self._locals:
            values = self._globals.get(node.value.id)
            if isinstance(values, tuple) and isinstance(place, ast.Constant):
                return ast.Constant(values[place.value])  # type: ignore[index]
        node.value, node.slice = self.visit(node.value), place
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        callee = self._callee(node.func)
        node.args = [self.visit(argument) for argument in node.args]
        if callee is None:
            node.func = self.visit(node.func)
            return node
        parameters = [argument.arg for argument in definition(callee).args.args]
        bound = dict(zip(parameters, node.args, strict=True))
        given = {  # goes into the function: a version of its own for each
            name: argument.value
            for name, argument in bound.items()
            if isinstance(argument, ast.Constant)
            and not (name in stored(callee) or is_outlined(callee))
        }
        name = self._whole.name_of(callee, given)
        rest = [argument for name, argument in bound.items() if name not in given]
        expression = self._whole.expression(name, rest)
        return expression or ast.Call(ast.Name(name, ast.Load()), rest, [])

    def _callee(self, function: ast.expr) -> Kernel | None:
        """The kernel that is called, if it is one."""
        value: Any = None
        if isinstance(function, ast.Name) and function.id not in self._locals:
            value = self._globals.get(function.id)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = self._globals.get(function.value.id)
            value = getattr(owner, function.attr) if isinstance(owner, ModuleType) else None
        is_kernel = isinstance(value, FunctionType) and value.__module__.startswith(PACKAGE)
        return value if is_kernel else None

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        node.left = self.visit(node.left)
        node.comparators = [self.visit(part) for part in node.comparators]
        return _folded(node, [node.left, *node.comparators])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        return _folded(node, [node.operand])

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.visit(node.test)
        value = _value(node.test)
        if value is not UNKNOWN:
            chosen: ast.expr = self.visit(node.body if value else node.orelse)
            return chosen
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        deciding = isinstance(node.op, ast.Or)  # True decides an `or`, False an `and`
        kept: list[ast.expr] = []
        for part in node.values:
            reduced = self.visit(part)
            value = _value(reduced)
            if value is UNKNOWN:
                kept.append(reduced)
            elif bool(value) == deciding:
                kept.append(ast.Constant(deciding))
                break
        if not kept:
            return ast.Constant(not deciding)
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)


def leaves(block: list[ast.stmt]) -> bool:
    """Whether whatever follows the block is never reached."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Break | ast.Continue)


def _value(node: ast.AST) -> Any:
    """The value of a constant expression, or UNKNOWN."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        values = [_value(part) for part in node.elts]
        return UNKNOWN if UNKNOWN in values else tuple(values)
    return UNKNOWN


def _folded(node: ast.expr, parts: list[ast.expr]) -> ast.expr:
    """A constant in place of an operation on constants."""
    if any(_value(part) is UNKNOWN for part in parts):
        return node
    return ast.Constant(eval(ast.unparse(node), {"__builtins__": {}}))
