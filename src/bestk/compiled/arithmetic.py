"""What Python does with numbers, as LLVM's instructions: see `lowering.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from bestk.compiled.layout import INTEGER, LIBRARY, REAL, TRUTH, UNSIGNED
from bestk.compiled.lowering import BIT, BYTES, DOUBLE, SHORT, WORD, Number, common

COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="
}  # fmt: skip
FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INTEGERS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "shl",
}  # fmt: skip


class Arithmetic:
    """Instructions, written where the builder stands."""

    def __init__(self, build: ir.IRBuilder, entry: Any) -> None:
        self._build, self._entry = build, entry

    def truth(self, value: Number) -> Any:
        """One bit: whether Python takes a number for true."""
        if value.kind == TRUTH:
            return value.value
        if value.kind == REAL:
            return self._build.fcmp_unordered("!=", value.value, DOUBLE(0.0))
        return self._build.icmp_unsigned("!=", value.value, WORD(0))

    def convert(self, kind: str, value: Number) -> Number:
        """The same number as another kind."""
        if kind == value.kind:
            return value
        found = value.value
        if value.kind == TRUTH:
            found = self._build.zext(found, WORD)
        if kind == REAL:
            constant = isinstance(found, ir.Constant)
            to = self._build.uitofp if value.kind == UNSIGNED else self._build.sitofp
            found = DOUBLE(float(found.constant)) if constant else to(found, DOUBLE)
        elif kind in (INTEGER, UNSIGNED) and value.kind == REAL:
            found = self._build.fptosi(found, WORD)
        return Number(kind, found)

    def operate(self, op: ast.operator, a: Number, b: Number) -> Number:
        """One of the operators on two numbers."""
        kind = common(a.kind, b.kind)
        if isinstance(op, ast.Div | ast.Pow):
            kind = REAL
        elif kind == TRUTH and not isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            kind = INTEGER
        x, y = self.convert(kind, a).value, self.convert(kind, b).value
        if isinstance(op, ast.Pow):
            return self._called("pow", x, y)
        if kind == REAL:
            return Number(REAL, getattr(self._build, FLOATS[type(op)])(x, y))
        if isinstance(op, ast.RShift):
            shift = self._build.lshr if kind == UNSIGNED else self._build.ashr
            return Number(kind, shift(x, y))
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return Number(kind, self._divided(x, y, isinstance(op, ast.Mod)))
        return Number(kind, getattr(self._build, INTEGERS[type(op)])(x, y))

    def _divided(self, x: Any, y: Any, rest: bool) -> Any:
        """Integers, rounded down."""
        build = self._build
        quotient, left = build.sdiv(x, y), build.srem(x, y)
        crosses = build.icmp_signed("<", build.xor(left, y), WORD(0))
        low = build.and_(crosses, build.icmp_signed("!=", left, WORD(0)))
        if rest:
            return build.select(low, build.add(left, y), left)
        return build.select(low, build.sub(quotient, WORD(1)), quotient)

    def compare(self, sign: str, a: Number, b: Number) -> Any:
        """One bit."""
        kind = common(a.kind, b.kind)
        x, y = self.convert(kind, a).value, self.convert(kind, b).value
        if kind == REAL:
            compare = self._build.fcmp_unordered if sign == "!=" else self._build.fcmp_ordered
        else:
            compare = self._build.icmp_signed if kind == INTEGER else self._build.icmp_unsigned
        return compare(sign, x, y)

    # --- functions of Python, numpy and math

    def call(self, name: str, values: list[Number]) -> Any:
        """One of them by its name."""
        found = getattr(self, f"_call_{name}", None)
        if found is None and name not in LIBRARY:
            raise NotImplementedError(f"kernels cannot call {name}")
        return self._libm(name, *values) if found is None else found(*values)

    def _libm(self, name: str, *values: Number) -> Number:
        return self._called(name, *(self.convert(REAL, value).value for value in values))

    def _called(self, name: str, *values: Any) -> Number:
        """A function of the C library, which is what Python's math module calls as well."""
        types = ir.FunctionType(DOUBLE, [value.type for value in values])
        return Number(REAL, self._build.call(self._declared(name, types), values))

    def _declared(self, name: str, types: ir.FunctionType) -> Any:
        known = self._build.module.globals.get(name)
        if known is None:
            known = ir.Function(self._build.module, types, name)
            if name != "frexp":
                known.attributes.add("nounwind")
        return known

    def memmove(self) -> Any:
        """The function that copies bytes to where they may overlap those copied."""
        types = ir.FunctionType(ir.VoidType(), [BYTES, BYTES, WORD, BIT])
        return self._build.module.declare_intrinsic("llvm.memmove", [BYTES, BYTES, WORD], types)

    def _call_sqrt(self, x: Number) -> Number:
        return self._libm("llvm.sqrt.f64", x)

    def _call_floor(self, x: Number) -> Number:
        return self.convert(INTEGER, self._libm("llvm.floor.f64", x))

    def _call_ldexp(self, x: Number, power: Number) -> Number:
        return self._called("ldexp", x.value, self._build.trunc(power.value, SHORT))

    def _call_frexp(self, x: Number) -> tuple[Number, Number]:
        with self._build.goto_block(self._entry):
            power = self._build.alloca(SHORT)
        part = self._called("frexp", x.value, power)
        return part, Number(INTEGER, self._build.sext(self._build.load(power), WORD))

    def _call_isnan(self, x: Number) -> Number:
        return Number(TRUTH, self._build.fcmp_unordered("uno", x.value, x.value))

    def _call_isinf(self, x: Number) -> Number:
        size = self._libm("llvm.fabs.f64", x).value
        return Number(TRUTH, self._build.fcmp_ordered("==", size, DOUBLE(float("inf"))))

    def _call_abs(self, x: Number) -> Number:
        if x.kind == REAL:
            return self._libm("llvm.fabs.f64", x)
        negative = self._build.icmp_signed("<", x.value, WORD(0))
        return Number(INTEGER, self._build.select(negative, self._build.neg(x.value), x.value))

    def _call_min(self, *values: Number) -> Number:
        return self._extreme("<", values)

    def _call_max(self, *values: Number) -> Number:
        return self._extreme(">", values)

    def _extreme(self, sign: str, values: tuple[Number, ...]) -> Number:
        best = values[0]
        for value in values[1:]:
            kind = common(best.kind, value.kind)
            better = self.compare(sign, value, best)
            one, other = self.convert(kind, value).value, self.convert(kind, best).value
            best = Number(kind, self._build.select(better, one, other))
        return best

    def _call_float(self, x: Number) -> Number:
        return self.convert(REAL, x)

    _call_float64 = _call_float

    def _call_int(self, x: Number) -> Number:
        return self.convert(INTEGER, x)

    _call_int64 = _call_int

    def _call_uint64(self, x: Number) -> Number:
        return self.convert(UNSIGNED, x)

    def _call_int32(self, x: Number) -> Number:
        short = self._build.trunc(self.convert(INTEGER, x).value, SHORT)
        return Number(INTEGER, self._build.sext(short, WORD))


@contextmanager
def counted(
    build: ir.IRBuilder, entry: Any, first: Any, last: Any, step: int
) -> Iterator[tuple[Any, Any, Any]]:
    """A loop over range(first, last, step) around what is written in the block.

    Its variable, and the places where `continue` and `break` go.
    """
    with build.goto_block(entry):
        place = build.alloca(WORD)
    test, body, again, end = (build.append_basic_block() for _ in range(4))
    build.store(first, place)
    build.branch(test)
    build.position_at_end(test)
    at = build.load(place)
    build.cbranch(build.icmp_signed("<" if step > 0 else ">", at, last), body, end)
    build.position_at_end(body)
    yield at, again, end
    if not build.block.is_terminated:
        build.branch(again)
    build.position_at_end(again)
    build.store(build.add(build.load(place), WORD(step)), place)
    build.branch(test)
    build.position_at_end(end)
