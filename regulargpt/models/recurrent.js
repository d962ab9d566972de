// Recurrent networks: a state is carried along the word and read at its end, through ReLU and a linear readout.

import { linear, readout, relu } from "./layers.js";

// torch's recurrent layers, one above the other; `step(input, hidden, state)` makes one layer's state of the products of
// its weights with what it reads and with what it was.
export class TorchRecurrent {
  constructor({ options, weights, n_symbols }) {
    this.n_symbols = n_symbols;
    this.d_model = options.d_model;
    this.layers = Array.from({ length: options.n_layers }, (_, layer) => {
      const [input, hidden] = ["ih", "hh"].map((name) => linear(named(weights, name, layer)));
      return { input, hidden };
    });
    this.readout = readout(weights);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  // The last layer's state after the word.
  state(word) {
    let h = this.start().h;
    for (h of this.states(word));
    return h;
  }

  // The logits that are read from a state.
  read(h) {
    return this.readout(h.map(relu));
  }

  // The last layer's state after each symbol.
  *states(word) {
    let states = this.begin();
    for (const symbol of word) {
      states = this.next(states, symbol);
      yield states[states.length - 1].h;
    }
  }

  // The states of all layers before the first symbol.
  begin() {
    return this.layers.map(() => this.start());
  }

  // The states of all layers after one symbol more.
  next(states, symbol) {
    let x = this.oneHot(symbol);
    return states.map((state, layer) => {
      const { input, hidden } = this.layers[layer];
      const next = this.step(input(x), hidden(state.h), state);
      x = next.h;
      return next;
    });
  }

  oneHot(symbol) {
    const x = new Float64Array(this.n_symbols);
    x[symbol] = 1;
    return x;
  }

  start() {
    return { h: new Float64Array(this.d_model) };
  }

  cost(length) {
    return length * this.layers.length * 8 * this.d_model ** 2;
  }
}

// The weight and bias of a torch layer, which have its number in their names.
function named(weights, name, layer) {
  const tensors = new Map(["weight", "bias"].map((kind) => [kind, weights.tensor(`rnn.${kind}_${name}_l${layer}`)]));
  return { has: (kind) => tensors.has(kind), tensor: (kind) => tensors.get(kind), numbers: (kind) => tensors.get(kind).data };
}
