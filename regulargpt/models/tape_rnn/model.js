// The recurrent network with tapes: rings that move under its head, all actions by their weights.

import { joined, linear, parts, plus, readout, relu, softmax } from "../layers.js";

export class TapeRnn {
  constructor({ options, weights, n_symbols }) {
    Object.assign(this, { n_symbols, d_model: options.d_model, tapes: options.tapes, width: options.tape_width });
    [this.input, this.recurrent, this.action] = ["input", "recurrent", "action"].map((name) => linear(weights.of(name)));
    this.layers = [0, 2, 4].map((i) => linear(weights.of(`write.${i}`)));
    this.readout = readout(weights);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  read(h) {
    return this.readout(h);
  }

  state(word) {
    let found = new Float64Array(this.d_model);
    for (found of this.along(word));
    return found;
  }

  // The state after each symbol of the whole word. Its length decides how far jumps go: after a prefix read as a word of
  // its own, the states are others.
  *along(word) {
    const first = word.indexOf(this.n_symbols - 1);
    const n = first < 0 ? word.length : first;
    const by = [0, 1, -1, n, -n]; // stay, left, right, jump left, jump right
    let tapes = Array.from({ length: this.tapes }, () => word.map(() => new Float64Array(this.width)));
    let h = new Float64Array(this.d_model);
    for (const symbol of word) {
      const x = new Float64Array(this.n_symbols);
      x[symbol] = 1;
      h = plus(this.input(joined(x, ...tapes.map(([cell]) => cell))), this.recurrent(h)).map(relu);
      const [once, twice, last] = this.layers;
      const written = parts(last(twice(once(h).map(relu)).map(relu)), this.tapes);
      const actions = parts(this.action(h), this.tapes).map(softmax);
      tapes = tapes.map((cells, i) => moved([written[i], ...cells.slice(1)], actions[i], by));
      yield h;
    }
  }

  cost(length) {
    const cells = this.tapes * this.width;
    return length * (this.d_model * (this.d_model + this.n_symbols + 2 * cells + 64) + 64 * 64 + 5 * length * cells);
  }
}

// Each cell becomes the mean over the actions of the cell that stands so far to its right, round the ring.
function moved(cells, actions, by) {
  const from = (i) => cells[((i % cells.length) + cells.length) % cells.length];
  return cells.map((_, i) => {
    const found = new Float64Array(cells[i].length);
    by.forEach((distance, a) => from(i + distance).forEach((value, j) => { found[j] += actions[a] * value; }));
    return found;
  });
}
