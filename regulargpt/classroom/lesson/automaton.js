// Step 2: a token that walks through the drawing.

const WALK = 350; // milliseconds along an arrow

class AutomatonStep {
  constructor(place, lesson, done) {
    Object.assign(this, { place, lesson, done });
    this.token = svg("circle", { class: "token", r: place.querySelector(".automaton.small") ? 4 : 9 });
    place.querySelector("svg.automaton").append(this.token);
    this.line = html("p", { class: "said", "aria-live": "polite" });
    this.count = html("p", { class: "count" });
    const keys = lesson.alphabet.map((symbol, a) => action(symbol, () => this.read(a), { class: "symbol", "aria-label": `read ${symbol}`, "data-read": a }));
    const again = action("Begin again", () => this.begin());
    place.append(html("div", { class: "tools" }, "Read ", html("span", { class: "keys" }, ...keys), again), this.line, this.count);
    this.visited = new Set();
    this.deepest = 0;
    this.begin();
  }

  begin() {
    this.word = [];
    this.state = this.lesson.initial;
    this.rest();
  }

  read(a) {
    const { lesson, word } = this;
    const before = this.state;
    const states = passed([...word, a], lesson);
    const after = states[states.length - 1];
    if (!this.place.querySelector(`.state[data-state="${after}"]`)) {
      this.line.textContent = `No arrow from ${stateName(before, lesson)} carries ${lesson.alphabet[a]} here: no word with an answer goes on so.`;
      return;
    }
    word.push(a);
    this.state = after;
    this.walk(before);
  }

  // Along the arrow, unless the reader wants nothing to move.
  walk(before) {
    const edge = this.place.querySelector(`.edge[data-from="${before}"][data-to="${this.state}"]`);
    this.place.querySelectorAll(".edge").forEach((other) => other.classList.toggle("lit", other === edge));
    this.walking = Symbol("walk");
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.rest();
    const [path, mine, began] = [edge.querySelector("path"), this.walking, performance.now()];
    const frame = (now) => {
      if (mine !== this.walking) return;
      const share = Math.min(1, Math.max(0, now - began) / WALK);
      const { x, y } = path.getPointAtLength(share * path.getTotalLength());
      this.put(x, y);
      if (share < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return this.rest(false);
  }

  put(x, y) {
    this.token.setAttribute("cx", x);
    this.token.setAttribute("cy", y);
  }

  // At a state: light it, and say where the machine is.
  rest(placed = true) {
    const { lesson, place, state, word } = this;
    if (placed) {
      this.walking = null;
      const circle = place.querySelector(`.state[data-state="${state}"] circle`);
      const [x, y, r] = ["cx", "cy", "r"].map((name) => Number(circle.getAttribute(name)));
      this.put(x + 0.71 * r, y - 0.71 * r);
      if (!word.length) place.querySelectorAll(".edge").forEach((edge) => edge.classList.remove("lit"));
    }
    place.querySelectorAll(".state").forEach((other) => other.classList.toggle("lit", Number(other.dataset.state) === state));
    this.visited.add(state);
    const shown = word.length ? `Read: ${short(write(word, lesson.alphabet), 24)}.` : "Nothing is read yet.";
    this.line.textContent = `${shown} State: ${lesson.states[state]}. Answer: ${lesson.outputs[state] ?? NO_ANSWER}.`;
    if (lesson.nesting) return this.sayStack();
    this.count.textContent = `${this.visited.size} of ${lesson.states.length} states visited.`;
    if (this.visited.size === lesson.states.length) this.done();
    return undefined;
  }

  // What stands on the stack, the top last. Done is who came two deep and back.
  sayStack() {
    const stack = stackAfter(this.word, this.lesson);
    this.deepest = stack.length ? Math.max(this.deepest, stack.length) : this.deepest;
    this.count.textContent = stack.length ? `Stack, the top last: ${stack.map((g) => this.lesson.nesting.stack[g]).join(" | ")}.` : "The stack is empty.";
    if (this.deepest > 1 && !stack.length && this.word.length) this.done();
  }
}
