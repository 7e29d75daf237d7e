"""From the source of a program to machine code, and from there into this process: by LLVM."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from bestk.compiled.layout import INTEGER, LIBRARY, REAL, TRUTH, Block, kind_of

Returns = Mapping[str, Any]  # of each entry: a kind, a list of kinds, or None

_engines: list[Any] = []  # machine code lives as long as the process


@cache
def _target() -> Any:
    """Code for this very processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found = llvm.Target.from_default_triple()
    return found.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="static" if found.name.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def processor() -> str:
    """A name for what machine code depends on beside its source: LLVM and the processor."""
    parts = llvm.llvm_version_info, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return sha256(repr(parts).encode()).hexdigest()[:8]


def compiled(source: str, entries: Mapping[str, Iterable[Any]]) -> tuple[bytes, dict[str, Any]]:
    """The object code of a program, and what its entries return, given the kinds they take."""
    from bestk.compiled.lowering import Lowering

    program = Lowering(source)
    returns = {entry: program.entry(entry, list(kinds)) for entry, kinds in entries.items()}
    target = _target()
    program.module.triple = target.triple
    program.module.data_layout = str(target.target_data)
    module = llvm.parse_assembly(str(program.module))
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = False
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    return target.emit_object(module), returns


@cache
def _offer_library() -> None:
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    for each in LIBRARY:
        address = ctypes.cast(getattr(library, each), ctypes.c_void_p).value
        llvm.add_symbol(each, address)


def loaded(
    code: bytes, entries: Mapping[str, Iterable[Any]], returns: Returns
) -> dict[str, Callable[..., Any]]:
    """The entries of object code as functions."""
    _offer_library()
    target = _target()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return {
        entry: _function(engine.get_function_address(f"enter_{entry}"), kinds, returns[entry])
        for entry, kinds in entries.items()
    }


class _Address:
    """A parameter that is given by address."""

    @staticmethod
    def from_param(value: Any) -> Any:
        return Block(value, kind_of(value, {})) if isinstance(value, np.ndarray) else value


class _Integer:
    """A parameter that may be one of numpy's integers."""

    @staticmethod
    def from_param(value: Any) -> Any:
        return ctypes.c_int64(int(value))


_PARAMETERS = {INTEGER: _Integer, REAL: ctypes.c_double}
_RESULTS = {INTEGER: ctypes.c_int64, REAL: ctypes.c_double, TRUTH: ctypes.c_bool, None: None}


def _function(address: int, kinds: Iterable[Any], returns: Any) -> Callable[..., Any]:
    parameters = [_PARAMETERS.get(kind, _Address) for kind in kinds]
    if not isinstance(returns, list | tuple):
        function = ctypes.CFUNCTYPE(_RESULTS[returns])(address)
        function.argtypes = parameters
        return function

    fields = [(f"f{at}", _RESULTS[kind]) for at, kind in enumerate(returns)]
    Result: Any = type("Result", (ctypes.Structure,), {"_fields_": fields})
    several = ctypes.CFUNCTYPE(None)(address)
    several.argtypes = [*parameters, ctypes.POINTER(Result)]

    def call(*arguments: Any) -> tuple[Any, ...]:
        result = Result()
        several(*arguments, ctypes.byref(result))
        return tuple(getattr(result, name) for name, _ in fields)

    return call
