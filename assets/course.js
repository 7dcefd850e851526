// Small repairs of the theme; every page works without them.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; // a page from disk may not read others
const maths = new URL("vendor/mathjax/startup.js", document.currentScript.src);
// Who reloads a page or comes back to it wants the place where he was: then all of it is laid out at once (course.css).
if (performance.getEntriesByType("navigation")[0]?.type !== "navigate") document.documentElement.classList.add("whole");
// So does who follows a link within the page: from there he may come back, and what lies between must not change its height.
addEventListener("click", event => {
  const link = event.target.closest?.("a[href*='#']"), { classList } = document.documentElement;
  if (!link || link.pathname !== location.pathname || classList.contains("whole")) return;
  const { top } = link.getBoundingClientRect();
  classList.add("whole");
  scrollBy({ top: link.getBoundingClientRect().top - top, behavior: "instant" }); // it stays where it was pressed
}, true);
// A tooltip is for a pointer that rests on a button. Kept for the focus, too, it would lie over the page after each press.
for (const button of document.querySelectorAll("[data-bs-toggle=tooltip]")) button.dataset.bsTrigger = "hover";
addEventListener("DOMContentLoaded", () => {
  // The arrows of the menu say what they unfold.
  for (const summary of document.querySelectorAll("nav.bd-links details > summary"))
    summary.setAttribute("aria-label", `Pages below ${summary.closest("li").querySelector("a").textContent.trim()}`);
  // A button is called what is written on it.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});

// The menu and "On this page" stand beside the text where there is room, else each is a dialog that its button opens.
addEventListener("DOMContentLoaded", () => {
  const wide = matchMedia("(min-width: 992px)"); // there the menu's button folds it
  for (const name of ["primary", "secondary"]) {
    const button = document.querySelector(`.${name}-toggle`), bar = document.getElementById(`pst-${name}-sidebar`);
    const dialog = document.getElementById(`pst-${name}-sidebar-modal`);
    if (!button || !bar || !dialog) continue;
    const tell = () => button.setAttribute("aria-expanded", dialog.open || name === "primary" && wide.matches && !bar.matches(".pst-sidebar-hidden"));
    new MutationObserver(tell).observe(bar, { attributeFilter: ["class"] });
    new MutationObserver(tell).observe(dialog, { attributeFilter: ["open"] });
    wide.addEventListener("change", () => {
      dialog.close(); // what it holds has its place beside the text again
      bar.classList.remove("pst-sidebar-hidden"); // else it would open as a dialog that nobody sees
      tell();
    });
    tell();
    // Who has chosen an entry wants to be there: nothing lies over the page, and the keyboard goes on from that place.
    dialog.addEventListener("click", event => {
      const entry = event.target.closest("a");
      if (!entry) return;
      dialog.addEventListener("close", () => {
        const place = document.getElementById(decodeURIComponent(entry.hash.slice(1)));
        if (!place) return;
        place.tabIndex = -1;
        place.focus({ preventScroll: true });
      }, { once: true });
      dialog.close();
    });
  }
  // The theme takes the focus from a button that is pressed, so that its tooltip goes away. Who uses the keyboard needs it there,
  // and a dialog that is closed gives it back to where it was.
  for (const button of document.querySelectorAll(".sidebar-toggle, .search-button, .theme-switch-button"))
    button.blur = () => {
      window.bootstrap?.Tooltip.getInstance(button)?.hide();
      button.focus(); // Safari gives none to what is tapped
    };
});
addEventListener("click", event => event.target.closest(".copybtn")?.focus()); // copying selects the code, and so took the focus

// Paper is light, and cannot be unfolded: hints and answers are printed open. Then all is as it was.
const { dataset } = document.documentElement;
let theme, folded = [];
function paper(begins) {
  if (begins && !theme) {
    theme = dataset.theme;
    dataset.theme = "light";
    folded = [...document.querySelectorAll("article details:not(.hide, [open])")];
  } else if (!begins && theme) {
    dataset.theme = theme;
    theme = undefined;
  } else return;
  for (const details of folded) details.open = begins;
}
addEventListener("beforeprint", () => paper(true));
addEventListener("afterprint", () => paper(false));
matchMedia("print").addEventListener("change", event => paper(event.matches)); // of a browser's preview

// Formulas stand on the page as MathML. MathJax draws them finer, but all at once they would keep a phone busy for seconds: it
// begins when the reader moves, or after eight seconds, and then goes where the reader is.
const READER = ["scroll", "pointerdown", "keydown"];
function wake() {
  for (const name of READER) removeEventListener(name, wake);
  if (!window.MathJax) follow();
  else if (!document.getElementById("MathJax-script"))
    document.head.append(Object.assign(document.createElement("script"), { id: "MathJax-script", src: maths, onerror: follow }));
}
addEventListener("load", () => {
  for (const name of READER) addEventListener(name, wake, { passive: true });
  setTimeout(wake, 8000);
});
if (window.MathJax) MathJax.startup = { pageReady: async () => follow() };

let typeset = Promise.resolve();
const finished = [];
function follow() {
  const near = new IntersectionObserver(seen => {
    const parts = seen.filter(part => part.isIntersecting).map(part => part.target);
    for (const part of parts) near.unobserve(part);
    typeset = typeset.then(() => finish(parts)).catch(console.error);
  }, { rootMargin: "100%" }); // one screen ahead
  for (const part of document.querySelectorAll(".bd-article > section > *")) near.observe(part);
}

const inside = (parts, selector) => parts.flatMap(part => [part, ...part.querySelectorAll(selector)].filter(each => each.matches(selector)));

async function finish(parts) {
  if (window.MathJax?.typesetPromise) {
    for (const formula of inside(parts, ".math > math")) formula.remove();
    for (const tex of inside(parts, ".math > .tex")) tex.replaceWith(tex.textContent);
    await MathJax.typesetPromise(parts);
  }
  finished.push(...parts);
  reach(parts);
}

// An inline formula wider than its line scrolls on its own; what scrolls can be reached and scrolled from the keyboard.
function reach(parts) {
  const wide = inside(parts, "mjx-container:not([display])")
    .filter(formula => formula.parentElement.clientWidth > 0 && formula.offsetWidth > formula.parentElement.clientWidth);
  for (const formula of wide) formula.classList.add("wide");
  const boxes = inside(parts, "pre, .output, .pst-scrollable-table-container, div.math, mjx-container[display], .wide");
  const scrolls = boxes.map(box => box.scrollWidth > box.clientWidth || box.matches("mjx-container") && box.scrollHeight > box.clientHeight);
  const more = box => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  boxes.forEach((box, i) => {
    box.tabIndex = scrolls[i] ? 0 : -1;
    box.onscroll = () => more(box);
    more(box);
  });
}
addEventListener("toggle", event => reach([event.target]), true); // what was folded has a width only now
let turning, width;
const turned = new ResizeObserver(([text]) => { // a window, a screen that is turned, a menu that is folded
  if (text.contentRect.width === width) return;
  width = text.contentRect.width;
  clearTimeout(turning);
  turning = setTimeout(() => reach(finished), 300);
});
addEventListener("DOMContentLoaded", () => {
  for (const text of document.querySelectorAll(".bd-article")) turned.observe(text);
});
