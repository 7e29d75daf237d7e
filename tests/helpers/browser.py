"""A real Chromium and a real server, for tests of the pages."""

import json
import shutil
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
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
