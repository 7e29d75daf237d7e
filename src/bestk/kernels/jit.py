"""The one module that imports numba, and the cache policy of every kernel.

Numba's disk cache notices an edit in the file of a function, not an edit in a function that it
calls. So the cache directory carries a hash of all kernel sources: an upgraded or edited source
gets an empty directory of its own and can never run a stale kernel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])

KEEP_DAYS = 30  # arbitrary: how long the kernels of another version stay on disk


def source_hash(folder: Path) -> str:
    """Hash of every kernel source and of the versions that compile it."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    digest.update(f"{numba.__version__} {sys.version_info[:2]}".encode())
    return digest.hexdigest()[:16]


def _base() -> Path:
    if chosen := os.environ.get("BESTK_CACHE_DIR"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bestk"


def cache_directory() -> Path:
    """Where compiled kernels live: BESTK_CACHE_DIR, else the user's cache, else a temporary one."""
    name = f"kernels-{source_hash(Path(__file__).parent)}"
    try:
        directory = _base() / name
        fresh = not directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
        os.utime(directory)  # in use: shows in `_drop_old`, and that the folder is ours to write
    except (OSError, RuntimeError):  # no home, a read-only disk
        return Path(tempfile.mkdtemp(prefix="bestk-")) / name  # nobody else can have put code there
    if fresh:
        _drop_old(directory)
    return directory


def _drop_old(current: Path) -> None:
    """Remove the kernels of versions that nobody has started for KEEP_DAYS."""
    for other in current.parent.glob("kernels-*"):
        with suppress(OSError):  # another process may be at it too
            if other != current and other.stat().st_mtime < time.time() - KEEP_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)


_CACHE = str(cache_directory())
_CONFIG: Any = numba.config
_TYPE_OF: Any = numba.typeof

# Kernels allocate nothing, so arrays need no reference counts (_nrt), and a State is many arrays
# wide, so that a call costs more than its work (forceinline): together 6 times as fast.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}


def _compile(function: F, inline: bool) -> F:
    # Numba reads its cache directory when it decorates, so it is set for that moment only: other
    # users of numba in this process keep their own.
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = _CACHE
    try:
        compiled: F = numba.njit(forceinline=inline, **_OPTIONS)(function)
        return compiled
    finally:
        _CONFIG.CACHE_DIR = before


def is_cold() -> bool:
    """Whether the run loop has yet to be compiled on this machine."""
    return not any(Path(_CACHE).glob("**/loop.play_many*.nbi"))


def kernel(function: F) -> F:
    """Compile `function` on first call, keep the code on disk, inline it into other kernels."""
    return _compile(function, inline=True)


def entry(function: F) -> F:
    """Like `kernel`, for a function whose callers gain nothing from inlining it."""
    return _compile(function, inline=False)


def direct(function: F, *arguments: object) -> F:
    """The machine code of a kernel for arguments of these types, not looked up at every call.

    Looking up the types of a State costs several times as much as a decision. Whoever calls it must
    keep to the types it was made for: they are not checked.
    """
    if not hasattr(function, "compile"):  # numba is switched off
        return function
    code: F = function.compile(tuple(_TYPE_OF(argument) for argument in arguments))
    return code
