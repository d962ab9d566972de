"use strict";
// Light and dark: as the system has it, or as the button says.

const byId = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
byId("theme").setAttribute("aria-pressed", String(theme() === "dark"));
byId("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
  byId("theme").setAttribute("aria-pressed", String(theme() === "dark"));
});
