"""The pages in a real browser, on a real server: one of each for all tests."""

from pathlib import Path

import pytest

import bestk
from helpers.browser import PAGE, answer, check_readable, open_form, study
from helpers.command import good

pytest.importorskip("fastapi", reason="bestk[serve] is not installed")

SCRIPT = "<script>alert(1)</script>"
SETTLED = "#rating:not([aria-busy=true]):visible, #thanks:visible"
ENDINGS = {"report": "html", "certificate": "cert.json", "csv": "csv", "jsonl": "jsonl"}


def test_the_live_page_shows_answers_of_others_without_a_reload(server, visit):
    name = study(server, "live")
    page = visit(f"/studies/{name}", "view")
    page.get_by_text("Nobody has answered yet.").wait_for()
    page.evaluate("window.same = true")
    samples = answer(server, name, 1)
    page.locator("#figures dd.value", has_text=str(samples)).first.wait_for()
    page.locator(".row .numbers b", has_text="1.0").first.wait_for()
    assert page.evaluate("window.same")


def test_a_rater_finishes_a_study_with_number_keys(server, visit):
    name = study(server, "finished", ["good", "bad"], epsilon=0.9)
    page = visit(f"/studies/{name}/rate", "rate")
    for _ in range(400):
        page.locator(SETTLED).first.wait_for()
        if page.locator("#thanks").is_visible():
            break
        shown = page.locator("#item").inner_text()
        with page.expect_response(lambda response: response.url.endswith("/ask")):
            page.keyboard.press("2" if shown == "good" else "1")
    page.get_by_text("Thank you!").wait_for()
    assert page.locator("#standings").is_hidden()  # not allowed to this rater


def test_two_raters_never_get_the_same_open_pull_and_skipped_ones_are_given_back(server, visit):
    name = study(server, "two", epsilon=0.0)
    asked = lambda response: response.url.endswith("/ask")  # noqa: E731
    pages, pulls = [], []
    for _ in range(2):
        page = visit("/login", "rate")
        with page.expect_response(asked) as found:
            page.goto(f"{server.address}/studies/{name}/rate")
        pulls.append(found.value.json()["pulls"][0]["id"])
        pages.append(page)
    with pages[0].expect_response(asked) as found:
        pages[0].locator("#skip").click()
    pulls.append(found.value.json()["pulls"][0]["id"])
    assert len(set(pulls)) == 3
    pages[0].locator("#item.fresh").wait_for()
    with pages[0].expect_response(asked) as found:
        pages[0].reload()  # the same pull again: nothing is lost by it
    assert found.value.json()["pulls"][0]["id"] == pulls[2]
    pages[1].locator(SETTLED).first.wait_for()
    with pages[1].expect_response(asked) as found:
        pages[1].keyboard.press("2")  # the other rater gets what was skipped
    assert found.value.json()["pulls"][0]["id"] == pulls[0]
    told = server.get(f"/{name}/snapshot")
    assert (told["open"], told["failures"]) == (2, 0)


@pytest.mark.parametrize("role", [None, "bestk_0_wrong"])
def test_without_a_valid_token_one_sees_the_login_page_and_nothing_else(server, visit, role):
    name = study(server, "secret", ["hidden treasure", "other"])
    page = visit(f"/studies/{name}", role)
    page.wait_for_url("**/login?next=*")
    assert "treasure" not in page.content()


def test_a_rater_sees_no_standings(server, visit):
    name = study(server, "closed")
    page = visit(f"/studies/{name}", "rate")
    page.get_by_text("This token may not see this page.").wait_for()
    assert page.locator(".row").count() == 0


def test_an_arm_that_looks_like_a_script_is_shown_as_what_it_is(server, visit):
    name = study(server, "script", [SCRIPT, f"{SCRIPT}2"])
    page = visit(f"/studies/{name}")
    page.locator(".row .name", has_text=SCRIPT).first.click()
    assert page.locator("#arm-name").inner_text().startswith(SCRIPT)
    page = visit(f"/studies/{name}/rate")
    page.locator("#item", has_text=SCRIPT).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_a_phone(server, visit, scheme):
    name = study(server, f"axe {scheme}", ["w" * 300, "b", "c"])
    answer(server, name, 1)
    phone = {"viewport": {"width": 390, "height": 844}, "reduced_motion": "reduce"}
    own = f"/studies/axe%20{scheme}"
    for path, ready in (
        ("/login", "h1"),
        ("/studies", "h2"),
        (own, ".row"),
        (own + "/rate", "#item.fresh"),
    ):
        page = visit(path, color_scheme=scheme, **phone)
        page.locator(ready).first.wait_for()
        if path == "/studies":
            page.locator("summary").click()
        check_readable(page, 390)


def test_a_report_is_readable_too(browser, tokens, tmp_path):
    begun = bestk.Study("half way", ["w" * 300, *"bcd"], k=1, storage=tokens[0], seed=1)
    for pull in begun.ask(8):
        begun.tell(pull, 0.5)
    good("report", tokens[0], "--study", "half way", "-o", tmp_path / "report.html")
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((tmp_path / "report.html").as_uri())
    page.locator("summary").click()
    page.locator("b.undecided").first.wait_for()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        check_readable(page, 390)
    page.close()


def test_what_is_said_of_sets_and_quantiles_is_what_was_proved(tokens, visit):
    edges = [(left, right) for left in "ab" for right in "xy"]
    matching = bestk.BipartiteMatching(edges, perfect=True)
    sets = bestk.Study("pairs", edges, decision=matching, storage=tokens[0], seed=1)
    quick = bestk.Study(
        "quick",
        ["a", "b"],
        k=1,
        rewards=bestk.Quantile(),
        maximize=False,
        storage=tokens[0],
        seed=1,
    )
    for begun in (sets, quick):
        for pull in begun.ask(4):
            begun.tell(pull, 0.5)
    page = visit("/studies/pairs")
    page.locator("#headline", has_text="The matching with the largest total mean").wait_for()
    page.locator("#verdict", has_text="the total of the true means of this matching").wait_for()
    page = visit("/studies/quick")
    page.locator("#headline", has_text="with the smallest median").wait_for()
    page.locator(".row .numbers", has_text="\N{MINUS SIGN}∞ to ∞").first.wait_for()
    assert "mean" not in page.locator("main").inner_text()
    assert page.locator("#rate").is_hidden()  # times are measured, not rated


def test_report_certificate_and_answers_can_be_downloaded(tokens, visit):
    begun = bestk.Study(
        "kept", ["a", "b"], k=1, epsilon=0.9, rewards=bestk.Bernoulli(), storage=tokens[0], seed=1
    )
    while pulls := begun.ask(10):
        for pull in pulls:
            begun.tell(pull, float(pull.arm == "a"))
    page = visit("/studies/kept", "view")
    page.locator("#badge", has_text="certified").wait_for()
    starts = {"report": "<!", "certificate": "{", "csv": "seq,pull,arm,reward,", "jsonl": "{"}
    for link, start in starts.items():
        with page.expect_download() as found:
            page.click(f"#{link}")
        assert found.value.suggested_filename.endswith(ENDINGS[link])
        assert Path(found.value.path()).read_text(encoding="utf-8").lower().startswith(start)
    page = visit("/studies", "view")
    with page.expect_download() as found:
        page.locator("li", has_text="kept").get_by_text("Certificate").click()
    assert found.value.suggested_filename == "kept.cert.json"


def test_the_theme_is_switched_and_kept(visit):
    page = visit("/studies", color_scheme="light")
    ink = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ink)
    page.get_by_label("Switch to dark colours").click()
    after = page.evaluate(ink)
    assert after != before
    page.reload()
    page.get_by_label("Switch to light colours").wait_for()
    assert page.evaluate(ink) == after


def test_pictures_come_from_allowed_hosts_alone_which_others_are_not_told_of(server, visit):
    own = f"{server.address}/static/icon.svg"
    settings = {**PAGE, "image_hosts": [server.address], "item_kind": "columns", "context": own}
    name = study(server, "pictures", [f"{own}?1", f"{own}?2"], page=settings)
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator("#item img").wait_for()
    page.locator("#stage.columns #context img").wait_for()
    assert page.evaluate("document.querySelector('#item img').naturalWidth") > 0
    blocked = """new Promise((done) => {
        addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
        new Image().src = "http://pictures.example/a.png";
    })"""
    assert page.evaluate(blocked) == "img-src"
    assert page.asked.pop() == "http://pictures.example/a.png"  # refused before it was sent
    host = server.address.rpartition("/")[2]
    for role, is_told in (("rate", True), (None, False), ("bestk_0_wrong", False)):
        page = visit("/login", role)
        policy = page.request.get(f"{server.address}/studies/{name}/rate").headers
        assert (host in policy["content-security-policy"]) == is_told


def test_a_study_can_be_read_and_rated_with_the_keyboard_alone(server, visit):
    name = study(server, "keys", epsilon=0.0)
    answer(server, name, 1)
    page = visit(f"/studies/{name}")
    page.locator(".row").first.wait_for()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "standings":
            break
    ring = page.locator("#standings").evaluate(
        "(e) => e.getBoundingClientRect().top - parseFloat(getComputedStyle(e).outlineOffset)"
        " - parseFloat(getComputedStyle(e).outlineWidth)"
    )
    assert ring >= page.evaluate("document.querySelector('.axis').getBoundingClientRect().bottom")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#arm[open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("#arm:not([open])").wait_for(state="attached")
    page = visit(f"/studies/{name}/rate")
    page.locator("#item.fresh").wait_for()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").endswith("good"):
            break
    with page.expect_response(lambda response: response.url.endswith("/tell")) as told:
        page.keyboard.press("Enter")
    assert told.value.json()["told"] == 1


@pytest.mark.parametrize("rewards", ["ratings", "quantile"])
def test_a_form_creates_a_study(visit, rewards):
    page = visit("/studies")
    open_form(page)
    page.fill("[name=name]", f"from a form {rewards}")
    page.select_option("[name=rewards]", rewards)
    page.fill("[name=arms]", "left\nright")
    page.click("text=Create")
    page.wait_for_url(f"**/studies/from%20a%20form%20{rewards}")
    page.locator(".row .name", has_text="left").wait_for()


def test_of_5000_arms_only_those_in_sight_are_drawn_and_any_can_be_reached(server, visit):
    name = study(server, "many", [f"option {i}" for i in range(5000)])
    page = visit(f"/studies/{name}")
    page.locator(".row").first.wait_for()
    page.focus("#standings")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.locator(".row.chosen", has_text="option 4999").wait_for()
    assert page.locator(".row").count() < 100
    page.set_viewport_size({"width": 360, "height": 780})
    page.wait_for_function("document.getElementById('standings').offsetHeight > 5000 * 90")
    page.keyboard.press("End")
    page.locator(".row", has_text="option 4999").wait_for()
    fits = "(e) => e.scrollWidth <= e.offsetWidth"  # four digits of a rank, beside the name
    page.wait_for_function(
        f"[...document.querySelectorAll('.row > span:not(.plot)')].every({fits})"
    )
    page.fill("#search", "option 1234")
    page.locator(".row .name", has_text="option 1234").wait_for()
