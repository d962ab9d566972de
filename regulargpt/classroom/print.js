// On paper: a table that is wider than the sheet becomes its picture, which shrinks to it.

const SHEET = 640; // pixels between the margins of A4, at least

function toPaper() {
  const { theme: chosen } = document.documentElement.dataset;
  document.documentElement.dataset.theme = "light";
  for (const table of document.querySelectorAll(".scroll table")) {
    if (table.getBoundingClientRect().width <= SHEET) continue;
    const picture = new Picture(table, table.closest("[aria-label]")?.getAttribute("aria-label") ?? "");
    table.classList.add("too-wide");
    table.after(printed(picture));
  }
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

// Apart from the styles of the page, which are not a picture's.
function printed({ svg: picture }) {
  const made = html("div", { class: "printed" });
  picture.setAttribute("style", "max-width: 100%; height: auto");
  made.attachShadow({ mode: "open" }).append(picture);
  return made;
}

function fromPaper() {
  document.querySelectorAll(".printed").forEach((picture) => picture.remove());
  document.querySelectorAll(".too-wide").forEach((table) => table.classList.remove("too-wide"));
}

addEventListener("beforeprint", toPaper);
addEventListener("afterprint", fromPaper);
