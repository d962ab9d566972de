// The gates of RegularGPT: computed from the whole window, they multiply what attention mixes.

import { joined, linear, parts, relu, times } from "../layers.js";
import { Attention } from "./block.js";

// Attention over a window whose values are W_V (g_j * x_j), g = MLP(x_0, ..., x_{C-1}).
export class GatedAttention extends Attention {
  constructor(weights, options) {
    super(weights, options);
    const [wide, wider, gate] = ["wide", "wider", "gate"].map((name) => linear(weights.of(`gates.${name}`)));
    this.gates = (rows) => parts(gate(wider(wide(joined(...rows)).map(relu)).map(relu)), rows.length);
  }

  valuesOver(x) {
    return (window) => {
      const rows = window.map(x);
      const gates = this.gates(rows);
      return rows.map((row, j) => this.value(times(gates[j], row)));
    };
  }
}
