// The tree as a drawing through which the arrow keys walk. Where it is too wide, a path is drawn and the rest is folded.

// Sizes: of a node, between rows, of a symbol, between nodes, and of what is said of hidden children.
const BOX = { width: 136, height: 66, row: 104, leaf: 30, gap: 8, edge: 44 };
const MOST_DRAWN = 40; // rows of a picture
const LEAST_SCALE = 0.73; // of a picture that shrinks to fit: text of 15 pixels becomes 11

// The nodes among the children of a node; the others are positions of symbols, or null for an empty inside.
const childrenOf = (node) => node.children.filter((child) => child?.level);
const shownOf = (node) => node.children.filter((child) => child !== null);
const hasSymbolsOnly = (node) => !childrenOf(node).length;

const widthOf = (child, box) => (child.level ? nodeWidth(child, box) : box.leaf);
const nodeWidth = (node, box) => (hasSymbolsOnly(node) ? Math.max(box.width, shownOf(node).length * box.leaf) : box.width);

// The nodes of a tree from the root down: row by row, in which row each stands, and the node above each.
function shapeOf(root) {
  const [rows, depth, above] = [[], new Map(), new Map()];
  for (let row = [root]; row.length; row = row.flatMap(childrenOf)) {
    for (const node of row) {
      depth.set(node, rows.length);
      for (const kid of childrenOf(node)) above.set(kid, node);
    }
    rows.push(row);
  }
  return { rows, depth, above };
}

// How many nodes lie under one.
function countUnder(node) {
  let count = -1;
  for (const todo = [node]; todo.length; count += 1) todo.push(...childrenOf(todo.pop()));
  return count;
}

// From the root through a node, and from there down to its last symbols.
function pathThrough(node, above) {
  const path = [node];
  for (let upper = above.get(node); upper; upper = above.get(upper)) path.unshift(upper);
  for (let below = childrenOf(node); below.length; below = childrenOf(below[below.length - 1])) path.push(below[below.length - 1]);
  return path;
}

// How much room the nodes of the first rows take, those of the last of them with nothing under them.
function spansOf(rows, count, box) {
  const spans = new Map();
  for (let r = count - 1; r >= 0; r -= 1) {
    for (const node of rows[r]) {
      const under = r === count - 1 || hasSymbolsOnly(node) ? [] : shownOf(node);
      const wide = under.reduce((sum, child) => sum + (spans.get(child) ?? box.leaf), 0);
      spans.set(node, Math.max(nodeWidth(node, box) + box.gap, wide));
    }
  }
  return spans;
}

// Where nodes stand: from the root down all of each row that fits, and below that the children of the nodes on a path.
// `hidden` are the children that do not fit beside the path, by how many there are on either side. `symbols` are those that
// stand beside nodes.
function layout({ rows, depth }, path, room, box) {
  const wide = (spans) => spans.get(rows[0][0]) + box.gap;
  let [top, spans] = [1, spansOf(rows, 1, box)];
  for (let next; top < Math.min(rows.length, MOST_DRAWN) && wide((next = spansOf(rows, top + 1, box))) <= room; top += 1) spans = next;
  const below = path.slice(top - 1, -1).map((node, i) => childRow(shownOf(node), path[top + i], room, box));
  const width = Math.max(wide(spans), ...below.map((row) => row.width));
  const drawn = { where: new Map(), symbols: [], depth, width, box };
  sideBySide(rows.slice(0, top), spans, (width - wide(spans)) / 2 + box.gap, drawn);
  drawn.hidden = below.flatMap((row, i) => under(path[top - 1 + i], row, drawn));
  return drawn;
}

// The first rows from left to right: a node stands over the middle of its children.
function sideBySide(rows, spans, from, { where, symbols, box }) {
  const left = new Map([[rows[0][0], from]]);
  const spread = (node, kids) => {
    let at = left.get(node) + (spans.get(node) - kids.reduce((sum, kid) => sum + (spans.get(kid) ?? box.leaf), 0)) / 2;
    for (const kid of kids) {
      if (kid.level) left.set(kid, at);
      else symbols.push({ node, at: kid, x: at + box.leaf / 2 });
      at += spans.get(kid) ?? box.leaf;
    }
  };
  const spreads = (node, r) => r < rows.length - 1 && !hasSymbolsOnly(node);
  rows.forEach((row, r) => row.filter((node) => spreads(node, r)).forEach((node) => spread(node, shownOf(node))));
  for (let r = rows.length - 1; r >= 0; r -= 1) {
    for (const node of rows[r]) {
      const kids = spreads(node, r) ? childrenOf(node) : [];
      const middle = kids.length ? (where.get(kids[0]) + where.get(kids[kids.length - 1])) / 2 : left.get(node) + (spans.get(node) - box.gap) / 2;
      where.set(node, middle);
    }
  }
}

// As many children as fit, among them the one on the path.
function childRow(kids, onPath, room, box) {
  const sizes = kids.map((kid) => widthOf(kid, box) + box.gap);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  const most = whole <= room ? kids.length : Math.max(1, Math.floor((room - 2 * box.edge) / Math.max(...sizes)));
  const first = Math.max(0, Math.min(kids.indexOf(onPath) - Math.floor(most / 2), kids.length - most));
  const shown = kids.slice(first, first + most);
  const edges = shown.length < kids.length ? 2 * box.edge : 0;
  const wide = sizes.slice(first, first + most).reduce((sum, size) => sum + size, 0);
  return { shown, wide, width: wide + edges + box.gap, before: first, after: kids.length - first - shown.length };
}

// Place a row of children under their parent; what is hidden of it.
function under(node, { shown, wide, width: own, before, after }, { where, symbols, depth, width, box }) {
  const middle = Math.min(width - own / 2, Math.max(own / 2, where.get(node)));
  let left = middle - wide / 2;
  for (const kid of shown) {
    const size = widthOf(kid, box) + box.gap;
    if (kid.level) where.set(kid, left + size / 2);
    else symbols.push({ node, at: kid, x: left + size / 2 });
    left += size;
  }
  const edge = (wide + box.edge) / 2;
  const sides = [[before, middle - edge], [after, middle + edge]];
  return sides.filter(([count]) => count).map(([count, x]) => ({ row: depth.get(node) + 1, count, x }));
}

class TreeView {
  box = BOX;

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
    this.shape = shapeOf(this.root);
    const path = pathThrough(this.through, this.shape.above);
    // Of a deep tree the rows about the node that the path goes through.
    this.from = Math.max(0, Math.min(this.shape.depth.get(this.through) - MOST_DRAWN / 2, path.length - MOST_DRAWN));
    const shape = this.from ? shapeOf(path[this.from]) : this.shape;
    this.drawn = layout(shape, path.slice(this.from, this.from + MOST_DRAWN), room, this.box);
    this.place.append(this.picture());
    this.place.querySelector(".node").setAttribute("tabindex", 0);
    this.build(this.built);
    this.detail.textContent = this.help();
    if (this.drawn.where.has(this.chosen)) this.choose(this.chosen);
  }

  help() {
    const walk = "Tab to the tree, then arrow keys: up, down, left, right.";
    const count = this.levels.reduce((sum, level) => sum + level.length, 0);
    const { size } = this.drawn.where;
    if (size === count) return walk;
    const begins = this.from ? ` The picture begins ${this.from.toLocaleString("en")} levels below the root.` : "";
    return `${count.toLocaleString("en")} nodes: ${size} are drawn, the lower ones along one path; ${(count - size).toLocaleString("en")} are folded. Choose a node to unfold what is under it.${begins} ${walk}`;
  }

  picture() {
    const { where, width, hidden, depth } = this.drawn;
    const last = Math.max(...[...where.keys()].map((node) => depth.get(node)), ...hidden.map(({ row }) => row));
    const height = (1 + last) * this.box.row + this.box.leaf + 12;
    const picture = svg("svg", { class: "nodes", viewBox: `0 0 ${width} ${height}`, style: `width: ${width}px`, role: "group", "aria-label": "The network's tree; arrow keys walk through it" });
    const nodes = [...where].sort(([a], [b]) => depth.get(a) - depth.get(b) || a.from - b.from); // as they are read
    for (const [node] of nodes) this.twigs(picture, node);
    for (const [node, x] of nodes) {
      picture.append(this.node(node, x));
      if (hasSymbolsOnly(node)) this.symbols(picture, node, x);
      else if (!childrenOf(node).some((kid) => where.has(kid))) picture.append(this.folded(node, x));
    }
    for (const { node, at, x } of this.drawn.symbols) picture.append(this.leaf(at, x, this.topOf(node) + this.box.row + 18));
    for (const { row, count, x } of hidden) picture.append(svg("text", { class: "folded", x, y: row * this.box.row + 3 + this.box.height / 2 }, `+${count}`));
    return picture;
  }

  topOf(node) {
    return this.drawn.depth.get(node) * this.box.row + 3;
  }

  // The edges to what is drawn of a node's children; those to symbols that stand alone are drawn with them.
  twigs(picture, node) {
    const { where, symbols } = this.drawn;
    const shares = this.attention(node)?.children;
    const beside = new Map(symbols.filter((symbol) => symbol.node === node).map(({ at, x }) => [at, x]));
    const from = [where.get(node), this.topOf(node) + this.box.height];
    node.children.forEach((kid, i) => {
      if (where.has(kid)) picture.append(this.edge(node, from, [where.get(kid), this.topOf(kid)], shares?.[i]));
      else if (beside.has(kid)) picture.append(this.edge(node, from, [beside.get(kid), this.topOf(node) + this.box.row], shares?.[i], true));
    });
  }

  // An edge, as wide as what is paid along it.
  edge(node, [x1, y1], [x2, y2], share, toSymbol = false) {
    const line = svg("line", { class: "twig", x1, y1, x2, y2, "data-above": node.level });
    if (share === undefined) return line;
    line.setAttribute("class", share ? "twig paid" : "twig paid cut");
    line.setAttribute("data-share", share.toFixed(4));
    line.setAttribute("style", `stroke-width: ${(1 + 8 * share).toFixed(2)}px`);
    // Under the symbols there is room for a number, and between them there is none.
    const at = !toSymbol ? { x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 5, text: percent(share) } : { x: x2, y: y2 + 35, text: (100 * share).toFixed(0) };
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
    const part = ({ from, to }) => short(write(this.word.slice(from, to), this.run.alphabet), 12);
    const children = node.children.map((child, i) => `${child === null ? "nothing" : part(spanOf(child))} ${percent(attention.children[i])}`);
    const pads = children.length < this.run.chunk_size ? [`pads ${percent(attention.pads)}`] : [];
    return ` Attention: ${[...children, ...pads].join(", ")}.`;
  }

  folded(node, x) {
    const count = countUnder(node);
    return svg("text", { class: "folded", x, y: this.topOf(node) + this.box.height + 18 }, `⋯ ${count.toLocaleString("en")} folded`);
  }

  symbols(picture, node, x) {
    const y = this.topOf(node) + this.box.height;
    const shown = shownOf(node);
    const gap = Math.max(this.box.leaf, (this.box.width - 20) / (shown.length + 1));
    const shares = this.attention(node)?.children;
    shown.forEach((position, i) => {
      const at = x + (i - (shown.length - 1) / 2) * gap;
      picture.append(this.edge(node, [x, y], [at, y + 22], shares?.[node.children.indexOf(position)], true), this.leaf(position, at, y + 40));
    });
  }

  // A symbol of the word; a bracket has a colour.
  leaf(position, x, y) {
    const symbol = this.word[position];
    return svg("text", { class: this.run.nesting?.direction[symbol] ? "leaf bracket" : "leaf", "data-position": position, x, y }, this.run.alphabet[symbol]);
  }

  node(node, x) {
    const made = svg("g", { class: `node ${node.verdict}${this.isParting(node) ? " parts" : ""} ${this.marks(node)}`.trim(), tabindex: -1, role: "button", "aria-label": this.words(node), "data-above": node.level, ...facts(node) });
    made.append(...this.inside(node, x, this.topOf(node)));
    made.addEventListener("focus", () => this.choose(node));
    made.addEventListener("click", () => this.unfold(node));
    made.addEventListener("pointerenter", () => this.onLook(node));
    made.addEventListener("pointerleave", () => this.onLook(null));
    return made;
  }

  isParting({ level, index }) {
    return this.parts?.level === level && this.parts.index === index;
  }

  // What a node is, as it is read out.
  words(node) {
    return describe(node, this.word, this.run) + (this.isParting(node) ? " Here they part." : "");
  }

  // What is drawn of a node: a box of three lines.
  inside(node, x, y) {
    const sub = write(this.word.slice(node.from, node.to), this.run.alphabet);
    const lines = [
      ["sub", short(sub, 10)],
      ["truth", `is ${short(named(this.run.elements.words[node.element]), 10)}`],
      ["verdict", `${MARKS[node.verdict]} net ${short(stands(this.run, node.state), 8)}`],
    ];
    const box = svg("rect", { x: x - this.box.width / 2, y, width: this.box.width, height: this.box.height, rx: 8 });
    return [box, ...lines.map(([kind, words], i) => svg("text", { class: kind, x, y: y + 19 + 20 * i }, words))];
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
    this.tell(node);
    this.onChoose(node);
  }

  // A node in words, below the picture.
  tell(node) {
    this.detail.textContent = describe(node, this.word, this.run) + this.payment(node);
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
    if (!where.has(node) || !childrenOf(node).every((kid) => where.has(kid))) {
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
    const { rows, depth, above } = this.shape;
    const row = rows[depth.get(this.chosen)];
    const index = row.indexOf(this.chosen);
    const moves = {
      ArrowLeft: () => this.focus(row[index - 1]),
      ArrowRight: () => this.focus(row[index + 1]),
      ArrowUp: () => this.focus(above.get(this.chosen)),
      ArrowDown: () => this.focus(childrenOf(this.chosen)[0]),
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
