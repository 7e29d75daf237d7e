"""What the endpoints share, and who may enter which."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import Request

from bestk.server import documents
from bestk.server.catalogue import Catalogue
from bestk.server.desk import Desk
from bestk.server.guard import CALLER, Refusal
from bestk.server.limits import Limits
from bestk.server.metrics import Metrics
from bestk.server.streams import Streams
from bestk.server.tokens import ABILITIES, Token, Tokens

STANDINGS = "standings"  # for all who may look, and for raters where the page of a study allows it


@dataclass
class Hall:
    """One server's state; all of it that matters is in the storage."""

    address: str  # of the storage
    storage: Any
    limits: Limits
    local: bool  # no other machine reaches it
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.tokens = Tokens(self.storage)
        self.catalogue = Catalogue(self.storage, self.limits)
        self.writers = documents.Writers()
        past = partial(self.writers.make, documents.past, self.address)
        self.streams = Streams(self.metrics, past)

    def caller(self, request: Request, ability: str, study: str | None = None) -> Token:
        """Who asks, if that is allowed to them."""
        token: Token | None = request.scope[CALLER]
        if token is None:
            raise Refusal(401, "Unauthorized", "give a valid token", www_authenticate="Bearer")
        if token.allows("view" if ability == STANDINGS else ability, study):
            return token
        if ability == STANDINGS:
            rates = study is not None and token.allows("rate", study)
            if rates and self.catalogue.page(study or "").get("show_standings"):
                return token
            ability = "view"
        of = "" if study is None else f" of {study!r}"
        raise Refusal(403, "Forbidden", f"a token for {ability}{of} is needed")

    async def enter(self, request: Request, ability: str, study: str) -> tuple[Token, Desk]:
        """The same, and the study."""
        token = self.caller(request, ability, study)
        return token, await self.catalogue.desk(study)

    def check_label(self, *texts: Any) -> None:
        """Refuse labels that are too long."""
        for text in texts:
            if len(str(text)) > self.limits.label:
                raise Refusal(
                    422, "InputError", f"a label has at most {self.limits.label:,} characters"
                )


def works(token: Token) -> bool:
    """Whether a token may do more than rate."""
    return "work" in ABILITIES[token.role]


def hall_of(request: Request) -> Hall:
    """The state of the server that a request came to."""
    found: Hall = request.app.state.hall
    return found
