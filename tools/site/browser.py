"""Which browser looks at the site, and how it is started: for the tests and for Lighthouse."""

import os
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = (  # no call home, and no other host to be found: the site must do with its own
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
HANGS = 600_000  # milliseconds after which no busy machine, but only a hanging page is the reason


def find_browser() -> str | None:
    """The program that CHROME names, else the first one on the path; None if there is none."""
    chosen = os.environ.get("CHROME")
    for name in [chosen] if chosen else NAMES:
        if program := shutil.which(name):
            return program
    return None


def new_page(browser: "Browser", **how: Any) -> "Page":
    """A page of a browser that waits as long as it takes."""
    page = browser.new_page(**how)
    page.set_default_timeout(HANGS)
    return page
