"""The endpoints put together, behind the guard."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import Match

from bestk import __version__
from bestk.errors import BestkError
from bestk.server import keeping, reading, showing, working
from bestk.server.guard import Guard, Refusal
from bestk.server.hall import Hall
from bestk.server.lane import Lane
from bestk.server.messages import Problem
from bestk.server.refusing import answer, explained, misread, refused

WITH_TOKEN = (working.router, reading.router, keeping.router)
ROUTERS = (*WITH_TOKEN, reading.open_router, showing.router)
MEANINGS = {
    400: "refused: what was sent cannot be used",
    401: "a token is missing or not valid",
    403: "the token is not for that",
    404: "there is no such study",
    409: "refused: it contradicts what was done before",
    413: "too long",
    415: "not JSON",
    422: "refused: what was sent is not what is expected",
    429: "too often, or too many pulls are open",
    503: "the storage cannot be used now",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text} for status, text in MEANINGS.items()
}

# said in OpenAPI; who is let in is for the guard to say
TOKEN = HTTPBearer(auto_error=False, description="As `bestk token create` shows it, once.")


def make_app(hall: Hall) -> FastAPI:
    """The application of a server."""
    app = FastAPI(
        title="bestk",
        version=__version__,
        description="Find the K best of N noisy options, together.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages would load code from elsewhere
        redoc_url=None,
        responses=RESPONSES,
    )
    app.state.hall, app.state.pages = hall, showing.read_pages()
    for router in ROUTERS:
        app.include_router(router, dependencies=[Security(TOKEN)] if router in WITH_TOKEN else None)
    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(BestkError, explained)
    app.add_exception_handler(RequestValidationError, misread)
    app.add_exception_handler(HTTPException, _turned_away)
    return app


def guarded(hall: Hall) -> Guard:
    """The same behind its guard, which is what is served."""
    return Guard(Lane(make_app(hall)), hall.tokens, hall.limits, hall.metrics, hall.local)


async def _turned_away(request: Request, error: Any) -> Response:
    if isinstance(error.__cause__, Refusal):  # of a body while it was read, as FastAPI has it
        return await refused(request, error.__cause__)
    headers = dict(error.headers or {})
    if error.status_code == 405:  # the first route of a path knows its own methods alone
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    kind = "NotFound" if error.status_code in (404, 405) else "InputError"
    return answer(error.status_code, kind, str(error.detail), **headers)


def _methods(request: Request) -> set[str]:
    """What can be done at a path."""
    found = set[str]()
    for router in ROUTERS:
        for route in router.routes:
            if route.matches(request.scope)[0] is not Match.NONE:
                found |= getattr(route, "methods", None) or set()
    return found
