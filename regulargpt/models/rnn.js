// The Elman network: h_t = ReLU(W_x x_t + W_h h_{t-1} + b).

import { plus, relu } from "./layers.js";
import { TorchRecurrent } from "./recurrent.js";

export class Rnn extends TorchRecurrent {
  step(input, hidden) {
    return { h: plus(input, hidden).map(relu) };
  }
}
