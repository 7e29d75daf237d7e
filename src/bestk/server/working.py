"""Endpoints for workers and raters: ask, tell, and what else becomes of pulls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from bestk.decisions.labels import freeze, thaw
from bestk.server.desk import ASKED, Desk
from bestk.server.guard import Refusal
from bestk.server.hall import hall_of, works
from bestk.server.messages import Ask, Message, Observation, OfArm, OfPull, Pulls, Tell
from bestk.server.tokens import Token
from bestk.study import Pull
from bestk.study.shared import Answer, SharedStudy, Worker
from bestk.study.shared import Request as Wish

router = APIRouter(prefix="/api/studies/{name}", tags=["work"])
M = TypeVar("M", bound=Message)
WAIT = 0.5  # seconds until it is worth asking again, where earlier pulls are waited for


def body_of(message: type[Message]) -> dict[str, Any]:
    """What OpenAPI says of a body that the endpoint reads by itself, which is quicker."""
    schema = message.model_json_schema()
    whole = _inlined(schema, schema.pop("$defs", {}))  # FastAPI's components have none of these
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": whole}}}}


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    """A schema with its parts where they are referred to."""
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _inlined(value, parts) for key, value in schema.items()}


async def read(request: Request, message: type[M]) -> M:
    """The body of a request, checked."""
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "InputError", "send JSON, and Content-Type: application/json")
    try:
        return message.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise Refusal(422, "InputError", f"{where} was refused: {first['msg']}") from None


def as_json(data: Any) -> str:
    """JSON without detours."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def reply(data: Any, status: int = 200) -> Response:
    """The same as an answer."""
    return Response(as_json(data), status, media_type="application/json")


def written(pull: Pull, items: list[Any] | None) -> dict[str, Any]:
    """A pull as JSON."""
    item, position = pull.item, pull.position
    if item is None and items is not None and position is not None and position < len(items):
        item = items[position]
    return {
        "id": pull.id,
        "arm": thaw(pull.arm),
        "order": pull.index,
        "item": item,
        "position": position,
    }


def state_of(study: SharedStudy) -> dict[str, Any]:
    """What a client wants to know after everything."""
    return {"samples": study.samples, "stopped": study.is_stopped}


@router.post("/ask", openapi_extra=body_of(Ask), summary="Pulls to make next")
async def ask(name: str, request: Request) -> Response:
    """Up to n pulls; the same request again gives the same ones, as long as they are open.

    None where the study has stopped, or while earlier pulls have to come back first: then `wait`
    says after how many seconds to ask again.
    """
    hall = hall_of(request)
    token, desk = await hall.enter(request, "rate", name)
    given = await read(request, Ask)
    rates = not works(token)
    if rates and given.n > 1:
        raise Refusal(403, "Forbidden", "a token for rating asks for one pull at a time")
    most = hall.limits.rating if rates else None
    wish = Wish(Worker(token.id, given.worker), given.request, given.n, most)
    pulls = await desk.do(lambda study: study.hand_out(wish), ASKED)
    hall.metrics.asked += len(pulls)
    study, items = desk.study, hall.catalogue.items(name) if desk.has_items else None
    return reply(
        {
            "pulls": [written(pull, items) for pull in pulls],
            "wait": None if pulls or study.is_stopped else WAIT,
            **state_of(study),
        }
    )


@router.post("/tell", openapi_extra=body_of(Tell), summary="Rewards of pulls")
async def tell(name: str, request: Request) -> Response:
    """Answers to pulls, all or none; the same again changes nothing, and `told` is 0 then."""
    hall = hall_of(request)
    token, desk = await hall.enter(request, "rate", name)
    given = await read(request, Tell)
    if not works(token):
        require_own(desk, token, *(each.pull for each in given.answers))
    answers = [Answer(each.pull, each.reward, each.extra) for each in given.answers]
    told = await desk.do(lambda study: study.take_answers(answers, token.id))
    hall.metrics.told += told
    return reply({"told": told, **state_of(desk.study)})


def require_own(desk: Desk, token: Token, *pulls: str) -> None:
    """Refuse pulls that were handed to others."""
    for pull in pulls:
        if not desk.study.owns(token.id, pull):
            raise Refusal(403, "Forbidden", "a token for rating is for its own pulls")


async def act(
    request: Request, name: str, ability: str, do: Callable[[SharedStudy], Any]
) -> Response:
    """Let something be done with a study, and say how it stands."""
    _, desk = await hall_of(request).enter(request, ability, name)
    await desk.do(do)
    return reply(state_of(desk.study))


@router.post("/fail", summary="A pull came to nothing")
async def fail(name: str, given: OfPull, request: Request) -> Response:
    """A late answer to it will be refused; again it changes nothing."""
    return await act(request, name, "work", lambda study: study.give_up(given.pull, given.why))


@router.post("/retry", summary="An attempt came to nothing, the pull is made again")
async def retry(name: str, given: OfPull, request: Request) -> Response:
    """Counts one failure of the arm for each `request`."""
    hall = hall_of(request)
    token, desk = await hall.enter(request, "work", name)
    await desk.do(lambda study: study.try_again(given.pull, given.why, given.request, token.id))
    return reply(state_of(desk.study))


@router.post("/forget", summary="A pull is given up")
async def forget(name: str, given: OfPull, request: Request) -> Response:
    """A late answer to it will be refused; again it changes nothing."""
    return await act(request, name, "work", lambda study: study.give_up(given.pull))


@router.post("/fail-low", summary="A pull counts as the worst reward")
async def fail_low(name: str, given: OfPull, request: Request) -> Response:
    """Where rewards have a range."""
    return await act(request, name, "work", lambda study: study.fail_low(given.pull, given.why))


@router.post("/release", summary="Nobody makes these pulls any more")
async def release(name: str, given: Pulls, request: Request) -> Response:
    """They are handed out again, with the same ids.

    With `skip` only the caller's own, and to others first; a token for rating can do no other. With
    `worker` only those that the caller's worker of that name has: again it changes nothing, even if
    they are with somebody else by then.
    """
    hall = hall_of(request)
    token, desk = await hall.enter(request, "rate", name)
    by = None if given.worker is None else Worker(token.id, given.worker)
    if given.skip or not works(token):
        await desk.do(lambda study: study.skip(given.pulls, token.id, given.worker))
    else:
        await desk.do(lambda study: study.release_all(given.pulls, by))
    return reply(state_of(desk.study))


@router.post("/check", summary="Whether the answer is certain by now")
async def check(name: str, request: Request) -> Response:
    """Asks for nothing."""
    return await act(request, name, "work", lambda study: study.check())


@router.post("/add", summary="An observation made elsewhere")
async def add(name: str, given: Observation, request: Request) -> Response:
    """Once for each id."""
    arm = freeze(given.arm)
    return await act(request, name, "work", lambda study: study.add(arm, given.reward, given.id))


@router.post("/arms", summary="An arm joins")
async def add_arm(name: str, given: OfArm, request: Request) -> Response:
    """In a study with max_arms; one that is in it already stays."""
    hall_of(request).check_label(given.arm)
    arm = freeze(given.arm)
    return await act(request, name, "admin", lambda study: study.admit(arm))


@router.post("/arms/withdraw", summary="An arm leaves")
async def withdraw_arm(name: str, given: OfArm, request: Request) -> Response:
    """Its open pulls are given up; one that has left before stays away."""
    arm = freeze(given.arm)
    return await act(request, name, "admin", lambda study: study.dismiss(arm))
