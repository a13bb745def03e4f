/* Light or dark as the system, until the button changes it. Runs before the page is drawn.

   The choice is stored in localStorage under "theme"; without storage it lasts as long as the page. */
"use strict";

(() => {
  const root = document.documentElement;

  /* Return the stored theme, after storing a new one; browsers may refuse storage to a page opened as a file. */
  function storedTheme(theme) {
    try {
      if (theme) localStorage.setItem("theme", theme);
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  }

  function isDark() {
    if (root.dataset.theme) return root.dataset.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function themeButton() {
    const button = document.createElement("button");
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    Object.assign(button, { type: "button", className: "theme", title: "Switch between light and dark" });
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      storedTheme(root.dataset.theme);
      label();
    });
    label();
    return button;
  }

  root.classList.add("scripted"); // controls are hidden without scripts
  if (["light", "dark"].includes(storedTheme())) root.dataset.theme = storedTheme();
  document.addEventListener("DOMContentLoaded", () => document.querySelector("nav")?.append(themeButton()));
})();
