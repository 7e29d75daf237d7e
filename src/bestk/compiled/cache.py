"""Where compiled programs live, and what they took to compile.

The folder carries a hash of all sources that programs are written from: an upgraded or edited
source gets an empty folder of its own and can never run stale code. Where nothing can be written,
programs live in a temporary folder, as long as the process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from bestk.kernels import types

# what programs depend on here
WRITERS = ("arithmetic", "layout", "lowering", "machine", "programs", "specialise", "writing")
KEEP_DAYS = 30  # arbitrary: how long the programs of another version stay on disk


@cache
def source_hash() -> str:
    """Hash of what programs are written from, and of the versions that compile them."""
    digest = hashlib.sha256()
    writers = [Path(__file__).with_name(f"{name}.py") for name in WRITERS]
    for path in (*sorted(Path(types.__file__).parent.rglob("*.py")), *writers):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    digest.update(f"{version('llvmlite')} {sys.version_info[:2]}".encode())
    return digest.hexdigest()[:16]


def _base() -> Path:
    if chosen := os.environ.get("BESTK_CACHE_DIR"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bestk"


@cache
def folder() -> Path:
    """Where programs are: BESTK_CACHE_DIR, else the user's cache, else a temporary folder."""
    name = f"programs-{source_hash()}"
    try:
        found = _base() / name
        fresh = not found.exists()
        found.mkdir(parents=True, exist_ok=True)
        os.utime(found)  # in use: shows in `_drop_old`, and that the folder is ours to write
        tempfile.TemporaryFile(dir=found).close()
    except (OSError, RuntimeError):  # no home, a read-only disk
        temporary = Path(tempfile.mkdtemp(prefix="bestk-"))  # nobody else can have put code there
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        found = temporary / name
        found.mkdir()
        return found
    if fresh:
        _drop_old(found)
    return found


def is_kept() -> bool:
    """Whether programs are there when this process has ended."""
    try:
        return folder().parent == _base()
    except RuntimeError:  # no home
        return False


def _drop_old(current: Path) -> None:
    """Remove the programs of versions that nobody has started for KEEP_DAYS."""
    for pattern in ("programs-*", "kernels-*"):  # the second: before programs were specialised
        for other in current.parent.glob(pattern):
            with suppress(OSError):  # another process may be at it too
                if other != current and other.stat().st_mtime < time.time() - KEEP_DAYS * 86400:
                    shutil.rmtree(other, ignore_errors=True)


def publish(path: Path, content: bytes) -> None:
    """Make a file appear whole, once: the first of several processes wins."""
    if path.exists():
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.replace(name, path)
            return
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock of a process that dies is free."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: two processes may do the same work twice
        yield
        return
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
