"""`bestk serve` and `bestk token`: studies for many machines, and who may use them."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.cli.console import note, say, show, show_json
from bestk.cli.inputs import Json, JsonList
from bestk.errors import InputError, MissingPackageError
from bestk.report.text import iso, printable

if TYPE_CHECKING:
    from bestk.server.tokens import Tokens

DEFAULT = "studies.db"
Storage = Annotated[
    str, typer.Argument(help="File or database address of the studies; created if needed.")
]
token = typer.Typer(
    help="Manage tokens for `bestk serve`: who may view, rate, work or administer.",
    no_args_is_help=True,
)


def serve(
    storage: Storage = DEFAULT,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: any free one.", min=0, max=65535)] = 8765,
    cert: Annotated[str | None, typer.Option(help="Certificate for TLS, a PEM file.")] = None,
    key: Annotated[str | None, typer.Option(help="Its key, a PEM file.")] = None,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Trust X-Forwarded-* of a proxy on this machine.")
    ] = False,
    max_body: Annotated[int, typer.Option(help="Most bytes in a request.", min=1024)] = 1 << 20,
    max_arms: Annotated[int, typer.Option(help="Most arms in a new study.", min=2)] = 20_000,
    max_open: Annotated[int, typer.Option(help="Most open pulls in a study.", min=1)] = 20_000,
    max_rating: Annotated[
        int, typer.Option(help="Most open pulls of one rate token in a study.", min=1)
    ] = 1000,
    max_viewers: Annotated[
        int, typer.Option(help="Most live pages open with one token.", min=0)
    ] = 1000,
    max_connections: Annotated[int, typer.Option(help="Most connections at a time.", min=1)] = 4000,
    people_rate: Annotated[
        float, typer.Option(help="Requests per second of a view or rate token.", min=0.1)
    ] = 50.0,
    worker_rate: Annotated[
        float, typer.Option(help="Requests per second of a work token.", min=0.1)
    ] = 20_000.0,
    lease: Annotated[
        float, typer.Option(help="Seconds until a pull without a reward is free again.")
    ] = 3600.0,
) -> None:
    """Serve studies to workers on many machines, to people who rate, and to everyone who watches.

    Without tokens (`bestk token create`), only this machine can use it.

    Example: bestk serve studies.db
    """
    try:
        from bestk.server.limits import Limits
        from bestk.server.running import serve as run
    except ImportError as error:
        raise MissingPackageError("bestk serve", error.name or "fastapi", "serve") from error
    from bestk.arguments import duration  # with numpy, which other commands need not load

    limits = Limits(
        body=max_body, arms=max_arms, open_pulls=max_open, rating=max_rating, viewers=max_viewers,
        connections=max_connections, people_rate=people_rate, worker_rate=worker_rate,
        lease=duration(lease, "--lease"),
    )  # fmt: skip
    try:
        run(
            storage, host=host, port=port, cert=cert, key=key, proxy=proxy, limits=limits,
            say=_announce,
        )  # fmt: skip
    except InputError as error:
        if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
            raise
        raise InputError(
            f"{host}:{port} was refused: another program is listening there: give another --port,"
            " or 0"
        ) from error


def _announce(text: str) -> None:
    print(printable(text), flush=True)


def _tokens(storage: str) -> Tokens:
    from bestk.server.tokens import Tokens
    from bestk.storage.addresses import open_storage

    return Tokens(open_storage(storage))


@token.command("create")
def create(
    storage: Storage = DEFAULT,
    *,
    role: Annotated[str, typer.Option(help="view, rate, work or admin.", show_default=False)],
    study: Annotated[
        str | None, typer.Option(help="For this study only.", show_default="all of them")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Lifetime: 12h, 30d, ...", show_default="never")
    ] = None,
    note: Annotated[str, typer.Option(help="Who it is for.")] = "",
    json: Json = False,
) -> None:
    """Create a token and show it, once: only its hash is kept.

    Example: bestk token create --role work --expires 30d studies.db
    """
    from bestk.server.tokens import described, seconds_of

    after = None if expires is None else seconds_of(expires)
    made, text = _tokens(storage).create(role, study, after, note)
    if json:
        show_json({**described(made, iso), "token": text})
        return
    say(text)
    _remark(f"keep this token: it is shown only once; `bestk token revoke {made.id}` ends it")


def _remark(text: str) -> None:
    note(f"bestk: {text}")


@token.command("list")
def list_(storage: Storage = DEFAULT, json: JsonList = False) -> None:
    """List the tokens that were not revoked; the tokens themselves are not kept."""
    from bestk.server.tokens import described

    found = [described(each, iso) for each in _tokens(storage).all()]
    if json:
        show_json(found)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "role", "study", "created", "expires", "note")
    for each in found:
        cells = (each["id"], each["role"], each["study"] or "all", each["created"] or "")
        until = "expired" if each["expired"] else each["expires"] or "never"
        table.add_row(*(Text(printable(cell)) for cell in (*cells, until, each["note"])))
    show(table)


@token.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `bestk token list` shows it.")],
    storage: Storage = DEFAULT,
) -> None:
    """End a token, on a running server at once."""
    _tokens(storage).revoke(id)
    say(f"token {id} is of no use any more")
