"""Endpoints for those who keep studies: begin one, say how people see it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Request, Response

from bestk.decisions.labels import freeze
from bestk.errors import InputError, StorageError
from bestk.rewards import make_rewards
from bestk.server.guard import Refusal
from bestk.server.hall import Hall, hall_of, works
from bestk.server.messages import NewStudy, Page
from bestk.server.working import reply
from bestk.storage.names import is_reserved
from bestk.study.shared import Worker
from bestk.study.specification import Specification

router = APIRouter(prefix="/api/studies", tags=["keep"])
OF_REWARDS = ("low", "high", "levels", "sigma", "q", "relative")
PLAIN = (
    "k", "delta", "epsilon", "policy", "variant", "params", "seed", "lost", "lease", "max_arms",
    "costs", "items",
)  # fmt: skip


def settings_of(given: NewStudy) -> dict[str, Any]:
    """What a `Study` is begun with."""
    values = given.model_dump(exclude_none=True)
    found = {key: values[key] for key in PLAIN if key in values}
    if given.arms is not None:
        found["arms"] = [freeze(arm) for arm in given.arms]
    if given.rewards is not None or any(key in values for key in OF_REWARDS):
        ends = {key: values.get(key) for key in OF_REWARDS if key != "sigma"}
        found["rewards"] = make_rewards(given.rewards or "bounded", given.sigma, **ends)
    if given.direction is not None:
        found["maximize"] = given.direction == "maximize"
    if given.items is not None:
        found["target"] = given.target
    return found


def _specification(given: dict[str, Any]) -> Specification:
    try:
        return Specification.from_json(json.dumps(given))
    except StorageError as error:  # it came from the client, not from the storage
        raise Refusal(400, "InputError", str(error)) from error


def check_size(hall: Hall, labels: Any, max_arms: int | None) -> None:
    """Refuse more arms, now or later, or longer labels, than the server allows."""
    if max(len(labels), max_arms or 0) > hall.limits.arms:
        raise Refusal(422, "InputError", f"a study has at most {hall.limits.arms:,} arms here")
    hall.check_label(*labels)


@router.post("", status_code=201, summary="Begin a study")
async def create(given: NewStudy, request: Request) -> Response:
    """201 if it is new, 200 if it was begun with the same, 409 if with something else."""
    hall = hall_of(request)
    hall.caller(request, "admin", given.name)
    catalogue, name = hall.catalogue, given.name
    if is_reserved(name):
        raise Refusal(422, "InputError", "names that begin with bestk: are the server's own")
    is_new = name not in catalogue.names()
    try:
        if given.specification is not None:
            specification = _specification(given.specification)
            check_size(hall, specification.labels, specification.max_arms)
            await asyncio.to_thread(catalogue.begin_with, name, specification)
        else:
            settings = settings_of(given)
            check_size(hall, settings.get("arms", ()), given.max_arms)
            if is_new and given.items is None:
                settings.setdefault("lease", hall.limits.lease)
            await asyncio.to_thread(catalogue.begin, name, settings)
    except InputError as error:
        if name not in catalogue.names():
            raise
        raise Refusal(409, type(error).__name__, str(error)) from error
    # not only where it is new: the server may have died between one and the other
    if given.items is not None and catalogue.items(name) is None:
        catalogue.keep_items(name, given.items)
    if given.page is not None and not catalogue.page(name):
        catalogue.say(name, given.page.model_dump())
    await catalogue.desk(name)
    return reply({"name": name}, 201 if is_new else 200)


@router.get("/{name}/page", summary="How people see a study")
async def page(name: str, request: Request) -> Response:
    """Title, question and levels; those of the rewards, if none were given."""
    hall = hall_of(request)
    token, desk = await hall.enter(request, *_may_look(request, name))
    found = Page(**hall.catalogue.page(name)).model_dump()
    found["levels"] = hall.catalogue.levels(name, desk.study.problem.rewards)
    return reply(
        {"name": name, **found, "may_rate": token.allows("rate", name),
         "may_export": token.allows("view", name)}
    )  # fmt: skip


def _may_look(request: Request, name: str) -> tuple[str, str]:
    token = request.scope["bestk.caller"]
    return ("view" if token is not None and token.role == "view" else "rate"), name


@router.post("/{name}/page", summary="Say how people see a study")
async def set_page(name: str, given: Page, request: Request) -> Response:
    """Replaces what was said before; the study itself stays as it was begun."""
    hall = hall_of(request)
    await hall.enter(request, "admin", name)
    hall.catalogue.say(name, given.model_dump())
    return reply({"name": name, **given.model_dump()})


@router.get("/{name}/progress", summary="How far raters are")
async def progress(name: str, request: Request, worker: str = "") -> Response:
    """Ratings in all, and those of one rater; no standings."""
    hall = hall_of(request)
    token, desk = await hall.enter(request, "rate", name)
    study = desk.study
    study.look()
    return reply(
        {
            "samples": study.samples,
            "mine": study.told[Worker(token.id, worker)],
            "stopped": study.is_stopped,
            "may_view": works(token) or bool(hall.catalogue.page(name).get("show_standings")),
        }
    )
