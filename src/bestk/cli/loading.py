"""`--load`: a file or a module of the user's, whose import registers policies and instances."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from bestk.errors import InputError


def load_module(name: str) -> None:
    """Import a file by its path, or a module by its name; processes we start can import it too."""
    path = Path(name)
    if path.suffix == ".py":
        if not path.is_file():
            raise InputError(f"--load {name} was refused: there is no such file")
        sys.path.insert(0, str(path.resolve().parent))
        name = path.stem
    elif "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = import_module(name)
    except Exception as error:  # whatever the user's code raises
        raise InputError(
            f"--load {name} was refused: importing it fails with {type(error).__name__}: {error}"
        ) from error
    if path.suffix == ".py" and not path.samefile(found.__file__ or ""):
        raise InputError(
            f"--load {path} was refused: {found.__file__} is a module of that name; rename the file"
        )
