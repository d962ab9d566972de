// The levels of a tree one after the other, from the leaves to the root.

class Builder {
  // `place` holds a slider, its buttons and what it says; `onBuild(level)` shows the levels up to one.
  constructor(place, onBuild) {
    const part = (name) => place.querySelector(`[data-build="${name}"]`);
    Object.assign(this, { place, onBuild, range: part("range"), output: part("output"), levels: [] });
    playing(this.range, part("play"));
    this.range.addEventListener("input", () => this.build());
    for (const [name, by] of [["down", -1], ["up", 1]]) {
      part(name).addEventListener("click", () => {
        this.range.value = Number(this.range.value) + by;
        this.build();
      });
    }
  }

  // A new tree, which is there as a whole at first.
  show(levels, n, isNested) {
    Object.assign(this, { levels, n, isNested });
    this.place.hidden = !levels.length;
    this.range.max = levels.length;
    this.range.value = levels.length;
    this.build();
  }

  build() {
    const at = Number(this.range.value);
    const [nodes, below] = [this.levels[at - 1]?.length, at > 1 ? this.levels[at - 2]?.length : this.n];
    const what = at > 1 ? "states" : "symbols";
    // Along brackets the children of a node may be of any level below it.
    const of = this.isNested ? (nodes === 1 ? "node" : "nodes") : `of ${below?.toLocaleString("en")} ${what}`;
    const done = at ? `${nodes.toLocaleString("en")} ${of}` : "the symbols alone";
    this.output.textContent = `Level ${at} of ${this.levels.length}: ${done}`;
    this.onBuild(at);
  }
}
