// Windowed attention (section 3.3 of the Sandwich paper; section 4.3 of the thesis).

import { Encoding } from "./base.js";

export class Window extends Encoding {
  bias(q, h, { m, n }) {
    return n.map((key) => (Math.abs(m - key) >= this.options.width ? -Infinity : 0));
  }
}
