"""Endpoints that only read: standings, events, reports, certificates, observations."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from starlette.responses import PlainTextResponse, StreamingResponse

from bestk import __version__
from bestk.decisions import TopK
from bestk.decisions.labels import thaw
from bestk.errors import BestkError, StorageError
from bestk.server import documents
from bestk.server.guard import Refusal
from bestk.server.hall import STANDINGS, Hall, hall_of, works
from bestk.server.messages import is_reachable
from bestk.server.snapshots import workers
from bestk.server.streams import Watched
from bestk.server.tokens import Token
from bestk.server.working import as_json, reply, state_of, written
from bestk.study.reading import UNREADABLE
from bestk.study.shared import SharedStudy

router, open_router = APIRouter(tags=["read"]), APIRouter(tags=["read"])
LISTED = 1000  # workers in an answer, those with most open pulls first: names are free
MEDIA = {"csv": "text/csv", "json": "application/json", "jsonl": "application/x-ndjson"}
OF_REPORT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; sandbox"
)


def said(*media: str) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of an answer that is no JSON."""
    return {200: {"content": {each: {"schema": {"type": "string"}} for each in media}}}


@open_router.get("/health", summary="Whether the server answers")
async def health() -> dict[str, str]:
    """Needs no token."""
    return {"status": "ok", "version": __version__}


@router.get("/metrics", responses=said("text/plain"), summary="Counts for Prometheus")
async def metrics(request: Request) -> Response:
    """Needs a token for looking that is not for one study alone."""
    hall = hall_of(request)
    hall.caller(request, "view")
    desks = hall.catalogue.desks
    figures = [(name, desk.study.samples, desk.study.n_open) for name, desk in desks.items()]
    done = sum(desk.transactions for desk in desks.values())
    return PlainTextResponse(hall.metrics.text(figures, done))


@router.get("/api/studies", summary="All studies")
async def studies(request: Request) -> Response:
    """Those that the token is for; of one that cannot be used here name, title and `problem`."""
    hall = hall_of(request)
    caller = hall.caller(request, *_any_of(request))
    names = [name for name in hall.catalogue.names() if caller.study in (None, name)]
    found = [await _listed(hall, name, caller) for name in names]
    return reply({"studies": found, "create": caller.allows("admin", None)})


async def _listed(hall: Hall, name: str, caller: Token) -> dict[str, Any]:
    """A study of the list."""
    page = hall.catalogue.page(name)
    known = {"name": name, "title": page.get("title", "")}
    if not is_reachable(name):
        return {**known, "problem": "no address leads to it: its name has a slash, or is . or .."}
    try:
        study = (await hall.catalogue.desk(name)).study
        study.look()
    except (BestkError, *UNREADABLE) as error:  # the others can be
        if isinstance(error, StorageError):
            hall.catalogue.names()  # raises if it is the storage that cannot be reached now
        return {**known, "problem": "it cannot be read; `bestk doctor` says what is wrong with it"}
    decision = study.problem.decision
    exports = caller.allows("view", name)
    sees = exports or page.get("show_standings", False)
    return {
        **known,
        "arms": len(study.arms),
        "k": decision.k if isinstance(decision, TopK) else None,
        "samples": study.samples,
        "open": study.n_open,
        "stopped": study.is_stopped,
        "certified": study.is_certified if sees else None,
        "rate": caller.allows("rate", name)
        and bool(hall.catalogue.levels(name, study.problem.rewards)),
        "view": bool(sees),
        "export": exports,
    }


def _any_of(request: Request) -> tuple[str, str | None]:
    """What a token may be for to see the list: anything, of its own study."""
    token = request.scope["bestk.caller"]
    if token is None:
        return "view", None
    return ("rate" if token.role == "rate" else "view"), token.study


@router.get("/api/studies/{name}", summary="Where a study stands")
async def study(name: str, request: Request) -> Response:
    """What `bestk status --json` says, with open pulls, workers and failures.

    A token that is not for work may be told what was so a moment ago.
    """
    hall = hall_of(request)
    token, desk = await hall.enter(request, STANDINGS, name)
    watch = hall.streams.of(desk)
    full = await watch.full()
    text = watch.text("status", lambda: as_json(_status(desk.study, full["rate"])), works(token))
    return Response(text, media_type="application/json")


def _status(study: SharedStudy, rate: Any) -> dict[str, Any]:
    result = study.result
    return {
        **result.to_dict(),
        "maximize": study.problem.maximize,
        "open": study.n_open,
        "rate_per_second": rate,
        "workers": workers(study)[:LISTED],
        "failures": sum(arm.failed for arm in result.arms),
        "items": study.item_count,
    }


@router.get("/api/studies/{name}/snapshot", summary="What the live page shows")
async def snapshot(name: str, request: Request) -> Response:
    """As the first event of the stream."""
    hall = hall_of(request)
    _, desk = await hall.enter(request, STANDINGS, name)
    return reply(await hall.streams.of(desk).full())


@router.get("/api/studies/{name}/specification", summary="What a study was begun with")
async def specification(name: str, request: Request) -> Response:
    """As the study's log holds it."""
    _, desk = await hall_of(request).enter(request, "view", name)
    return reply(json.loads(desk.study.specification.to_json()))


@router.get("/api/studies/{name}/open", summary="Open pulls")
async def open_pulls(name: str, request: Request) -> Response:
    """All of them, and the ids of those that later answers wait for."""
    hall = hall_of(request)
    _, desk = await hall.enter(request, "work", name)
    found = desk.study
    found.look()
    items = hall.catalogue.items(name)
    return reply(
        {
            "open": [written(pull, items) for pull in found.open],
            "waiting_for": [pull.id for pull in found.waiting_for],
            "arms": [thaw(arm) for arm in found.arms],
            "totals": found.totals,
            **state_of(found),
        }
    )


@router.get("/api/studies/{name}/cells", summary="Scores of an evaluation")
async def cells(name: str, request: Request) -> Response:
    """Arm, position of the item, score and what came beside it, in the order of counting.

    A token that is not for work may be told what was so a moment ago.
    """
    hall = hall_of(request)
    token, desk = await hall.enter(request, "view", name)
    if desk.study.item_count is None:
        raise Refusal(409, "InputError", f"{name!r} is not an evaluation: it has no items")
    watch = hall.streams.of(desk)
    text = watch.text("cells", lambda: as_json({"cells": _cells(desk.study)}), works(token))
    return Response(text, media_type="application/json")


def _cells(study: SharedStudy) -> list[list[Any]]:
    beside = {(arm, position): extra for arm, position, extra in study.beside()}
    return [
        [arm, position, score, beside.get((arm, position))] for arm, position, score in study.scored
    ]


@router.get(
    "/api/studies/{name}/events",
    summary="Standings as they change",
    responses=said("text/event-stream"),
)
async def events(name: str, request: Request) -> Response:
    """Server-sent events: `standings`, at most two a second, and `end`."""
    hall = hall_of(request)
    caller, desk = await hall.enter(request, STANDINGS, name)
    limits = hall.limits
    if (
        hall.streams.watching[caller.id] >= limits.viewers
        or hall.metrics.viewers >= limits.connections // 2
    ):
        raise Refusal(503, "TooManyViewers", "too many watch already", retry_after="10")

    def is_valid() -> bool:
        with suppress(StorageError):  # while it is away, by what was known
            hall.tokens.read()
        return hall.tokens.is_valid(caller)

    return Watched(hall.streams.events(desk, is_valid), hall.streams.counted(caller.id))


@router.get(
    "/api/studies/{name}/report",
    summary="The report, one HTML page",
    responses=said("text/html"),
)
async def report(name: str, request: Request) -> Response:
    """What `bestk report` writes."""
    hall = hall_of(request)
    token, _ = await hall.enter(request, STANDINGS, name)
    text = await hall.writers.make(documents.report, hall.address, name, who=token.id)
    return Response(text, media_type="text/html", headers={"content-security-policy": OF_REPORT})


@router.get("/api/studies/{name}/certificate", summary="The certificate of a stopped study")
async def certificate(name: str, request: Request) -> Response:
    """What `bestk certify` writes, confirmed by the verifier; 409 where there is none."""
    hall = hall_of(request)
    token, _ = await hall.enter(request, STANDINGS, name)
    made = hall.writers.make(documents.certificate, hall.address, name, who=token.id)
    return reply(await made)


@router.get(
    "/api/studies/{name}/export",
    summary="Every observation that counts",
    responses=said("text/csv", "application/x-ndjson"),
)
async def export(
    name: str, request: Request, format: Literal["csv", "json", "jsonl"] = "csv"
) -> Response:
    """What `bestk export` writes; of jsonl every line is one of json's rows."""
    hall = hall_of(request)
    token, _ = await hall.enter(request, "view", name)
    file = await hall.writers.make(documents.export, hall.address, name, format, who=token.id)
    headers = {"content-disposition": f'attachment; filename="observations.{format}"'}
    pieces = documents.pieces(file)
    return StreamingResponse(pieces, media_type=MEDIA[format], headers=headers)
