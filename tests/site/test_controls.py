"""Every control does something: each is pressed as a reader would, and asked what has changed.

What a control is, is found on the page itself (press.js), and so is what it should do: a link leads
where it says, a summary folds, a slider moves more than itself, a text field takes text, a box that
scrolls answers the arrows, and any other button changes what is seen (a dialog, the colours, full
screen), copies, prints or asks for a page.
"""

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.site.browser import HANGS

PRESS = Path(__file__).with_name("press.js")
WANDER = "wander"  # stands in a path for a walk down the page, which calls up "Back to top"


class How(NamedTuple):
    """On which screen a page is read, and what its controls are pressed with."""

    width: int
    scheme: str
    by: str  # "tap", "click" or "key"

    def __str__(self):
        return f"{self.width} px, {self.scheme}, by {self.by}"


def hows(*schemes):
    screens = [(390, "tap"), (1350, "key"), (820, "tap"), (1100, "click")]
    screens += [(390, "key"), (1350, "click"), (820, "key"), (1100, "key")]
    return [How(width, scheme, by) for scheme in schemes for width, by in screens]


class Control(NamedTuple):
    number: int
    kind: str
    name: str
    to: str
    type: str
    shown: bool
    article: bool
    opens: bool

    def __str__(self):
        return f"the {self.kind} “{self.name}”" + (f" ({self.to})" if self.kind == "link" else "")


class Reader:
    """Someone who presses every control of one page."""

    def __init__(self, browser, url, how, patience=HANGS):
        self.how, self.patience = how, patience
        touch = how.width < 1000
        self.context = browser.new_context(
            viewport={"width": how.width, "height": 844 if touch else 900},
            color_scheme=how.scheme,
            has_touch=touch,
            is_mobile=touch,
        )
        self.context.set_default_timeout(HANGS)
        self.context.add_init_script(path=PRESS)
        self.page = self.context.new_page()
        self.faults, self.pressed, self.todo = [], [], []
        self.page.on("pageerror", lambda error: self.faults.append(f"a script stops: {error}"))
        self.page.goto(url)
        self.page.evaluate("press.begin()")

    def notice(self, path):
        """Put what is offered now for the first time at the head of what is to be pressed."""
        found = [Control(**each) for each in json.loads(self.page.evaluate("press.survey()"))]
        self.todo[:0] = [(control, path) for control in found]

    def press_all(self, wanted=lambda control: True):
        """Press what is there, and what that brings up; `wanted` may leave out some."""
        self.notice(())
        walked = False
        while self.todo or not walked:
            if not self.todo:
                self.reopen((WANDER,))
                self.notice((WANDER,))
                walked = True
                continue
            control, path = self.todo.pop(0)
            if fault := wanted(control) and self.press(control, path):
                self.faults.append(f"{control} {fault}")
        return self.faults

    def reopen(self, path):
        self.page.evaluate("path => press.reopen(path)", path)

    def press(self, control, path):
        """What is wrong; "" if nothing is, or if the control does not show to such a reader."""
        if control.kind == "box" and self.how.by != "key":
            return ""
        if not control.shown and self.how.by == "tap":  # no pointer rests on it
            return ""
        place = self.go_to(control)
        if isinstance(place, str) and (control.shown or place != "hidden"):
            self.reopen(path)  # and so close what else is open
            place = self.go_to(control)
        if place == "hidden" or place == "gone" and WANDER in path:
            return ""
        if place == "gone":
            return "is no longer there when what it stands in is opened again"
        if isinstance(place, str):
            return "cannot be reached by key" if place == "unfocused" else f"is {place}"
        self.pressed.append(control)
        if control.opens:
            return self.opens(control, place)
        self.strike(control, place)
        if not self.outcome(control):
            return "is shown and changes nothing"
        return self.after(control, path)

    def go_to(self, control):
        """Where to press: {"place": …}, or a word that says why it cannot be."""
        by_key = self.how.by == "key"
        found = self.page.evaluate("([n, key]) => press.aim(n, key)", [control.number, by_key])
        if by_key or isinstance(found, str):
            return found
        if self.how.by == "click":
            self.page.mouse.move(*found)
        return self.page.evaluate("n => press.ready(n)", control.number)

    def strike(self, control, place):
        if self.how.by == "key":
            keys = {"link": "Enter", "box": place["keys"], "value": "ArrowRight", "text": "Shift"}
            if control.type in ("checkbox", "radio"):
                key = "Space"
            elif control.type == "button" and control.number % 2:
                key = "Space"  # by turns; on what is no true button it would scroll the page
            else:
                key = keys.get(control.kind, "Enter")
            self.page.keyboard.press(key)
        elif self.how.by == "tap":
            self.page.touchscreen.tap(*place["place"])
        else:
            self.page.mouse.click(*place["place"])

    def outcome(self, control):
        """What has changed since the control was struck."""
        patience = (
            min(1000, self.patience) if self.faults else self.patience
        )  # once there is a fault the page is bad
        return self.page.evaluate("([n, ms]) => press.outcome(n, ms)", [control.number, patience])

    def opens(self, control, place):
        """A link to a window of its own."""
        from playwright.sync_api import TimeoutError

        try:
            with self.context.expect_page(timeout=self.patience) as opened:
                self.strike(control, place)
        except TimeoutError:
            return "is shown and opens nothing"
        opened.value.close()
        self.page.bring_to_front()
        return ""

    def after(self, control, path):
        """What is wrong once the control has done its work. What it brought up is pressed next."""
        if control.kind in ("link", "box"):
            return ""
        self.notice((*path, control.number))
        if control.kind == "text":
            self.page.keyboard.type("state")
            if "state" not in self.page.evaluate("n => press.value(n)", control.number):
                return "takes no text"
        if control.kind == "button" and self.page.evaluate("press.isOpen()"):
            self.page.keyboard.press("Escape")
            if not self.holds("() => !press.isOpen()"):
                return "opens a dialog that Escape does not close"
            if not self.holds("n => press.focused(n)", control.number):
                return "does not get the focus back when its dialog is closed"
            if self.page.evaluate("press.moved()"):
                return "moves the page when its dialog is closed"
        elif self.how.by == "key" and not self.holds("n => !press.lost(n)", control.number):
            return "loses the focus"
        return ""

    def holds(self, condition, about=None):
        from playwright.sync_api import TimeoutError

        try:
            patience = min(1000, self.patience) if self.faults else self.patience
            self.page.wait_for_function(condition, arg=about, timeout=patience)
        except TimeoutError:
            return False
        return True

    def close(self):
        self.context.close()


def control_faults(browser, url, how, wanted=lambda control: True, patience=HANGS):
    reader = Reader(browser, url, how, patience)
    try:
        return [f"{how}: {fault}" for fault in reader.press_all(wanted)]
    finally:
        reader.close()


def test_every_control_does_something(served, browser, pages):
    """The pages by turns, each in one way. What many pages share is pressed once in each way; of
    what a page's text holds again and again (a button to copy, an answer) three are pressed."""
    pressed, faults = Counter(), []
    for name, how in zip(pages, itertools.cycle(hows("light", "dark"))):

        def wanted(control, name=name, how=how):
            if control.article:
                alike = name, control.kind, control.to or control.kind == "box" or control.name
            else:
                alike = how.width, how.by, control.kind, control.name, control.to
            pressed[alike] += 1
            return pressed[alike] <= (3 if control.article else 1)

        faults += [f"{name}, {f}" for f in control_faults(browser, served + name, how, wanted)]
    assert not faults, "\n".join(faults)
    assert len(pressed) > 20 * len(pages)


@pytest.mark.long
@pytest.mark.parametrize("how", hows("light"), ids=lambda how: f"{how.width}-{how.by}")
def test_every_control_of_every_page_does_something(served, browser, pages, how):
    """All of them, on each screen in each way, from page to page by turns by day and by night."""
    pressed, faults = set(), []

    def wanted(control):
        shared = control.kind, control.name, control.to  # the menu's links, say
        new = control.article or control.kind != "link" or shared not in pressed
        pressed.add(shared)
        return new

    for name, scheme in zip(pages, itertools.cycle(("light", "dark"))):
        found = control_faults(browser, served + name, how._replace(scheme=scheme), wanted)
        faults += [f"{name}, {fault}" for fault in found]
    assert not faults, "\n".join(faults)


PHONE = How(390, "light", "tap")
PHONE_KEYS = How(390, "light", "key")
PLANTED = {  # a fault, in who finds it: the control that has it
    ("a dead button", PHONE): "<button title='x' data-bs-toggle='tooltip'>{}</button>",
    ("a dead key", PHONE_KEYS): "<b role='button' tabindex='0' onclick='this.after(1)'>{}</b>",
    ("a slider that moves nothing", PHONE): "<input type='range' aria-label='{}'>",
    ("an arrow that moves nothing", PHONE_KEYS): "<input type='range' aria-label='{}'>",
    (
        "a summary that stays",
        PHONE,
    ): "<details><summary onclick='return false'>{}</summary>1</details>",
    ("a link that is held", PHONE): "<a href='index.html' onclick='return false'>{}</a>",
    (
        "a window that is held",
        PHONE,
    ): "<a href='index.html' target='_blank' onclick='return !1'>{}</a>",
    ("a copy of nothing", PHONE): "<button onclick='document.execCommand(`copy`)'>{}</button>",
    ("a covered button", PHONE): "<p style='position: relative'><button onclick='this.after(1)'>{}"
    "</button><i style='position: absolute; inset: 0'></i></p>",
    (
        "a state that lies",
        PHONE,
    ): "<button aria-expanded='true' onclick='this.after(1)'>{}</button>",
    ("a lost focus", PHONE_KEYS): "<button onclick='this.after(1); this.blur()'>{}</button>",
    ("a field that is closed", PHONE): "<input readonly aria-label='{}'>",
    ("a box that has no more", PHONE_KEYS): "<p tabindex='0' aria-label='{}'>1</p>",
    ("a dialog that stays", PHONE): "<button onclick='this.nextSibling.showModal()'>{}</button>"
    "<dialog onkeydown='return false'><p>1</p></dialog>",
}
SOUND = "<button onclick='this.after(1)'>sound</button>"
ELSEWHERE = {  # what is put at the head of a page's body, and the control that it breaks
    "Menu": "<button class='primary-toggle' hidden></button>",
    "For whom": "<script>addEventListener('click', event => "
    "event.target.closest('dialog a') && event.stopPropagation(), true)</script>",
}


def test_planted_faults_are_found(site, served, browser):
    text = (site / "book" / "index.html").read_text("utf-8")
    planted, address = site / "book" / "planted.html", f"{served}book/planted.html"
    controls = "".join(f"<div>{made.format(name)}</div>" for (name, _), made in PLANTED.items())
    planted.write_text(text.replace("</article>", controls + SOUND + "</article>"), "utf-8")
    faults = []
    for how in (PHONE, PHONE_KEYS):
        names = {name for name, by in PLANTED if by == how} | {"sound"}
        faults += control_faults(browser, address, how, lambda c, n=names: c.name in n, 300)
    for name, broken in ELSEWHERE.items():
        planted.write_text(re.sub("<body.*?>", rf"\g<0>{broken}", text), "utf-8")
        names = {name, "On this page"}
        faults += control_faults(browser, address, PHONE, lambda c, n=names: c.name in n, 300)
    planted.unlink()
    wrong = [name for name, _ in PLANTED] + list(ELSEWHERE)
    assert not [name for name in wrong if f"“{name}”" not in "".join(faults)], "\n".join(faults)
    assert len(faults) == len(wrong), "\n".join(faults)


SECTIONS = """() => [...document.querySelectorAll("article section > :is(h2, h3, h4)")]
    .map(heading => heading.parentElement.id)"""
STANDS = """id => {
    const heading = document.getElementById(id).querySelector("h2, h3, h4");
    const box = heading.getBoundingClientRect();
    const hit = document.elementFromPoint(box.left + 5, box.top + box.height / 2);
    const atTheEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 5;
    return heading.contains(hit) && (box.top < innerHeight / 4 || atTheEnd);
}"""


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long, id="all")])
def test_a_phone_reaches_every_page_and_section(served, browser, pages, step):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.set_default_timeout(HANGS)
    context.route("**/mathjax/**", lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{served}book/index.html")

    def choose(button, address):
        page.get_by_role("button", name=button, exact=True).tap()
        entries = page.locator("dialog[open] a")
        entries.nth(entries.evaluate_all("all => all.map(a => a.href)").index(address)).tap()

    for name in pages:
        if name in ("404.html", "search.html"):  # one is come to by accident, one by its button
            continue
        if page.url != served + name:
            choose("Menu", served + name)
            page.wait_for_url(served + name)
        for section in page.evaluate(SECTIONS)[::-step]:
            choose("On this page", f"{served}{name}#{section}")
            page.wait_for_function(STANDS, arg=section)
        page.goto(served + name)
    context.close()
