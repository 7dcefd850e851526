"""The built site, opened as a reader would open it: in a real browser, on a desk, on a phone, from a zip.

Each look at a page collects its faults as sentences; `test_each_check_sees_a_planted_fault` plants every kind once.
Without a browser these tests fail and say what to install; NO_BROWSER=1 skips them.
"""

import functools
import gzip
import http.server
import io
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
import yaml
from PIL import Image

from tools.browser import find_browser

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "_ext"))
from maths import mathml  # noqa: E402

REPOSITORY = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]
NAME = (
    REPOSITORY["url"].rstrip("/").rsplit("/", 1)[1]
)  # GitHub Pages serves the site in a folder of this name
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
FIRST_VIEW = 400_000  # bytes, compressed
NOT_PAGES = {"genindex.html", "index.html"}  # made by Sphinx: an empty index, a redirect


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(folder of the built site, what the build said, its exit code), built away from the working tree."""
    out = tmp_path_factory.mktemp("site")
    command = [
        str(Path(sys.executable).parent / "jupyter-book"),
        "build",
        str(ROOT),
        "-W",
        "--keep-going",
        "-n",
        "--path-output",
        str(out),
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    site = out / NAME
    if (made := out / "_build" / "html").exists():
        made.rename(site)
    return site, run.stdout + run.stderr, run.returncode


@pytest.fixture(scope="module")
def site(built):
    if not (built[0] / "book" / "index.html").exists():
        pytest.fail(f"the site was not built:\n{built[1][-3000:]}")
    return built[0]


@pytest.fixture(scope="module")
def served(site):
    """The address of the site on a server of ours, under the folder that GitHub Pages will use."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=site.parent)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{NAME}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    if os.environ.get("NO_BROWSER") == "1":
        warnings.warn("NO_BROWSER=1: nobody has looked at the site in a browser")
        pytest.skip("NO_BROWSER=1: NOBODY HAS LOOKED AT THE SITE IN A BROWSER")
    program = find_browser()
    if not program:
        pytest.fail(
            "No browser found. Install Chromium (Debian, Ubuntu: apt install chromium; macOS: brew install "
            "chromium) or name one with CHROME=/path/to/chrome. NO_BROWSER=1 skips these tests."
        )
    from playwright import sync_api  # here, so that NO_BROWSER=1 needs no Playwright

    with sync_api.sync_playwright() as play:
        chrome = play.chromium.launch(executable_path=program, args=QUIET)
        yield chrome
        chrome.close()


def pages(site):
    return sorted(
        str(path.relative_to(site))
        for path in site.rglob("*.html")
        if "_static" not in path.parts and str(path.relative_to(site)) not in NOT_PAGES
    )


# What one look at a page finds.


def look(browser, url):
    """The faults of one page, as sentences that begin with the kind of fault."""
    context = browser.new_context(viewport=DESK, color_scheme="light")
    page, faults, size, host, first_view = context.new_page(), [], [0], urlsplit(url).netloc, [True]

    def weigh(response):
        if (
            not first_view[0] and response.request.resource_type == "image"
        ):  # it waited until it was scrolled to
            return
        try:
            body = response.body()
        except Exception:  # a redirect or a cancelled request has no body
            return
        squeezable = re.search(
            "text|script|json|svg|html|css", response.headers.get("content-type", "")
        )
        size[0] += len(gzip.compress(body)) if squeezable else len(body)

    page.on("console", lambda m: faults.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(f"console: {error}"))
    page.on(
        "request",
        lambda r: (
            faults.append(f"host: asks {r.url}")
            if urlsplit(r.url).scheme.startswith("http") and urlsplit(r.url).netloc != host
            else None
        ),
    )
    page.on("response", weigh)
    page.goto(url, wait_until="load")
    wake(page)
    first_view[0] = False
    settle(page)
    if size[0] > FIRST_VIEW:
        faults.append(
            f"weight: the first view takes {size[0]:,} bytes compressed, the budget is {FIRST_VIEW:,}"
        )
    faults += page.evaluate("""() => {
        const found = [];
        const raw = [...document.querySelectorAll('.math')].filter(m => !m.querySelector('mjx-container'));
        if (raw.length) found.push(`maths: ${raw.length} formulas are not typeset, e.g. ${raw[0].textContent.slice(0, 40)}`);
        for (const e of document.querySelectorAll('mjx-merror')) found.push(`maths: error in ${e.textContent.slice(0, 60)}`);
        for (const i of document.querySelectorAll('img'))
            if (!i.hasAttribute('alt') || i.closest('article') && !i.alt.trim() || /^(\\.\\.\\/)?_images\\//.test(i.alt)) found.push(`alt: ${i.src.slice(-60)} says nothing to who cannot see it`);
        for (const i of document.querySelectorAll('article img'))
            if (!i.getAttribute('width') || !i.getAttribute('height')) found.push(`size: ${i.src.slice(-60)} moves the page when it arrives`);
        return found;
    }""")
    faults += flipbook_faults(page)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(100)
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > PHONE["width"]:
        faults.append(f"phone: the page is {width} px wide on a screen of {PHONE['width']}")
    context.close()
    return faults


def axe_faults(browser, url):
    """What axe finds that is serious, by day and by night. For speed maths stays raw and code loses its colours."""
    from axe_playwright_python.sync_playwright import Axe

    faults, options = [], {"resultTypes": ["violations"]}
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport=DESK, color_scheme=scheme)
        page.route("**/mathjax/**", lambda route: route.abort())
        page.goto(url, wait_until="load")
        page.add_style_tag(content="html section { content-visibility: visible !important }")
        page.evaluate("reach([document.body])")
        page.evaluate(
            "document.querySelectorAll('.highlight pre').forEach(pre => pre.textContent = pre.textContent)"
        )
        found = Axe().run(page, options=options).response["violations"]
        faults += [
            f"axe, {scheme}: {v['help']}: {v['nodes'][0]['html'][:200]}"
            for v in found
            if v["impact"] in ("serious", "critical")
        ]
        options["runOnly"] = ["color-contrast"]
        page.close()
    return faults


def wake(page):
    """Do what a reader does, and wait until MathJax, if the page has maths, is there."""
    page.evaluate("dispatchEvent(new Event('scroll'))")
    if page.locator(".math").count():
        try:
            page.wait_for_function("window.MathJax?.startup?.promise", timeout=5000)
            page.evaluate("() => MathJax.startup.promise")
        except Exception:  # said by look(), as a fault of the page
            pass


def settle(page):
    """Look at the whole page, and wait until its maths, if it has any, is typeset."""
    wake(page)
    page.evaluate("""async () => {
        const drawn = () => new Promise(done => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 1000) });
        for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) { scrollTo({ top: y, behavior: 'instant' }); await drawn() }
        scrollTo({ top: 0, behavior: 'instant' });
    }""")
    try:
        page.wait_for_function(
            "![...document.querySelectorAll('.math')].some(formula => !formula.querySelector('mjx-container'))",
            timeout=5000,
        )
    except Exception:  # said by look(), as a fault of the page
        pass


def flipbook_faults(page):
    """Move every flip-book's control with the keyboard and compare pixels."""
    faults = []
    for number in range(page.locator(".flipbook").count()):
        book = page.locator(".flipbook").nth(number)
        control = book.locator("input[type=range], input[type=radio]").first
        if not control.count():
            faults.append(f"flip-book: number {number + 1} has no control")
            continue
        book.scroll_into_view_if_needed()
        picture = book.locator(".flipbook-frames")
        before = picture.screenshot()
        control.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(50)
        if picture.screenshot() == before:
            faults.append(
                f"flip-book: the control of number {number + 1} does not move its picture"
            )
        if not control.evaluate("c => c.getAttribute('aria-label') || c.labels?.length"):
            faults.append(f"flip-book: the control of number {number + 1} has no name")
    return faults


# What the files alone show.


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.hrefs = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs["id"]} if attrs.get("id") else set()
        if tag == "a" and attrs.get("href"):
            self.hrefs.append(attrs["href"])


def link_faults(site, name):
    """Internal links and anchors that lead nowhere; Colab links to files that the repository does not hold."""
    faults, parsed = [], functools.cache(lambda path: Links(path.read_text("utf-8")))
    base = f"http://site/{NAME}/{name}"
    repository = urlsplit(REPOSITORY["url"]).path.strip("/")
    for href in parsed(site / name).hrefs:
        if "colab.research.google.com" in href:
            inside = re.fullmatch(
                rf".*/github/{repository}/blob/{REPOSITORY['branch']}/(.+\.ipynb)", href
            )
            if not inside or not (ROOT / inside[1]).exists():
                faults.append(f"colab: {href} opens nothing that is in the repository")
            continue
        url = urlsplit(urljoin(base, href))
        if url.netloc != "site" or url.scheme != "http":
            continue
        if not url.path.startswith(f"/{NAME}/"):
            faults.append(f"link: {href} leaves the site's folder")
            continue
        target = site / unquote(url.path.removeprefix(f"/{NAME}/"))
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            faults.append(f"link: {href} leads nowhere")
        elif (
            url.fragment
            and target.suffix == ".html"
            and unquote(url.fragment) not in parsed(target).ids
        ):
            faults.append(f"anchor: {href} names no place on its page")
    return faults


def search(page, address, words):
    """The titles that the site's search finds."""
    page.goto(f"{address}search.html?q={words.replace(' ', '+')}")
    try:
        page.wait_for_selector("#search-results li", timeout=8000)
    except Exception:  # nothing found: say so by an empty list
        return []
    return page.locator("#search-results li > a").all_inner_texts()


def turns_dark(page):
    """Whether the button in the bar leads to a dark page."""
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for _ in range(3):
        page.locator(".theme-switch-button:visible").first.click()
        if page.evaluate("document.documentElement.dataset.theme") == "dark":
            return page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    return False


# The tests.


def test_build_is_clean(built):
    said = [line for line in built[1].splitlines() if "WARNING" in line or "ERROR" in line]
    assert built[2] == 0, "\n".join(said) or built[1][-3000:]


def test_links_lead_somewhere(site):
    assert not [f"{name}: {fault}" for name in pages(site) for fault in link_faults(site, name)]


def test_every_page_opens_well(site, served, browser):
    assert not [
        f"{name}: {fault}" for name in pages(site) for fault in look(browser, served + name)
    ]


@pytest.mark.parametrize(
    "some",
    [
        ("book/index.html", "book/checked.html", "exercises/first-steps.html"),
        pytest.param((), marks=pytest.mark.long, id="all"),
    ],
)
def test_axe_finds_nothing_serious(site, served, browser, some):
    assert not [
        f"{name}: {fault}"
        for name in some or pages(site)
        for fault in axe_faults(browser, served + name)
    ]


@pytest.mark.parametrize("words", ["vanishing", "hidden state"])
def test_search_finds(served, browser, words):
    page = browser.new_page()
    assert search(page, served, words)
    page.close()


def test_dark_toggle(served, browser):
    page = browser.new_page(color_scheme="light")
    page.goto(served + "book/index.html")
    assert turns_dark(page)
    page.close()


def test_figures_lie_on_the_page_at_night(served, browser):
    """What is white on paper is the page's own dark, for a plain figure and for a flip-book's."""
    page = browser.new_page(viewport=DESK, color_scheme="dark")
    page.goto(served + "book/forward-pass.html")
    settle(page)
    behind = [
        int(part)
        for part in re.findall(
            r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor")
        )[:3]
    ]
    for figure in (".bd-article figure > img", ".flipbook-frames"):
        picture = Image.open(io.BytesIO(page.locator(figure).first.screenshot())).convert("RGB")
        paper = max(picture.getcolors(picture.width * picture.height))[
            1
        ]  # the colour that most of it has
        assert max(abs(a - b) for a, b in zip(paper, behind)) < 4, (
            f"{figure}: {paper} on a page of {behind}"
        )
    page.close()


def test_formulas_stand_on_the_page_without_a_script(served, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served + "book/recurrence.html")
    formulas = page.locator(".math > math")
    assert formulas.count() == page.locator(".math").count() > 50
    assert (
        formulas.first.bounding_box()["width"] > 20
        and not page.locator(".math > .tex").first.is_visible()
    )
    context.close()


def test_a_page_is_finished_where_its_reader_is(served, browser):
    """Till he moves there is no MathJax; then what is near him is typeset, and what scrolls there can be reached."""
    page, asked = browser.new_page(viewport=PHONE), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(served + "book/recurrence.html", wait_until="load")
    page.wait_for_timeout(500)
    assert not [url for url in asked if "mathjax" in url]
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("mjx-container")
    last = (
        page.locator(".bd-article > section > section")
        .filter(has=page.locator("details .math"))
        .last
    )
    assert last.locator("mjx-container").count() == 0
    assert not last.locator("p").first.evaluate(
        "p => p.checkVisibility({contentVisibilityAuto: true})"
    )
    last.locator("details > summary").first.click()
    last.locator("mjx-container").first.wait_for(state="attached")
    page.wait_for_function(
        "[...document.querySelectorAll('pre')].some(pre => pre.tabIndex == 0 && pre.scrollWidth > pre.clientWidth)"
    )
    page.close()


def test_who_comes_to_a_place_stands_there(site, served, browser):
    """A link into a page leads to its place, and a reload back to it: then all that stands above is laid out at once."""
    all_laid_out = """() => [...document.querySelectorAll('.bd-article > section > section')]
        .every(section => section.firstElementChild.checkVisibility({contentVisibilityAuto: true}))"""
    page = browser.new_page(viewport=PHONE)
    name = "book/reach-versus-reality.html"
    place = re.findall(r'<section id="([^"]+)"', (site / name).read_text("utf-8"))[-2]
    for address in (f"{name}#{place}", name):
        page.goto("about:blank")
        page.goto(served + address, wait_until="load")
        page.evaluate("place => { location.hash = place }", place)
        wake(page)
        page.wait_for_timeout(1000)
        top = page.evaluate(
            "place => document.getElementById(place).getBoundingClientRect().top", place
        )
        assert -5 < top < PHONE["height"] / 3, f"{address}: #{place} is {top:.0f} px from the top"
        assert page.evaluate(all_laid_out), address
    page.goto(served + name)
    assert not page.evaluate(all_laid_out), (
        "a phone lays out the whole page before it shows any of it"
    )
    for _ in range(12):
        page.mouse.wheel(0, 1000)
        page.wait_for_timeout(100)
    seen = "() => [...document.querySelectorAll('.bd-article p')].findIndex(p => p.getBoundingClientRect().top > 0)"
    before = page.evaluate(seen)
    page.reload(wait_until="load")
    page.wait_for_timeout(1500)
    assert abs(page.evaluate(seen) - before) < 3 < before, (
        "a page that is reloaded is no longer where it was"
    )
    assert page.evaluate(all_laid_out), "after a reload"
    page.close()


def test_each_page_counts_its_figures_and_tables_from_one(site):
    for name in pages(site):
        seen = re.findall(
            r'caption-number">(Figure|Table|Code) (?:\d+\.)?(\d+) ',
            (site / name).read_text("utf-8"),
        )
        for kind in {kind for kind, _ in seen}:
            numbers = [int(number) for what, number in seen if what == kind]
            assert numbers == list(range(1, len(numbers) + 1)), (
                f"{name}: {kind}s are numbered {numbers}"
            )


def test_a_formula_that_cannot_stand_as_mathml_is_named():
    assert "&#x1D421;" in mathml(r"\mathbf h_t", "inline"), "a bold h is a letter of its own"
    assert "<mtable" in mathml(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "block")
    with pytest.raises(ValueError, match="nonsense"):
        mathml(r"\nonsense h", "inline")


def test_works_from_a_zip(site, browser, tmp_path):
    """Downloaded as one file and opened from disk: no server, still maths, flip-books and search."""
    shutil.unpack_archive(
        shutil.make_archive(str(tmp_path / "site"), "zip", site), tmp_path / "unzipped"
    )
    folder, page = tmp_path / "unzipped", browser.new_page()
    with_maths = [
        name for name in pages(folder) if 'class="math' in (folder / name).read_text("utf-8")
    ]
    with_both = [
        name for name in with_maths if 'class="flipbook"' in (folder / name).read_text("utf-8")
    ]
    for name in with_both[:2]:
        page.goto((folder / name).as_uri())
        settle(page)
        assert page.locator("mjx-container").count(), f"{name}: no maths when opened from disk"
        assert not flipbook_faults(page), f"{name}: when opened from disk"
    assert search(page, folder.as_uri() + "/", "vanishing"), (
        "search finds nothing when opened from disk"
    )
    page.close()


def test_pages_are_described(site):
    said = {
        name: re.findall(
            r'<meta (?:content="([^"]*)" [^>]*)?name="description"(?: content="([^"]*)")?|'
            r'<meta content="([^"]*)"[^>]*name="description"',
            (site / name).read_text("utf-8"),
        )
        for name in pages(site)
        if name not in ("404.html", "search.html")
    }
    assert not [name for name, found in said.items() if not any(any(each) for each in found)]
    listed = (site / "sitemap.xml").read_text("utf-8")
    assert not [name for name in said if f"/{name}<" not in listed]


PLANTED = {  # kind of fault: what is put into a page to have it
    "console": "<script>throw new Error('planted')</script>",
    "host": '<img alt="x" src="http://elsewhere.invalid/x.png">',
    "phone": '<div style="width: 900px">wide</div>',
    "alt": '<img src="../_static/mark.svg">',
    "alt of nothing": '<img alt="" src="../_static/mark.svg">',
    "size": '<img alt="A dot." src="../_static/mark.svg">',
    "maths": r'<span class="math notranslate nohighlight">left raw</span>',
    "weight": f"<!--{os.urandom(500_000).hex()}-->",
    "flip-book": '<div class="flipbook"><input type="range" aria-label="x"><div class="flipbook-frames">still</div></div>',
    "axe": '<p style="color: #aaa; background: #fff">faint</p>',
    "link": '<a href="nowhere.html">x</a>',
    "anchor": '<a href="index.html#nowhere">x</a>',
    "colab": '<a href="https://colab.research.google.com/github/example/vanilla-rnns/blob/main/book/none.ipynb">x</a>',
}


@pytest.mark.parametrize("kind", PLANTED)
def test_each_check_sees_a_planted_fault(site, served, browser, kind):
    planted = site / "book" / "planted.html"
    page = (site / "book" / "index.html").read_text("utf-8")
    planted.write_text(page.replace("</article>", PLANTED[kind] + "</article>"), "utf-8")
    try:
        faults = (
            link_faults(site, "book/planted.html")
            if kind in ("link", "anchor", "colab")
            else axe_faults(browser, served + "book/planted.html")
            if kind == "axe"
            else look(browser, served + "book/planted.html")
        )
    finally:
        planted.unlink()
    assert any(re.match(rf"{kind.split()[0]}\b", fault) for fault in faults), faults


def test_search_and_toggle_can_fail(site, served, browser):
    page = browser.new_page(color_scheme="light")
    assert not search(page, served, "xylophonic")
    planted = site / "book" / "planted.html"
    planted.write_text(
        re.sub(
            r"<script defer[^>]*pydata-sphinx-theme\.js[^>]*></script>",
            "",
            (site / "book" / "index.html").read_text("utf-8"),
        ),
        "utf-8",
    )
    try:
        page.goto(served + "book/planted.html")
        assert not turns_dark(page)
    finally:
        planted.unlink()
        page.close()
