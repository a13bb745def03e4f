/* Light or dark: as the system has it, until the button says otherwise. Runs before the page is drawn.

   Kept in localStorage under "theme"; where storage is refused, the choice lasts as long as the page. */
"use strict";

(() => {
  const root = document.documentElement;

  /* The theme that is kept, after keeping a new one; a browser may refuse, above all to a page opened as a file. */
  function kept(theme) {
    try {
      if (theme) localStorage.setItem("theme", theme);
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  }

  function dark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function button() {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "theme";
    const label = () => { made.textContent = dark() ? "Light" : "Dark"; made.title = "Switch between light and dark"; };
    made.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      kept(root.dataset.theme);
      label();
    });
    label();
    return made;
  }

  root.classList.add("scripted"); // what serves only with scripts is hidden without them
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  document.addEventListener("DOMContentLoaded", () => document.querySelector("nav")?.append(button()));
})();
