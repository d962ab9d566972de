// The figures: each has a name for the address and a small menu. `?embed=NAME` shows one and nothing else.

const DRAWN = "svg, canvas, table.products, .boxes";

class Figure {
  constructor(section, place, number) {
    Object.assign(this, { section, place });
    this.name = `${section.classList[0]}${number ? `-${number + 1}` : ""}`;
    const { run = "0" } = section.closest("[data-run]")?.dataset ?? {};
    this.run = run === "0" ? null : run; // of the first run an address says nothing
    this.heading = section.querySelector("h2, h3");
    this.title = this.heading?.textContent ?? this.name;
  }

  // What is drawn there now.
  get drawing() {
    return this.place.matches(DRAWN) ? this.place : this.place.querySelector(DRAWN);
  }

  // Where the page goes for it: a section's first figure is what the section is about.
  get top() {
    return this.name === this.section.classList[0] ? this.section : this.place;
  }

  menu() {
    const made = new Menu(this).whole;
    const before = this.place.previousElementSibling;
    const line = before?.matches("h4") ? before : this.top === this.section ? this.heading : null;
    if (line) line.after(made);
    else this.place.before(made);
  }
}

// A small button, and what it unfolds.
class Menu {
  constructor(figure) {
    this.figure = figure;
    this.sign = html("button", { type: "button", "aria-expanded": "false", "aria-label": `Take along: ${figure.title}`, title: "Take this figure along" }, "⤓");
    this.list = html("div", { hidden: "" }, ...TAKEN.map(([words, act]) => {
      const made = html("button", { type: "button" }, words);
      made.addEventListener("click", () => act(figure, made));
      return made;
    }));
    this.whole = html("div", { class: "take" }, this.sign, this.list);
    this.sign.addEventListener("click", () => this.open(this.list.hidden));
    this.whole.addEventListener("keydown", ({ key }) => key === "Escape" && this.close());
    document.addEventListener("pointerdown", ({ target }) => this.whole.contains(target) || this.open(false));
  }

  // Of what is not drawn, as the tree of no word, there is nothing to save.
  open(isOpen) {
    [...this.list.children].forEach((button) => { button.disabled = !this.figure.drawing && button.textContent !== LINK; });
    this.list.hidden = !isOpen;
    this.sign.setAttribute("aria-expanded", String(isOpen));
  }

  close() {
    this.open(false);
    this.sign.focus();
  }
}

const LINK = "Copy link";

// What a figure's menu offers: words, and what is done with the figure.
const TAKEN = [
  ["Save as SVG", saveSvg],
  ["Save as PNG", savePng],
  [LINK, (figure, button) => copy(address.link({ run: figure.run, view: figure.name }), button)],
  ["Copy frame", (figure, button) => copy(frame(figure), button)],
];

// One figure for the slides of a talk.
function frame(figure) {
  const { width, height } = figure.drawing.getBoundingClientRect();
  const source = address.link({ run: figure.run, view: null }, figure.name);
  const sizes = { width: Math.ceil(width) + 16, height: Math.ceil(height) + 16 };
  return html("iframe", { src: source, title: figure.title, ...sizes }).outerHTML;
}

// The figures of a section, in their order: what is drawn at once, or the place of what a script draws.
function figuresOf(section) {
  const places = [...section.querySelectorAll(`.picture, ${DRAWN}`)].filter((place) => !place.parentElement.closest(`.picture, ${DRAWN}`));
  return places.map((place, number) => new Figure(section, place, number));
}

class Figures {
  constructor() {
    this.all = [...document.querySelectorAll("main section")].flatMap(figuresOf);
    this.at = { run: null, view: null };
    this.all.forEach((figure) => figure.menu());
    for (const kind of ["focusin", "pointerdown"]) document.addEventListener(kind, ({ target }) => this.look(target));
    address.add("run", () => this.at.run, (run) => { this.at.run = run; });
    address.add("view", () => this.at.view, (view) => this.show(view));
  }

  find(name, run) {
    const named = this.all.filter((figure) => figure.name === name);
    return named.find((figure) => figure.run === run) ?? named[0];
  }

  // The figure that is used is the one that the address names.
  look(target) {
    const figure = this.all.find(({ place }) => place.contains(target));
    if (!figure) return;
    this.at = { run: figure.run, view: figure.name };
    address.say();
  }

  // The page is drawn first: what stands above a figure says where it is.
  show(view) {
    this.at.view = view;
    if (view === null || "embed" in document.documentElement.dataset) return;
    requestAnimationFrame(() => this.find(view, this.at.run)?.top.scrollIntoView());
  }

  // Only the figure that the address asks for: the tree, if it asks for none by name.
  embed(wanted) {
    const run = address.said().get("run") ?? null;
    const figure = wanted ? this.find(wanted, run) : this.find("tree", run) ?? this.all[0];
    if (!figure) {
      delete document.documentElement.dataset.embed;
      const names = [...new Set(this.all.map(({ name }) => name))].join(", ");
      document.querySelector("main").before(html("p", { role: "alert", class: "no-figure" }, `There is no figure “${wanted}” on this page. There are: ${names}.`));
      return;
    }
    for (let kept = figure.place; kept !== document.body; kept = kept.parentElement) {
      [...kept.parentElement.children].filter((other) => other !== kept).forEach((other) => other.classList.add("away"));
    }
    figure.place.before(html("h1", { class: "heard" }, figure.title));
    document.documentElement.dataset.embed = figure.name;
  }
}

const figures = new Figures();
if ("embed" in document.documentElement.dataset) figures.embed(new URLSearchParams(location.search).get("embed"));
