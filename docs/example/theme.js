/* Follow the system's light or dark mode until the button is used. Runs before the page is drawn.

   The choice is stored in localStorage under "theme"; without storage it lasts until the page is left. */
"use strict";

(() => {
  const root = document.documentElement;

  /* Store a theme, if given, and return the stored one; browsers may deny storage to pages opened as files. */
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
