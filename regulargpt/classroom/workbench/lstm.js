// A long short-term memory, to be trained: it reads word by word what TreeNetwork reads, with the same interface.

import { linearPlaces, Parameters, refuseOthers } from "./parameters.js";
import { Matrix } from "./tape.js";

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// The state after a symbol, for words in a row each: c = f c + i g, h = o tanh(c), from what goes into i, f, g and o.
function cell(tape, sums, before) {
  const [rows, d] = [sums.rows, before.columns];
  const [h, c, gates] = [tape.matrix(rows, d), tape.matrix(rows, d), tape.numbers(4 * rows * d)];
  const each = (f) => {
    for (let row = 0, at = 0; row < rows; row += 1) for (let j = 0; j < d; j += 1, at += 1) f(at, 4 * row * d + j);
  };
  each((at, i) => {
    for (let k = 0; k < 4; k += 1) gates[i + k * d] = k === 2 ? Math.tanh(sums.value[i + k * d]) : sigmoid(sums.value[i + k * d]);
    c.value[at] = gates[i + d] * before.value[at] + gates[i] * gates[i + 2 * d];
    h.value[at] = gates[i + 3 * d] * Math.tanh(c.value[at]);
  });
  tape.then(() => each((at, i) => {
    const input = gates[i];
    const forget = gates[i + d];
    const fresh = gates[i + 2 * d];
    const output = gates[i + 3 * d];
    const seen = Math.tanh(c.value[at]);
    const slope = c.grad[at] + h.grad[at] * output * (1 - seen * seen);
    sums.grad[i] += slope * fresh * input * (1 - input);
    sums.grad[i + d] += slope * before.value[at] * forget * (1 - forget);
    sums.grad[i + 2 * d] += slope * input * (1 - fresh * fresh);
    sums.grad[i + 3 * d] += h.grad[at] * seen * output * (1 - output);
    if (before.grad) before.grad[at] += slope * forget;
  }));
  return { h, c };
}

// One layer, read through ReLU and a linear readout; the forget gate starts open (Jozefowicz et al. 2015).
export class LstmNetwork {
  constructor({ options, n_symbols, n_outputs, seed = 0 }) {
    refuseOthers(options, { n_layers: 1 });
    Object.assign(this, { options, n_symbols, n_outputs });
    const d = options.d_model;
    const layer = (name, n_in) => linearPlaces("", n_in, 4 * d).map((place) => ({ ...place, name: `rnn${place.name}_${name}_l0` }));
    this.parameters = new Parameters([...layer("ih", n_symbols), ...layer("hh", d), ...linearPlaces("readout", d, n_outputs)], seed);
    [this.input, this.hidden] = ["ih", "hh"].map((name) => ["weight", "bias"].map((kind) => this.parameters.matrix(`rnn.${kind}_${name}_l0`)));
    this.input[1].value.fill(1, d, 2 * d);
    this.readout = this.parameters.layer("readout");
  }

  weights() {
    return this.parameters.weights();
  }

  logits(tape, words) {
    return this.read(tape, this.states(tape, words));
  }

  read(tape, h) {
    return tape.linear(tape.relu(h), ...this.readout);
  }

  // The states before the first symbol of so many words.
  begin(words) {
    const zeros = () => new Matrix(words, this.options.d_model, new Float64Array(words * this.options.d_model));
    return { h: zeros(), c: zeros() };
  }

  // What each symbol adds to what goes into a state.
  symbols(tape) {
    return tape.linear(identity(this.n_symbols), ...this.input);
  }

  // The states after one symbol more, of which `read` has what they add.
  next(tape, { h, c }, read) {
    return cell(tape, tape.add(read, tape.linear(h, ...this.hidden)), c);
  }

  // The state after each word. The longest words come first: those that go on are then the first rows.
  states(tape, words) {
    const order = words.map((_, i) => i).sort((a, b) => words[b].length - words[a].length);
    const [symbols, ended] = [this.symbols(tape), []];
    let { h, c } = this.begin(words.length);
    for (let t = 0; h.rows > 0; t += 1) {
      const read = tape.gather(symbols, order.slice(0, h.rows).map((i) => words[i][t]));
      ({ h, c } = this.next(tape, { h, c }, read));
      const last = order.slice(0, h.rows).findIndex((i) => words[i].length === t + 1);
      const going = last < 0 ? h.rows : last;
      if (going < h.rows) ended.unshift(h.part(going, h.rows));
      [h, c] = [h.part(0, going), c.part(0, going)];
    }
    const places = new Int32Array(order.length);
    order.forEach((i, place) => (places[i] = place));
    return tape.gather(tape.stack(...ended), places);
  }
}

const identity = (n) => new Matrix(n, n, Float64Array.from({ length: n * n }, (_, i) => Number(i % (n + 1) === 0)));
