"""The built site, opened as readers would: in a real browser, on a desk, on a phone, from a zip.

Each look at a page collects its faults as sentences; `test_each_check_sees_a_planted_fault` plants
every kind once.
Without a browser these tests fail and say what to install; NO_BROWSER=1 skips them.
"""

import functools
import gzip
import io
import os
import re
import shutil
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from PIL import Image

from tools.repository import ROOT, course
from tools.site.browser import new_page
from tools.site.markup import tags
from tools.site.maths import mathml

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
FIRST_VIEW = 400_000  # bytes, compressed


# What one look at a page finds.


def look(browser, url):
    """The faults of one page, as sentences that begin with the kind of fault."""
    page = new_page(browser, viewport=DESK, color_scheme="light")
    faults, size, host, first_view = [], [0], urlsplit(url).netloc, [True]

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
            f"weight: the first view takes {size[0]:,} bytes compressed, "
            f"the budget is {FIRST_VIEW:,}"
        )
    faults += page.evaluate("""() => {
        const found = [];
        const raw = [...document.querySelectorAll('.math:not(:has(mjx-container))')];
        if (raw.length)
            found.push(`maths: ${raw.length} formulas are not typeset, e.g. ` +
                raw[0].textContent.slice(0, 40));
        for (const e of document.querySelectorAll('mjx-merror'))
            found.push(`maths: error in ${e.textContent.slice(0, 60)}`);
        for (const i of document.querySelectorAll('img'))
            if (!i.hasAttribute('alt') || i.closest('article') && !i.alt.trim()
                || /^(\\.\\.\\/)?_images\\//.test(i.alt))
                found.push(`alt: ${i.src.slice(-60)} says nothing to who cannot see it`);
        for (const i of document.querySelectorAll('article img'))
            if (!i.getAttribute('width') || !i.getAttribute('height'))
                found.push(`size: ${i.src.slice(-60)} moves the page when it arrives`);
        return found;
    }""")
    faults += flipbook_faults(page)
    page.set_viewport_size(PHONE)
    drawn(page)
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > PHONE["width"]:
        faults.append(f"phone: the page is {width} px wide on a screen of {PHONE['width']}")
    page.close()
    return faults


def axe_faults(browser, url):
    """What axe finds that is serious, by day and by night.

    For speed maths stays raw and code loses its colours.
    """
    from axe_playwright_python.sync_playwright import Axe

    faults, options = [], {"resultTypes": ["violations"]}
    for scheme in ("light", "dark"):
        page = new_page(browser, viewport=DESK, color_scheme=scheme)
        page.route("**/mathjax/**", lambda route: route.abort())
        page.goto(url, wait_until="load")
        page.add_style_tag(content="html section { content-visibility: visible !important }")
        page.evaluate("window.reach?.([document.body])")  # the 404 page has no script
        page.evaluate(
            "for (const pre of document.querySelectorAll('.highlight pre'))"
            " pre.textContent = pre.textContent"
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


def drawn(page):
    """Wait until the browser has drawn what there is."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def wake(page):
    """Do what a reader does, and wait until MathJax, if the page has maths, is there."""
    page.evaluate("dispatchEvent(new Event('scroll'))")
    page.wait_for_function("!window.MathJax || MathJax.startup?.promise")
    page.evaluate("() => window.MathJax?.startup.promise")


PARTS = "[...document.querySelectorAll('.bd-article > section > *')]"


def settle(page):
    """Look at the whole page, and wait until course.js, if the page has it, is done with it."""
    wake(page)
    page.evaluate("""async () => {
        const frame = () => new Promise(requestAnimationFrame);
        for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
            scrollTo({ top: y, behavior: 'instant' });
            await frame();
            await frame();
        }
        scrollTo({ top: 0, behavior: 'instant' });
    }""")
    page.wait_for_function(
        f"typeof finished === 'undefined' || {PARTS}.every(part => finished.includes(part))"
    )


def settle_here(page):
    """Wait until course.js is done with what is in view and one screen around it."""
    wake(page)
    page.wait_for_function(f"""{PARTS}.every(part => {{
        const {{ top, bottom }} = part.getBoundingClientRect();
        return bottom < -innerHeight || top > 2 * innerHeight || finished.includes(part);
    }})""")
    drawn(page)


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
        drawn(page)
        if picture.screenshot() == before:
            faults.append(
                f"flip-book: the control of number {number + 1} does not move its picture"
            )
        if not control.evaluate("c => c.getAttribute('aria-label') || c.labels?.length"):
            faults.append(f"flip-book: the control of number {number + 1} has no name")
    return faults


def paper_faults(page):
    """What is wrong with a page that is laid out for the printer."""
    return page.evaluate("""() => {
        const found = [], article = document.querySelector("article");
        const shown = node =>
            node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
        const say = (kind, node) => found.push(`${kind}: ${node.outerHTML.slice(0, 80)}`);
        const text = article.querySelector("p"), [red, green, blue] =
            getComputedStyle(text).color.match(/\\d+/g).map(Number);
        if (red + green + blue > 300) say("pale", text);
        const controls = "button, input, select, dialog, details.hide > summary";
        for (const node of document.querySelectorAll(controls))
            if (shown(node)) say("nothing to press", node);
        for (const details of article.querySelectorAll("details:not(.hide)"))
            if (!details.open) say("folded", details);
        for (const image of article.querySelectorAll("img")) {
            const { filter, mixBlendMode } = getComputedStyle(image);
            if (filter !== "none" || mixBlendMode !== "normal") say("turned over", image);
        }
        for (const box of article.querySelectorAll("pre, div.cell, table, details")) {
            if (!shown(box)) continue;
            if (box.matches("pre") && box.scrollWidth > box.clientWidth) say("cut off", box);
            for (let node = box; node !== article; node = node.parentElement) {
                const style = getComputedStyle(node);
                if (style.breakInside !== "auto" || style.overflow !== "visible"
                    || style.containerType !== "normal") {
                    say("cannot break", node);
                    break;
                }
            }
        }
        return found;
    }""")


def icon_faults(page):
    """Icons that are shown and cannot be seen: all of such a place has one colour."""
    faults = []
    for icon in page.locator("i[class*='fa-'], span[class*='fa-']").all():
        if icon.is_visible():
            picture = Image.open(io.BytesIO(icon.screenshot())).convert("L")
            dark, light = picture.getextrema()
            if light - dark < 100:
                faults.append(f"icon: {icon.get_attribute('class')} is not to be seen")
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


def link_faults(site, base, name):
    """Internal links and anchors that lead nowhere; Colab links to files that are not there."""
    faults, parsed = [], functools.cache(lambda path: Links(path.read_text("utf-8")))
    here = f"http://site/{base}{name}"
    colab = course().colab_url("")
    for href in parsed(site / name).hrefs:
        if "colab.research.google.com" in href:
            notebook = href.removeprefix(colab)
            if notebook == href or not (ROOT / notebook).is_file():
                faults.append(f"colab: {href} opens nothing that is in the repository")
            continue
        url = urlsplit(urljoin(here, href))
        if url.netloc != "site" or url.scheme != "http":
            continue
        if not url.path.startswith(f"/{base}"):
            faults.append(f"link: {href} leaves the site's folder")
            continue
        target = site / unquote(url.path.removeprefix(f"/{base}"))
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
    page.wait_for_function(  # Sphinx's words, said when it has looked everywhere
        "document.querySelector('#search-results h2')?.textContent === 'Search Results'"
    )
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
    said = [line for line in built.said.splitlines() if "WARNING" in line or "ERROR" in line]
    assert built.code == 0, "\n".join(said) or built.said[-3000:]


def test_links_lead_somewhere(site, built, pages):
    assert not [
        f"{name}: {fault}" for name in pages for fault in link_faults(site, built.base, name)
    ]


def test_every_page_opens_well(served, browser, pages):
    assert not [f"{name}: {fault}" for name in pages for fault in look(browser, served + name)]


@pytest.mark.parametrize(
    "some",
    [
        ("book/index.html", "book/checked.html", "exercises/first-steps.html"),
        pytest.param((), marks=pytest.mark.long, id="all"),
    ],
)
def test_axe_finds_nothing_serious(served, browser, pages, some):
    assert not [
        f"{name}: {fault}" for name in some or pages for fault in axe_faults(browser, served + name)
    ]


@pytest.mark.parametrize("words", ["vanishing", "hidden state"])
def test_search_finds(served, browser, words):
    page = new_page(browser)
    assert search(page, served, words)
    page.close()


def test_dark_toggle(served, browser):
    page = new_page(browser, color_scheme="light")
    page.goto(served + "book/index.html")
    assert turns_dark(page)
    page.close()


def test_figures_lie_on_the_page_at_night(served, browser):
    """What is white on paper is the page's own dark, for a plain figure and for a flip-book's."""
    page = new_page(browser, viewport=DESK, color_scheme="dark")
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


ON_PAPER = {  # a kind of fault, and the style that plants it
    "pale": ".bd-article p { color: #bbb !important }",
    "nothing to press": ".copybtn { display: block !important; opacity: 1 !important }",
    "turned over": ".bd-article img { filter: invert(1) }",
    "cut off": ".bd-article pre { white-space: pre !important; width: 9rem }",
    "cannot break": ".bd-article div.cell { break-inside: avoid !important }",
}


def test_paper_is_light_and_whole(served, browser):
    """From the light and from the dark, and afterwards all is as it was."""
    figures = []
    for scheme in ("light", "dark"):
        page = new_page(browser, viewport={"width": 794, "height": 1123}, color_scheme=scheme)
        page.goto(served + "book/forward-pass.html")
        settle(page)
        folded = page.locator("article details:not([open])").count()
        page.emulate_media(media="print", color_scheme=scheme)
        page.wait_for_function(  # the page hears of it a moment later
            "!document.querySelector('article details:not(.hide, [open])')"
        )
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        assert not paper_faults(page)
        shot = page.locator(".bd-article figure > img").first.screenshot()
        figures.append(Image.open(io.BytesIO(shot)).convert("RGB"))
        frames = page.locator(".flipbook").first.locator("figure")
        assert all(frame.is_visible() for frame in frames.all()) and frames.count() > 1
        page.emulate_media(media="screen", color_scheme=scheme)
        page.wait_for_function(
            "document.querySelector('article details:not(.hide, [open])') !== null"
        )
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        assert page.locator("article details:not([open])").count() == folded > 10
        page.evaluate("""addEventListener('beforeprint', () => {
            window.seen = document.documentElement.dataset.theme;
        })""")
        page.pdf()
        assert page.evaluate("window.seen") == "light"
        page.close()
    by_day, by_night = figures
    assert by_day.tobytes() == by_night.tobytes() and len(by_day.getcolors(1 << 24)) > 10


def test_faults_on_paper_are_seen(served, browser):
    page = new_page(browser, viewport={"width": 794, "height": 1123})
    page.goto(served + "book/recurrence.html")
    page.emulate_media(media="print")
    page.wait_for_function("document.querySelector('article details:not(.hide)').open")
    assert not paper_faults(page)
    for kind, style in ON_PAPER.items():
        planted = page.add_style_tag(content=style)
        assert any(fault.startswith(kind) for fault in paper_faults(page)), kind
        planted.evaluate("tag => tag.remove()")
    page.locator("article details:not(.hide)").first.evaluate("details => details.open = false")
    assert any(fault.startswith("folded") for fault in paper_faults(page))
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_icons_show_in_contrast_themes(served, browser, scheme):
    for width in (390, 1100, 1350):
        page = new_page(
            browser,
            viewport={"width": width, "height": 800},
            forced_colors="active",
            color_scheme=scheme,
        )
        # Nothing may move between finding an icon and its picture: no formula that is set anew,
        # no section that is laid out late.
        page.route("**/mathjax/**", lambda route: route.abort())
        page.goto(served + "book/recurrence.html")
        page.evaluate("document.documentElement.classList.add('whole')")
        assert not icon_faults(page), f"{width} px"
        page.add_style_tag(content="[class*='fa-'] { background: currentColor !important }")
        assert icon_faults(page), "a contrast theme takes the background away"
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


def test_maths_waits_for_its_reader(served, browser):
    """Who does nothing is left alone for eight seconds, on a clock that moves when told to."""
    page = new_page(browser, viewport=PHONE)
    page.clock.install(time=0)
    page.clock.pause_at(1000)  # else a page that takes eight seconds to load has asked by then
    page.goto(served + "book/recurrence.html", wait_until="load")
    asked = "() => Boolean(document.getElementById('MathJax-script'))"
    page.clock.run_for(7_000)
    assert not page.evaluate(asked)
    page.clock.run_for(2_000)
    assert page.evaluate(asked)
    page.close()


def test_a_page_is_finished_where_its_reader_is(served, browser):
    """What is near him is typeset, and what scrolls there can be reached."""
    page = new_page(browser, viewport=PHONE)
    page.goto(served + "book/recurrence.html", wait_until="load")
    assert not page.locator("#MathJax-script").count()
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
        "[...document.querySelectorAll('pre')]"
        ".some(pre => pre.tabIndex == 0 && pre.scrollWidth > pre.clientWidth)"
    )
    page.close()


def test_who_comes_to_a_place_stands_there(site, served, browser):
    """A link into a page leads to its place, and a reload back to it.

    Then all that stands above is laid out at once.
    """
    all_laid_out = """() => [...document.querySelectorAll('.bd-article > section > section')]
        .every(({firstElementChild}) =>
            firstElementChild.checkVisibility({contentVisibilityAuto: true}))"""
    page = new_page(browser, viewport=PHONE)
    name = "book/reach-versus-reality.html"
    place = re.findall(r'<section id="([^"]+)"', (site / name).read_text("utf-8"))[-2]
    for address in (f"{name}#{place}", name):
        page.goto("about:blank")
        page.goto(served + address, wait_until="load")
        page.evaluate("place => { location.hash = place }", place)
        settle_here(page)
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
        above = page.evaluate("scrollY")
        page.mouse.wheel(0, 1000)
        page.wait_for_function("above => scrollY > above + 900", arg=above)
        settle_here(page)
    seen = """() => [...document.querySelectorAll('.bd-article p')]
        .findIndex(p => p.getBoundingClientRect().top > 0)"""
    before = page.evaluate(seen)
    page.reload(wait_until="load")
    page.wait_for_function("scrollY > 0")
    settle_here(page)
    assert abs(page.evaluate(seen) - before) < 3 < before, (
        "a page that is reloaded is no longer where it was"
    )
    assert page.evaluate(all_laid_out), "after a reload"
    page.close()


def test_each_page_counts_its_figures_and_tables_from_one(site, pages):
    kinds = set()
    for name in pages:
        text = (site / name).read_text("utf-8")
        seen = re.findall(r'caption-number">(Figure|Table|Code) (?:\d+\.)?(\d+) ', text)
        assert len(seen) == text.count("caption-number"), f"{name}: a caption says no number"
        kinds |= {kind for kind, _ in seen}
        for kind in kinds:
            numbers = [int(number) for what, number in seen if what == kind]
            assert numbers == list(range(1, len(numbers) + 1)), (
                f"{name}: {kind}s are numbered {numbers}"
            )
    assert kinds == {"Figure", "Table", "Code"}


def test_a_formula_that_cannot_stand_as_mathml_is_named():
    assert "&#x1D421;" in mathml(r"\mathbf h_t", "inline"), "a bold h is a letter of its own"
    assert "<mtable" in mathml(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "block")
    with pytest.raises(ValueError, match="nonsense"):
        mathml(r"\nonsense h", "inline")


def test_works_from_a_zip(site, browser, pages, tmp_path):
    """From one file, opened from disk: no server, still maths, flip-books and search."""
    shutil.unpack_archive(
        shutil.make_archive(str(tmp_path / "site"), "zip", site), tmp_path / "unzipped"
    )
    folder, page = tmp_path / "unzipped", new_page(browser)
    texts = {name: (folder / name).read_text("utf-8") for name in pages}
    with_both = [n for n, text in texts.items() if 'class="math' in text and "flipbook-" in text]
    assert with_both, "no page has maths and a flip-book"
    for name in with_both[:2]:
        page.goto((folder / name).as_uri())
        settle(page)
        assert page.locator("mjx-container").count(), f"{name}: no maths when opened from disk"
        assert page.locator(".flipbook").count(), f"{name}: no flip-book when opened from disk"
        assert not flipbook_faults(page), f"{name}: when opened from disk"
    assert search(page, folder.as_uri() + "/", "vanishing"), (
        "search finds nothing when opened from disk"
    )
    page.close()


def test_pages_are_described_and_listed(site, built, pages):
    described = [name for name in pages if name not in ("404.html", "search.html")]
    for name in described:
        said = {}
        for tag in tags((site / name).read_text("utf-8"), "meta"):
            key = tag.attributes.get("name") or tag.attributes.get("property")
            said.setdefault(key, []).append(tag.attributes.get("content"))
        (description,) = said["description"]
        assert len(description) > 40 and said["og:description"] == [description], name
        assert said["og:url"][0].endswith(f"/{built.base}{name}"), name
        assert said["og:image"][0].endswith(f"/{built.base}_static/site.png"), name
        assert said["og:site_name"] and not re.match(r"\d", said["og:title"][0]), name
    assert (site / "_static" / "site.png").is_file()
    listed = re.findall(r"<loc>([^<]*)</loc>", (site / "sitemap.xml").read_text("utf-8"))
    assert sorted(listed) == sorted(f"{course().site}{name}" for name in described)


PLANTED = {  # kind of fault: what is put into a page to have it
    "console": "<script>throw new Error('planted')</script>",
    "host": '<img alt="x" src="http://elsewhere.invalid/x.png">',
    "phone": '<div style="width: 900px">wide</div>',
    "alt": '<img src="../_static/mark.svg">',
    "alt of nothing": '<img alt="" src="../_static/mark.svg">',
    "size": '<img alt="A dot." src="../_static/mark.svg">',
    "maths": r'<span class="math notranslate nohighlight">left raw</span>',
    "weight": f"<!--{os.urandom(500_000).hex()}-->",
    "flip-book": '<div class="flipbook"><input type="range" aria-label="x">'
    '<div class="flipbook-frames">still</div></div>',
    "axe": '<p style="color: #aaa; background: #fff">faint</p>',
    "link": '<a href="nowhere.html">x</a>',
    "anchor": '<a href="index.html#nowhere">x</a>',
    "colab": '<a href="https://colab.research.google.com/github/example/vanilla-rnns/blob/main/book/none.ipynb">x</a>',
}


@pytest.mark.parametrize("kind", PLANTED)
def test_each_check_sees_a_planted_fault(site, built, served, browser, kind):
    planted = site / "book" / "planted.html"
    page = (site / "book" / "index.html").read_text("utf-8")
    planted.write_text(page.replace("</article>", PLANTED[kind] + "</article>"), "utf-8")
    try:
        faults = (
            link_faults(site, built.base, "book/planted.html")
            if kind in ("link", "anchor", "colab")
            else axe_faults(browser, served + "book/planted.html")
            if kind == "axe"
            else look(browser, served + "book/planted.html")
        )
    finally:
        planted.unlink()
    assert any(re.match(rf"{kind.split()[0]}\b", fault) for fault in faults), faults


def test_search_and_toggle_can_fail(site, served, browser):
    page = new_page(browser, color_scheme="light")
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


@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
def test_who_follows_a_link_within_the_page_comes_back_to_it(served, browser, screen):
    page = new_page(browser, viewport=screen)
    page.route("**/mathjax/**", lambda route: route.abort())  # no formula grows meanwhile
    page.goto(served + "book/recurrence.html", wait_until="load")
    links = page.locator("article a.reference[href^='#equation-']")
    link = links.nth(links.count() // 2)
    link.evaluate("""async link => {  // as a reader comes to it: from the top, part by part
        while (link.getBoundingClientRect().top > innerHeight / 2) {
            scrollBy({ top: 300, behavior: "instant" });
            await new Promise(requestAnimationFrame);
        }
    }""")
    where = "link => link.getBoundingClientRect().top"
    before = link.evaluate(where)
    link.click()
    page.wait_for_function("location.hash && scrollY > 0")
    bar = page.locator(".bd-header-article").bounding_box()
    target = page.locator(":target").bounding_box()
    assert target["y"] >= bar["y"] + bar["height"] - 1, "the equation stands under the bar"
    page.go_back()
    page.wait_for_function("!location.hash")
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    assert abs(link.evaluate(where) - before) < 20
    page.close()


def test_a_tooltip_goes_when_the_pointer_does(served, browser):
    page = new_page(browser, viewport=DESK)
    page.clock.install()  # tooltips come and go after a time: the test's own clock says when
    page.goto(served + "book/index.html", wait_until="load")
    button = page.locator("button[title='Fullscreen mode'], .btn-fullscreen-button").first
    button.hover()
    page.clock.run_for(3000)
    assert page.locator(".tooltip").count() == 1
    button.click()
    page.mouse.move(600, 600)
    page.clock.run_for(3000)
    assert page.locator(".tooltip").count() == 0
    page.close()
