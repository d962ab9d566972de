// The stacks over time: a column for each symbol read, the network's stacks above, the machine's below.

const [CELL, MOST_HIGH, MOST_COLUMNS] = [20, 210, 160];
const SIGNS = { push: "▲", pop: "▼", none: "·" };
const HUES_OF_STACK = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F1AE5"];

class StackView {
  constructor(place, detail, names) {
    Object.assign(this, { place, detail, names });
  }

  // Draw the stacks of a word; nothing where the network was not computed.
  show({ word, run, trace, steps }) {
    this.tracks = [];
    this.place.replaceChildren();
    this.detail.textContent = "";
    if (!steps) return;
    Object.assign(this, { word, run, pushed: trace?.actions ?? [] });
    steps[0].actions.forEach((_, s) => this.tracks.push(this.ofNetwork(steps, s)));
    if (trace) this.tracks.push(this.ofMachine(trace));
    this.place.append(this.drawing());
  }

  ofNetwork(steps, s) {
    const actions = steps.map(({ actions }) => LIKELIEST[actions[s].indexOf(Math.max(...actions[s]))]);
    const shares = steps.map(({ actions }) => Math.max(...actions[s]));
    return { name: steps[0].actions.length > 1 ? `network, stack ${s + 1}` : "network", actions, shares, stacks: heights(actions), label: (i) => this.run.alphabet[this.word[i]] };
  }

  ofMachine({ actions }) {
    const named = actions.map((action) => (action >= 0 ? "push" : action === -2 ? "pop" : "none"));
    return { name: "automaton", actions: named, stacks: heights(named), label: (i) => this.names[actions[i]] };
  }

  // What the machine pushes at a step has one colour in all stacks; where it pushes nothing, a cell has none.
  colour(i) {
    return this.pushed[i] >= 0 ? HUES_OF_STACK[this.pushed[i] % HUES_OF_STACK.length] : "var(--panel)";
  }

  drawing() {
    const columns = Math.min(this.word.length, MOST_COLUMNS);
    const high = Math.max(1, ...this.tracks.flatMap(({ stacks }) => stacks.slice(0, columns).map((stack) => stack.length)));
    const cell = Math.min(CELL, MOST_HIGH / high);
    const longest = Math.max(...this.run.alphabet.map((symbol) => symbol.length), ...this.names.map((name) => name.length));
    const wide = Math.max(26, 9 * longest + 8);
    const sizes = { columns, cell, wide, left: 90 };
    let top = 6;
    const parts = [];
    for (const track of this.tracks) {
      const bottom = top + cell * Math.max(1, ...track.stacks.slice(0, columns).map((stack) => stack.length)) + 4;
      parts.push(...this.track(track, bottom, sizes));
      top = bottom + 30;
    }
    const symbols = Array.from({ length: columns }, (_, i) => svg("text", { x: sizes.left + wide * (i + 0.5), y: top + 8, class: "leaf", "data-step": i + 1 }, this.run.alphabet[this.word[i]]));
    const reads = svg("text", { x: sizes.left - 8, y: top + 8, class: "side" }, "reads");
    const [width, height] = [sizes.left + wide * columns + 4, top + 18];
    this.marker = svg("rect", { class: "now", x: -99, y: 1, width: wide, height: height - 2 });
    this.sizes = sizes;
    return svg("svg", { class: "stacks", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `What stands on the stacks after each of ${columns} symbols` }, this.marker, ...parts, reads, ...symbols);
  }

  // One stack: its cells in each column, from the bottom up, and below them what was done to it.
  track({ name, actions, shares, stacks, label }, bottom, { columns, cell, wide, left }) {
    const parts = [svg("text", { x: left - 8, y: bottom - 2, class: "side" }, name), svg("line", { class: "floor", x1: left, x2: left + wide * columns, y1: bottom, y2: bottom })];
    for (let i = 0; i < columns; i += 1) {
      const x = left + wide * i;
      stacks[i].forEach((pushedAt, h) => {
        const y = bottom - cell * (h + 1);
        parts.push(svg("rect", { class: "cell", x: x + 1, y: y + 0.5, width: wide - 2, height: Math.max(1, cell - 1), fill: this.colour(pushedAt), "data-pushed": pushedAt + 1 }));
        if (cell >= 14 && h === stacks[i].length - 1) parts.push(svg("text", { x: x + wide / 2, y: y + cell / 2 + 5, class: "cell-name" }, label(pushedAt)));
      });
      const share = shares ? `, ${certainty(shares[i])}` : "";
      parts.push(svg("text", { x: x + wide / 2, y: bottom + 17, class: shares && shares[i] < 0.99 ? "action unsure" : "action", "data-action": actions[i] }, svg("title", {}, `${actions[i]}${share}`), SIGNS[actions[i]]));
    }
    return parts;
  }

  // The column of the symbol that was read last, and in words what was done at it.
  step(at) {
    if (!this.tracks?.length) return;
    const { wide, left, columns } = this.sizes;
    this.marker.setAttribute("x", at > 0 && at <= columns ? left + wide * (at - 1) : -99);
    follow(this.place, left + wide * at);
    if (!at) {
      this.detail.textContent = "";
      return;
    }
    const done = this.tracks.map(({ name, actions, shares, stacks }) => {
      const share = shares ? ` (${certainty(shares[at - 1])})` : "";
      return `${name} ${actions[at - 1] === "none" ? "no action" : actions[at - 1]}${share}, height ${stacks[at - 1].length}`;
    });
    const cut = this.word.length > columns ? ` Only the first ${columns} symbols are drawn.` : "";
    this.detail.textContent = `Symbol ${at}, ${this.run.alphabet[this.word[at - 1]]}: ${done.join("; ")}.${cut}`;
  }
}
