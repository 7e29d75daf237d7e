"""`bestk report`: one page that says what is proved, needs nothing else, and takes any label."""

import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import bestk
from bestk.errors import InputError
from bestk.report.page.study import write
from bestk.report.words import ordinal
from bestk.study import Study
from bestk.study.certificate import make_certificate
from helpers.command import bestk as command
from helpers.command import good

SCRIPT = "<script>alert(1)</script>"
VOID = {"meta", "br", "img", "hr", "line", "rect", "circle", "polygon", "polyline"}


class Checker(HTMLParser):
    """Tags are closed in order; drawings have titles; nothing is fetched."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text, self.untitled = [], set(), "", 0
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        assert not given.keys() & {"src", "href", "srcset", "data", "action"}
        assert not [name for name in given if name.startswith("on")]
        if self.open and self.open[-1] == "svg" and tag == "title":
            self.untitled -= 1
        if tag == "svg" and given.get("role") == "img":
            self.untitled += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002 - as the parser calls it
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data


def read(path):
    """The page's text, after checks that hold of every page."""
    page = path.read_text(encoding="utf-8")
    found = Checker(page)
    assert found.untitled == 0
    assert not found.tags & {"script", "link", "iframe", "object", "embed", "img"}
    assert not re.search(r"https?:|url\(|@import", page)
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in page
    return re.sub(r"\s+", " ", found.text)


def tell_all(study, means, seed=1, most=10**6, noise=0.1):
    rng = random.Random(seed)
    while study.samples < most and (pulls := study.ask()):
        study.tell(pulls[0], rng.gauss(means[pulls[0].arm], noise))


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A stopped study with odd labels, a lost pull and a failed one."""
    file = tmp_path_factory.mktemp("certified") / "odd.db"
    means = {SCRIPT: 0.9, 'a & "b"': 0.8, "x" * 300: 0.1, "two\nlines": 0.2, ("t", 1): 0.0, 7: 0.3}
    study = Study('<b>odd</b>', means, k=2, delta=0.05, epsilon=0.05, storage=file, seed=1,
                  rewards=bestk.SubGaussian(0.1))  # fmt: skip
    (lost,) = study.ask()
    study.forget(lost)
    (failed,) = study.ask()
    study.fail(failed, "no answer")
    tell_all(study, means)
    assert study.result.certified
    return file


def test_the_page_of_a_certified_study(certified):
    target = certified.with_suffix(".html")
    assert good("report", str(certified)) == f"{target}\n"
    said = read(target)
    study = Study("<b>odd</b>", storage=certified)
    assert "<b>odd</b> certified" in said
    assert (
        "Certified: with probability at least 95%, every one of these 2 arms has a true mean at"
        " most 0.05 below the 2nd largest of all 6."
    ) in said
    assert f"Proof: {study.result.theorem}." in said
    assert "standard deviation 0.1 around the arm's mean (taken on trust" in said
    assert "1 attempt failed, 1 pull given up; it happened to 1 arm (the table" in said
    assert "does not depend on the reward it would have brought" in said
    assert f"pulls{study.samples:,}arms6failed attempts1pulls given up1" in said
    for label in (SCRIPT, 'a & "b"', "x" * 300, "two lines", "t, 1"):
        assert label in said


def test_the_page_has_the_hash_that_the_certificate_has(certified, tmp_path):
    log = make_certificate(certified)["log"]
    said = read(write(certified, tmp_path / "page.html"))
    assert f"SHA-256 of the first {log['events']:,} events{log['sha256']}" in said


def test_the_same_log_gives_the_same_page(certified, tmp_path):
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert good("report", str(certified), "--output", str(one)) == f"{one}\n"
    assert write(certified, two).read_bytes() == one.read_bytes()


def test_a_study_that_has_not_stopped_is_plainly_not_certified(tmp_path):
    file = tmp_path / "s.db"
    means = {f"arm {i}": 0.5 + 0.01 * i for i in range(5)}
    study = Study("s", means, k=2, delta=0.1, storage=file, seed=1, rewards=bestk.Gaussian(1.0))
    assert "Not certified: not every arm has been observed yet." in read(write(file))
    tell_all(study, means, most=100, noise=1.0)
    said, result = read(write(file)), study.result
    assert "Not certified: the rule has not stopped yet." in said
    assert "Certified" not in said
    weaker = result.rounded_up(result.certifiable_epsilon)
    assert float(weaker) >= result.certifiable_epsilon  # never says more than is proved
    assert (
        f"with probability at least 90%, every one of these 2 arms has a true mean at most {weaker}"
        in said
    )
    assert f"An estimate, not a promise: about {result.forecast:,} more pulls" in said
    assert "Nothing: no attempt failed, and no pull was given up." in said


def test_a_heuristic_is_not_certified_though_it_has_stopped(tmp_path):
    file = tmp_path / "s.db"
    study = Study("s", "abc", k=1, policy="lil-rand-lucb", variant="heuristic", storage=file)
    tell_all(study, {"a": 0.1, "b": 0.9, "c": 0.2}, noise=0.0)
    assert study.is_stopped
    said = read(write(file))
    assert "the rule of lil-rand-lucb (heuristic) has stopped, but it is a heuristic" in said
    assert "takes for granted" not in said


def test_a_route_is_minimised_as_a_whole(tmp_path):
    file = tmp_path / "s.db"
    path = bestk.Path([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")], "a", "d")
    minutes = dict(zip(path.names, (1.0, 2.5, 2.0, 3.0), strict=True))
    study = Study("route", decision=path, epsilon=0.5, maximize=False, storage=file, seed=1,
                  rewards=bestk.Bounded(0, 5))  # fmt: skip
    tell_all(study, minutes)
    said = read(write(file))
    assert "Wanted: the path with the smallest total mean, of 4 arms." in said
    assert "the total of the true means of this path is within 0.5 of the smallest total" in said
    assert "Rewards lie between 0 and 5 (checked, one by one)." in said
    drawn = said[said.index("A dot is") :]  # the answer first, though another street is faster
    assert drawn.index("b, d") < drawn.index("the answer ends here") < drawn.index("a, c")


def test_many_arms_are_drawn_around_the_boundary_and_all_are_in_the_table(tmp_path):
    file = tmp_path / "s.db"
    means = {f"arm {i:03}": i / 200 for i in range(200)}
    study = Study("s", means, k=50, storage=file, seed=1, rewards=bestk.Gaussian(0.1))
    tell_all(study, means, most=400)
    write(file)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    drawn = page[
        page.index('<ol class="arms">') : page.index("</ol>", page.index('<ol class="arms">'))
    ]
    ranks = [int(rank) for rank in re.findall(r'class="rank">(\d+)<', drawn)]
    assert ranks == [*range(1, 11), *range(36, 71)]
    assert "25 arms are not drawn here" in drawn
    said = read(tmp_path / "s.html")
    assert "The means of the 155 other arms" in said
    table = page[page.index("<tbody>") :]
    assert len(re.findall("arm [0-9]{3}<", table)) == 200


def test_what_cannot_be_reported_is_refused(certified, tmp_path):
    missing = command("report", str(tmp_path / "none.db"))
    assert missing.returncode == 2
    assert "there is no such file" in missing.stderr
    with pytest.raises(InputError, match="the study's own file"):
        write(certified, certified)
    with pytest.raises(InputError, match="there is no folder"):
        write(certified, tmp_path / "no" / "page.html")
    with pytest.raises(InputError, match="even"):
        write(certified, name="even")


def test_words_for_numbers():
    assert [ordinal(i) for i in (1, 2, 3, 4, 11, 12, 13, 21, 112, 1001)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th", "1,001st",
    ]  # fmt: skip


# --- in a browser ---------------------------------------------------------------------------------

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
MEASURE = """<!doctype html><body><iframe id="frame" src="page.html" height="800"></iframe><script>
onload = () => {
  const frame = document.getElementById("frame"), found = [];
  for (const width of [320, 390, 768, 1200]) {
    frame.style.cssText = `border: 0; width: ${width}px`;
    const inside = frame.contentDocument;
    inside.querySelector("details").open = true;
    found.push([width, inside.documentElement.scrollWidth]);
  }
  const requests = frame.contentWindow.performance.getEntriesByType("resource").map(e => e.name);
  const charts = frame.contentDocument.querySelectorAll("svg.chart").length;
  document.body.textContent = JSON.stringify({found, requests, charts});
};
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_fetches_nothing_and_never_scrolls_sideways(certified, tmp_path):
    write(certified, tmp_path / "page.html")
    (tmp_path / "measure.html").write_text(MEASURE, encoding="utf-8")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
         "--virtual-time-budget=20000", "--dump-dom", (tmp_path / "measure.html").as_uri()],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen = json.loads(re.search(r"<body>(.*)</body>", done.stdout).group(1))
    assert seen["requests"] == []
    assert seen["charts"] >= 4
    for width, needed in seen["found"]:
        assert needed <= width
