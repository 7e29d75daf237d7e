"""What the pages say to whom: nothing that holds an answer up, and no way that leads nowhere."""

import pytest

from helpers.browser import study

pytest.importorskip("fastapi", reason="bestk[serve] is not installed")


def test_a_list_below_the_screen_is_not_empty_to_a_screen_reader(server, visit):
    name = study(server, "low", [f"option {i}" for i in range(100)])
    page = visit(f"/studies/{name}", viewport={"width": 360, "height": 300})
    page.locator(".row").first.wait_for(state="attached")
    assert page.evaluate("document.querySelector('.list').getBoundingClientRect().top") > 300
    assert page.get_by_role("option").count() >= 5
