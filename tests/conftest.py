"""The built site, a server for it and a browser: for all tests that look at pages as readers do."""

import fcntl
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tools.repository import ROOT
from tools.site.browser import HANGS, QUIET, find_browser

NOT_PAGES = {"genindex.html", "index.html"}  # made by Sphinx: an empty index, a redirect


class Built(NamedTuple):
    folder: Path
    base: str  # the path under which GitHub Pages serves it, "project/", or "" for a user's page
    said: str
    code: int


@pytest.fixture(scope="session")
def validate():
    """What pytest says of notebooks outside the course: validate(folder, *notebooks, **variables).

    Variables of the environment may tell the kernels that they are on another processor.
    """

    def run(folder, *notebooks, **variables):
        command = [sys.executable, "-m", "pytest", "-c", ROOT / "pytest.ini", "-p", "conftest"]
        command += ["--color=no", "-q", "-n0", "--rootdir", folder, *(notebooks or [folder])]
        environment = {**os.environ, **variables, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8"
        )
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The site and what its build said: built once in a run; each process has a copy of its own."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with open(shared / "site.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out, said = shared / "site-built", shared / "site-said.txt"
        if not said.exists():
            command = [Path(sys.executable).parent / "jupyter-book", "build", ROOT]
            command += ["-W", "--keep-going", "-n", "--path-output", out]
            run = subprocess.run(command, capture_output=True, encoding="utf-8")
            said.write_text(f"{run.returncode}\n{run.stdout}{run.stderr}", "utf-8")
    code, text = said.read_text("utf-8").split("\n", 1)
    made, base = out / "_build" / "html", "site/"
    if (sitemap := made / "sitemap.xml").exists():
        home = re.search(r"<loc>([^<]*)book/index\.html<", sitemap.read_text("utf-8"))
        base = urlsplit(home[1]).path.lstrip("/")
    folder = own / "served" / base
    if made.exists():
        shutil.copytree(made, folder)  # tests plant faulty pages in it
    return Built(folder, base, text, int(code))


@pytest.fixture(scope="session")
def site(built):
    """The folder of the built site."""
    if not (built.folder / "book" / "index.html").exists():
        pytest.fail(f"the site was not built:\n{built.said[-3000:]}")
    return built.folder


@pytest.fixture(scope="session")
def pages(site):
    """The site's pages, as paths below its folder."""
    found = {path.relative_to(site) for path in site.rglob("*.html")}
    return sorted(str(p) for p in found if "_static" not in p.parts and str(p) not in NOT_PAGES)


@pytest.fixture(scope="session")
def served(site, built):
    """The address of the site on a server of ours, under the same folder as on GitHub Pages."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    root = str(site).removesuffix(built.base.rstrip("/"))
    handler = functools.partial(Handler, directory=root)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{built.base}"
    server.shutdown()


@pytest.fixture(scope="module")  # while it is open no other event loop can run in this process
def browser():
    if os.environ.get("NO_BROWSER") == "1":
        warnings.warn("NO_BROWSER=1: nobody has looked at the site in a browser", stacklevel=1)
        pytest.skip("NO_BROWSER=1: NOBODY HAS LOOKED AT THE SITE IN A BROWSER")
    program = find_browser()
    if not program:
        pytest.fail(
            "No browser found. Install Chromium (Debian, Ubuntu: apt install chromium; macOS: brew "
            "install chromium) or name one with CHROME=/path/to/chrome. NO_BROWSER=1 skips these "
            "tests."
        )
    from playwright import sync_api  # here, so that NO_BROWSER=1 needs no Playwright

    # A scroll by key is an animation, and Chromium drops one whose first frame comes late: the key
    # arrives, "scrollend" too, and nothing has moved. A busy machine must not look like a dead box.
    args = (*QUIET, "--disable-smooth-scrolling")
    with sync_api.sync_playwright() as play:
        chrome = play.chromium.launch(executable_path=program, args=args, timeout=HANGS)
        yield chrome
        chrome.close()
