// Rotary positions (Su et al. 2021), and how to scale them for longer words.

import { Encoding } from "./base.js";

const PUBLISHED = 512; // the training length of the published models
const [SLOW, FAST] = [1, 32]; // YaRN

// Where the two numbers of pair i stand.
const LAYOUTS = {
  pairs: (i) => [2 * i, 2 * i + 1],
  halves: (i, pairs) => [i, i + pairs],
};

export class Rotary extends Encoding {
  constructor(given) {
    super(given);
    const { layout = "pairs", fraction = 1, base = 10000, scaling = "none", factor = 0, train_len = 0 } = this.options;
    const width = Math.floor(Math.floor(fraction * this.d_head) / 2) * 2;
    Object.assign(this, { places: LAYOUTS[layout], base, scaling, factor, train_len: train_len || PUBLISHED, width });
  }

  rotate(q, k, { n }) {
    const { theta, scale } = this.scaled(n);
    return [q, k].map((positions) => positions.map((heads, i) => heads.map((x) => this.turned(x, theta, n[i], scale))));
  }

  // Each pair of x turned by its angle; what is wider than `width` stays.
  turned(x, theta, m, scale) {
    const y = Float64Array.from(x);
    theta.forEach((angle, i) => {
      const [a, b] = this.places(i, theta.length);
      const [cos, sin] = [Math.cos(m * angle), Math.sin(m * angle)];
      y[a] = scale * (x[a] * cos - x[b] * sin);
      y[b] = scale * (x[a] * sin + x[b] * cos);
    });
    return y;
  }

  // base^(-2i/D), D the width that is turned.
  theta(base) {
    return Array.from({ length: this.width / 2 }, (_, i) => base ** ((-2 * i) / this.width));
  }

  // The angles a position, and the factor of queries and keys, for the word in hand.
  scaled(n) {
    const theta = this.theta(this.base);
    const f = this.scaling === "none" ? 1 : this.squeeze(n);
    if (f === 1) return { theta, scale: 1 };
    if (this.scaling === "interpolation") return { theta: theta.map((angle) => angle / f), scale: 1 };
    if (this.scaling === "yarn") return { theta: theta.map((angle) => this.yarn(angle, f)), scale: 0.1 * Math.log(f) + 1 };
    const stretch = this.width > 2 ? f ** (this.width / (this.width - 2)) : 1;
    return { theta: this.theta(this.base * stretch), scale: 1 };
  }

  yarn(angle, f) {
    const turns = (this.train_len * angle) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (turns - SLOW) / (FAST - SLOW)));
    return angle * (kept + (1 - kept) / f);
  }

  squeeze(n) {
    const ratio = Math.max(1, (n[n.length - 1] + 1) / this.train_len);
    if (this.scaling !== "dynamic_ntk") return this.factor || ratio;
    const f = this.factor || 1;
    return f * ratio - (f - 1);
  }
}
