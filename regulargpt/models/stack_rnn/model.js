// The recurrent network with stacks: a controller that reads the tops beside each symbol, then acts on each stack.

import { joined, linear, parts, plus, readout, relu, sigmoid, softmax } from "../layers.js";

const [PUSH, POP] = [0, 1]; // the third action is neither

export class StackRnn {
  constructor({ options, weights, n_symbols, direction }) {
    const { d_model, stacks, stack_width, empty } = options;
    Object.assign(this, { options, n_symbols, d_model, stacks, stack_width, direction });
    [this.input, this.recurrent, this.push] = ["input", "recurrent", "push"].map((name) => linear(weights.of(name)));
    this.action = options.actions === "learned" ? linear(weights.of("action")) : null;
    this.readout = readout(weights);
    this.bottom = options.tests === "hard" ? Pointers.bottom(stack_width, empty) : Superposition.bottom(stack_width, empty);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  // The controller's units after the word.
  state(word) {
    let found = new Float64Array(this.d_model);
    for (found of this.states(word));
    return found;
  }

  read(h) {
    return this.readout(h);
  }

  *states(word) {
    for (const { h } of this.steps(word)) yield h;
  }

  // After each symbol the controller's units, and the weights of push, pop and neither on each stack.
  *steps(word) {
    let [h, c] = [new Float64Array(this.d_model), new Float64Array(this.d_model)];
    let stacks = Array(this.stacks).fill(this.bottom);
    for (const symbol of word) {
      const x = joined(this.oneHot(symbol), ...stacks.map(({ top }) => top));
      [h, c] = this.moved(plus(this.input(x), this.recurrent(h)), c);
      const pushed = parts(this.options.push === "sigmoid" ? this.push(h).map(sigmoid) : this.push(h), this.stacks);
      const actions = this.action ? parts(this.action(h), this.stacks).map(softmax) : Array(this.stacks).fill(this.visible(symbol));
      stacks = stacks.map((stack, i) => stack.act(actions[i], pushed[i]));
      yield { h, actions };
    }
  }

  // The units, and what an LSTM carries beside them, from the sums u.
  moved(u, c) {
    const { controller } = this.options;
    if (controller === "binary") return [u.map((value) => (value >= 0 ? 1 : -1)), c];
    if (controller !== "lstm") return [u.map(controller === "tanh" ? Math.tanh : relu), c];
    const [i, f, g, o] = parts(u, 4);
    const carried = c.map((before, j) => sigmoid(f[j]) * before + sigmoid(i[j]) * Math.tanh(g[j]));
    return [carried.map((value, j) => sigmoid(o[j]) * Math.tanh(value)), carried];
  }

  // What a bracket does: a call pushes, a return pops.
  visible(symbol) {
    const direction = Math.sign(this.direction[symbol]);
    return Float64Array.of(direction > 0, direction < 0, direction === 0);
  }

  oneHot(symbol) {
    const x = new Float64Array(this.n_symbols);
    x[symbol] = 1;
    return x;
  }

  cost(length) {
    const cells = this.stacks * this.stack_width;
    const step = (this.options.controller === "lstm" ? 4 : 1) * this.d_model * (this.d_model + this.n_symbols + 2 * cells);
    return length * (step + (this.options.tests === "hard" ? 0 : length * cells));
  }
}

// A stack on which the likeliest action is taken, the first of equals: what lies on top, and the stack below it.
class Pointers {
  constructor(top, below) {
    Object.assign(this, { top, below });
  }

  static bottom(width, empty) {
    const found = new Pointers(new Float64Array(width).fill(empty), null);
    found.below = found;
    return found;
  }

  act(weights, pushed) {
    const action = weights.indexOf(Math.max(...weights));
    if (action === PUSH) return new Pointers(pushed, this);
    return action === POP ? this.below : this;
  }
}

// A stack on which all actions are taken, by their weights: each cell is the mean of what they would bring there.
class Superposition {
  constructor(cells, empty) {
    Object.assign(this, { cells, empty });
  }

  static bottom(width, empty) {
    return new Superposition([], new Float64Array(width).fill(empty));
  }

  get top() {
    return this.at(0);
  }

  at(i) {
    return this.cells[i] ?? this.empty;
  }

  act([push, pop, neither], pushed) {
    const cells = Array.from({ length: this.cells.length + 1 }, (_, i) => {
      const above = i ? this.at(i - 1) : pushed;
      return this.at(i).map((value, j) => neither * value + push * above[j] + pop * this.at(i + 1)[j]);
    });
    return new Superposition(cells, this.empty);
  }
}
