// Rotary positions (Su et al. 2021), and how to scale them for longer words.

import { Encoding } from "./base.js";

const PUBLISHED = 512; // the training length of the published models

// Where the two numbers of pair i stand.
const LAYOUTS = {
  pairs: (i) => [2 * i, 2 * i + 1],
  halves: (i, pairs) => [i, i + pairs],
};

export class Rotary extends Encoding {
  constructor(given) {
    super(given);
    const { layout = "pairs", fraction = 1, base = 10000, scaling = "none", factor = 0, train_len = 0 } = this.options;
    const { beta_fast = 32, beta_slow = 1, attention_factor = 0, low_freq_factor = 1, high_freq_factor = 4 } = this.options;
    const { short_factor = [], long_factor = [] } = this.options;
    const width = Math.floor(Math.floor(fraction * this.d_head) / 2) * 2;
    Object.assign(this, { places: LAYOUTS[layout], base, scaling, factor, train_len: train_len || PUBLISHED, width });
    Object.assign(this, { beta_fast, beta_slow, attention_factor, low_freq_factor, high_freq_factor });
    Object.assign(this, { short_factor, long_factor });
  }

  rotate(q, k, { n }) {
    const { theta, scale } = this.scaled(n);
    if (this.options.log_n) q = q.map((heads, i) => heads.map((x) => x.map((value) => value * this.sharpened(n, i))));
    return [q, k].map((positions) => positions.map((heads, i) => heads.map((x) => this.turned(x, theta, n[i], scale))));
  }

  // ln n / ln L for the query that sees n > L symbols, L the length of training.
  sharpened(n, i) {
    const seen = this.causal ? n[i] + 1 : n.length;
    return Math.max(1, Math.log(seen) / Math.log(Math.max(this.train_len, 2)));
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
    if (this.scaling === "longrope") {
      const by = n[n.length - 1] >= this.train_len ? this.long_factor : this.short_factor;
      return { theta: theta.map((angle, i) => angle / by[i]), scale: this.attention_factor || 1 };
    }
    const f = this.scaling === "none" ? 1 : this.squeeze(n);
    if (f === 1) return { theta, scale: 1 };
    if (this.scaling === "interpolation") return { theta: theta.map((angle) => angle / f), scale: 1 };
    if (this.scaling === "yarn") {
      const kept = this.kept(theta);
      const turned = theta.map((angle, i) => angle * (kept[i] + (1 - kept[i]) / f));
      return { theta: turned, scale: this.attention_factor || 0.1 * Math.log(f) + 1 };
    }
    if (this.scaling === "llama3") {
      const { low_freq_factor: low, high_freq_factor: high, train_len } = this;
      const kept = theta.map((angle) => ((train_len * angle) / (2 * Math.PI) - low) / (high - low));
      const ramp = kept.map((x) => Math.min(1, Math.max(0, x)));
      return { theta: theta.map((angle, i) => angle * (ramp[i] + (1 - ramp[i]) / f)), scale: 1 };
    }
    const stretch = this.width > 2 ? f ** (this.width / (this.width - 2)) : 1;
    return { theta: this.theta(this.base * stretch), scale: 1 };
  }

  // YaRN's ramp: 1 for a pair that is left alone, 0 for an interpolated one.
  kept(theta) {
    const ends = [Math.floor(this.pairOf(this.beta_fast)), Math.ceil(this.pairOf(this.beta_slow))];
    const [first, last] = ends.map((end) => Math.min(Math.max(end, 0), this.width - 1));
    return theta.map((_, i) => 1 - Math.min(1, Math.max(0, (i - first) / Math.max(last - first, 0.001))));
  }

  // The index of a pair that turns so often over a training word.
  pairOf(turns) {
    return (this.width * Math.log(this.train_len / (turns * 2 * Math.PI))) / (2 * Math.log(this.base));
  }

  squeeze(n) {
    const ratio = Math.max(1, (n[n.length - 1] + 1) / this.train_len);
    if (this.scaling !== "dynamic_ntk") return this.factor || ratio;
    const f = this.factor || 1;
    return f * ratio - (f - 1);
  }
}
