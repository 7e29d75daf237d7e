"""`bestk backup`: a copy of a study's file, safe while it is written to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bestk.cli.console import show
from bestk.cli.status import File


def backup(
    file: File,
    to: Annotated[Path, typer.Argument(help="The copy, a new file.", show_default=False)],
) -> None:
    """Copy a study's file, also while others write to it, and check the copy.

    A file that already exists is not overwritten. Copying by other means while the file is open may
    miss what was told last, and may lose what is told later.
    """
    from rich.text import Text

    from bestk.report.text import printable
    from bestk.storage.backup import backup as copy

    events = copy(file, to)
    show(Text(f"{printable(str(to))} holds {events:,} events, all of them whole."))
