"""Which browser looks at the site: for the tests and for Lighthouse."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser():
    """The program that CHROME names, else the first Chromium or Chrome on the path; None if there is none."""
    return next(
        filter(
            None, map(shutil.which, [os.environ["CHROME"]] if os.environ.get("CHROME") else NAMES)
        ),
        None,
    )
