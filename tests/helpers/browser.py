"""A real Chromium and a real server, for tests of the pages."""

import json
import shutil
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LEVELS = [{"value": 0.0, "label": "bad"}, {"value": 1.0, "label": "good"}]
PAGE = {"title": "The contest", "question": "How good?", "levels": LEVELS}


@contextmanager
def chromium():
    """The system's browser; the test is skipped where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path")
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Served:
    """A running server, and requests to it with a token."""

    def __init__(self, file, token):
        command = [sys.executable, "-m", "bestk", "serve", str(file), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]
        self.token = token

    def get(self, path):
        return self.post(path, None)

    def post(self, path, body):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        url = f"{self.address}/api/studies{quote(path)}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


def study(server, name, arms=("a", "b", "c"), **settings):
    rest = {"k": 1, "epsilon": 0.5, "rewards": "bernoulli", "seed": 1, "page": PAGE}
    server.post("", {"name": name, "arms": list(arms), **rest, **settings})
    return name


def answer(server, name, reward):
    pulls = server.post(f"/{name}/ask", {"n": 3, "worker": "w", "request": f"r{reward}"})["pulls"]
    answers = [{"pull": pull["id"], "reward": reward} for pull in pulls]
    return server.post(f"/{name}/tell", {"answers": answers})["samples"]


def check_readable(page, width):
    """That axe finds nothing serious on a page, and that nothing is wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    source = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    found = page.evaluate(f"(() => {{ {source}; return window.axe.run() }})()")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(page.url, each["id"], each["nodes"][0]["html"]) for each in serious] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def open_form(page):
    """That for a new study, on the list of studies; where there is none yet it is open already."""
    page.locator("#new").wait_for()
    page.evaluate("document.getElementById('new').open = true")
