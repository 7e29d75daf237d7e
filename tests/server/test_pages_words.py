"""What the pages say to whom: nothing that holds an answer up, and no way that leads nowhere."""

import re

import pytest

import bestk
from helpers.browser import PAGE, Served, answer, open_form, study

pytest.importorskip("fastapi", reason="bestk[serve] is not installed")


def test_what_holds_answers_back_is_seen(server, visit):
    name = study(server, "held")
    left = server.post(f"/{name}/ask", {"n": 1, "worker": "gone", "request": "gone"})["pulls"]
    page = visit(f"/studies/{name}", "view")
    answer(server, name, 1)
    page.locator("#figures", has_text="3 answers wait for it").wait_for()
    server.post(f"/{name}/forget", {"pull": left[0]["id"]})
    page.locator("#figures:not(:has-text('wait for'))").wait_for()
    page.locator("#remarks", has_text="assumed: ").wait_for()  # what the answer now rests on


def test_who_may_not_rate_is_not_asked_to(server, tokens, visit):
    name = study(server, "for raters", page={**PAGE, "title": "for raters"})
    bestk.Study("for machines", "ab", k=1, rewards=bestk.Bounded(), storage=tokens[0], seed=1)
    for role, rates in (("admin", True), ("view", False)):
        page = visit(f"/studies/{name}", role)
        with page.expect_response(lambda response: response.url.endswith("/page")):
            page.reload()
        page.locator(".row").first.wait_for()
        page.locator("#rate").wait_for(state="visible" if rates else "hidden")
        page = visit("/studies", role)
        entry = page.locator("#studies li", has=page.get_by_text("for raters"))
        entry.get_by_text("Watch").wait_for()
        assert entry.get_by_text("Rate", exact=True).count() == rates
    entry = visit("/studies").locator("#studies li", has_text="for machines")
    entry.get_by_text("Watch").wait_for()
    assert entry.get_by_text("Rate", exact=True).count() == 0


def test_a_rater_who_may_see_standings_is_not_offered_what_others_answered(server, visit):
    page = {**PAGE, "title": "open to raters", "show_standings": True}
    study(server, "open to raters", page=page)
    for role, may in (("rate", False), ("view", True)):
        entry = visit("/studies", role).locator("#studies li", has_text="open to raters")
        entry.get_by_text("Report").wait_for()
        assert entry.get_by_text("Answers", exact=True).count() == may


def test_when_all_ratings_are_there_nobody_is_asked_for_more(tokens, visit):
    coins = bestk.Bernoulli()
    begun = bestk.Study("over", "ab", k=1, epsilon=0.9, rewards=coins, storage=tokens[0], seed=1)
    page = visit("/studies/over")
    page.locator("#rate").wait_for()
    while pulls := begun.ask(10):
        for pull in pulls:
            begun.tell(pull, float(pull.arm == "a"))
    page.locator("#badge", has_text="certified").wait_for()
    assert page.locator("#rate").is_hidden()


def test_labels_are_read_in_their_own_direction(server, visit):
    name = study(server, "directions", ["left to right.", "מימין לשמאל."])
    page = visit(f"/studies/{name}")
    page.locator(".row").first.wait_for()
    ways = "[...document.querySelectorAll('.row .name')].map(e => getComputedStyle(e).direction)"
    assert page.evaluate(ways) == ["ltr", "rtl"]


def test_a_list_below_the_screen_is_not_empty_to_a_screen_reader(server, visit):
    name = study(server, "low", [f"option {i}" for i in range(100)])
    page = visit(f"/studies/{name}", viewport={"width": 360, "height": 300})
    page.locator(".row").first.wait_for(state="attached")
    assert page.evaluate("document.querySelector('.list').getBoundingClientRect().top") > 300
    assert page.get_by_role("option").count() >= 5


def test_a_study_from_the_form_does_not_wait_for_ever_for_who_left(server, visit):
    page = visit("/studies")
    open_form(page)
    page.fill("[name=name]", "with a lease")
    page.fill("[name=arms]", "left\nright")
    page.fill("[name=minutes]", "2")
    page.click("text=Create")
    page.wait_for_url("**/studies/with%20a%20lease")
    assert server.get("/with a lease/specification")["lease"] == 120


def test_a_picture_that_does_not_come_is_said_to_be_missing(server, visit):
    gone = f"{server.address}/static/no.png"
    settings = {**PAGE, "image_hosts": [server.address]}
    name = study(server, "missing", [f"{gone}?1", f"{gone}?2"], page=settings)
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator("#item", has_text="This picture could not be loaded").wait_for()


def test_number_keys_are_those_of_labels_that_are_numbers(server, visit):
    levels = [{"value": i / 10, "label": str(i)} for i in range(11)]
    name = study(server, "ten", page={**PAGE, "levels": levels}, rewards="bounded")
    page = visit(f"/studies/{name}/rate", "rate")
    page.locator("#item.fresh").wait_for()
    with page.expect_request(lambda request: request.url.endswith("/tell")) as told:
        page.keyboard.press("0")
    assert told.value.post_data_json["answers"][0]["reward"] == 0.0
    page.locator("#rating:not([aria-busy=true])").wait_for()
    with page.expect_request(lambda request: request.url.endswith("/tell")) as told:
        page.keyboard.press("7")
    assert told.value.post_data_json["answers"][0]["reward"] == 0.7


def test_a_newcomer_is_shown_how_to_begin_and_of_many_studies_finds_one(browser, tmp_path):
    empty = Served(tmp_path / "s.db", "")
    page = browser.new_page()
    try:
        page.goto(empty.address)
        page.get_by_text("There is no study yet.").wait_for()
        page.locator("#new [name=name]").wait_for()
        exec(page.locator("#example").inner_text(), {"print": str})
        for i in range(9):
            study(empty, f"contest {i}")
        page.goto(f"{empty.address}/login")
        page.get_by_text("go on").click()
        page.locator("#studies li").nth(9).wait_for()
        titles = page.locator("#studies h2 a").all_inner_texts()
        assert (titles[0], titles[-1]) == ("The contest", "first")  # what has ended comes last
        page.fill("#search", "Certified")
        page.locator("#studies li:visible").nth(1).wait_for(state="hidden")
        assert page.locator("#studies li:visible h2 a").all_inner_texts() == ["first"]
    finally:
        page.close()
        empty.stop()


def test_what_is_yes_or_no_is_asked_so(tokens, visit):
    bestk.Study("coins", "ab", k=1, rewards=bestk.Bernoulli(), storage=tokens[0], seed=1)
    page = visit("/studies/coins/rate", "rate")
    page.locator("#item.fresh").wait_for()
    assert page.locator("#levels button span").all_inner_texts() == ["no", "yes"]


def test_a_host_that_is_none_is_named_in_the_form(visit):
    page = visit("/studies")
    open_form(page)
    page.fill("[name=name]", "hosts")
    page.fill("[name=arms]", "left\nright")
    page.fill("[name=image_hosts]", "images.example.org/cats")
    page.click("text=Create")
    said = '"images.example.org/cats" is no host: a name such as images.example.org.'
    page.locator("#problem", has_text=said).wait_for()


def test_on_a_phone_the_standings_come_on_the_second_screen(server, visit):
    name = study(server, "phone")
    answer(server, name, 1)
    page = visit(f"/studies/{name}", viewport={"width": 360, "height": 780})
    page.locator(".row").first.wait_for()
    assert page.evaluate("document.querySelector('.list').getBoundingClientRect().top") < 2 * 780
    page.get_by_text("How certainty grew").click()
    page.locator("#charts").wait_for()


def test_while_a_study_runs_the_page_says_what_is_known(server, visit):
    name = study(server, "going on")
    pulls = server.post(f"/{name}/ask", {"n": 3, "worker": "w", "request": "r"})["pulls"]
    answers = [{"pull": pull["id"], "reward": 1} for pull in pulls]
    page = visit(f"/studies/{name}")
    page.get_by_text("Nobody has answered yet.").wait_for()
    server.post(f"/{name}/tell", {"answers": answers[:1]})
    page.locator("#verdict", has_text="every arm has to be observed first, and 1 of 3").wait_for()
    server.post(f"/{name}/tell", {"answers": answers[1:]})
    page.locator("#verdict", has_text="Known so far, with probability at least 95%: ").wait_for()
    said = page.locator("#verdict").inner_text()
    assert said.endswith("The study goes on until this difference is at most 0.5.")


def test_beside_a_desktop_the_standings_are_what_one_sees(server, visit):
    name = study(server, "desktop", [f"option {i}" for i in range(20)])
    answer(server, name, 1)
    page = visit(f"/studies/{name}", viewport={"width": 1280, "height": 900})
    page.locator("#charts svg, #charts p").first.wait_for()  # beside them, and open
    place = "(s) => document.querySelector(s).getBoundingClientRect()"
    top, left = (page.evaluate(f"({place})('{s}')") for s in (".list", ".side"))
    assert top["top"] < 900 / 2
    assert top["right"] < left["left"]
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_function("!document.querySelector('.fold').open")
    assert page.evaluate(f"({place})('.list')")["top"] < 900 * 2 / 3


def test_a_rater_is_not_told_that_an_answer_was_not_certified(tokens, visit):
    coins = bestk.Bernoulli()
    begun = bestk.Study("past", "ab", k=1, epsilon=0.9, rewards=coins, storage=tokens[0], seed=1)
    while pulls := begun.ask(10):
        for pull in pulls:
            begun.tell(pull, float(pull.arm == "a"))
    for role, said in (("rate", "ended"), ("view", "certified")):
        entry = visit("/studies", role).locator("#studies li", has_text="past")
        entry.locator(".badge").wait_for()
        assert entry.locator(".badge").inner_text() == said
        assert entry.locator("h2 a").count() == (role == "view")  # a way that leads somewhere


@pytest.mark.parametrize(
    ("size", "count", "said"),
    [
        (5e7, 30, r"\d\dM \d\dM to \d\dM"),
        (1.0, 2000, r"0\.\d{4} 0\.\d{4} to 0\.\d{4}"),
        (5e-6, 30, r"\d\.\de-6 \d\.\de-6 to \d\.\de-6"),
    ],
)
def test_values_of_any_size_have_room_beside_their_pulls(tokens, visit, size, count, said):
    name = f"values about {size:g}"
    begun = bestk.Study(
        name, "abc", k=1, rewards=bestk.Bounded(0, size), storage=tokens[0], seed=1, lease=60
    )
    for arm, share in (("a", 0.45), ("b", 0.55), ("c", 0.5)):
        for i in range(count):
            begun.add(arm, size * (share + 0.01 * (-1) ** i), id=f"{arm}{i}")
    page = visit(f"/studies/{name}", viewport={"width": 1280, "height": 800})
    for width in (1280, 900, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.locator(".row").nth(2).wait_for()
        fits = "(spans) => spans.every((e) => e.scrollWidth <= e.offsetWidth)"
        assert page.locator(".row > span:not(.plot)").evaluate_all(fits), width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert re.fullmatch(said, page.locator(".row .numbers").first.inner_text())
