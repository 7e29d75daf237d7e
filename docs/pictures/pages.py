"""Takes the pictures of the pages in Chromium: `python docs/pictures/pages.py ADDRESS`.

ADDRESS is that of `make serve-demo`, which has to be running and some thousands of ratings on.
"""

import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SHOTS = {  # name: page, what has to be there, width and height
    "live": ("", "#charts svg", 1280, 820),
    "rate": ("/rate", "#item.fresh", 720, 540),
}

with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    for name, (path, ready, width, height) in SHOTS.items():
        screen = {"width": width, "height": height}
        page = browser.new_page(viewport=screen, reduced_motion="reduce")
        page.goto(f"{sys.argv[1]}/studies/captions{path}")
        page.locator(ready).first.wait_for()
        page.wait_for_timeout(3000)  # the pace has to settle
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
        few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=0)  # small spots keep theirs
        few.save(HERE / f"{name}.png", optimize=True)
        if path:
            page.locator("#skip").click()  # others may rate it
            page.wait_for_timeout(500)
    browser.close()
