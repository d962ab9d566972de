// Which case the hammer is aimed at, by its node's two children, and what may be done there: it lands elsewhere, or an edge
// is cut.

import { trial } from "./wall.js";
import { layerOf } from "./weight_grid.js";

export const PARTS = { leaves: "First level", nodes: "All other levels" };
const NOTE = "Wherever a node has these two children. A child that is cut gets no attention; a node's own numbers, those of its right child, stay.";

export class CaseAim {
  // `strike(hit)` is called with a hit; `aimed` where another case is chosen.
  constructor(bench, { strike, aimed }) {
    Object.assign(this, { bench, strike, aimed, at: null });
    this.place = html("div");
    this.lists = html("details", {}, html("summary", {}, "Choose by lists"));
    this.picks = { part: this.pick("part", "Where"), far: this.pick("far", "Left"), near: this.pick("near", "Right") };
    this.lists.append(html("div", { class: "tools" }, ...Object.values(this.picks).map(({ place }) => place)));
  }

  pick(name, words) {
    const select = html("select", { id: `struck-${name}` });
    select.addEventListener("change", () => this.choose(name));
    return { select, place: html("span", { class: "pick" }, html("label", { for: select.id }, words), select) };
  }

  // The case with what was chosen, and as much of the rest as goes with it.
  choose(name) {
    const [part, far, near] = ["part", "far", "near"].map((of) => this.picks[of].select.value);
    const fits = name === "part" ? () => true : ([a, b]) => (name === "far" ? String(b) === far : String(a) === near && String(b) === far);
    const all = this.windows(part).filter(fits);
    this.at = { part, window: all.find(([a]) => String(a) === near) ?? all[0] };
    this.aimed();
  }

  windows(part) {
    return this.bench.cases[part].map(([window]) => window);
  }

  // Aim at a case if there is one; if nothing is said, at the first of a machine without a pad: who strikes where a pad is
  // has all but won.
  aim(part = "nodes", window = firstOf(this.bench.cases?.nodes ?? [])) {
    const isCase = this.bench.cases && window && this.windows(part).some((known) => String(known) === String(window));
    if (isCase) this.at = { part, window };
  }

  draw() {
    const { language, cases } = this.bench;
    this.fill();
    const [right, found] = [this.imageOf(this.at), this.landing()];
    const chipOf = (image) => chip(cases.elements[image - 1], language);
    const lands = found.right ? [", and lands there."] : found.here ? [", but lands at ", chipOf(found.here)] : [", but at none."];
    const others = cases.elements.flatMap((element, k) => (k + 1 === found.here ? [] : [this.lander(k + 1, element)]));
    const shown = [
      html("p", { class: "aimed" }, html("b", {}, this.placeOf(this.at)), " makes ", chipOf(right), ...lands, " Press another node in the tree, or a square in the wall."),
      html("p", { class: "landings" }, "Let it land at ", ...others),
      html("div", { class: "tools" }, ...this.cutters()),
      this.lists,
      html("p", { class: "caption" }, NOTE),
    ];
    const focused = document.activeElement;
    this.place.replaceChildren(...shown);
    if (Object.values(this.picks).some(({ select }) => select === focused)) focused.focus();
  }

  // What there is to choose: of the right children those that go with the left one.
  fill() {
    const { part, window: [near, far] } = this.at;
    const all = this.windows(part);
    const fill = ({ select }, values, name, value) => {
      select.replaceChildren(...[...new Set(values)].sort((a, b) => a - b).map((item) => html("option", { value: item }, name(item))));
      select.value = value;
    };
    fill(this.picks.part, Object.keys(PARTS).filter((name) => this.bench.cases[name].length), (name) => PARTS[name], part);
    fill(this.picks.far, all.map(([, item]) => item), (item) => this.nameOf(part, item), far);
    fill(this.picks.near, all.filter(([, item]) => item === far).map(([item]) => item), (item) => this.nameOf(part, item), near);
  }

  lander(image, element) {
    const { language } = this.bench;
    const made = html("button", { type: "button", class: "land", "aria-label": `let it land at ${elementName(element, language)}`, "data-image": image }, chip(element, language));
    made.addEventListener("click", () => this.strike({ kind: "case", ...this.at, image }));
    return made;
  }

  cutters() {
    const children = [["left", 1], ["right", 0]].filter(([, offset]) => this.at.window[offset]);
    return children.map(([side, offset]) => action(`Cut the ${side} child`, () => this.strike({ kind: "edge", ...this.at, offset })));
  }

  // What stands below a node, in words.
  nameOf(part, item) {
    const { language, cases } = this.bench;
    if (item === 0) return "nothing";
    const K = part === "leaves" ? 0 : cases.elements.length; // along brackets symbols stand beside prototypes
    return item > K ? language.alphabet[item - K - 1] : elementName(cases.elements[item - 1], language);
  }

  imageOf({ part, window }) {
    return this.bench.cases[part].find(([known]) => String(known) === String(window))[1];
  }

  // Where the case lands in the network as it is struck now.
  landing() {
    const { network, prototypes, language } = this.bench;
    return trial(network, prototypes, language.output_names)({ ...this.at, image: this.imageOf(this.at) });
  }

  // Where a case is met, in words.
  placeOf({ part, window }) {
    return `${PARTS[part]}, ${[...window].reverse().map((item) => this.nameOf(part, item)).join(" then ")}`;
  }

  // A hit in words.
  inWords({ kind, part, window, image, offset, name, index, by }) {
    if (kind === "weight") return `${layerOf(name)}, number ${index + 1}: ${by > 0 ? "+" : "−"}${Math.abs(by)}`;
    const place = this.placeOf({ part, window });
    return kind === "case" ? `${place}: lands at ${this.nameOf("nodes", image)}` : `${place}: blind to its ${offset ? "left" : "right"} child`;
  }
}

const firstOf = (nodes) => (nodes.find(([window]) => !window.includes(0)) ?? nodes[0])?.[0];
