// Where the network and the automaton part: the nodes of the network's tree, each with the prototype nearest to its state.

class Nearest {
  constructor(points, elements) {
    Object.assign(this, { points, elements });
  }

  static decoded({ points, shape, elements }) {
    const { Weights } = modules["regulargpt/models/weights.js"];
    return new Nearest(Weights.decoded({ shapes: { points: shape }, numbers: points }).rows("points"), elements);
  }

  // The number of the prototype nearest to a state, from 1; null where there are none.
  of(state) {
    if (!this.points.length) return null;
    const distances = this.points.map((point) => point.reduce((sum, value, i) => sum + (value - state[i]) ** 2, 0));
    return 1 + distances.indexOf(Math.min(...distances));
  }

  // The levels above the symbols as `tree` has them: a state is the number of the nearest prototype.
  tree(word, run, model, changes) {
    const levels = [];
    const [, ...above] = model.levelsOf(word, changes);
    for (const { node, states, shares, nodes } of above) {
      const nearest = new Map();
      const below = levels[levels.length - 1] ?? word.map((_, i) => i);
      const level = node.map((row, index) => {
        if (!nearest.has(row)) nearest.set(row, this.of(states[row]));
        const children = nodes ? nodes[index].children.map((child) => (child?.level ? levels[child.level - 1][child.index] : child)) : places(index, node.length, below.length, model).map((at) => below[at]);
        const place = nodes?.[index] ?? { from: spanOf(children[0]).from, to: spanOf(children[children.length - 1]).to, isOpen: false };
        const [e, state] = [elementOf(place, word, run), nearest.get(row)];
        const verdict = state === null ? "unknown" : this.elements[state - 1].includes(e) ? "right" : "wrong";
        const { from, to, isOpen } = place;
        return { level: levels.length + 1, index, from, to, isOpen, element: e, state, verdict, window: [], children, vector: states[row], attention: () => shares && paid(shares(index), children.length, model.aligned) };
      });
      levels.push(level);
    }
    return levels;
  }
}

// What a node pays to its children from left to right, and to the pads beside them.
function paid(shares, count, aligned) {
  const children = Array.from(shares.slice(0, count));
  return { children: aligned === "right" ? children.reverse() : children, pads: shares.slice(count).reduce((sum, share) => sum + share, 0) };
}

// The first node, from the leaves up and from the left, that is not what it should be; null where there is none.
const parting = (levels) => levels.flat().find((node) => node.verdict === "wrong") ?? null;
