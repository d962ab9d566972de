// The GRU, the reset gate after the product: h = (1 - z) n + z h, n = tanh(W_n x + r (W_hn h + b)).

import { parts, sigmoid } from "./layers.js";
import { TorchRecurrent } from "./recurrent.js";

export class Gru extends TorchRecurrent {
  step(input, hidden, { h }) {
    const [x_r, x_z, x_n] = parts(input, 3);
    const [h_r, h_z, h_n] = parts(hidden, 3);
    const next = h.map((before, i) => {
      const [r, z] = [sigmoid(x_r[i] + h_r[i]), sigmoid(x_z[i] + h_z[i])];
      return (1 - z) * Math.tanh(x_n[i] + r * h_n[i]) + z * before;
    });
    return { h: next };
  }
}
