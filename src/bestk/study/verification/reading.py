"""Reading a certificate: what is not one is refused before anything is checked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bestk.errors import InputError

FORMAT = 1  # of certificates; a newer one is refused

NUMBER = (int, float)
FIELDS: dict[str, Any] = {
    "format": int,
    "bestk": str,
    "made": str,
    "study": str,
    "problem": dict,
    "seed": int,
    "max_arms": (int, type(None)),
    "answer": list,
    "error_bound": NUMBER,
    "theorem": str,
    "samples": int,
    "levels": (dict, type(None)),
    "round": (int, type(None)),
    "stop": dict,
    "arms": list,
    "warning": str,
    "log": dict,
}
STOP_FIELDS: dict[str, Any] = {
    "rule": str,
    "statistic": NUMBER,
    "epsilon": NUMBER,
    "weakest": (dict, type(None)),
    "rival": (dict, type(None)),
}
LOG_FIELDS: dict[str, Any] = {"events": int, "decided": int, "sha256": str}
PULLS = ("failed", "forgotten", "expired", "dropped", "open")  # that brought no observation
ARM_FIELDS: dict[str, Any] = {
    "label": object,
    "present": bool,
    "pulls": int,
    "sum": NUMBER,
    "mean": (*NUMBER, type(None)),
    "seen_mean": (*NUMBER, type(None)),
    "levels": (list, type(None)),
    "low": (*NUMBER, type(None)),
    "high": (*NUMBER, type(None)),
    **dict.fromkeys(PULLS, int),
}


def read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A certificate from a file, its shape checked."""
    if not Path(path).is_file():
        raise InputError(f"{path} was refused: there is no such file")
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} was refused: it is no certificate ({error})") from error
    check_shape(data)
    return dict(data)


def check_shape(data: Any) -> None:
    """Refuse what is not laid out as a certificate is."""
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise InputError('no certificate: a JSON object with a "format" was expected')
    if data["format"] > FORMAT:
        raise InputError(
            f"the certificate was refused: it was written by a newer bestk (format"
            f" {data['format']}, this one reads {FORMAT})"
        )
    _check(data, FIELDS, "the certificate")
    _check(data["stop"], STOP_FIELDS, "its stop")
    _check(data["log"], LOG_FIELDS, "its log")
    for arm in data["arms"]:
        _check(arm, ARM_FIELDS, "an arm of it")
    for side in ("weakest", "rival"):
        if data["stop"][side] is not None:
            _check(data["stop"][side], {"label": object, "bound": NUMBER}, f"its {side} arm")


def _check(data: Any, fields: dict[str, Any], what: str) -> None:
    if not isinstance(data, dict) or data.keys() != fields.keys():
        raise InputError(f"no certificate: {what} has not the fields {', '.join(fields)}")
    for name, kind in fields.items():
        if not isinstance(data[name], kind):
            raise InputError(f"no certificate: {name} of {what} is {data[name]!r}")
