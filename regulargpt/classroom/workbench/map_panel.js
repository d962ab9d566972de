// The map: the nodes of some words as points, in one unit and one frame for the whole training, seen from two directions.
// Of a network that is made, the frame follows the points.

import { calmly } from "./calmly.js";
import { mapWords } from "./map_words.js";
import { levelsOf, runOf } from "./reading.js";
import { put } from "./renew.js";
import { inSlices } from "./slices.js";
import { View } from "./view.js";
import { landing } from "./wall.js";

const MAP = { width: 440, height: 380, dot: 4, ring: 12 };
const SIZE = [MAP.width, MAP.height];
const EDGE = 3 * MAP.ring; // for a ring and its name
const MOST_KEPT = 60; // snapshots
const MOST_POINTS = 500;
const MOST_NAMED = 12; // prototypes
const TURN = 0.1; // radians between two snapshots
const SHADOW = "The map is a shadow of all the numbers of a node: points may look nearer than they are, never farther. Dots are grey while the network learns from words alone: it knows no elements then.";
const REACH = 1.4; // of the frame above and below its middle, in lengths that the norm gives a state at first

export class MapPanel {
  constructor(place, bench) {
    Object.assign(this, { bench, kept: [], marks: [], end: null });
    this.picture = svg("svg", { class: "cloud", viewBox: `0 0 ${MAP.width} ${MAP.height}`, role: "img" });
    this.range = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment of the training" });
    this.when = html("output", { class: "when" });
    this.tint = html("input", { type: "checkbox", id: "tint" });
    this.said = html("p", { class: "said" });
    this.list = html("ul", { class: "elements" });
    const tools = html("div", { class: "tools" }, this.range, this.when);
    const check = html("p", { class: "check" }, this.tint, html("label", { for: "tint" }, "Colour by what is right (the network does not see it). Orange rim: nearest to a wrong point"));
    place.append(this.picture, tools, check, this.said, html("p", { class: "caption" }, SHADOW), html("details", {}, html("summary", {}, "Elements as a list"), this.list));
    this.range.addEventListener("input", () => this.show());
    this.tint.addEventListener("change", () => this.show());
    bench.on("language", () => this.begin());
    bench.on("network", calmly(() => this.take()));
    bench.on("hits", calmly(() => this.take(true)));
    this.begin();
  }

  // Another language: other words.
  begin() {
    const { bench } = this;
    this.forget();
    this.run = bench.cases && runOf(bench);
    this.words = this.run ? mapWords(bench.language, bench.cases.elements) : [];
    this.take();
  }

  forget() {
    this.end?.();
    Object.assign(this, { end: null, again: false, kept: [], chosen: null, last: null, view: null, marks: [] });
    this.picture.replaceChildren();
    this.show();
  }

  // The network as it is now, at the end of what is kept; or in the place of the last one, of which it is another. What
  // comes while one is calculated is taken after it.
  take(again = false) {
    const snapshot = this.bench.snapshots.regulargpt;
    if (!snapshot && (this.kept.length || this.end)) this.forget();
    this.again ||= again;
    if (this.end || !snapshot || !this.run || (snapshot === this.last && !this.again)) return;
    const replaces = this.again && this.kept.length > 0;
    Object.assign(this, { last: snapshot, again: false, end: () => {} });
    const end = inSlices(this.record(snapshot), (record) => {
      this.end = null;
      this.keep(record, replaces);
      this.take();
    });
    this.end &&= end;
  }

  keep(record, replaces) {
    const isNewest = Number(this.range.value) === Number(this.range.max);
    if (replaces) this.kept.pop();
    this.kept.push(record);
    if (this.kept.length > MOST_KEPT) this.kept = this.kept.filter((_, i) => i % 2 === 0 || i === this.kept.length - 1);
    this.range.max = this.kept.length - 1;
    if (isNewest) this.range.value = this.range.max;
    this.show();
  }

  // What is drawn of a snapshot: where points and prototypes are seen.
  *record({ step, phase, options }) {
    const { network, prototypes } = this.bench;
    const states = (yield* this.nodes(network)).map(({ vector }) => Array.from(vector));
    const groups = this.kinds.map((kind) => states.filter((_, i) => this.chosen[i].kind === kind));
    const middles = groups.map((own) => own[0].map((_, j) => own.reduce((sum, state) => sum + state[j], 0) / own.length));
    this.view = this.view ? yield* this.view.turned(middles, states, TURN) : yield* View.first(middles, states);
    const far = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
    const off = groups.map((own, k) => Math.max(...own.map((state) => far(state, middles[k]))));
    const apart = Math.min(...middles.flatMap((a, i) => middles.slice(0, i).map((b) => far(a, b))));
    const seen = (list) => list.map((state) => this.view.at(Array.from(state)));
    const [nodes, known] = [seen(states), prototypes && seen(prototypes)];
    const isMade = !step && phase === "done";
    const unit = isMade ? fitted([...nodes, ...known]) : MAP.height / 2 / (REACH * Math.sqrt(options.d_model));
    const at = (place) => place.map((value, i) => SIZE[i] / 2 + (i ? -unit : unit) * value);
    const strays = prototypes && states.map((state, i) => landing(state, prototypes).here !== this.chosen[i].kind + 1);
    return { step, phase, unit, off, apart, strays, points: nodes.map(at), rings: known?.map(at) ?? null };
  }

  // The nodes of the words, each sub-word of a level once: always the same ones. Their kind is the prototype where they
  // should be, from 0.
  *nodes(network) {
    const { run, words } = this;
    const kinds = new Map(run.standsFor.flatMap((elements, k) => elements.map((element) => [element, k])));
    const all = [];
    for (const word of words) {
      const own = levelsOf(word, run, network, null).flat();
      all.push(...own.map((node) => ({ ...node, kind: kinds.get(node.element), key: `${node.level} ${node.isOpen} ${word.slice(node.from, node.to)}` })));
      yield;
    }
    if (!this.chosen) {
      const firsts = new Map();
      all.forEach(({ key, kind }, i) => {
        if (!firsts.has(key) && kind !== undefined) firsts.set(key, i);
      });
      this.places = [...firsts.values()].slice(0, MOST_POINTS);
      this.chosen = this.places.map((i) => all[i]);
      this.kinds = [...kinds.values()].filter((kind, i, every) => every.indexOf(kind) === i && this.chosen.some((node) => node.kind === kind));
    }
    return this.places.map((i) => all[i]);
  }

  show() {
    const record = this.kept[Number(this.range.value)];
    this.say(record);
    if (!record) return;
    if (!this.marks.length) this.draw(record);
    const [left, foot] = [12, MAP.height - 12];
    this.scale[0].setAttribute("d", `M${left},${foot - 4} V${foot} H${left + record.unit} V${foot - 4}`);
    this.scale[1].setAttribute("x", left + record.unit / 2);
    const { language, cases } = this.bench;
    // While it learns from words alone it knows of no elements: nobody sees them then who does not ask.
    const isTinted = this.tint.checked || (record.rings !== null && record.phase !== "words");
    record.points.forEach((point, i) => {
      const [x, y] = inside(point, MAP.dot);
      const isOutside = x !== point[0] || y !== point[1];
      const mark = this.marks[i];
      put(mark, "style", `transform: translate(${x.toFixed(1)}px, ${y.toFixed(1)}px); fill: ${isTinted ? language.colours[cases.elements[this.chosen[i].kind]][0] : ""}`);
      mark.classList.toggle("outside", isOutside);
      mark.classList.toggle("stray", isTinted && Boolean(record.strays?.[i]));
    });
    // In front of the others, which may lie at the same place.
    const strays = this.marks.filter((mark) => mark.classList.contains("stray"));
    if (strays.length) this.rings.before(...strays);
    this.rings.replaceChildren(...((isTinted && record.rings) || []).map((point, k) => this.ring(inside(point, MAP.ring), k)));
  }

  // The points, which move from then on; a length beside them says how large the unit is.
  draw({ points }) {
    this.rings = svg("g", { class: "rings" });
    this.marks = points.map(() => svg("circle", { class: "point", r: MAP.dot }));
    this.scale = [svg("path", { class: "unit" }), svg("text", { class: "unit", y: MAP.height - 20 }, "1")];
    this.picture.replaceChildren(...this.scale, ...this.marks, this.rings);
  }

  // A prototype.
  ring([x, y], k) {
    const { language, cases } = this.bench;
    const element = cases.elements[k];
    const made = svg("g", { class: "ring", "data-prototype": k + 1 }, svg("title", {}, elementName(element, language)), svg("circle", { cx: x, cy: y, r: MAP.ring, style: `stroke: ${language.colours[element][0]}` }));
    const above = y > MAP.height / 8;
    if (cases.elements.length <= MOST_NAMED) made.append(svg("text", { x, y: above ? y - MAP.ring - 4 : y + MAP.ring + 14 }, short(elementName(element, language), 9)));
    return made;
  }

  say(record) {
    const count = this.kept.length;
    this.range.disabled = count < 2;
    this.when.textContent = record ? `step ${record.step.toLocaleString("en")}` : "";
    if (!record) {
      this.said.textContent = "No network yet: its points come with the first step.";
      this.picture.setAttribute("aria-label", this.said.textContent);
      this.list.replaceChildren();
      return;
    }
    const [off, apart] = [Math.max(...record.off), record.apart].map(length);
    const size = this.kinds.length;
    const two = size > 1 ? `; the middles of two elements are at least ${apart} apart` : "";
    const strays = record.strays?.filter(Boolean).length ?? 0;
    const lost = strays && record.phase !== "words" ? ` ${strays} lie nearer to another element's prototype.` : "";
    this.said.textContent = `${record.points.length} nodes of ${size} elements. The farthest is ${off} from the middle of its element${two}.${lost}`;
    this.picture.setAttribute("aria-label", `The map at step ${record.step}. ${this.said.textContent}`);
    const { language, cases } = this.bench;
    const number = (kind) => this.chosen.filter((node) => node.kind === kind).length;
    this.list.replaceChildren(...this.kinds.map((kind, k) => html("li", {}, chip(cases.elements[kind], language), ` ${number(kind)} nodes, at most ${length(record.off[k])} from their middle`)));
  }
}

const length = (value) => (value < 0.005 ? "less than 0.01" : value.toFixed(2));

// The unit in which all places, round the middle, are in the frame, with their rings and names.
const fitted = (places) => Math.min(...[0, 1].map((i) => (SIZE[i] / 2 - EDGE) / Math.max(...places.map((place) => Math.abs(place[i])), 1e-9)));

// The place in the frame, so far from its edge, that is nearest to one.
const inside = (place, far) => place.map((value, i) => Math.min(SIZE[i] - far, Math.max(far, value)));
