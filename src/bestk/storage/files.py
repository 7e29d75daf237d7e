"""A study's file: telling it from others, opening it, and making a new one.

SQLite takes an empty file for a new database, moves what is in the write-ahead file into any
database of that name, and skips what it cannot read there. So that is looked at first, and a new
file is put in its place whole, and never over another. The file itself is read through SQLite: to
open and close it in any other way would drop the locks that this process may have on it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bestk import output
from bestk.addresses import recoverable
from bestk.errors import StorageError
from bestk.storage import identity, schema, wal
from bestk.storage.schema import MARKS, STUDIES, VERSION
from bestk.storage.wal import PAGE

APPLICATION = 0x62657374  # "best", in the header of every file of ours
MAGIC = b"SQLite format 3\0"
HEADER = 100  # bytes; sqlite.org/fileformat2.html, section 1.3
SIDES = ("-wal", "-journal")  # files beside it that hold committed data after a crash
NO_SIDES = (  # what SQLite says where it cannot make files beside a database
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
)
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # no table: the last
LOCKED = "another process has kept it locked for {:g} seconds; try again"
FORBIDDEN = "the file or its folder is read-only; give write permission or copy it elsewhere"
REASONS = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_READONLY: FORBIDDEN,
    sqlite3.SQLITE_PERM: FORBIDDEN,
    sqlite3.SQLITE_FULL: "the disk is full; free some space and run the same command again",
    sqlite3.SQLITE_IOERR: "the disk does not take or give data; is there space, and is the disk"
    " sound?",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; is the folder there, and yours to write?",
}


class State(NamedTuple):
    """What a file is, and why it cannot be used, if it cannot."""

    name: str  # healthy, damaged, newer, other, text, empty, folder, unreadable, missing
    why: str = ""
    version: int | None = None


def whereabouts(path: Path) -> Path:
    """The file's full name, links followed: the process may go elsewhere later."""
    try:
        found = path.resolve()
        if found.is_symlink():
            raise OSError("a link to itself")
    except (OSError, RuntimeError, ValueError) as error:
        raise StorageError(f"{path} was refused: no file can be called that ({error})") from error
    return found


def look(path: Path, patience: float) -> State:
    """What a file is; nothing is changed."""
    try:
        if not path.exists():
            return State("missing", "there is no such file")
        if not path.is_file():
            return State("folder", "it is a folder or a device, not a study's file")
        if not os.access(path, os.R_OK):
            return State("unreadable", "it may not be read")
        if not path.stat().st_size:
            return State("empty", "it is empty; remove it, or name a file that is yet to be made")
        if (why := identity.stale(path)) is not None:
            return State("unreadable", why)
        if (hole := wal.hole(beside(path, "-wal"))) is not None:
            return State("damaged", hole)
    except OSError as error:
        return State("unreadable", f"it cannot be read ({error.strerror})")
    try:
        with closing(open_to_read(path, patience)) as connection:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = schema.version(connection)
            query = "SELECT count(*) FROM sqlite_master WHERE sql = ?"
            is_ours = bool(connection.execute(query, (STUDIES,)).fetchone()[0])
            is_known = is_ours and schema.OLD <= version <= VERSION
            complaint = schema.complaint(connection) if is_known else None
    except sqlite3.Error as error:
        if code(error) not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise
        return _no_database(path, str(error))
    if application != APPLICATION:
        if is_ours:
            return State("damaged", "its first bytes are damaged")
        return State("other", "it is a database, but no study of bestk")
    if version > VERSION:
        why = f"it was written by a newer bestk (format {version}, this one reads {VERSION})"
        return State("newer", why, version)
    if not is_known:
        complaint = "the table of its studies is gone"
    return State("healthy" if complaint is None else "damaged", complaint or "", version)


def _no_database(path: Path, why: str) -> State:
    """What a file is that SQLite cannot read."""
    with path.open("rb") as file:
        page = file.read(PAGE)
    is_ours = STUDIES.encode() in page or page[68:72] == struct.pack(">I", APPLICATION)
    if page.startswith(MAGIC) and len(page) < HEADER:
        return State("damaged", f"it is cut off after {len(page)} bytes")
    if not is_ours:
        return State("text", "it is no database that can be read, so no study's file")
    return State("damaged", why if page.startswith(MAGIC) else "its first bytes are damaged")


def check(path: Path, shown: Path, patience: float) -> None:
    """Refuse what is not a sound file of ours; `shown` is its name in the message."""
    state = look(path, patience)
    if state.name != "healthy":
        doctor = f"; {recoverable(shown)}"
        more, hint = doctor if state.name == "damaged" else "", ""
        if state.name == "text" and path.suffix == ".toml" and path.with_suffix(".db").is_file():
            hint = f"; did you mean {shown.with_suffix('.db')}?"
        raise StorageError(f"{shown} was refused: {state.why}{more}; nothing was changed{hint}")


def beside(path: Path, suffix: str) -> Path:
    """A file that SQLite keeps beside a database."""
    return path.with_name(path.name + suffix)


def is_writable(path: Path) -> bool:
    """Whether SQLite can append: it needs the file and, for those beside it, the folder."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


class Connection(sqlite3.Connection):
    """A connection; if it is to a copy, that goes with it."""

    copy: ExitStack | None = None

    def close(self) -> None:
        """Close it, and remove the copy."""
        super().close()
        if self.copy is not None:
            self.copy.close()


def connect(path: Path, how: str, patience: float) -> Connection:
    """A connection that any thread may use, one at a time, and that commits by itself."""
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
    )


def open_to_read(path: Path, patience: float) -> Connection:
    """A connection that changes nothing, to a copy if it has to be.

    To read a file in WAL mode SQLite makes files beside it, and removes them where it may write.
    What the write-ahead file holds after a crash must be read, and stays where it is.
    """
    sizes = [size for side in SIDES if (size := _size(beside(path, side))) is not None]
    immutable = "mode=ro&immutable=1"
    if not sizes and not is_writable(path):
        return connect(path, immutable, patience)
    is_kept = bool(any(sizes) or not is_writable(path))
    connection = connect(path, "mode=ro" if is_kept else "mode=rw", patience)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if code(error) not in NO_SIDES:
            raise
        return open_copy(path, patience) if any(sizes) else connect(path, immutable, patience)
    return connection


def open_copy(
    path: Path, patience: float, prepare: Callable[[Path], None] | None = None
) -> Connection:
    """A connection to a copy, with what lies beside it, in a folder of its own, prepared first."""
    with ExitStack() as stack:
        try:
            made = TemporaryDirectory(prefix="bestk-", ignore_cleanup_errors=True)
            copied = Path(stack.enter_context(made), path.name)
            shutil.copyfile(path, copied)
            for side in SIDES:
                with suppress(FileNotFoundError):
                    shutil.copyfile(beside(path, side), beside(copied, side))
        except OSError as error:
            raise StorageError(f"{path} cannot be copied to be read: {error.strerror}") from error
        if prepare is not None:
            prepare(copied)
        connection = connect(copied, "mode=rw", patience)
        connection.copy = stack.pop_all()
    return connection


def _size(path: Path) -> int | None:
    """In bytes; None where there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def code(error: sqlite3.Error) -> int | None:
    """SQLite's primary code; None where the error is Python's."""
    whole: int | None = getattr(error, "sqlite_errorcode", None)
    return None if whole is None else whole & 0xFF


def explain(error: sqlite3.Error, patience: float) -> tuple[str, bool]:
    """What went wrong, in words a person can act on, and whether the file is damaged."""
    found = code(error)
    why = REASONS.get(found or 0, "SQLite does not take it").format(patience)
    return why, found in DAMAGE or "decode" in str(error)


def is_free(path: Path, shown: Path) -> bool:
    """Whether a new file can be made there; False if a file is there already."""
    try:
        if path.exists():
            return False
        if not path.parent.is_dir():
            raise StorageError(f"{shown} was refused: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise StorageError(f"{shown} was refused: its folder is read-only")
        for side in SIDES:
            left = beside(path, side)
            if _size(left) and not path.exists():  # nor made by another process just now
                raise StorageError(
                    f"{shown} was refused: it is gone, but {left.name} is there, which holds what"
                    " was told to it last; put the file back, or move that one away"
                )
    except OSError as error:
        raise StorageError(f"{shown} was refused: {error.strerror}") from error
    return True


def make(path: Path, shown: Path) -> None:
    """A new file without studies; one that another process makes at the same moment is left."""
    if not is_free(path, shown):
        return
    draft = output.draft_of(path)
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA page_size = {PAGE}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(STUDIES)
            connection.execute(MARKS)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        place(draft, path)  # or another process's, which is as good
    except OSError as error:
        raise StorageError(f"{shown} was refused: cannot make it ({error.strerror})") from error
    finally:
        discard(draft)


def place(draft: Path, path: Path) -> bool:
    """Give a file its name whole; False if another process was quicker, whose file is left."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        try:
            with path.open("xb") as file:
                file.write(draft.read_bytes())
        except FileExistsError:
            return False
    return True


def discard(draft: Path) -> None:
    """Remove a file that is not to stay, and what SQLite keeps beside it."""
    for side in output.SIDES:
        beside(draft, side).unlink(missing_ok=True)


def close(
    connection: sqlite3.Connection,
    lock: threading.RLock,
    watch: identity.Watch | None,
    unmarked: Iterable[int],
) -> None:
    """Whoever lets go: the user, the end of the program, a fork. Notes how many events there are.

    `unmarked` are the numbers of the tables with events that no mark covers.
    """
    with lock:
        if watch is not None:
            if watch.is_in_the_way():
                watch.give_up(connection)
                return
            watch.close()
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA busy_timeout = 1000")
            for number in unmarked:
                connection.execute(schema.MARK_ALL.format(number))
        connection.close()
