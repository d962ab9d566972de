// Trees over words, in which equal sub-words with equal trees are one node.

import { rootAlong } from "./nested_forest.js";

const MOST = 2 ** 26; // nodes that can be told apart

// Row 0 is the pad, row 1 + s the symbol s, and then come the nodes, children first. Of the node at a row, near[row] and
// far[row] are its children's rows. A level lists the nodes of one height: their rows, and their windows one after the other.
export class Forest {
  // With a `direction` of each symbol trees follow the brackets.
  constructor(n_symbols, direction = null) {
    Object.assign(this, { direction, near: [], far: [], height: [], levels: [], found: new Map() });
    for (let row = 0; row <= n_symbols; row += 1) this.put(0, 0, 0);
  }

  get rows() {
    return this.height.length;
  }

  put(near, far, height) {
    this.near.push(near);
    this.far.push(far);
    this.height.push(height);
  }

  // The row of the node over two others; the far one may be the pad, and along brackets the near one, too.
  node(near, far) {
    const key = near * MOST + far;
    const known = this.found.get(key);
    if (known !== undefined) return known;
    const [row, height] = [this.rows, 1 + Math.max(this.height[near], this.height[far])];
    this.put(near, far, height);
    this.found.set(key, row);
    const level = (this.levels[height - 1] ??= { rows: [], windows: [] });
    level.rows.push(row);
    level.windows.push(near, far);
    return row;
  }

  // The row of the root over a word; `over(row)` says how the nodes of a row are merged.
  root(word, over = (row) => this.over(row)) {
    return this.direction ? rootAlong(this, word, this.direction, over) : over(word.map((symbol) => 1 + symbol));
  }

  // The row of the root over a row of nodes: pairs from the right, then pairs of pairs, at least once.
  over(row) {
    let nodes = row;
    do {
      const count = Math.ceil(nodes.length / 2);
      const end = nodes.length - 2 * count; // -1 where the first node has nothing on its left
      const below = nodes;
      nodes = Array.from({ length: count }, (_, i) => this.node(below[end + 2 * i + 1], below[end + 2 * i] ?? 0));
    } while (nodes.length > 1);
    return nodes[0];
  }
}
