"""SQLite's write-ahead file: is all that was committed to it still readable?

After a crash SQLite takes from it what comes before the first frame with a wrong checksum, and
drops the rest without a word. That is right for a transaction that was cut short, and wrong for a
frame that was damaged later: the commits behind it were acknowledged. The format is that of
sqlite.org/fileformat2.html, section 4.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEADER, FRAME = 32, 24  # bytes: of the file, and of a frame before its page
LITTLE = 0x377F0682  # checksums over little-endian words; the next number: big-endian
FORMAT = 3007000
PAGE = 4096  # bytes
MASK = 0xFFFFFFFF
Sums = tuple[int, int]
Power = tuple[int, int, int]


class Frame(NamedTuple):
    """One page of a transaction."""

    page: int  # its number in the database
    size: int  # of the database in pages, if the frame ends a transaction, otherwise 0
    is_damaged: bool
    content: memoryview


class Frames(NamedTuple):
    """What is in a write-ahead file since it was last begun anew."""

    frames: list[Frame]
    valid: int  # SQLite reads so many

    @property
    def committed(self) -> int:
        """How many frames end with the last commit in the file."""
        ends = (i for i, frame in enumerate(self.frames, 1) if frame.size and not frame.is_damaged)
        return max(ends, default=0)


def hole(path: Path) -> str | None:
    """What is wrong, if commits are there that SQLite would drop; None if nothing is."""
    found = read(path)
    for _ in range(3):
        if found is None or found.committed <= found.valid + 1:
            return None
        before, found = found, read(path)  # another process may have written while we read
        if found is not None and found.valid == before.valid:
            return (
                f"{path.name}, which holds what was told to it last, is damaged:"
                f" {before.committed - before.valid} pages in it, from number {before.valid + 1}"
                " on, cannot be relied on"
            )
    return None  # it is being written to


def rest(path: Path) -> str | None:
    """What lies behind the last commit that SQLite reads, "" if nothing; None without a file."""
    size = 0
    with suppress(OSError):
        size = path.stat().st_size
    if not size:
        return None
    found = read(path)
    behind = len(found.frames) - found.valid if found else 0
    if not behind and (size - HEADER) % (FRAME + PAGE) == 0:
        return ""
    return (
        f"behind the last commit that can be read in {path.name} lies what cannot be: a"
        " transaction was cut short, and never acknowledged, or the end of it is damaged"
    )


def read(path: Path) -> Frames | None:
    """All frames of the present generation; None where there are none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(data) <= HEADER + FRAME:
        return None
    import numpy as np

    magic, version, page, _, *salts = struct.unpack(">6I", data[:24])
    sums: Sums | None = struct.unpack(">2I", data[24:32])
    order = ">" if magic & 1 else "<"
    is_sound = magic & ~1 == LITTLE and version == FORMAT
    if not is_sound or tuple(np.frombuffer(data, f"{order}u4", 6) @ _linear(3)[0]) != sums:
        sums = None  # SQLite ignores all of it
        page, order, salts = PAGE, "<", list(struct.unpack(">2I", data[HEADER + 8 : HEADER + 16]))
    step = FRAME + page
    count = (len(data) - HEADER) // step
    table = np.frombuffer(data, np.uint8, count * step, HEADER).reshape(count, step)
    heads = table[:, :FRAME].copy().view(">u4")
    present = (heads[:, 2:4] == salts).all(axis=1)  # others are left from before
    count = int(np.flatnonzero(present)[-1]) + 1 if present.any() else 0
    words = np.hstack([table[:count, :8], table[:count, FRAME:]]).view(f"{order}u4")
    weights, power = _linear(words.shape[1] // 2)
    added = (words @ weights).tolist()
    view = memoryview(data)
    found: list[Frame] = []
    valid = 0
    for i, (number, size, _, _, *stored) in enumerate(heads[:count].tolist()):
        follows = sums is not None and _after(power, sums, added[i]) == tuple(stored)
        if follows and present[i] and valid == i:
            valid += 1
        is_damaged = not present[i] or (sums is not None and not follows)
        start = HEADER + i * step + FRAME
        found.append(Frame(number, size, is_damaged, view[start : start + page]))
        sums = (stored[0], stored[1]) if present[i] else None
    return Frames(found, valid)


# The checksum of sqlite.org/fileformat2.html, section 4.2: for each pair of words x, y
# s0 += x + s1 and s1 += y + s0. That is linear, so a frame's sums are P (s0, s1) + its words times
# fixed weights, all modulo 2^32, and the frames are summed at once.


def _linear(pairs: int) -> tuple[NDArray[np.uint32], Power]:
    """What every word adds to s0 and s1, a row each; and P, consecutive Fibonacci numbers."""
    import numpy as np

    rows = []
    a, b, c = 1, 0, 1  # P of the pairs that follow: [[a, b], [b, c]]
    for _ in range(pairs):
        rows += [(b, c), (a + b, b + c)]  # y goes into s1 alone, x into both
        a, b, c = (a + b) & MASK, (b + c) & MASK, (b + 2 * c) & MASK
    return np.array(rows[::-1], np.uint64).astype(np.uint32), (a, b, c)  # modulo 2^32


def _after(power: Power, sums: Sums, added: list[int]) -> Sums:
    a, b, c = power
    s0 = (a * sums[0] + b * sums[1] + added[0]) & MASK
    return s0, (b * sums[0] + c * sums[1] + added[1]) & MASK
