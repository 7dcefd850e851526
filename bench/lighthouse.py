"""Lighthouse on each page of the site, at a desk and on a phone: a table; 1 for low scores.

    python -m bench.lighthouse [PAGE ...]

It needs Chromium, and node 18 or later (npx fetches Lighthouse, pinned below). Lighthouse makes a
phone out of this machine by slowing it down four times, which suits a machine of benchmark index
1,500 to 2,000. A slower one would make a slower phone; so, as its guide advises
(docs/throttling.md), the factor follows the index that the runs at the desk measured, and the phone
is the same everywhere.
"""

import functools
import gzip
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tools.repository import ROOT
from tools.site.browser import find_browser

SITE = ROOT / "_build" / "html"
LIGHTHOUSE = "lighthouse@12.8.2"
CATEGORIES = {"performance": 95, "accessibility": 95, "best-practices": 95, "seo": 95}
ON_A_PHONE = {**CATEGORIES, "performance": 90}
PHONE_INDEX = 1750 / 4  # the benchmark index of the phone that Lighthouse has in mind
NOT_PAGES = {
    "index.html",
    "genindex.html",
    "search.html",
    "404.html",
}  # a redirect, an empty index, and two that search engines skip


class Compressing(http.server.SimpleHTTPRequestHandler):
    """A server that compresses and caches, as GitHub Pages does."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return self.send_error(404)
        body = path.read_bytes()
        squeeze = path.suffix in (".html", ".css", ".js", ".json", ".svg", ".txt", ".xml")
        body = gzip.compress(body) if squeeze else body
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        if squeeze:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)


def scores(url, slowdown=None):
    """({category: 0..100}, the machine's benchmark index) of a page, with a slowdown on a phone."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            "npx",
            "--yes",
            LIGHTHOUSE,
            url,
            "--quiet",
            "--output=json",
            f"--output-path={report}",
            f"--only-categories={','.join(CATEGORIES)}",
            "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
            f"--throttling.cpuSlowdownMultiplier={slowdown:.2f}"
            if slowdown
            else "--preset=desktop",
        ]
        run = subprocess.run(command, capture_output=True, encoding="utf-8")
        if not report.exists():
            sys.exit(f"lighthouse failed on {url}:\n{run.stderr[-2000:]}")
        found = json.loads(report.read_text(encoding="utf-8"))
        if "-v" in sys.argv:
            for audit in found["audits"].values():
                if audit.get("score") is not None and audit["score"] < 0.9:
                    print("   ", audit["id"], audit.get("displayValue", ""), file=sys.stderr)
        return {
            name: round(100 * found["categories"][name]["score"]) for name in CATEGORIES
        }, found["environment"]["benchmarkIndex"]


def main():
    chrome = find_browser()
    if not chrome or not shutil.which("npx"):
        sys.exit(
            "lighthouse: needs Chrome or Chromium (CHROME=/path/to/it) and npx of node 18 or later"
        )
    if not (SITE / "index.html").exists():
        sys.exit("lighthouse: there is no site yet; run `make book`")
    os.environ["CHROME_PATH"] = chrome
    asked = [a for a in sys.argv[1:] if a != "-v"]
    pages = asked or sorted(
        str(p.relative_to(SITE))
        for p in SITE.rglob("*.html")
        if "_static" not in p.parts and p.name not in NOT_PAGES or p == SITE / "book" / "index.html"
    )
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Compressing, directory=SITE)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    low, indices = [], []

    def show(page, place, wanted, found):
        print(
            f"| {page.removesuffix('.html')} | {place} | "
            + " | ".join(map(str, found.values()))
            + " |",
            flush=True,
        )
        low.extend(
            f"{page}, {place}: {name} {found[name]}, wanted {least}"
            for name, least in wanted.items()
            if found[name] < least
        )

    print(
        "| page | | performance | accessibility | best practices | SEO |\n|---|---|---|---|---|---|"
    )
    for page in pages:
        found, index = scores(f"{address}/{page}")
        indices.append(index)
        show(page, "desk", CATEGORIES, found)
    slowdown = max(1, statistics.median(indices) / PHONE_INDEX)
    for page in pages:
        show(page, "phone", ON_A_PHONE, scores(f"{address}/{page}", slowdown)[0])
    index = statistics.median(indices)
    print(f"The machine's benchmark index: {index:.0f}; slowed {slowdown:.2f} times for the phone.")
    print("\n".join(low), file=sys.stderr)
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
