// Small repairs of the theme; every page works without them.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false; // a page from disk may not read others
addEventListener("DOMContentLoaded", () => {
  // The arrows of the menu say what they unfold.
  for (const summary of document.querySelectorAll("nav.bd-links details > summary"))
    summary.setAttribute("aria-label", `Pages below ${summary.closest("li").querySelector("a").textContent.trim()}`);
  // A button is called what is written on it.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
  // What scrolls sideways can be reached and scrolled from the keyboard.
  for (const box of document.querySelectorAll(".bd-article pre, .bd-article div.math, .pst-scrollable-table-container"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
// An inline formula that is wider than its line scrolls on its own.
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  for (const formula of document.querySelectorAll(".bd-article mjx-container:not([display])"))
    if (formula.offsetWidth > formula.parentElement.clientWidth && formula.parentElement.clientWidth) {
      formula.classList.add("wide");
      formula.tabIndex = 0;
    }
});
