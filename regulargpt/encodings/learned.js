// Learned absolute positions (Gehring et al. 2017; GPT).

import { Encoding } from "./base.js";

export class Learned extends Encoding {
  constructor(given) {
    super(given);
    this.table = this.weights.rows("weight");
    if (this.options.beyond !== "clamp") this.longest = this.table.length;
  }

  embed(x, n) {
    return x.map((row, i) => {
      const p = this.table[Math.min(n[i], this.table.length - 1)];
      return row.map((value, j) => value + p[j]);
    });
  }
}
