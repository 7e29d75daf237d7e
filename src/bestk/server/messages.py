"""What requests hold, and what OpenAPI says of them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

NAME = r"^[^/\x00-\x1f\x7f]+$"  # of a study: part of addresses
KEPT = r"^[^\x00]*$"  # texts that become part of a log: Postgres has no zero characters
Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=KEPT)]
WorkerName = Annotated[str, Field(max_length=100, pattern=KEPT)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Plain = str | int | Number
Label = Plain | list[Plain | list[Plain | list[Plain]]]  # lists stand for tuples


def _json(value: Any) -> Any:
    """Numbers that JSON writes and cannot hold, 1e999, cannot be kept either."""
    json.dumps(value, allow_nan=False)
    return value


def is_reachable(name: str) -> bool:
    """Whether an address leads to a study of that name: browsers ask for no folder called `.`."""
    return name not in ("", ".", "..") and "/" not in name


def _reachable(name: str) -> str:
    if not is_reachable(name):
        raise ValueError("no address leads to a study called . or ..")
    return name


def _kept(why: str) -> str:
    """Why a command failed may hold anything, and is kept as far as it can be."""
    return why.replace("\0", "\ufffd")


Whatever = Annotated[Any, AfterValidator(_json)]
StudyName = Annotated[
    str, Field(min_length=1, max_length=200, pattern=NAME), AfterValidator(_reachable)
]


class Message(BaseModel):
    """Unknown fields are refused: a misspelt one would be overlooked. Nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Problem(BaseModel):
    """Why something was refused: a class of bestk's errors, and a sentence."""

    error: str
    message: str


class Level(Message):
    """One of the levels that people rate by."""

    value: Number
    label: Annotated[str, Field(max_length=200)]


class Page(Message):
    """How people see a study."""

    title: Annotated[str, Field(max_length=200)] = ""
    question: Annotated[str, Field(max_length=2000)] = ""
    context: Annotated[str, Field(max_length=20_000)] = ""
    image_hosts: Annotated[
        list[Annotated[str, Field(pattern=r"^https?://[A-Za-z0-9.-]+(:[0-9]+)?$")]],
        Field(max_length=20),
    ] = []
    levels: Annotated[list[Level], Field(max_length=20)] = []
    show_standings: bool = False
    item_kind: Literal["text", "image", "columns"] = "text"


class NewStudy(Message):
    """A study to begin: what a study file has, or a specification as `bestk` writes it.

    `costs` are numbers in the order of the arms, which have no parameters here to take them from.
    """

    name: StudyName
    arms: Annotated[list[Label], Field(min_length=1)] | None = None
    k: Annotated[int, Field(ge=1)] | None = None
    delta: Number | None = None
    epsilon: Number | None = None
    rewards: (
        Literal["bounded", "bernoulli", "ratings", "gaussian", "subgaussian", "quantile"] | None
    ) = None
    low: Number | None = None
    high: Number | None = None
    levels: list[Number] | None = None
    sigma: Number | None = None
    q: Number | None = None
    relative: bool | None = None
    direction: Literal["maximize", "minimize"] | None = None
    policy: Text | None = None
    variant: Text | None = None
    params: dict[str, Any] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] | None = None
    lost: Literal["skip", "worst"] | None = None
    lease: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_arms: Annotated[int, Field(ge=2)] | None = None
    costs: list[Number] | None = None
    items: Annotated[list[Whatever], Field(min_length=1)] | None = None
    target: Literal["items", "population"] = "items"
    specification: dict[str, Any] | None = None
    page: Page | None = None


class Ask(Message):
    """So many pulls for a worker; the same request again gives the same pulls."""

    n: Annotated[int, Field(ge=1, le=1000)] = 1
    worker: WorkerName = ""
    request: Annotated[str, Field(min_length=1, max_length=200)]


class Answered(Message):
    """What came of a pull; `extra` is kept with it."""

    pull: Text
    reward: Number | bool
    extra: Any = None


class Tell(Message):
    """Answers to pulls, all of which are taken or none."""

    answers: Annotated[list[Answered], Field(min_length=1, max_length=1000)]


class OfPull(Message):
    """A pull, and why."""

    pull: Text
    why: Annotated[str, Field(max_length=1000), AfterValidator(_kept)] = ""
    request: Annotated[str, Field(max_length=200, pattern=KEPT)] = ""


class Pulls(Message):
    """Several pulls, of one worker if it is named; with `skip` it wants others before them."""

    pulls: Annotated[list[Text], Field(max_length=1000)]
    skip: bool = False
    worker: WorkerName | None = None


class Observation(Message):
    """One that was made elsewhere, once for each id."""

    arm: Label
    reward: Number | bool
    id: Text


class OfArm(Message):
    """An arm."""

    arm: Label


class Login(Message):
    """A token to be kept by the browser."""

    token: Annotated[str, Field(max_length=200)]
