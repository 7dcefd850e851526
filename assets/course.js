// Small repairs of the theme; every page works without them.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; // a page from disk may not read others
const maths = new URL("vendor/mathjax/startup.js", document.currentScript.src);
addEventListener("DOMContentLoaded", () => {
  // The arrows of the menu say what they unfold.
  for (const summary of document.querySelectorAll("nav.bd-links details > summary"))
    summary.setAttribute("aria-label", `Pages below ${summary.closest("li").querySelector("a").textContent.trim()}`);
  // A button is called what is written on it.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});

// Formulas stand on the page as MathML. MathJax draws them finer, and keeps a phone busy for a second: it waits until the
// reader moves, or eight seconds are over.
const READER = ["scroll", "pointerdown", "keydown"];
function typeset() {
  for (const name of READER) removeEventListener(name, typeset);
  if (!document.getElementById("MathJax-script"))
    document.head.append(Object.assign(document.createElement("script"), { id: "MathJax-script", src: maths }));
}
function bringTex() {
  for (const formula of document.querySelectorAll(".math > math")) formula.remove();
  for (const tex of document.querySelectorAll(".math > .tex")) tex.replaceWith(tex.textContent);
  return MathJax.startup.defaultPageReady().then(fit);
}
if (window.MathJax) {
  MathJax.startup = { pageReady: bringTex };
  addEventListener("load", () => {
    for (const name of READER) addEventListener(name, typeset, { passive: true });
    setTimeout(typeset, 8000);
  });
}

// An inline formula wider than its line scrolls on its own; what scrolls can be reached and scrolled from the keyboard.
function fit() {
  const wide = [...document.querySelectorAll(".bd-article mjx-container:not([display])")]
    .filter(formula => formula.parentElement.clientWidth > 0 && formula.offsetWidth > formula.parentElement.clientWidth);
  for (const formula of wide) formula.classList.add("wide");
  const scrolling = [...document.querySelectorAll(".bd-article div.math, .bd-article mjx-container[display], .wide")]
    .filter(box => box.scrollWidth > box.clientWidth || box.matches("mjx-container") && box.scrollHeight > box.clientHeight);
  for (const box of scrolling) box.tabIndex = 0;
}
