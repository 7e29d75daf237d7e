"""One function of a program, written as LLVM's intermediate code: see `lowering.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from llvmlite import ir

from bestk.compiled.arithmetic import COMPARISONS, Arithmetic, counted
from bestk.compiled.layout import INTEGER, REAL, TRUTH, ArrayKind, Layout
from bestk.compiled.lowering import (
    BIT,
    BYTE,
    BYTES,
    DOUBLE,
    NUMBERS,
    SHORT,
    SIZES,
    WORD,
    Array,
    Lowering,
    Number,
    Structure,
    common,
    kind_of_value,
    returned_type,
)

UNKNOWN = object()  # what a function returns, before its first return


class Writing:
    """One function for arguments of given kinds."""

    def __init__(self, whole: Lowering, node: ast.FunctionDef, kinds: tuple[Any, ...]) -> None:
        self._whole, self._node, self._kinds = whole, node, kinds
        self._variables: dict[str, str] = {}  # kinds of what is assigned
        self._returns: Any = UNKNOWN
        if not any(isinstance(part, ast.Return) and part.value for part in ast.walk(node)):
            self._returns = None

    def function(self) -> tuple[ir.Function, Any]:
        """Write it, again and again until all kinds are known."""
        while True:
            self._changed = self._returns is UNKNOWN
            function = self._written()
            if not self._changed:
                return function, self._returns
            del self._whole.module.globals[function.name]

    def _written(self) -> ir.Function:
        whole, module = self._whole, self._whole.module
        returns = None if self._returns is UNKNOWN else self._returns
        types = [part for kind in self._kinds for part in whole.types(kind)]
        name = module.get_unique_name(self._node.name)
        function = ir.Function(module, ir.FunctionType(returned_type(returns), types), name)
        function.linkage = "internal"
        if any(isinstance(m, ast.Name) and m.id == "inlined" for m in self._node.decorator_list):
            function.attributes.add("alwaysinline")
        self._entry = function.append_basic_block("entry")
        self._build = ir.IRBuilder(self._entry)
        self._do = Arithmetic(self._build, self._entry)
        self._build.branch(body := function.append_basic_block("body"))
        self._build.position_at_end(body)
        self._loops: list[tuple[Any, Any]] = []  # where `continue` and `break` go
        self._places: dict[str, Any] = {}  # of variables
        self._bound: dict[str, Any] = {}  # arrays and structures
        self._fields: dict[tuple[Any, str], Any] = {}
        arguments = list(function.args)
        for parameter, kind in zip(self._node.args.args, self._kinds, strict=True):
            parts = [arguments.pop(0) for _ in whole.types(kind)]
            if isinstance(kind, ArrayKind):
                self._bound[parameter.arg] = Array(kind, parts[0], tuple(parts[1:]))
            elif isinstance(kind, Layout):
                self._bound[parameter.arg] = Structure(kind, parts[0])
            else:
                self._store(parameter.arg, Number(kind, parts[0]))
        self._block(self._node.body)
        if not self._build.block.is_terminated:
            if returns is None:
                self._build.ret_void()
            else:
                self._build.unreachable()
        return function

    # --- statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, f"_on_{type(statement).__name__}")(statement)
            if self._build.block.is_terminated:
                return

    def _on_Pass(self, _: ast.Pass) -> None:
        pass

    def _on_Expr(self, node: ast.Expr) -> None:
        self._value(node.value)

    def _on_Assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._assign(target, value)

    def _on_AugAssign(self, node: ast.AugAssign) -> None:
        old = ast.parse(ast.unparse(node.target), mode="eval").body
        self._assign(
            node.target, self._do.operate(node.op, self._value(old), self._value(node.value))
        )

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Number):
                self._store(target.id, value)
            else:
                self._bound[target.id] = value
        elif isinstance(target, ast.Tuple):
            for part, each in zip(target.elts, value, strict=True):
                self._assign(part, each)
        elif isinstance(target, ast.Subscript):
            owner = self._value(target.value)
            if isinstance(target.slice, ast.Slice):
                self._fill(owner, target.slice, value)
            else:
                self._put(owner, self._place(owner, self._indices(target.slice)), value)

    def _store(self, name: str, value: Number) -> None:
        known = self._variables.get(name, value.kind)
        kind = self._variables[name] = common(known, value.kind)
        self._changed |= kind != known
        if name not in self._places or kind != known:
            with self._build.goto_block(self._entry):
                self._places[name] = self._build.alloca(NUMBERS[kind])
        self._build.store(self._do.convert(kind, value).value, self._places[name])

    def _fill(self, owner: Array, part: ast.Slice, value: Number | Array) -> None:
        """owner[:n] = value, or owner[m:n] = another part of an array, which may overlap it."""
        if isinstance(value, Array):
            to = self._slice(owner, part)
            bytes_ = self._build.mul(to.sizes[0], WORD(SIZES[owner.kind.dtype]))
            places = [self._build.bitcast(p, BYTES) for p in (to.pointer, value.pointer)]
            self._build.call(self._do.memmove(), [*places, bytes_, BIT(0)])
            return
        if part.upper is None:
            size = owner.sizes[0]
            for more in owner.sizes[1:]:
                size = self._build.mul(size, more)
        else:
            size = self._value(part.upper).value
        with counted(self._build, self._entry, WORD(0), size, 1) as (at, _, _):
            self._put(owner, self._build.gep(owner.pointer, [at]), value)

    def _slice(self, owner: Array, part: ast.Slice) -> Array:
        """owner[m:n] of an array of one dimension"""
        assert part.lower is not None
        assert part.upper is not None
        first, last = self._value(part.lower).value, self._value(part.upper).value
        size = self._build.sub(last, first)
        return Array(owner.kind, self._build.gep(owner.pointer, [first]), (size,))

    def _on_If(self, node: ast.If) -> None:
        then, other, end = (self._build.append_basic_block() for _ in range(3))
        self._build.cbranch(self._truth(node.test), then, other)
        reached = False
        for block, statements in ((then, node.body), (other, node.orelse)):
            self._build.position_at_end(block)
            self._block(statements)
            if not self._build.block.is_terminated:
                self._build.branch(end)
                reached = True
        self._build.position_at_end(end)
        if not reached:
            self._build.unreachable()

    def _on_While(self, node: ast.While) -> None:
        test, body, end = (self._build.append_basic_block() for _ in range(3))
        self._build.branch(test)
        self._build.position_at_end(test)
        self._build.cbranch(self._truth(node.test), body, end)
        self._build.position_at_end(body)
        self._turn(node.body, test, end)
        self._build.position_at_end(end)

    def _turn(self, statements: Iterable[ast.stmt], again: Any, end: Any) -> None:
        self._loops.append((again, end))
        self._block(statements)
        self._loops.pop()
        if not self._build.block.is_terminated:
            self._build.branch(again)

    def _on_For(self, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call)
        assert isinstance(node.target, ast.Name)
        bounds = [self._value(argument) for argument in node.iter.args]
        step = ast.literal_eval(node.iter.args[2]) if len(bounds) > 2 else 1
        first = bounds[0].value if len(bounds) > 1 else WORD(0)
        last = bounds[min(1, len(bounds) - 1)].value
        with counted(self._build, self._entry, first, last, step) as (at, again, end):
            self._store(node.target.id, Number(INTEGER, at))
            self._turn(node.body, again, end)

    def _on_Break(self, _: ast.Break) -> None:
        self._build.branch(self._loops[-1][1])

    def _on_Continue(self, _: ast.Continue) -> None:
        self._build.branch(self._loops[-1][0])

    def _on_Return(self, node: ast.Return) -> None:
        value = None if node.value is None else self._value(node.value)
        kind = kind_of_value(value)
        known = kind if self._returns is UNKNOWN else self._returns
        before, self._returns = self._returns, common(known, kind)
        if before is UNKNOWN or before != self._returns:
            self._changed = True
            self._build.unreachable()
        elif value is None:
            self._build.ret_void()
        elif isinstance(value, tuple) and not isinstance(value, Number):
            whole = ir.Constant(returned_type(known), ir.Undefined)
            for at, (wanted, part) in enumerate(zip(known, value, strict=True)):
                whole = self._build.insert_value(whole, self._do.convert(wanted, part).value, at)
            self._build.ret(whole)
        else:
            self._build.ret(self._do.convert(known, value).value)

    # --- expressions

    def _value(self, node: ast.expr) -> Any:
        return getattr(self, f"_of_{type(node).__name__}")(node)

    def _truth(self, node: ast.expr) -> Any:
        return self._do.truth(self._value(node))

    def _of_Constant(self, node: ast.Constant) -> Number:
        value: Any = node.value
        if isinstance(value, bool):
            return Number(TRUTH, BIT(int(value)))
        return (
            Number(INTEGER, WORD(value)) if isinstance(value, int) else Number(REAL, DOUBLE(value))
        )

    def _of_Name(self, node: ast.Name) -> Any:
        if node.id in self._bound:
            return self._bound[node.id]
        if node.id in self._places:
            return Number(self._variables[node.id], self._build.load(self._places[node.id]))
        return self._whole.constants[node.id]

    def _of_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._value(part) for part in node.elts)

    def _of_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in ("np", "math"):
            return Number(REAL, DOUBLE(float(node.attr)))
        owner = self._value(node.value)
        if isinstance(owner, Array):
            return tuple(Number(INTEGER, size) for size in owner.sizes)  # .shape
        key = (owner.pointer, node.attr)
        if key not in self._fields:
            # read at the start of the function, or right after the structure it is in
            with self._build.goto_block(self._entry):
                self._fields[key] = self._whole.field(self._build, owner, node.attr)
        return self._fields[key]

    def _of_Subscript(self, node: ast.Subscript) -> Any:
        owner = self._value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._slice(owner, node.slice)
        indices = self._indices(node.slice)
        if not isinstance(owner, Array):
            return owner[indices[0].value.constant]
        if len(indices) < owner.kind.dimensions:  # a row
            start = self._build.mul(indices[0].value, owner.sizes[1])
            kind = owner.kind._replace(dimensions=1)
            return Array(kind, self._build.gep(owner.pointer, [start]), owner.sizes[1:])
        element = self._build.load(self._place(owner, indices))
        element.set_metadata("tbaa", self._whole.tag(owner.kind))
        if owner.kind.dtype == "float64":
            return Number(REAL, element)
        if owner.kind.dtype == "bool":
            return Number(TRUTH, self._build.icmp_unsigned("!=", element, BYTE(0)))
        is_short = owner.kind.dtype == "int32"
        return Number(INTEGER, self._build.sext(element, WORD) if is_short else element)

    def _indices(self, node: ast.expr) -> list[Number]:
        found = self._value(node)
        return [found] if isinstance(found, Number) else list(found)

    def _place(self, owner: Array, indices: list[Number]) -> Any:
        at = indices[0].value
        if len(indices) > 1:
            at = self._build.add(self._build.mul(at, owner.sizes[1]), indices[1].value)
        return self._build.gep(owner.pointer, [at], inbounds=True)

    def _put(self, owner: Array, place: Any, value: Number) -> None:
        dtype = owner.kind.dtype
        if dtype == "float64":
            element = self._do.convert(REAL, value).value
        elif dtype == "bool":
            element = self._build.zext(self._do.truth(value), BYTE)
        else:
            element = self._do.convert(INTEGER, value).value
            element = self._build.trunc(element, SHORT) if dtype == "int32" else element
        self._build.store(element, place).set_metadata("tbaa", self._whole.tag(owner.kind))

    def _of_BinOp(self, node: ast.BinOp) -> Number:
        return self._do.operate(node.op, self._value(node.left), self._value(node.right))

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Number:
        value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return Number(TRUTH, self._build.not_(self._do.truth(value)))
        if isinstance(value.value, ir.Constant):
            return Number(value.kind, type(value.value)(value.value.type, -value.value.constant))
        if value.kind == REAL:
            return Number(REAL, self._build.fneg(value.value))
        return Number(INTEGER, self._build.neg(self._do.convert(INTEGER, value).value))

    def _of_Compare(self, node: ast.Compare) -> Number:
        found, left = None, self._value(node.left)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part)
            if isinstance(op, ast.NotIn | ast.In):
                each = BIT(0)
                for other in right:
                    each = self._build.or_(each, self._do.compare("==", left, other))
                each = self._build.not_(each) if isinstance(op, ast.NotIn) else each
            else:
                each = self._do.compare(COMPARISONS[type(op)], left, right)
            found = each if found is None else self._build.and_(found, each)
            left = right
        return Number(TRUTH, found)

    def _of_BoolOp(self, node: ast.BoolOp) -> Number:
        end, ways = self._build.append_basic_block(), []
        is_or = isinstance(node.op, ast.Or)
        for part in node.values[:-1]:
            test = self._truth(part)
            ways.append((BIT(int(is_or)), self._build.block))
            more = self._build.append_basic_block()
            self._build.cbranch(test, *((end, more) if is_or else (more, end)))
            self._build.position_at_end(more)
        ways.append((self._truth(node.values[-1]), self._build.block))
        self._build.branch(end)
        self._build.position_at_end(end)
        return Number(TRUTH, self._joined(BIT, ways))

    def _joined(self, kind: Any, ways: list[tuple[Any, Any]]) -> Any:
        phi = self._build.phi(kind)
        for value, block in ways:
            phi.add_incoming(value, block)
        return phi

    def _of_IfExp(self, node: ast.IfExp) -> Any:
        then, other, end = (self._build.append_basic_block() for _ in range(3))
        self._build.cbranch(self._truth(node.test), then, other)
        values, blocks = [], []
        for block, part in ((then, node.body), (other, node.orelse)):
            self._build.position_at_end(block)
            values.append(self._value(part))
            blocks.append(self._build.block)
        kinds = common(*map(kind_of_value, values))
        plain, rows = isinstance(kinds, str), []
        for value, block in zip(values, blocks, strict=True):
            self._build.position_at_end(block)
            pairs = [(kinds, value)] if plain else zip(kinds, value, strict=True)
            rows.append([self._do.convert(kind, part).value for kind, part in pairs])
            self._build.branch(end)
        self._build.position_at_end(end)
        columns = zip((kinds,) if plain else kinds, zip(*rows, strict=True), strict=True)
        found = [
            Number(kind, self._joined(NUMBERS[kind], list(zip(column, blocks, strict=True))))
            for kind, column in columns
        ]
        return found[0] if plain else tuple(found)

    # --- calls

    def _of_Call(self, node: ast.Call) -> Any:
        name = ast.unparse(node.func).rpartition(".")[2]
        values = [self._value(argument) for argument in node.args]
        if name in self._whole.functions:
            return self._call(name, values)
        return self._do.call(name, values)

    def _call(self, name: str, values: list[Any]) -> Any:
        function, returns = self._whole.function(name, tuple(value.kind for value in values))
        arguments = [part for value in values for part in self._whole.flat(value)]
        found = self._build.call(function, arguments)
        if isinstance(returns, tuple):
            part = self._build.extract_value
            return tuple(Number(kind, part(found, at)) for at, kind in enumerate(returns))
        return Number(returns, found)
