"""The two requests that come by the thousand, ask and tell, past the routing of FastAPI.

Their endpoints are those that FastAPI knows (`working`), with the same answers; only the walk to
them is shorter. It takes most of the time of a request otherwise (`benchmarks/serving.py`).
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from bestk.errors import BestkError
from bestk.server.guard import Refusal
from bestk.server.refusing import explained, refused
from bestk.server.working import ask, router, tell

START = "/api/studies/"
ENDPOINTS: dict[str, Any] = {"ask": ask, "tell": tell}
ROUTES = {
    name: route
    for route in router.routes
    for name, endpoint in ENDPOINTS.items()
    if getattr(route, "endpoint", None) is endpoint
}


class Lane:
    """Leads ask and tell straight to their endpoints, and everything else to FastAPI."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request that the guard let through."""
        path = scope["path"]
        if path.startswith(START) and scope["method"] == "POST":
            name, _, what = path[len(START) :].rpartition("/")
            if what in ENDPOINTS and name and "/" not in name:
                scope["app"], scope["route"] = self.app, ROUTES[what]
                response = await _answered(ENDPOINTS[what], name, Request(scope, receive))
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _answered(endpoint: Any, name: str, request: Request) -> Response:
    try:
        found: Response = await endpoint(name, request)
    except Refusal as error:
        return await refused(request, error)
    except BestkError as error:
        return await explained(request, error)
    return found
