"""A copy of a damaged file, made as readable as it can be made."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from bestk.storage import files, wal


def put_in_order(path: Path) -> None:
    """Make a copy as readable as it can be made: write-ahead file, first bytes, length."""
    pages = _moved(path)
    files.beside(path, "-wal").unlink(missing_ok=True)
    fresh = path.with_name("fresh.db")
    files.make(fresh, fresh)
    with path.open("r+b") as file:
        header = bytearray(file.read(files.HEADER))
        if not header.startswith(files.MAGIC) or len(header) < files.HEADER:
            header = bytearray(fresh.read_bytes()[: files.HEADER])
        size = file.seek(0, os.SEEK_END) // wal.PAGE
        header[28:32] = struct.pack(">I", pages or size)
        header[92:96] = header[24:28]  # the length just written counts
        file.seek(0)
        file.write(header)


def _moved(path: Path) -> int | None:
    """Move every sound page of the write-ahead file; the size of the database in pages."""
    found = wal.read(files.beside(path, "-wal"))
    if found is None or not found.committed:
        return None
    with path.open("r+b") as file:
        for frame in found.frames[: found.committed]:
            if not frame.is_damaged:
                file.seek((frame.page - 1) * wal.PAGE)
                file.write(frame.content)
        pages = found.frames[found.committed - 1].size
        file.truncate(pages * wal.PAGE)
    return pages
