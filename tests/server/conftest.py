"""One browser and one server for the tests of the pages in a file."""

import pytest

from bestk.storage import SQLiteStorage
from helpers.browser import Served, chromium

OPEN_ROLES = ("admin", "rate", "view")


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    pytest.importorskip("fastapi", reason="bestk[serve] is not installed")
    from bestk.server.tokens import Tokens

    file = tmp_path_factory.mktemp("pages") / "studies.db"
    made = Tokens(SQLiteStorage(file))
    return file, {role: made.create(role)[1] for role in OPEN_ROLES}


@pytest.fixture(scope="module")
def server(tokens):
    file, texts = tokens
    served = Served(file, texts["admin"])
    yield served
    served.stop()


@pytest.fixture
def visit(browser, server, tokens):
    """Open a page as somebody with a role; requests and errors are kept on it."""
    contexts = []

    def open_page(path, role="admin", **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        if role is not None:
            cookie = {"name": "bestk_token", "value": tokens[1].get(role, role)}
            context.add_cookies([{**cookie, "url": server.address}])
        page = context.new_page()
        page.asked, page.wrong = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("dialog", lambda dialog: page.wrong.append(f"a dialog: {dialog.message}"))
        page.goto(server.address + path)
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert page.wrong == []
            assert [url for url in page.asked if not url.startswith(server.address)] == []
        context.close()
