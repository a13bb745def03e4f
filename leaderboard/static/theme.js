/* Light or dark as the system, until the button changes it. Runs before the page is drawn.

   The choice is stored in localStorage under "theme"; without storage it lasts as long as the page. */
"use strict";

(() => {
  const root = document.documentElement;

  /* Return the stored theme, after storing a new one; browsers may refuse storage to a page opened as a file. */
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

  root.classList.add("scripted"); // controls are hidden without scripts
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  document.addEventListener("DOMContentLoaded", () => document.querySelector("nav")?.append(button()));
})();
