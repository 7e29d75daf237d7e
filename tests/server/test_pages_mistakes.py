"""What people do by mistake, and what goes wrong around them: nothing counts twice or unseen."""

import pytest

from helpers.browser import LEVELS, PAGE, study

pytest.importorskip("fastapi", reason="bestk[serve] is not installed")

IDLE = "#rating:not([aria-busy=true]) #item.fresh"
ARABIC = "هل هذا المقعد محجوز؟ "


def ends(path):
    """Whether a response or a request is that of such an endpoint."""
    return lambda message: message.url.endswith(path)


def test_a_double_click_or_a_held_key_is_one_rating(server, visit):
    name = study(server, "twice", epsilon=0.0)
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator(IDLE).wait_for()
    box = page.locator("#levels button").first.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    for clicks in (1, 2):  # the second when the next item is there already, as on a quick server
        page.mouse.down(click_count=clicks)
        page.mouse.up(click_count=clicks)
        page.locator(IDLE).wait_for()
    for place in ("#levels button", "#skip"):
        page.locator(place).first.focus()
        for _ in range(3):  # all but the first are what a key does that is held down
            page.keyboard.down("Enter")
            page.locator(IDLE).wait_for()
        page.keyboard.up("Enter")
    with page.expect_response(ends("/ask")):
        page.keyboard.press("1")
    page.locator(IDLE).wait_for()
    paths = [url.rpartition("/")[2] for url in page.asked]
    assert (paths.count("tell"), paths.count("release")) == (3, 1)


def test_who_rated_too_late_is_told_until_the_next_rating(server, visit):
    name = study(server, "late", epsilon=0.0)
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator(IDLE).wait_for()
    server.post(f"/{name}/forget", {"pull": server.get(f"/{name}/open")["open"][0]["id"]})
    late = page.locator("#progress", has_text="Your last rating did not count: it came too late")
    for key, is_late in (("1", True), ("2", False)):
        page.keyboard.press(key)
        page.locator("#rating[aria-busy=true]").wait_for(state="detached")
        page.locator(IDLE).wait_for()
        assert late.count() == is_late
    assert server.get(f"/{name}/snapshot")["samples"] == 1


def test_the_row_of_digits_rates_where_it_types_others(server, visit):
    name = study(server, "french", epsilon=0.0)
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator(IDLE).wait_for()
    press = "(more) => dispatchEvent(new KeyboardEvent('keydown', { code: 'Digit2', ...more }))"
    with page.expect_request(ends("/tell")) as told:
        page.evaluate(press, {"key": "!", "code": "Digit1", "shiftKey": True})  # a mark elsewhere
        page.evaluate(press, {"key": "é"})
    assert told.value.post_data_json["answers"][0]["reward"] == 1.0


def test_where_pulls_come_one_by_one_raters_wait_for_each_other(server, visit):
    name = study(server, "in turn", policy="lil-ucb", epsilon=0.0)
    one = visit(f"/studies/{name}/rate", "rate")
    one.locator(IDLE).wait_for()
    other = visit(f"/studies/{name}/rate", "rate")
    other.get_by_text("One moment").wait_for()
    assert other.evaluate("document.activeElement.id") == "waiting"  # a screen reader says it
    taken = []

    def overtake(route):  # somebody asks between this rater's answer and the next ask
        response = route.fetch()
        ask = {"n": 1, "worker": "w", "request": "r"}
        taken.extend(server.post(f"/{name}/ask", ask)["pulls"])
        route.fulfill(response=response)

    other.close()
    one.route("**/tell", overtake, times=1)
    one.get_by_role("button", name="good").focus()
    one.keyboard.press("Enter")
    one.get_by_text("One moment").wait_for()
    server.post(f"/{name}/tell", {"answers": [{"pull": taken[0]["id"], "reward": 1}]})
    one.locator(IDLE).wait_for()
    assert one.evaluate("document.activeElement.textContent").endswith("good")


def test_levels_that_are_words_are_not_broken(server, visit):
    words = ["terrible", "bad", "so-so", "fine", "good", "outstanding"]
    levels = [{"value": i / 5, "label": word} for i, word in enumerate(words)]
    context = {"item_kind": "columns", "context": ARABIC * 30}
    name = study(
        server, "words", [ARABIC * 30, ARABIC * 31], rewards="bounded",
        page={**PAGE, **context, "levels": levels},
    )  # fmt: skip
    for width in (360, 700, 1280):
        page = visit(f"/studies/{name}/rate", "rate", viewport={"width": width, "height": 800})
        page.locator(IDLE).wait_for()
        heights = "[...document.querySelectorAll('#levels span')].map((e) => e.offsetHeight)"
        assert max(page.evaluate(heights)) < 40, width  # pixels: one line
        for place in ("#item > div", "#context > div"):  # from the side where they begin
            align = f"getComputedStyle(document.querySelector('{place}')).textAlign"
            assert page.evaluate(align) == "start"


def test_levels_without_a_name_are_called_by_their_value(server, visit):
    levels = [{**level, "label": ""} for level in LEVELS]
    name = study(server, "nameless", page={**PAGE, "levels": levels})
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator(IDLE).wait_for()
    assert page.locator("#levels button").all_inner_texts() == ["0", "1"]
