// The controls with which the reader changes a tree: a state, an edge, and undo.

class Patcher {
  // `onChange` is called when `changes` are others; `aligned` says on which side a window begins.
  constructor(place, run, aligned, onChange) {
    const part = (name) => place.querySelector(`[data-patch="${name}"]`);
    Object.assign(this, { place, part, run, aligned, onChange, changes: new Changes(), node: null });
    const options = run.standsFor.map((_, i) => html("option", { value: i + 1 }, `prototype ${i + 1} ${stands(run, i + 1)}`));
    part("state").append(html("option", { value: "" }, "its own"), ...options);
    part("state").addEventListener("change", () => this.move());
    part("undo").addEventListener("click", () => this.after(() => this.changes.undo()));
    part("all").addEventListener("click", () => this.after(() => this.changes.clear()));
  }

  // Another word: nothing is changed in it, and no node is chosen.
  reset(hasTree) {
    this.changes.clear();
    this.place.hidden = !hasTree;
    this.part("said").textContent = "";
    this.choose(null);
  }

  choose(node, word = []) {
    Object.assign(this, { node, word });
    this.part("state").disabled = !node;
    this.part("whose").textContent = node ? `The node at level ${node.level}, symbols ${node.from + 1} to ${node.to}: ${short(write(word.slice(node.from, node.to), this.run.alphabet), 30)}` : "Choose a node in the tree or in the map.";
    this.draw();
  }

  move() {
    const chosen = this.part("state").value;
    this.after(() => this.changes.move(keyOf(this.node), chosen ? Number(chosen) : null));
  }

  after(change) {
    change();
    this.draw();
    this.onChange(this.changes);
  }

  draw() {
    const { node, changes } = this;
    this.part("state").value = (node && changes.moved.get(keyOf(node))) ?? "";
    for (const name of ["undo", "all"]) this.part(name).disabled = !changes.any;
    this.drawEdges();
  }

  // A button for each child that the node attends to; the one that was pressed keeps the focus.
  drawEdges() {
    const edges = this.part("edges");
    const at = [...edges.children].indexOf(document.activeElement);
    const attention = this.node?.attention();
    // Of what is absent, an empty inside, there is nothing to cut.
    const shown = attention ? this.node.children.flatMap((child, i) => (child === null ? [] : [i])) : [];
    edges.replaceChildren(...shown.map((i) => this.edge(i)));
    if (at >= 0) edges.children[at]?.focus();
  }

  edge(i) {
    const { node, word, run, aligned, changes } = this;
    const offset = aligned === "right" ? node.children.length - 1 - i : i;
    const isCut = changes.cuts.get(keyOf(node))?.includes(offset) ?? false;
    const { from, to } = spanOf(node.children[i]);
    const button = html("button", { type: "button", "aria-pressed": isCut, "data-offset": offset }, `Cut the edge to ${short(write(word.slice(from, to), run.alphabet), 10)}`);
    button.addEventListener("click", () => this.after(() => changes.cut(keyOf(node), offset)));
    return button;
  }

  say(words) {
    this.part("said").textContent = words;
  }
}
