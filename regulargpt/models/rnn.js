// The Elman network: h_t = f(W_x x_t + W_h h_{t-1} + b), where f is ReLU or tanh.

import { plus, relu } from "./layers.js";
import { TorchRecurrent } from "./recurrent.js";

export class Rnn extends TorchRecurrent {
  constructor(network) {
    super(network);
    this.f = network.options.activation === "tanh" ? Math.tanh : relu;
  }

  step(input, hidden) {
    return { h: plus(input, hidden).map(this.f) };
  }
}
