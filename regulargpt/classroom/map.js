// The map of states: the nodes of a word's tree, or its prefixes, as points where their states lie.

const MAP = { width: 420, height: 330, edge: 44, anchor: 13, dot: 6, hit: 15 };
const MOST_DOTS = 1500; // points that are drawn: more are neither told apart nor drawn in a moment

// From a state to its place in the plane that was found in advance.
class Plane {
  constructor({ rows, shape, explained, source, box }) {
    const { Weights } = modules["regulargpt/models/weights.js"];
    [this.mean, ...this.axes] = Weights.decoded({ shapes: { rows: shape }, numbers: rows }).rows("rows");
    const [first, second] = explained.map((share) => `${Math.round(100 * share)}%`);
    this.names = [`component 1: ${first} of ${source}' variance`, `component 2: ${second}`];
    // Differences that are rounding are not blown up: float32 keeps seven digits.
    this.least = 1e-9 + 1e-5 * Math.hypot(...this.mean);
    this.box = box;
  }

  place(state) {
    return this.axes.map((axis) => axis.reduce((sum, value, i) => sum + value * (state[i] - this.mean[i]), 0));
  }

  // The smallest frame, as two corners, that holds these places and what the plane was found from.
  frame(places) {
    const [low, high] = this.box.map((corner) => [...corner]);
    for (const place of places) {
      place.forEach((value, i) => {
        low[i] = Math.min(low[i], value);
        high[i] = Math.max(high[i], value);
      });
    }
    return [low, high];
  }

  // From places to the picture: both axes have one unit, so that distances can be compared in every direction.
  scale([low, high]) {
    const unit = Math.min(...[MAP.width, MAP.height].map((size, i) => (size - 2 * MAP.edge) / Math.max(this.least, high[i] - low[i])));
    return ([x, y]) => [MAP.width / 2 + unit * (x - (low[0] + high[0]) / 2), MAP.height / 2 - unit * (y - (low[1] + high[1]) / 2)];
  }
}

const isPlace = (where) => where.every(Number.isFinite);

// Labels that touch no earlier one and no other anchor, as `free_labels` in scatter.py.
function freeLabels(anchors) {
  const chosen = [];
  for (const anchor of anchors) {
    const half = 4.5 * anchor.label.length + 2;
    if (chosen.every(({ x, y, half: other }) => Math.abs(x - anchor.x) > half + other || Math.abs(y - anchor.y) > 16)) chosen.push({ ...anchor, half });
  }
  return new Set(chosen.map(({ number }) => number));
}

class StateMap {
  // `label(number)` names an anchor; `numbersOf` says by which numbers an anchor's colour is looked up.
  constructor(place, detail, given, { alphabet, label, numbersOf, onChoose, onLook }) {
    Object.assign(this, { place, detail, onChoose, onLook, plane: new Plane(given), dots: [], at: 0 });
    this.anchors = given.anchors.map((where, i) => ({ where, number: given.numbers[i], colour: given.colours[i][0] }));
    this.colours = new Map(this.anchors.toReversed().flatMap(({ number, colour }) => numbersOf(number).map((key) => [key, colour])));
    this.crowd = given.crowd && new Crowd(given.crowd, this.colours, alphabet);
    this.label = (number) => label(number) + (this.crowd?.kept(numbersOf(number)[0]) ?? "");
    place.addEventListener("keydown", (event) => this.key(event));
  }

  // The picture has room for these states until it gets others: what is shown one after the other has one frame.
  frameFor(vectors) {
    this.frame = this.plane.frame(vectors.map((vector) => this.plane.place(vector)).filter(isPlace));
  }

  // Points {vector, colour, words, verdict, item}: those at one place that look alike are one dot.
  show(points) {
    this.total = points.length;
    this.dots = this.gathered(points);
    this.at = 0;
    this.place.replaceChildren(this.picture());
    this.crowd?.relight(this.place);
    this.say();
  }

  gathered(points) {
    const dots = new Map();
    for (const point of points) {
      const where = this.plane.place(point.vector);
      if (!isPlace(where)) continue;
      const key = [...where.map((value) => value.toPrecision(5)), point.colour, point.verdict].join();
      if (!dots.has(key)) dots.set(key, { ...point, where, ...this.inside(where, point.words), items: [] });
      dots.get(key).items.push(point.item);
    }
    return [...dots.values()];
  }

  // The place in the frame that is nearest to one; the point's words say where that is another.
  inside(where, words) {
    const [low, high] = this.frame;
    const at = where.map((value, i) => Math.min(high[i], Math.max(low[i], value)));
    const outside = at.some((value, i) => value !== where[i]);
    return { at, outside, words: outside ? `${words} It lies outside the picture.` : words };
  }

  say(dot = null) {
    if (dot) {
      const more = dot.items.length - 1;
      this.detail.textContent = `${dot.words}${more ? ` And ${more.toLocaleString("en")} more at the same place.` : ""}`;
      return;
    }
    const left = this.dots.length - MOST_DOTS;
    const undrawn = left > 0 ? ` ${left.toLocaleString("en")} places are not drawn.` : "";
    const outside = this.dots.some((dot) => dot.outside) ? " A dashed point lies outside the picture: it stands at the edge." : "";
    this.detail.textContent = this.total ? `${this.total.toLocaleString("en")} states at ${this.dots.length.toLocaleString("en")} places.${undrawn}${outside} Tab to the map, then arrow keys.` : "";
  }

  picture() {
    const scale = this.plane.scale(this.frame);
    const { width, height } = MAP;
    const picture = svg("svg", { class: "plot states", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `The map of states: ${this.anchors.length} named places, ${this.dots.length} places of the typed word; arrow keys walk through these` });
    const [across, up] = this.plane.names;
    picture.append(svg("text", { class: "axis", x: width / 2, y: height - 6 }, across));
    picture.append(svg("text", { class: "axis", x: 13, y: height / 2, transform: `rotate(-90 13 ${height / 2})` }, up));
    const moves = this.crowd?.moves(scale) ?? [];
    const [rings, names] = this.named(scale, moves);
    picture.append(...(this.crowd?.behind(scale) ?? []), ...rings, ...moves.map(({ drawn }) => drawn));
    this.dots.slice(0, MOST_DOTS).forEach((dot, i) => picture.append(this.dot(dot, i, scale(dot.at))));
    picture.append(...names);
    return picture;
  }

  // The places that have names: their rings, which stand behind the points, and the names, which stand before them. An
  // arrow's letters that would touch others are shown while it is lit.
  named(scale, moves) {
    const anchors = this.anchors.map((anchor) => {
      const [x, y] = scale(anchor.where);
      return { ...anchor, x, y, label: this.label(anchor.number) };
    });
    const shown = freeLabels([...anchors, ...moves]);
    moves.forEach(({ drawn, x, y, label, number }) => drawn.append(svg("text", { class: shown.has(number) ? "" : "hushed", x, y: y + 5 }, label)));
    const ring = ({ x, y, colour, number, label }) => svg("g", { class: "anchor", "data-anchor": number }, svg("title", {}, label), svg("circle", { cx: x, cy: y, r: MAP.anchor, stroke: colour }));
    const name = ({ x, y, label }) => svg("text", { class: "name", x: Math.max(x, 26 + 4.5 * label.length), y: y - MAP.anchor - 5 }, label);
    return [anchors.map(ring), anchors.filter(({ number }) => shown.has(number)).map(name)];
  }

  dot(dot, i, [x, y]) {
    const colour = dot.colour ?? "var(--soft)";
    const made = svg("g", { class: `dot ${dot.verdict}${dot.outside ? " outside" : ""}`, tabindex: i === this.at ? 0 : -1, role: "button", "aria-label": dot.words, "data-dot": i, "data-count": dot.items.length });
    made.append(svg("circle", { class: "hit", cx: x, cy: y, r: MAP.hit }), svg("circle", { class: "mark", cx: x, cy: y, r: MAP.dot, fill: colour }));
    if (dot.verdict === "wrong") made.append(svg("text", { class: "cross", x, y: y - MAP.dot - 3 }, MARKS.wrong));
    made.addEventListener("focus", () => this.choose(i));
    made.addEventListener("click", () => made.focus());
    made.addEventListener("pointerenter", () => this.look(i));
    made.addEventListener("pointerleave", () => this.look(this.chosen ?? null));
    return made;
  }

  // A dot has the pointer: light it and what it stands for, and keep what was chosen.
  look(i) {
    this.mark("looked", i);
    this.say(i === null ? null : this.dots[i]);
    this.onLook(i === null ? [] : this.dots[i].items);
  }

  choose(i) {
    this.chosen = i;
    this.at = i;
    this.place.querySelectorAll(".dot").forEach((dot) => dot.setAttribute("tabindex", Number(dot.dataset.dot) === i ? 0 : -1));
    this.mark("chosen", i);
    this.say(this.dots[i]);
    this.onLook(this.dots[i].items);
    this.onChoose(this.dots[i].items[0]);
  }

  // Light the dot of a node or prefix that was chosen elsewhere.
  light(item, kind = "chosen") {
    const i = item === null ? -1 : this.dots.findIndex(({ items }) => items.includes(item));
    if (kind === "chosen") this.chosen = i < 0 ? null : i;
    this.mark(kind, i);
    if (i >= 0 && kind === "chosen") this.say(this.dots[i]);
  }

  // Fade the dots all of whose items are not there yet.
  fade(isAhead) {
    this.place.querySelectorAll(".dot").forEach((dot) => dot.classList.toggle("ahead", this.dots[dot.dataset.dot].items.every(isAhead)));
  }

  mark(kind, i) {
    this.place.querySelectorAll(".dot").forEach((dot) => dot.classList.toggle(kind, Number(dot.dataset.dot) === i));
  }

  key(event) {
    const last = Math.min(this.dots.length, MOST_DOTS) - 1;
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : by && Math.min(last, Math.max(0, this.at + by));
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.place.querySelector(`.dot[data-dot="${to}"]`).focus();
  }
}
