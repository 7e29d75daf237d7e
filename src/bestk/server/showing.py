"""Pages, what they are made of, and logging in."""

from __future__ import annotations

from importlib.resources import files
from mimetypes import guess_type
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from bestk.server.guard import CALLER, COOKIE, POLICY, Refusal
from bestk.server.hall import hall_of
from bestk.server.messages import Login
from bestk.server.tokens import Token

router = APIRouter(include_in_schema=False)
FRESH = {"cache-control": "no-cache"}


def read_pages() -> dict[str, bytes]:
    """All that there is to serve, by name: no path of a client's ever reaches the file system."""
    folder = files("bestk.server").joinpath("pages")
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def served(request: Request, name: str, images: str = "") -> Response:
    """One of these files."""
    content = request.app.state.pages.get(name)
    if content is None:
        raise Refusal(404, "NotFound", "there is no such page")
    kind = guess_type(name)[0] or "application/octet-stream"
    policy = POLICY.format(images=images)
    return Response(content, media_type=kind, headers={**FRESH, "content-security-policy": policy})


@router.get("/")
async def home() -> Response:
    """To the list of studies."""
    return RedirectResponse("/studies", 302)


@router.get("/studies")
async def studies(request: Request) -> Response:
    """The list of studies."""
    return served(request, "studies.html")


@router.get("/login")
async def login_page(request: Request) -> Response:
    """Where a token is entered."""
    return served(request, "login.html")


@router.get("/studies/{name}")
async def study(request: Request) -> Response:
    """A study, live."""
    return served(request, "study.html")


@router.get("/studies/{name}/rate")
async def rate(name: str, request: Request) -> Response:
    """One item at a time, for people; images come from the hosts that the study allows."""
    hosts = ""
    caller: Token | None = request.scope[CALLER]
    if caller is not None and caller.allows("rate", name):  # others are not told of the hosts
        settings: dict[str, Any] = hall_of(request).catalogue.page(name)
        hosts = "".join(f" {host}" for host in settings.get("image_hosts", ()))
    return served(request, "rate.html", hosts)


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """Style, code and pictures of the pages."""
    return served(request, name)


@router.post("/login")
async def login(given: Login, request: Request) -> Response:
    """Let the browser keep a token, where no script can read it."""
    token = hall_of(request).tokens.find(given.token)
    if token is None:
        raise Refusal(401, "Unauthorized", "that is no valid token", www_authenticate="Bearer")
    response = Response(status_code=204)
    age = None
    response.set_cookie(
        COOKIE, given.token, httponly=True, samesite="strict", path="/", max_age=age,
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


@router.post("/logout")
async def logout() -> Response:
    """Let the browser forget it."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/")
    return response
