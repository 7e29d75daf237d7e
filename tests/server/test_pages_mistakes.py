"""What people do by mistake, and what goes wrong around them: nothing counts twice or unseen."""

import pytest

import bestk
from bestk.storage import SQLiteStorage
from helpers.browser import LEVELS, PAGE, Served, answer, open_form, study

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


MISTAKES = {
    '"e to e" is no range': {"rewards": "bounded", "range": "e to e"},
    '"10 to 0" is no range': {"rewards": "bounded", "range": "10 to 0"},
    "The scale has 21 levels": {"levels": "\n".join(f"{i} = {i}" for i in range(21))},
    "The scale needs two different values.": {"levels": "1 = good"},
    '"left" would be shown as a text': {"item_kind": "image"},
    '"https://a.example/1.png" would be': {
        "item_kind": "image", "arms": "https://a.example/1.png\nhttps://a.example/2.png",
        "image_hosts": "b.example",
    },
    "There is a study of this name, begun with something else": {"name": "taken"},
    "Arm 'left' was refused: it is listed twice": {"arms": "left\nleft"},
}  # fmt: skip


def test_the_form_says_what_is_wrong_and_makes_nothing(server, visit):
    study(server, "taken")
    before = len(server.get("")["studies"])
    page = visit("/studies")
    for said, fields in MISTAKES.items():
        page.reload()
        open_form(page)
        given = {"name": "wrong", "arms": "left\nright", **fields}
        for field in ("rewards", "item_kind"):
            if field in given:
                page.select_option(f"[name={field}]", given.pop(field))
        for field, value in given.items():
            page.fill(f"[name={field}]", value)
        page.get_by_role("button", name="Create").focus()
        page.keyboard.press("Enter")
        page.locator("#problem", has_text=said).wait_for()
        assert page.evaluate("document.activeElement.textContent") == "Create"  # where one was
    assert len(server.get("")["studies"]) == before


def test_hosts_of_pictures_are_the_same_in_capitals(server, visit):
    page = visit("/studies")
    open_form(page)
    page.fill("[name=name]", "capitals")
    page.select_option("[name=item_kind]", "image")
    page.fill("[name=arms]", "https://IMG.example.org/1.png\nhttps://img.example.org/2.png")
    page.fill("[name=image_hosts]", "Img.Example.org")
    page.click("text=Create")
    page.wait_for_url("**/studies/capitals")
    assert server.get("/capitals/page")["image_hosts"] == ["https://img.example.org"]
    is_picture = """import("/static/item.js").then(({ isPicture }) =>
        isPicture("https://img.example.org/1.png", ["https://IMG.example.org"]))"""
    assert page.evaluate(is_picture)  # of a study that was not begun with the form


def test_who_is_signed_out_in_the_middle_is_told_and_can_go_back(server, tokens, visit):
    from bestk.server.tokens import Tokens

    made = Tokens(SQLiteStorage(tokens[0]))
    token, text = made.create("rate")
    name = study(server, "signed out")
    page = visit("/studies", text)
    page.locator("#studies h2").first.wait_for()
    page.goto(f"{server.address}/studies/{name}/rate")
    page.locator(IDLE).wait_for()
    made.revoke(token.id)
    progress = f"{server.address}/api/studies/{name}/progress"
    while page.request.get(progress).status != 401:  # within a twentieth of a second
        pass
    page.keyboard.press("1")
    page.get_by_text("You are signed out: your token has expired").wait_for()
    page.fill("#token", tokens[1]["rate"])
    page.keyboard.press("Enter")
    page.locator(IDLE).wait_for()
    page.go_back()  # to where one was before, neither to the login page nor through it
    assert page.url == f"{server.address}/studies"
    assert server.get(f"/{name}/snapshot")["samples"] == 0


def test_a_study_that_is_not_there_is_said_so_and_the_others_are_near(visit):
    page = visit("/studies/nowhere")
    page.get_by_text("There is no study called 'nowhere'.").wait_for()
    page.get_by_role("link", name="All studies").click()
    page.wait_for_url("**/studies")


def test_among_studies_that_cannot_be_read_the_others_are_found(browser, tmp_path):
    file = tmp_path / "s.db"
    bestk.Study("a/b", "ab", k=1, rewards=bestk.Bernoulli(), storage=file, seed=1)
    served = Served(file, "")
    page = browser.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    try:
        for i in range(9):
            study(served, f"contest {i}")
        page.goto(f"{served.address}/studies")
        page.locator("#studies li").nth(9).wait_for()
        assert page.locator("#studies h2").last.inner_text() == "a/b"  # as those that have ended
        page.fill("#search", "contest 7")
        page.locator("#studies li:visible").nth(1).wait_for(state="hidden")
        alike = page.locator("#studies li:visible")  # all have one title
        assert alike.locator("p").inner_text().startswith("contest 7: the best of 3")
        page.fill("#search", "a/b")
        page.locator("#studies li:visible", has_text="no address leads to it").wait_for()
        assert wrong == []
    finally:
        page.close()
        served.stop()


def test_a_live_page_has_its_title_even_if_the_first_try_is_lost(server, visit):
    page = visit("/studies")
    name = study(server, "hiccup", page={**PAGE, "title": "With hiccups"})
    answer(server, name, 1)
    page.route("**/page", lambda route: route.abort(), times=1)
    page.goto(f"{server.address}/studies/{name}")
    page.get_by_role("heading", name="With hiccups").wait_for()
    page.locator("#rate").wait_for()
