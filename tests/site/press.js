// What test_controls.py asks of a page: which controls it offers, where they are, and what has changed since one was pressed.
// It runs before the page's own scripts. Nothing here presses anything: that is done by real pointers and keys.
window.press = (() => {
  const CONTROLS = `a[href], area[href], button, summary, input:not([type=hidden]), select, textarea, audio[controls], video[controls],
    [onclick], [contenteditable=true], [role=button], [role=checkbox], [role=link], [role=menuitem], [role=option], [role=radio],
    [role=slider], [role=switch], [role=tab], [tabindex]:not([tabindex="-1"])`;
  const frame = () => new Promise(requestAnimationFrame);

  // Motion is switched off: what moves is at its end at once, and nothing has to be waited for.
  const still = new CSSStyleSheet();
  still.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important; scroll-behavior: auto !important }");
  document.adoptedStyleSheets = [still];
  // Formulas stay as they stand on the page; that MathJax draws them is another test's matter.
  Object.defineProperty(window, "MathJax", { get() {}, set() {} });

  // What leaves no trace on the page.
  let happened = [];
  navigation.addEventListener("navigate", event => {
    happened.push({ goes: event.destination.url });
    if (!event.destination.sameDocument && event.cancelable) event.preventDefault(); // asked for: that is enough
  });
  window.print = () => happened.push({ prints: true });
  addEventListener("copy", () => {
    const { value, selectionStart, selectionEnd } = document.activeElement;
    happened.push({ copies: value?.slice(selectionStart, selectionEnd) || String(getSelection()) });
  }, true);
  addEventListener("fullscreenchange", () => happened.push({ fills: Boolean(document.fullscreenElement) }));

  // The page's controls, each known by a number.
  const nodes = [], numbers = new Map();
  function number(node) {
    if (!numbers.has(node)) numbers.set(node, nodes.push(node) - 1);
    return numbers.get(node);
  }
  const words = text => text?.replace(/\s+/g, " ").trim();
  const name = node => words(node.getAttribute("aria-label")) || words(node.innerText) || words(node.labels?.[0]?.innerText)
    || words(node.title) || node.id || node.getAttribute("class") || node.localName;
  function kind(node) {
    if (node.matches("a, area")) return "link";
    if (node.matches("summary")) return "summary";
    if (node.matches("select, input:is([type=range], [type=radio], [type=checkbox], [type=number])")) return "value";
    if (node.matches("textarea, input:not([type=button], [type=submit], [type=reset], [type=image]), [contenteditable=true]")) return "text";
    if (node.matches("button, input, [onclick], [role]:not([role=region], [role=group], [role=img])")) return "button";
    return "box"; // may be scrolled from the keyboard
  }
  const modal = () => document.querySelector("dialog:modal");
  const offered = node => node.isConnected && !node.matches(":disabled, [aria-disabled=true]") && !node.closest("[inert]")
    && node.checkVisibility() && (!modal() || modal().contains(node));
  // Those that are offered now and were not before, or did not show before.
  const told = new Map();
  function survey() {
    const found = [...document.querySelectorAll(CONTROLS)].filter(offered).filter(node => told.get(node) !== true && told.get(node) !== shown(node));
    for (const node of found) told.set(node, shown(node));
    return JSON.stringify(found.map(describe));
  }
  const describe = node => ({
    number: number(node), kind: kind(node), name: name(node).slice(0, 80), to: node.href ?? "", type: node.matches("button, summary") ? "button" : node.type ?? "",
    shown: shown(node), article: Boolean(node.closest("article")), opens: node.target === "_blank",
  });

  // Where a control can be hit; undefined if nowhere.
  const shown = node => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  function spot(node) {
    for (const box of node.getClientRects()) {
      // of a slider the far end, which is another place than where it stands
      const x = box.left + box.width * (node.type === "range" ? 0.97 : 0.5), y = box.top + box.height / 2;
      const hit = document.elementFromPoint(x, y);
      if (hit && node.contains(hit)) return [x, y];
    }
  }
  // Bring a control into view and wait until it stays where it is: sections that come near are laid out only now.
  async function aim(which, byKey) {
    const node = nodes[which];
    if (!offered(node)) return "gone";
    getSelection().removeAllRanges(); // what was copied last; this may take the focus, too
    if (byKey) node.focus();
    for (let frames = 0, last = ""; frames < 600; frames++) {
      const { x, y, width, height } = node.getBoundingClientRect();
      const here = [x, y, width, height].map(Math.round).join();
      if (here === last) break;
      last = here;
      if (y < 0 || y + height > innerHeight || x < 0 || x + width > innerWidth || !spot(node))
        node.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
      await frame();
    }
    if (byKey) return document.activeElement === node ? ready(which) : shown(node) ? "unfocused" : "hidden";
    const box = node.getBoundingClientRect();
    return spot(node) ?? [box.x + box.width / 2, box.y + box.height / 2];
  }

  // What a reader sees: every box in view with its place, its colours and its words. Not what merely answers to a pointer that rests on a control:
  // its tooltip, a control's colours.
  function look() {
    const within = "math, mjx-container, pre, svg"; // taken as a whole
    const article = document.querySelector("article");
    const far = box => box.bottom < 0 || box.top > innerHeight;
    const seen = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT, node =>
      node.parentElement.matches(within) || node.matches("script, .tooltip, [role=tooltip]") || !node.checkVisibility()
        || article?.contains(node) && far(node.getBoundingClientRect()) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    while (walk.nextNode()) {
      const node = walk.currentNode, box = node.getBoundingClientRect();
      if (far(box) || !box.width || !box.height) continue;
      const style = getComputedStyle(node);
      if (style.visibility !== "visible") continue;
      const colours = node.closest("a, button, summary, label, input, select, textarea, [role=button]") ? "" : `${style.color} ${style.backgroundColor}`;
      const text = [...node.childNodes].filter(each => each.nodeType === Node.TEXT_NODE).map(each => each.data).join("");
      seen.push(`${number(node)} ${[box.x, box.y, box.width, box.height].map(Math.round)} ${colours} ${text}`);
    }
    return seen.join("\n");
  }

  // Just before the press: how all looks. "hidden" if the control does not show even to a pointer that rests on it.
  let before;
  async function ready(which) {
    const node = nodes[which];
    if (!offered(node)) return "gone";
    if (!shown(node)) return "hidden";
    const place = spot(node);
    if (!place) {
      const box = node.getBoundingClientRect();
      const outside = box.bottom < 0 || box.right < 0 || box.top > innerHeight || box.left > innerWidth;
      if (outside || box.width < 2 || box.height < 2) return "hidden";
      return `covered by ${document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)?.outerHTML.slice(0, 80)}`;
    }
    let looks = "";
    if (["summary", "button", "value"].includes(kind(node)))
      for (let frames = 0; frames < 60 && looks !== (looks = look()); frames++) await frame(); // "Back to top" comes a little later
    const anchor = node.href && new URL(node.href).hash;
    if (anchor && location.hash === anchor) history.replaceState(null, "", location.pathname + location.search);
    happened = [];
    if (document.activeElement !== node) document.activeElement.blur(); // from where the last press has led
    before = {
      focus: document.activeElement,
      scroll: scrollY,
      look: looks, open: node.parentElement.open, value: node.value,
      checked: node.checked, expanded: node.getAttribute("aria-expanded"), left: node.scrollLeft, top: node.scrollTop,
      keys: node.scrollWidth > node.clientWidth ? node.scrollLeft > 0 ? "ArrowLeft" : "ArrowRight" : node.scrollTop > 0 ? "ArrowUp" : "ArrowDown",
    };
    return { place, keys: before.keys };
  }

  // What has changed since: a sentence, or nothing.
  function changed(node) {
    const looksElse = () => look() !== before.look;
    switch (kind(node)) {
      case "link": {
        const went = happened.find(each => each.goes === node.href);
        if (!went) return "";
        const to = new URL(node.href);
        return to.href.split("#")[0] !== location.href.split("#")[0] || arrived(to.hash) ? "goes there" : "";
      }
      case "summary":
        return node.parentElement.open !== before.open && looksElse() ? "folds" : "";
      case "value":
        return (node.value !== before.value || node.checked !== before.checked) && looksElse() ? "sets what is shown" : "";
      case "text":
        return document.activeElement === node ? "takes the focus" : "";
      case "box":
        if (node.tabIndex < 0) return "was found to scroll no more";
        return node.scrollLeft !== before.left || node.scrollTop !== before.top ? "scrolls" : "";
      default: {
        const field = document.activeElement;
        if (field !== before.focus && field.matches("input, textarea")) return "leads to a field";
        if (before.expanded !== null && before.expanded === node.getAttribute("aria-expanded")) return "";
        const [done] = happened.flatMap(Object.entries).filter(([what, how]) => what !== "copies" || how.trim());
        return done ? `${done[0]}` : looksElse() ? "changes the page" : "";
      }
    }
  }
  // A place in the page is reached when it stands in view and nothing lies over it.
  function arrived(hash) {
    if (modal()) return false;
    if (!hash) return scrollY < 5;
    let place = document.getElementById(decodeURIComponent(hash.slice(1)));
    if (place?.matches("span:empty")) place = place.nextElementSibling; // a label, which stands before what it names
    const heading = [...place?.querySelectorAll("h1, h2, h3, h4") ?? []].find(shown);
    const box = (heading ?? place)?.getClientRects()[0];
    const atTheEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 5;
    if (!box || box.top < -5 || box.top > innerHeight * (atTheEnd ? 1 : 0.35)) return false;
    const hit = document.elementFromPoint(Math.max(0, Math.min(box.left, innerWidth - 6)) + 5, Math.min(box.top + Math.min(box.height / 2, 20), innerHeight - 1));
    return Boolean(hit) && (place.contains(hit) || hit.contains(place));
  }
  async function outcome(which, patience) {
    const end = performance.now() + patience;
    for (;;) {
      const found = changed(nodes[which]);
      if (found || performance.now() > end) return found;
      await frame();
    }
  }

  // As it was: no dialog, nothing unfolded, the colours of the beginning.
  let start;
  const unfolded = () => new Map([...document.querySelectorAll("[aria-expanded]")].map(node => [node, node.getAttribute("aria-expanded")]));
  async function begin() {
    await document.fonts.ready;
    document.documentElement.classList.add("whole"); // laid out at once: nothing moves because a section comes near
    dispatchEvent(new Event("scroll")); // the reader moves, and the page's own script begins to work
    await frame();
    start = {
      open: [...document.querySelectorAll("details[open]")],
       mode: document.documentElement.dataset.mode, theme: document.documentElement.dataset.theme, unfolded: unfolded() };
  }
  async function restore() {
    if (document.fullscreenElement) await document.exitFullscreen();
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
    for (const details of document.querySelectorAll("details")) details.open = start.open.includes(details);
    for (const [node, state] of unfolded()) if (state !== (start.unfolded.get(node) ?? "false")) node.click();
    Object.assign(document.documentElement.dataset, { mode: start.mode, theme: start.theme });
    localStorage.clear();
    await frame();
  }
  // What was opened is opened again, to go on inside: its openers have been pressed before.
  async function reopen(path) {
    await restore();
    for (const which of path) {
      if (which === "wander") await wander();
      else nodes[which].click();
      await frame();
    }
  }
  // A reader goes down and a little up again, which calls up what waits for that.
  async function wander() {
    for (const place of [0, document.documentElement.scrollHeight, document.documentElement.scrollHeight - 2 * innerHeight]) {
      scrollTo({ top: place, behavior: "instant" });
      await frame();
      await frame();
    }
  }
  const moved = () => Math.abs(scrollY - before.scroll) > 5;
  const isOpen = () => Boolean(modal());
  const focused = which => document.activeElement === nodes[which];
  const lost = which => shown(nodes[which]) && document.activeElement === document.body;
  return { survey, aim, ready, outcome, begin, restore, reopen, isOpen, moved, focused, lost, value: which => nodes[which].value, fills: () => happened };
})();
