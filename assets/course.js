// Small repairs of the theme; every page works without them.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; // a page from disk may not read others
addEventListener("DOMContentLoaded", () => {
  // The arrows of the menu say what they unfold.
  for (const summary of document.querySelectorAll("nav.bd-links details > summary"))
    summary.setAttribute("aria-label", `Pages below ${summary.closest("li").querySelector("a").textContent.trim()}`);
  // A button is called what is written on it.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});
// What scrolls can be reached and scrolled from the keyboard; an inline formula wider than its line scrolls on its own.
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  for (const formula of document.querySelectorAll(".bd-article mjx-container:not([display])"))
    formula.classList.toggle("wide", formula.parentElement.clientWidth > 0 && formula.offsetWidth > formula.parentElement.clientWidth);
  for (const box of document.querySelectorAll(".bd-article pre, .bd-article div.math, .bd-article mjx-container[display], .wide, .pst-scrollable-table-container"))
    if (box.scrollWidth > box.clientWidth || box.matches("mjx-container") && box.scrollHeight > box.clientHeight) box.tabIndex = 0;
});
