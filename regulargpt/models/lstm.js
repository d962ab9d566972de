// Long short-term memory: c = f c + i g, h = o tanh(c).

import { parts, plus, sigmoid } from "./layers.js";
import { TorchRecurrent } from "./recurrent.js";

export class Lstm extends TorchRecurrent {
  start() {
    return { ...super.start(), c: new Float64Array(this.d_model) };
  }

  step(input, hidden, state) {
    const [i, f, g, o] = parts(plus(input, hidden), 4);
    const c = state.c.map((before, j) => sigmoid(f[j]) * before + sigmoid(i[j]) * Math.tanh(g[j]));
    return { c, h: c.map((value, j) => sigmoid(o[j]) * Math.tanh(value)) };
  }
}
