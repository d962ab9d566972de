// Step 7: every case of the table, computed by the network here and now.

const MOST_SQUARES = 2000;
const MOMENT = 12; // milliseconds of work between two pictures
const LAST_SHOWN = 4; // cases in words

class ProofStep {
  constructor(place, lesson, done, live) {
    Object.assign(this, { lesson, done, live, squares: [] });
    this.nearest = Nearest.decoded(lesson.live.prototypes);
    this.cases = [...this.level("leaves"), ...this.level("nodes"), ...this.answers()];
    this.progress = html("progress", { max: this.cases.length, value: 0, "aria-label": "Cases tried" });
    this.count = html("p", { class: "count", "aria-live": "polite" });
    this.list = html("ol", { class: "cases" });
    this.next = action("Next case", () => this.step());
    this.all = action("All cases", () => this.rest());
    const tools = html("div", { class: "tools" }, this.next, this.all, action("Begin again", () => this.begin()));
    place.querySelector(".claim").before(tools, this.progress, this.count, this.list, ...this.tables());
    this.begin();
  }

  // A square for each case, unless there are too many.
  tables() {
    if (this.cases.length > MOST_SQUARES) return [];
    const { lesson } = this;
    const parts = [
      levelSquares(lesson, "leaves", lesson.nesting ? "Symbols alone" : "First level", (row) => this.name("leaves", row)),
      levelSquares(lesson, "nodes", lesson.nesting ? "With prototypes" : "All other levels", (row) => this.name("nodes", row)),
      answerSquares(this.ends().map((k) => this.standsFor(k + 1))),
    ];
    this.squares = parts.flatMap(({ squares }) => squares);
    const [whole, other] = lesson.network.aligned === "right" ? ["right", "left"] : ["left", "right"];
    const wide = lesson.nesting ? "" : ` At all other levels the ${whole} one covers 2, 4, 8 or more symbols, and the ${other} one at most as many.`;
    const note = html("p", { class: "caption" }, `${MISSING} stands where no word with an answer has these two neighbours.${wide}`);
    const isPart = parts.some(({ place }) => place.textContent.includes(MISSING));
    return [html("div", { class: "squares" }, ...parts.map(({ place }) => place)), ...(isPart ? [note] : [])];
  }

  // What may stand below a node.
  name(part, row) {
    const K = this.lesson.network.elements.length;
    if (row === 0) return PAD;
    if (part === "leaves") return this.lesson.alphabet[row - 1];
    return row > K ? this.lesson.alphabet[row - K - 1] : this.standsFor(row);
  }

  // The cases of symbols, or of prototypes: what the network makes of each window, computed when it is tried.
  level(part) {
    const { lesson, live } = this;
    const { absent } = live.model;
    // With brackets symbols stand beside prototypes, and are numbered behind them.
    const beside = lesson.nesting ? live.model.leaves().slice(1) : [];
    const states = part === "leaves" ? live.model.leaves() : [absent, ...this.nearest.points, ...beside];
    const [{ over }] = live.model.treeLayers(lesson.network.chunk_size);
    const merge = over(states);
    return lesson[part].map(([window, image]) => () => {
      const found = Array.from(merge(window));
      const here = this.nearest.of(found);
      const names = window.map((row) => this.name(part, row));
      if (lesson.network.aligned === "right") names.reverse();
      const off = distance(found, Array.from(this.nearest.points[here - 1]));
      return { words: `${names.join(" and ")} → ${this.standsFor(here)}`, right: here === image, off };
    });
  }

  // The prototypes at which a word with an answer may end.
  ends() {
    return this.lesson.network.answers.flatMap((answer, k) => (answer === null ? [] : [k]));
  }

  // What the network answers at each prototype where a word may end.
  answers() {
    const { lesson, live } = this;
    return this.ends().map((k) => () => {
      const answer = lesson.network.answers[k];
      const logits = Array.from(live.model.readout(this.nearest.points[k]));
      const { name } = lesson.live.reading === "member" ? live.member(logits[logits.length - 1]) : { name: lesson.live.output_names[logits.indexOf(Math.max(...logits))] };
      return { words: `A word that ends at ${this.standsFor(k + 1)} → ${name}`, right: name === answer, off: null };
    });
  }

  standsFor(prototype) {
    return this.lesson.network.elements[prototype - 1].map((e) => elementName(e, this.lesson)).join(" or ") || `prototype ${prototype}`;
  }

  begin() {
    Object.assign(this, { tried: 0, wrong: 0, farthest: 0, running: null });
    this.list.replaceChildren();
    this.squares.forEach((square) => colour(square, null));
    this.say();
  }

  step() {
    this.running = null;
    if (this.tried < this.cases.length) this.show([this.try()]);
  }

  try() {
    const found = this.cases[this.tried]();
    if (this.squares.length) colour(this.squares[this.tried], found.right);
    this.tried += 1;
    this.wrong += found.right ? 0 : 1;
    this.farthest = Math.max(this.farthest, found.off ?? 0);
    return { ...found, number: this.tried };
  }

  // The rest, a moment's work between two pictures: at most one case in twenty at once, so that one sees it.
  rest() {
    const mine = Symbol("rest");
    this.running = mine;
    const most = Math.max(1, Math.ceil(this.cases.length / 40));
    const some = () => {
      if (mine !== this.running) return;
      const [began, found] = [performance.now(), []];
      while (this.tried < this.cases.length && found.length < most && performance.now() - began < MOMENT) found.push(this.try());
      this.show(found);
      if (this.tried < this.cases.length) setTimeout(some, 30);
    };
    some();
  }

  show(found) {
    for (const { words, right, off, number } of found.slice(-LAST_SHOWN)) {
      const near = off === null ? "" : `, ${off < 0.005 ? "less than 0.01" : off.toFixed(2)} off`;
      this.list.append(html("li", { value: number, class: right ? "right" : "wrong" }, `${words} ${right ? "✓" : "✗"}${near}`));
    }
    while (this.list.childElementCount > LAST_SHOWN) this.list.firstChild.remove();
    this.say();
  }

  say() {
    const { tried, wrong, cases } = this;
    const ended = tried === cases.length;
    const end = ended ? (wrong ? " Nothing is proven." : " Nothing is left to try: calculated without rounding, each node at its prototype, the network is right on every word.") : "";
    this.progress.value = tried;
    this.count.textContent = `${tried.toLocaleString("en")} of ${cases.length.toLocaleString("en")} tried, ${wrong} wrong.${end}`;
    this.next.disabled = this.all.disabled = ended;
    if (ended && !wrong) this.done();
  }
}
