// Step 6: the numbers of each node as a point.

const MOST_RINGS = 300;
const LETTER = 10; // the width of one in a name

class ClustersStep {
  constructor(place, lesson, done, live) {
    Object.assign(this, { lesson, done, live, count: 0, farthest: 0 });
    this.nearest = Nearest.decoded(lesson.live.prototypes);
    this.prototypes = this.nearest.points.map((point) => Array.from(point));
    this.apart = Math.min(...this.prototypes.flatMap((a, i) => this.prototypes.slice(0, i).map((b) => distance(a, b))));
    this.counts = this.prototypes.map(() => 0);
    const middle = scaled(mixed(this.prototypes, this.counts.map(() => 1)), 1 / this.counts.length);
    const { at, tall } = clearest(this.prototypes.map((point) => minus(point, middle)));
    this.at = (point) => at(minus(point, middle));
    this.picture = svg("svg", { class: "points", viewBox: `0 0 ${PICTURE.width} ${tall}`, role: "img" });
    this.rings = svg("g", { class: "rings" });
    this.marks = this.prototypes.map((point, k) => this.mark(point, k));
    this.spare();
    this.picture.append(...this.marks, this.rings);
    this.field = new WordField(lesson, "Word");
    const add = (word) => this.add([word]);
    const tools = html("div", { class: "tools" }, action("Add this word", () => add(this.field.word)), action("Add 20 random words", () => this.add(Array.from({ length: 20 }, () => anyWord(2 + Math.floor(Math.random() * 19), lesson)))));
    this.said = html("p", { class: "said", "aria-live": "polite" });
    this.list = html("ul", { class: "elements" });
    place.append(this.field.place, tools, this.picture, this.said, html("details", {}, html("summary", {}, "Prototypes as a list"), this.list));
    this.field.set(anyWord(5, lesson));
    this.say();
  }

  mark(point, k) {
    const { lesson } = this;
    const [x, y] = this.at(point);
    const elements = lesson.network.elements[k];
    const [colour, ink] = elements.length ? lesson.colours[elements[0]] : ["var(--panel)", "var(--ink)"];
    const name = elements.map((e) => elementName(e, lesson)).join(" ");
    const made = svg("g", { class: "prototype", "data-prototype": k + 1, "data-count": 0 });
    made.append(
      svg("title", {}, `stands for ${name}`),
      svg("circle", { cx: x, cy: y, r: 15, fill: colour }),
      svg("text", { class: "name", x, y: y - 26 }, short(name, 14)),
      svg("text", { class: "number", x, y: y + 5, style: `fill: ${ink}` }, ""),
    );
    return made;
  }

  // A name that would lie on another one, or on a dot, is shown only under the pointer.
  spare() {
    const dots = this.prototypes.map((point) => this.at(point));
    const shown = [];
    this.marks.forEach((mark, k) => {
      const [[x, y], half] = [dots[k], (LETTER * mark.querySelector(".name").textContent.length) / 2];
      const box = [x - half, x + half, y - 42, y - 22];
      const meets = ([a, b, c, d]) => a < box[1] && box[0] < b && c < box[3] && box[2] < d;
      const onDot = dots.some(([a, b], other) => other !== k && meets([a - 15, a + 15, b - 15, b + 15]));
      if (onDot || shown.some(meets)) mark.querySelector(".name").classList.add("spare");
      else shown.push(box);
    });
  }

  add(words) {
    for (const word of words) this.fall(word);
    this.say();
    if (this.count) this.done();
  }

  // Every node of a word.
  fall(word) {
    if (!word.length || word.length > this.live.longest) return;
    const [, ...levels] = this.live.model.levelsOf(word);
    for (const { node, states } of levels) for (const row of node) this.ring(states[row]);
  }

  ring(state) {
    const k = this.nearest.of(state) - 1;
    const [x, y] = this.at(Array.from(state));
    this.count += 1;
    this.counts[k] += 1;
    this.farthest = Math.max(this.farthest, distance(Array.from(state), this.prototypes[k]));
    this.rings.append(svg("circle", { class: "ring", cx: x, cy: y, r: 19 }));
    if (this.rings.childElementCount > MOST_RINGS) this.rings.firstChild.remove();
  }

  say() {
    this.marks.forEach((mark, k) => {
      mark.dataset.count = this.counts[k];
      mark.querySelector(".number").textContent = this.counts[k] || "";
    });
    this.list.replaceChildren(...this.lesson.network.elements.map((elements, k) => html("li", {}, ...elements.map((e) => chip(e, this.lesson)), ` ${this.counts[k]}`)));
    const met = this.counts.filter(Boolean).length;
    const [off, apart] = [this.farthest, this.apart].map((value) => (value < 0.005 ? "less than 0.01" : value.toFixed(2)));
    const nodes = this.count === 1 ? "1 node" : `${this.count.toLocaleString("en")} nodes`;
    this.said.textContent = this.count ? `${nodes} at ${met} of ${this.counts.length} prototypes. The farthest node is ${off} away from its prototype; two prototypes are at least ${apart} apart.` : `No node yet. Two prototypes are at least ${apart} apart.`;
    this.picture.setAttribute("aria-label", `The shadow of ${this.counts.length} prototypes. ${this.said.textContent}`);
  }
}
