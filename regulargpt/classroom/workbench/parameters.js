// The weights of a network that learns: all of them in one row of numbers, and by name.

import { Random } from "./random.js";
import { Matrix } from "./tape.js";

// Weights N(0, 1/n_in) and a bias of zeros, as `layers.linear` has them in Python.
export const linearPlaces = (name, n_in, n_out) => [{ name: `${name}.weight`, shape: [n_out, n_in], std: n_in ** -0.5 }, { name: `${name}.bias`, shape: [n_out] }];

// Ones and zeros.
export const normPlaces = (name, width) => [{ name: `${name}.weight`, shape: [width], fill: 1 }, { name: `${name}.bias`, shape: [width] }];

// An error where an option is there and is another than the network can have.
export function refuseOthers(options, only) {
  for (const [name, value] of Object.entries(only)) {
    if (name in options && options[name] !== value) throw new Error(`${name} = ${options[name]}: here it can only be ${value}`);
  }
}

export class Parameters {
  // `places` are { name, shape } with `std` (drawn, with mean 0) or `fill` (0 if neither is there); without a seed nothing
  // is drawn, for weights that are there.
  constructor(places, seed) {
    const sizes = places.map(({ shape }) => shape.reduce((a, b) => a * b, 1));
    const size = sizes.reduce((a, b) => a + b, 0);
    [this.value, this.grad] = [new Float64Array(size), new Float64Array(size)];
    this.places = new Map();
    let at = 0;
    places.forEach((place, i) => {
      this.places.set(place.name, { ...place, at, end: at + sizes[i] });
      at += sizes[i];
    });
    if (seed !== null) this.draw(seed);
  }

  // The weights that training starts with.
  draw(seed) {
    for (const { name, std, fill = 0, at, end } of this.places.values()) {
      const random = new Random(seed, `weights ${name}`);
      for (let i = at; i < end; i += 1) this.value[i] = std ? std * random.normal(i - at) : fill;
    }
  }

  // A weight as a matrix, a vector as one row; with more names, those that lie one after the other as one.
  matrix(...names) {
    const [first, last] = [names[0], names[names.length - 1]].map((name) => this.places.get(name));
    const [at, end] = [first.at, last.end];
    const columns = first.shape.length > 1 ? first.shape[1] : end - at;
    return new Matrix((end - at) / columns, columns, this.value.subarray(at, end), this.grad.subarray(at, end));
  }

  // Weight and bias of a layer, or of layers that lie side by side.
  layer(...names) {
    return ["weight", "bias"].map((kind) => this.matrix(...names.map((name) => `${name}.${kind}`)));
  }

  zero() {
    this.grad.fill(0);
  }

  // Copies of all weights, { name: { shape, data } }.
  weights() {
    return Object.fromEntries([...this.places.values()].map(({ name, shape, at, end }) => [name, { shape, data: this.value.slice(at, end) }]));
  }

  // Takes over the weights of such a record.
  load(weights) {
    for (const { name, at } of this.places.values()) this.value.set(weights[name].data, at);
  }
}
