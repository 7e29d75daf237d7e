"""From errors to answers: a status, the error's class, and its message."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from bestk.errors import BestkError, NothingToCertifyError, PullError, StorageError
from bestk.server.catalogue import NoSuchStudy
from bestk.server.complaints import complain
from bestk.server.guard import problem
from bestk.study.shared import TooManyOpen

STATUSES: list[tuple[type[BestkError], int]] = [
    (NoSuchStudy, 404),
    (PullError, 409),
    (NothingToCertifyError, 409),
    (TooManyOpen, 429),
    (BestkError, 400),
]


def answer(status: int, error: str, message: str, **headers: str) -> Response:
    """A refusal."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(problem(error, message), status, named, "application/json")


async def refused(_: Request, error: Any) -> Response:
    """What the server itself refuses."""
    return answer(error.status, error.error, str(error), **error.headers)


async def explained(_: Request, error: Any) -> Response:
    """What bestk refuses."""
    if isinstance(error, StorageError):
        return answer(503, "StorageError", complain(error), retry_after="1")
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    headers = {"retry_after": "1"} if status == 429 else {}
    kind = "TooManyRequests" if status == 429 else type(error).__name__  # as the guard says it
    return answer(status, kind, str(error), **headers)


async def misread(_: Request, error: Any) -> Response:
    """What is not as OpenAPI says."""
    first = error.errors()[0]
    where = ".".join(str(each) for each in first["loc"][1:]) or "the body"
    return answer(422, "InputError", f"{where} was refused: {first['msg']}")
