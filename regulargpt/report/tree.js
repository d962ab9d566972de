// The tree as a drawing through which the arrow keys walk.

const BOX = { width: 136, height: 66, row: 104, leaf: 30 };
const MOST_ACROSS = 32; // nodes in the lowest row that is drawn
const MOST_LEAVES = 64;

// The part of the tree under `top` that fits: rows of nodes by level, and whether its symbols are drawn.
function rows(levels, top) {
  const found = [[top.index]];
  for (let level = top.level - 1; level >= 1; level -= 1) {
    const row = found[found.length - 1].flatMap((i) => levels[level][i].children);
    if (row.length > MOST_ACROSS) break;
    found.push(row);
  }
  const lowest = top.level - found.length + 1;
  return { rows: found, lowest, leaves: lowest === 1 && top.to - top.from <= MOST_LEAVES };
}

class TreeView {
  constructor(place, detail, onChoose) {
    Object.assign(this, { place, detail, onChoose, levels: [], top: null, chosen: null });
    place.addEventListener("keydown", (event) => this.key(event));
  }

  show(word, run, levels) {
    Object.assign(this, { word, run, levels, chosen: null });
    this.top = levels.length ? levels[levels.length - 1][0] : null;
    this.draw();
  }

  get root() {
    return this.levels[this.levels.length - 1][0];
  }

  draw() {
    this.place.replaceChildren();
    this.detail.textContent = this.top ? "Tab to the tree, then arrow keys: up, down, left, right." : "";
    if (!this.top) return;
    const part = rows(this.levels, this.top);
    const where = new Map();
    const width = this.lay(this.top, part, 4, where);
    const height = part.rows.length * BOX.row + (part.leaves ? BOX.leaf + 12 : 0);
    const picture = svg("svg", { width: width + 8, height, role: "group", "aria-label": "The network's tree; arrow keys walk through it" });
    this.twigs(picture, part, where);
    part.rows.forEach((row, r) => row.forEach((i) => picture.append(this.node(this.levels[this.top.level - r - 1][i], part, where))));
    if (part.leaves) this.symbols(picture, part, where);
    this.place.append(picture);
    this.folded(part);
    this.place.scrollLeft = where.get(this.top) - this.place.clientWidth / 2;
    picture.querySelector(".node").setAttribute("tabindex", 0);
  }

  // Say what is not drawn.
  folded(part) {
    const notes = [];
    if (this.top !== this.root) notes.push("Only a part of the tree: Escape shows all of it.");
    if (!part.leaves) {
      const below = part.lowest > 1 ? `Levels ${part.lowest - 1} to 1 and the symbols are` : "The symbols are";
      notes.push(`${below} folded: Enter opens a node of the lowest row.`);
    }
    if (notes.length) this.detail.textContent = notes.join(" ");
  }

  // Places the middles of the nodes under one another; the width that was needed.
  lay(node, part, left, where) {
    const level = node.level - 1;
    let width = 0;
    if (node.level > part.lowest) {
      const kids = node.children.map((i) => this.levels[level - 1][i]);
      for (const kid of kids) width += this.lay(kid, part, left + width, where);
      where.set(node, (where.get(kids[0]) + where.get(kids[kids.length - 1])) / 2);
    } else {
      width = Math.max(BOX.width, part.leaves ? (node.to - node.from) * BOX.leaf : 0) + 8;
      where.set(node, left + width / 2);
    }
    return width;
  }

  top_of(node) {
    return (this.top.level - node.level) * BOX.row + 3;
  }

  twigs(picture, part, where) {
    for (const [node, x] of where) {
      if (node.level === part.lowest) continue;
      for (const i of node.children) {
        const kid = this.levels[node.level - 2][i];
        picture.append(svg("line", { class: "twig", x1: x, y1: this.top_of(node) + BOX.height, x2: where.get(kid), y2: this.top_of(kid) }));
      }
    }
  }

  symbols(picture, part, where) {
    for (const i of part.rows[part.rows.length - 1]) {
      const node = this.levels[0][i];
      const y = this.top_of(node) + BOX.height;
      const gap = Math.max(BOX.leaf, (BOX.width - 20) / (node.to - node.from + 1));
      for (let p = node.from; p < node.to; p += 1) {
        const x = where.get(node) + (p - (node.from + node.to - 1) / 2) * gap;
        picture.append(svg("line", { class: "twig", x1: where.get(node), y1: y, x2: x, y2: y + 22 }));
        picture.append(svg("text", { class: "leaf", "data-position": p, x, y: y + 40 }, this.run.alphabet[this.word[p]]));
      }
    }
  }

  node(node, part, where) {
    const x = where.get(node);
    const y = this.top_of(node);
    const sub = write(this.word.slice(node.from, node.to), this.run.alphabet);
    const lines = [
      ["sub", short(sub, 10)],
      ["truth", `is ${short(named(this.run.elements.words[node.element]), 10)}`],
      ["verdict", `${MARKS[node.verdict]} net ${short(stands(this.run, node.state), 8)}`],
    ];
    const opens = node.level === part.lowest && !part.leaves;
    const label = describe(node, this.word, this.run) + (opens ? " Enter opens it." : "");
    const made = svg("g", { class: `node ${node.verdict}`, tabindex: -1, role: "button", "aria-label": label, ...facts(node) });
    made.append(svg("rect", { x: x - BOX.width / 2, y, width: BOX.width, height: BOX.height, rx: 8 }));
    lines.forEach(([kind, words], i) => made.append(svg("text", { class: kind, x, y: y + 19 + 20 * i }, words)));
    made.addEventListener("focus", () => this.choose(made, node));
    made.addEventListener("click", () => (opens ? this.open(node) : made.focus()));
    return made;
  }

  choose(made, node) {
    this.place.querySelectorAll(".node").forEach((other) => {
      other.classList.toggle("chosen", other === made);
      other.setAttribute("tabindex", other === made ? 0 : -1);
    });
    this.chosen = node;
    this.detail.textContent = describe(node, this.word, this.run);
    this.onChoose(node);
  }

  open(node) {
    this.top = node;
    this.draw();
    this.focus(node);
  }

  focus(node) {
    const found = node && this.place.querySelector(`.node[data-level="${node.level}"][data-index="${node.index}"]`);
    if (found) found.focus();
    return Boolean(found);
  }

  key(event) {
    if (!this.chosen) return;
    const { level, index } = this.chosen;
    const kids = level > 1 ? this.chosen.children : [];
    const above = this.levels[level];
    const parent = above && above.find((node) => node.children.includes(index));
    const moves = {
      ArrowLeft: () => this.focus(this.levels[level - 1][index - 1]),
      ArrowRight: () => this.focus(this.levels[level - 1][index + 1]),
      ArrowUp: () => this.focus(parent),
      ArrowDown: () => kids.length && this.focus(this.levels[level - 2][kids[0]]),
      Home: () => this.focus(this.top),
      Enter: () => this.enter(),
      " ": () => this.enter(),
      Escape: () => this.open(this.root),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  }

  enter() {
    const part = rows(this.levels, this.top);
    if (this.chosen.level === part.lowest && !part.leaves) this.open(this.chosen);
  }
}
