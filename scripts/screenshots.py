"""Make pictures of each page, light and dark, of a day of a small shop: to look at, and for the documentation.

Usage: python scripts/screenshots.py [FOLDER]

Without a folder those of the documentation are made anew. The browser is that of the tests.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from harness.browser import FLAGS, program  # noqa: E402
from harness.database import SQLiteDatabase  # noqa: E402
from harness.web_day import plant_a_day  # noqa: E402

IMAGES = ROOT / "docs" / "images"
JOBRUNNER = Path(sys.executable).with_name("jobrunner")
SCHEDULE, OFTEN = (urlencode({"name": name}) for name in ("sales of the day", "index all products"))
PAGES = (
    "",
    "runs",
    "errors",
    "types",
    "schedules",
    "schedules/calendar",
    f"schedule?{SCHEDULE}",
    f"schedule?{OFTEN}",
    "hosts",
    "effects",
    "audit",
)
# The pages of the documentation, the height of their pictures, and their scheme.
SHOWN = {
    "now": ("", 940, "light"),
    "run": ("runs/{dead}", 900, "dark"),
    "types": ("types", 930, "light"),
    "calendar": ("schedules/calendar", 530, "light"),
    "schedule": (f"schedule?{OFTEN}", 860, "light"),
}


def take_all(page: Page, home: str, runs: dict[str, int], folder: Path) -> None:
    """Each page as a whole, in light, in dark, and on screens from a telephone to a wall."""
    for path in (*PAGES, *(f"runs/{run_id}" for run_id in runs.values())):
        page.goto(home + path)
        name = re.sub(r"\W+", "-", path) or "now"
        for scheme, width in (("light", 1280), ("dark", 1200), ("small", 360), ("tablet", 768), ("wide", 2560)):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.set_viewport_size({"width": width, "height": 800})
            page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)


def take_some(page: Page, home: str, runs: dict[str, int]) -> None:
    """What the documentation shows: the first screen of a few pages."""
    for name, (path, height, scheme) in SHOWN.items():
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": 1200, "height": height})
        page.goto(home + path.format(**runs))
        page.screenshot(path=IMAGES / f"{name}.png")


def take(browser: Browser, link: str, runs: dict[str, int], folder: Path | None) -> None:
    page = browser.new_page(extra_http_headers={"X-Remote-User": "ada"})
    page.goto(link)
    if folder is None:
        take_some(page, page.url, runs)
    else:
        take_all(page, page.url, runs, folder)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    (folder or IMAGES).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        database = SQLiteDatabase(Path(scratch) / "shop.db")
        environment = {**os.environ, "JOBRUNNER_DATABASE_URL": database.url}
        subprocess.run([JOBRUNNER, "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
        runs = plant_a_day(database)
        # The person has the same name on each machine.
        command = [JOBRUNNER, "web", "--port", "0", "--trust-header", "X-Remote-User", "--proxy", "127.0.0.1"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=scratch) as server:
            assert server.stdout
            link = server.stdout.readline().strip()
            chromium, needs = program()
            with sync_playwright() as playwright:
                started = playwright.chromium.launch(
                    executable_path=chromium, args=[*FLAGS], env={**os.environ, **needs}
                )
                take(started, link, runs, folder)
                started.close()
            server.send_signal(signal.SIGINT)
            server.communicate()


if __name__ == "__main__":
    main()
