// Gated RegularGPT: gates computed from the whole window multiply what attention mixes.

import { joined, linear, parts, relu, times } from "../layers.js";
import { Attention, Block } from "./block.js";
import { RegularGPT } from "./model.js";

// Attention over a window whose values are W_V (g_j * x_j), g = MLP(x_0, ..., x_{C-1}).
class GatedAttention extends Attention {
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

class GatedBlock extends Block {
  static attention = GatedAttention;
}

export class GatedRegularGPT extends RegularGPT {
  static block = GatedBlock;
  edges = `${this.edges} Its gates, which are not shown, multiply what is mixed besides.`;

  cost(length) {
    const { chunk_size: C, d_model: d, d_ff } = this.options;
    const node = 4 * d * d + 2 * d * d_ff;
    return (super.cost(length) / node) * (node + d * d * (5 * C + 8));
  }
}
