// The tree as a drawing through which the arrow keys walk. Where it is too wide, a path is drawn and the rest is folded.

const BOX = { width: 136, height: 66, row: 104, leaf: 30, gap: 8, edge: 44 };
const LEAST_SCALE = 0.73; // of a picture that shrinks to fit: text of 15 pixels becomes 11

const nodeWidth = (node) => (node.level > 1 ? BOX.width : Math.max(BOX.width, (node.to - node.from) * BOX.leaf));
const rowWidth = (row) => row.reduce((sum, node) => sum + nodeWidth(node) + BOX.gap, BOX.gap);

// The node above.
const parentOf = (node, levels) => levels[node.level]?.find(({ children }) => children[children.length - 1] >= node.index);

// The nodes below.
const childrenOf = (node, levels) => (node.level > 1 ? node.children.map((i) => levels[node.level - 2][i]) : []);

// How many nodes lie under one.
function countUnder(node, levels) {
  let [first, last, count] = [node, node, 0];
  while (first.level > 1) {
    const below = levels[first.level - 2];
    [first, last] = [below[first.children[0]], below[last.children[last.children.length - 1]]];
    count += last.index - first.index + 1;
  }
  return count;
}

// From the root through a node, and from there down to its last symbols.
function pathThrough(node, levels) {
  const path = [node];
  for (let above = parentOf(node, levels); above; above = parentOf(above, levels)) path.unshift(above);
  for (let below = childrenOf(node, levels); below.length; below = childrenOf(below[below.length - 1], levels)) path.push(below[below.length - 1]);
  return path;
}

// Where nodes stand: from the root down all of each row that fits, and below that the children of the nodes on a path.
// `hidden` are the children that do not fit beside the path, by how many there are on either side.
function layout(levels, path, room) {
  const rows = [...levels].reverse();
  const top = Math.max(1, rows.filter((row) => rowWidth(row) <= room).length);
  const below = path.slice(top - 1, -1).map((node, i) => childRow(childrenOf(node, levels), path[top + i], room));
  const width = Math.max(rowWidth(rows[top - 1]), ...below.map((row) => row.width));
  const where = sideBySide(rows[top - 1], width);
  for (const node of rows.slice(0, top - 1).reverse().flat()) {
    const kids = childrenOf(node, levels);
    where.set(node, (where.get(kids[0]) + where.get(kids[kids.length - 1])) / 2);
  }
  const hidden = below.flatMap((row, i) => under(path[top - 1 + i], row, width, where));
  return { where, width, hidden, whole: top === rows.length };
}

// A row from left to right, in the middle of the picture.
function sideBySide(row, width) {
  const where = new Map();
  let left = (width - rowWidth(row)) / 2 + BOX.gap;
  for (const node of row) {
    where.set(node, left + nodeWidth(node) / 2);
    left += nodeWidth(node) + BOX.gap;
  }
  return where;
}

// As many children as fit, among them the one on the path.
function childRow(kids, onPath, room) {
  const wide = Math.max(...kids.map(nodeWidth)) + BOX.gap;
  const most = kids.length * wide <= room ? kids.length : Math.max(1, Math.floor((room - 2 * BOX.edge) / wide));
  const first = Math.max(0, Math.min(kids.indexOf(onPath) - Math.floor(most / 2), kids.length - most));
  const shown = kids.slice(first, first + most);
  const edges = shown.length < kids.length ? 2 * BOX.edge : 0;
  return { shown, wide, width: shown.length * wide + edges + BOX.gap, before: first, after: kids.length - first - shown.length };
}

// Place a row of children under their parent; what is hidden of it.
function under(node, { shown, wide, width: own, before, after }, width, where) {
  const middle = Math.min(width - own / 2, Math.max(own / 2, where.get(node)));
  shown.forEach((kid, i) => where.set(kid, middle + (i - (shown.length - 1) / 2) * wide));
  const edge = (shown.length * wide + BOX.edge) / 2;
  const sides = [[before, middle - edge], [after, middle + edge]];
  return sides.filter(([count]) => count).map(([count, x]) => ({ level: node.level - 1, count, x }));
}

class TreeView {
  // `onChoose` is called with a node that was chosen, `onLook` with the one under the pointer, or null.
  constructor(place, detail, onChoose, onLook) {
    Object.assign(this, { place, detail, onChoose, onLook, levels: [], chosen: null, wide: 0 });
    place.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => place.clientWidth !== this.wide && this.draw()).observe(place);
  }

  // `parts` is the node at which network and automaton part, if there is one; `attention(node)` what it pays, or null.
  show(word, run, levels, parts = null, attention = () => null) {
    Object.assign(this, { word, run, levels, parts, attention, chosen: null, marks: () => "" });
    this.through = this.first();
    this.built = levels.length;
    this.draw();
  }

  // The same tree with other states: what was chosen and unfolded stays so. `marks(node)` are the classes of what changed.
  update(levels, parts, attention, marks) {
    const at = (node) => node && levels[node.level - 1][node.index];
    const [chosen, through] = [this.chosen, this.through].map(at);
    Object.assign(this, { levels, parts, attention, marks, through });
    this.draw();
    if (chosen) this.choose(chosen);
  }

  // Show the levels up to one, as if no other were computed yet.
  build(level) {
    this.built = level;
    this.place.querySelectorAll("[data-above]").forEach((made) => made.classList.toggle("ahead", Number(made.dataset.above) > level));
  }

  get root() {
    return this.levels[this.levels.length - 1][0];
  }

  // The node that the path goes through at first: where they part, else the lowest wrong one, else the root.
  first() {
    if (!this.levels.length) return null;
    return this.parts ?? this.levels.flat().find((node) => node.verdict === "wrong") ?? this.root;
  }

  draw() {
    this.wide = this.place.clientWidth;
    this.place.replaceChildren();
    this.detail.textContent = "";
    if (!this.levels.length) return;
    const room = (this.wide || 600) / LEAST_SCALE;
    this.edges = [];
    this.drawn = layout(this.levels, pathThrough(this.through, this.levels), room);
    this.place.append(this.picture());
    this.place.querySelector(".node").setAttribute("tabindex", 0);
    this.build(this.built);
    this.detail.textContent = this.help();
    if (this.drawn.where.has(this.chosen)) this.choose(this.chosen);
  }

  help() {
    const walk = "Tab to the tree, then arrow keys: up, down, left, right.";
    if (this.drawn.whole) return walk;
    const count = this.levels.reduce((sum, level) => sum + level.length, 0);
    const { size } = this.drawn.where;
    return `${count.toLocaleString("en")} nodes: ${size} are drawn, the lower ones along one path; ${(count - size).toLocaleString("en")} are folded. Choose a node to unfold what is under it. ${walk}`;
  }

  picture() {
    const { where, width, hidden } = this.drawn;
    const height = this.levels.length * BOX.row + BOX.leaf + 12;
    const picture = svg("svg", { class: "nodes", viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px`, role: "group", "aria-label": "The network's tree; arrow keys walk through it" });
    const nodes = [...where].sort(([a], [b]) => b.level - a.level || a.index - b.index); // as they are read
    for (const [node] of nodes) this.twigs(picture, node);
    for (const [node, x] of nodes) {
      picture.append(this.node(node, x));
      if (node.level === 1) this.symbols(picture, node, x);
      else if (!childrenOf(node, this.levels).some((kid) => where.has(kid))) picture.append(this.folded(node, x));
    }
    for (const { level, count, x } of hidden) picture.append(svg("text", { class: "folded", x, y: this.topOf(level) + BOX.height / 2 }, `+${count}`));
    return picture;
  }

  topOf(level) {
    return (this.levels.length - level) * BOX.row + 3;
  }

  twigs(picture, node) {
    const { where } = this.drawn;
    const shares = this.attention(node)?.children;
    childrenOf(node, this.levels).forEach((kid, i) => {
      if (where.has(kid)) picture.append(this.edge(node, [where.get(node), this.topOf(node.level) + BOX.height], [where.get(kid), this.topOf(kid.level)], shares?.[i]));
    });
  }

  // An edge, as wide as what is paid along it.
  edge(node, [x1, y1], [x2, y2], share) {
    const line = svg("line", { class: "twig", x1, y1, x2, y2, "data-above": node.level });
    if (share === undefined) return line;
    line.setAttribute("class", share ? "twig paid" : "twig paid cut");
    line.setAttribute("data-share", share.toFixed(4));
    line.setAttribute("style", `stroke-width: ${(1 + 8 * share).toFixed(2)}px`);
    // Under the symbols there is room for a number, and between them there is none.
    const at = node.level > 1 ? { x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 5, text: percent(share) } : { x: x2, y: y2 + 35, text: (100 * share).toFixed(0) };
    this.edges.push({ node, line, ...at });
    return line;
  }

  // The numbers at the edges of a node, and no others.
  number(node) {
    this.place.querySelectorAll(".share").forEach((text) => text.remove());
    for (const { node: of, line, text, x, y } of this.edges) {
      line.classList.toggle("of-chosen", of === node);
      if (of === node) this.place.querySelector("svg").append(svg("text", { class: "share", x, y }, text));
    }
  }

  // What a node pays to its children, in words.
  payment(node) {
    const attention = this.attention(node);
    if (!attention) return "";
    const spans = node.level > 1 ? childrenOf(node, this.levels) : node.children.map((at) => ({ from: at, to: at + 1 }));
    const children = spans.map(({ from, to }, i) => `${short(write(this.word.slice(from, to), this.run.alphabet), 12)} ${percent(attention.children[i])}`);
    const pads = spans.length < this.run.chunk_size ? [`pads ${percent(attention.pads)}`] : [];
    return ` Attention: ${[...children, ...pads].join(", ")}.`;
  }

  folded(node, x) {
    const count = countUnder(node, this.levels);
    return svg("text", { class: "folded", x, y: this.topOf(node.level) + BOX.height + 18 }, `⋯ ${count.toLocaleString("en")} folded`);
  }

  symbols(picture, node, x) {
    const y = this.topOf(1) + BOX.height;
    const gap = Math.max(BOX.leaf, (BOX.width - 20) / (node.to - node.from + 1));
    const shares = this.attention(node)?.children;
    for (let p = node.from; p < node.to; p += 1) {
      const at = x + (p - (node.from + node.to - 1) / 2) * gap;
      picture.append(this.edge(node, [x, y], [at, y + 22], shares?.[p - node.from]));
      picture.append(svg("text", { class: "leaf", "data-position": p, x: at, y: y + 40 }, this.run.alphabet[this.word[p]]));
    }
  }

  node(node, x) {
    const y = this.topOf(node.level);
    const sub = write(this.word.slice(node.from, node.to), this.run.alphabet);
    const lines = [
      ["sub", short(sub, 10)],
      ["truth", `is ${short(named(this.run.elements.words[node.element]), 10)}`],
      ["verdict", `${MARKS[node.verdict]} net ${short(stands(this.run, node.state), 8)}`],
    ];
    const parts = this.parts && node.level === this.parts.level && node.index === this.parts.index;
    const label = describe(node, this.word, this.run) + (parts ? " Here they part." : "");
    const made = svg("g", { class: `node ${node.verdict}${parts ? " parts" : ""} ${this.marks(node)}`.trim(), tabindex: -1, role: "button", "aria-label": label, "data-above": node.level, ...facts(node) });
    made.append(svg("rect", { x: x - BOX.width / 2, y, width: BOX.width, height: BOX.height, rx: 8 }));
    lines.forEach(([kind, words], i) => made.append(svg("text", { class: kind, x, y: y + 19 + 20 * i }, words)));
    made.addEventListener("focus", () => this.choose(node));
    made.addEventListener("click", () => this.unfold(node));
    made.addEventListener("pointerenter", () => this.onLook(node));
    made.addEventListener("pointerleave", () => this.onLook(null));
    return made;
  }

  // Choose a node, unfolded if it is not drawn; the focus stays where it is.
  choose(node) {
    if (!this.drawn.where.has(node)) {
      this.through = node;
      this.draw();
    }
    const made = this.drawing(node);
    this.place.querySelectorAll(".node").forEach((other) => {
      other.classList.toggle("chosen", other === made);
      other.setAttribute("tabindex", other === made ? 0 : -1);
    });
    this.chosen = node;
    this.number(node);
    this.detail.textContent = describe(node, this.word, this.run) + this.payment(node);
    this.onChoose(node);
  }

  drawing({ level, index }) {
    return this.place.querySelector(`.node[data-level="${level}"][data-index="${index}"]`);
  }

  // Light the nodes with these keys, among those that are drawn.
  look(keys) {
    const lit = new Set(keys);
    this.place.querySelectorAll(".node").forEach((made) => made.classList.toggle("looked", lit.has(`${made.dataset.level},${made.dataset.index}`)));
  }

  // Draw the path through a node, if what is under it is not drawn, and go there.
  unfold(node) {
    const { where } = this.drawn;
    if (!where.has(node) || !childrenOf(node, this.levels).every((kid) => where.has(kid))) {
      this.through = node;
      this.draw();
    }
    this.drawing(node).focus();
  }

  // The chosen node as an address has it.
  get chosenPlace() {
    return this.chosen && `${this.chosen.level}.${this.chosen.index}`;
  }

  // Choose the node that an address names. The focus stays where it is.
  open(place) {
    const [level, index] = (place ?? "").split(".").map(Number);
    const node = this.levels[level - 1]?.[index];
    if (node) this.choose(node);
  }

  // Go to a node, unfolded if it is not drawn.
  focus(node) {
    if (!node) return;
    if (this.drawn.where.has(node)) this.drawing(node).focus();
    else this.unfold(node);
  }

  key(event) {
    if (!this.chosen) return;
    const { level, index } = this.chosen;
    const moves = {
      ArrowLeft: () => this.focus(this.levels[level - 1][index - 1]),
      ArrowRight: () => this.focus(this.levels[level - 1][index + 1]),
      ArrowUp: () => this.focus(parentOf(this.chosen, this.levels)),
      ArrowDown: () => this.focus(childrenOf(this.chosen, this.levels)[0]),
      Home: () => this.focus(this.root),
      Enter: () => this.unfold(this.chosen),
      " ": () => this.unfold(this.chosen),
      Escape: () => this.back(),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  }

  // As it was at first.
  back() {
    this.through = this.first();
    this.draw();
    this.focus(this.root);
  }
}
