// xPos: rotary positions that decay (Sun et al. 2022, section 3.2).

import { Rotary } from "./rotary.js";

export class Xpos extends Rotary {
  constructor(given) {
    super(given);
    const { gamma, zeta } = this.options;
    this.zeta = Array.from({ length: this.d_head / 2 }, (_, i) => ((zeta === "pairs" ? (2 * i) / this.d_head : 0) + gamma) / (1 + gamma));
  }

  rotate(q, k, at) {
    const turned = this.options.rotate ? super.rotate(q, k, at) : [q, k];
    const centre = (at.n[0] + at.n[at.n.length - 1]) / 2;
    return turned.map((positions, which) => positions.map((heads, i) => {
      const steps = which ? centre - at.n[i] : at.n[i] - centre;
      const decay = this.zeta.map((zeta) => zeta ** (steps / this.options.scale_base));
      return heads.map((x) => x.map((value, j) => value * decay[j >> 1]));
    }));
  }
}
