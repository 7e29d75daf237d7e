"""Text for a terminal, whatever the names in it hold."""

from __future__ import annotations

from datetime import UTC, datetime

from bestk.errors import StorageError


def printable(value: object) -> str:
    """A label or a message on one line, with nothing in it that would steer a terminal.

    Control characters, line ends, bidirectional marks and halves of surrogate pairs (bytes of file
    names that are no UTF-8) are written as Python escapes them.
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(value))


def moment(at: float) -> datetime:
    """The time of an event, in UTC; refuses a number that is no time, which nobody has written."""
    try:
        return datetime.fromtimestamp(at, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise StorageError(
            f"the time {at!r} of an event was refused: there is no such time, so the file is"
            " damaged; `bestk doctor` says what can be recovered"
        ) from None


def iso(at: float | None) -> str | None:
    """A time as ISO 8601 has it, in UTC."""
    return None if at is None else moment(at).isoformat(timespec="microseconds")
