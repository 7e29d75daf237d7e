"""Output files: whole or not at all, and never over what they are made from.

A file is written beside the one it replaces and then put in its place, so that a full disk or a
crash leaves the older one as it was. What may be written where is decided here and only here; a
study's own file, which SQLite writes, is made by `storage`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from bestk.errors import InputError

DATABASE = b"SQLite format 3\0"  # how a study's file begins
SIDES = ("", "-wal", "-shm", "-journal")  # a study's file, and those that SQLite keeps beside it


def check_output(output: Path, study: Path | None = None) -> None:
    """Refuse, before the work and not after, what cannot be written; so is the file of `study`.

    No other database is written over either: what is in it was paid for.
    """
    try:
        if not output.name:
            raise InputError(f"the output file '{output}' was refused: it has no name")
        if not output.absolute().parent.is_dir():
            raise InputError(f"{output} was refused: there is no folder {output.parent}")
        if output.is_dir():
            raise InputError(f"{output} was refused: it is a folder")
        if study is not None and _is_of(output, study):
            raise InputError(f"{output} was refused: it is the study's own file")
        if output.is_file() and is_database(output):
            raise InputError(f"{output} was refused: it is a database, maybe of another study")
    except OSError as error:
        raise refusal(output, error) from error


def check_new(output: Path) -> None:
    """Refuse a file that is there: it would be overwritten."""
    if output.exists() or output.is_symlink():
        raise _existing(output)


def refusal(path: Path, error: OSError) -> InputError:
    """Why the system does not take a file, in words."""
    return InputError(f"cannot write {path}: {error.strerror or error}")


def _existing(output: Path) -> InputError:
    return InputError(f"{output} was refused: the file already exists")


def _is_of(output: Path, study: Path) -> bool:
    """Whether it is the file of a study or one beside it, however it is spelt or linked to."""
    target, own = _followed(output), _followed(study)
    parts = [Path(f"{own}{side}") for side in SIDES]
    is_same = (output.exists() and part.exists() and output.samefile(part) for part in parts)
    return target in parts or any(is_same)


def is_database(path: Path) -> bool:
    """Whether a file begins as that of a study does, whatever it is called."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError:
        return False


def draft_of(path: Path) -> Path:
    """Where to write a file before it gets its name, which may be as long as any."""
    return path.with_name(f".bestk-{token_hex(8)}.new")


def _followed(path: Path) -> Path:
    """Where links lead; a loop of them leads nowhere, and raises nothing."""
    return Path(os.path.realpath(path))


@contextmanager
def replacing(output: Path) -> Iterator[Path]:
    """Where to write instead: that file takes the place of `output` when the block has ended.

    If the block fails, `output` stays as it was. A pipe or a device is written to directly, and
    a link stays a link.
    """
    check_output(output)
    try:
        if output.exists() and not output.is_file():
            yield output
            return
        target = _followed(output)
        draft = draft_of(target)
        try:
            yield draft
            if target.exists():
                shutil.copymode(target, draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise refusal(output, error) from error


def write_text(output: Path, text: str) -> None:
    """A text in UTF-8; what UTF-8 cannot hold is escaped."""
    with replacing(output) as draft:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


def write_new(output: Path, text: str) -> None:
    """A text in a file that is not there yet; what goes wrong leaves no file behind."""
    check_output(output)
    check_new(output)
    try:
        with output.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                output.unlink()
                raise
    except FileExistsError:  # made at this moment
        raise _existing(output) from None
    except OSError as error:
        raise refusal(output, error) from error


def make_folder(folder: Path) -> None:
    """A folder for several files, with those above it; one that is there is taken."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error
