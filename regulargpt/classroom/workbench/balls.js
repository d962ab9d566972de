// Balls round the prototypes that the network as it is maps into themselves, if there are any: then it is right at every
// length without replacing a state ("The unquantised network" in docs/certificate.md). What is proposed here the checker
// decides, with the same bounds (block_bounds.py).

import { dot, erf } from "../../models/layers.js";
import { Weights } from "../../models/weights.js";
import { Form, identity, source } from "./affine_forms.js";
import { distance, imagesOf } from "./prototypes.js";
import { Tape } from "./tape.js";

// The slacks that are tried, from the largest; Python writes them in the same digits.
const SLACKS = [0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.002, 0.001, 0.0005, 0.0003, 0.0002, 0.0001];
// The checker's norms are a little larger: images are taken to move farther by this factor, and to need more slack.
const [MARGIN, MORE] = [1.1, 1.05];
const [GROWTH, ROUNDS] = [1.02, 200];
// States farther from their prototypes than this share of half the way to the next: no balls close.
const MOST_RESIDUAL = 0.25;
const MOST_WINDOWS = 256;
const [FIRST, LEAST] = [16, SLACKS[SLACKS.length - 1]];

// The largest slack that any balls leave, and their radii: {slack, radii}, null if there are none. A generator: it yields
// null after each window that it has looked at.
export function* ballsOf(network, prototypes, cases, output_names) {
  if (cases.nodes.length > MOST_WINDOWS) return null;
  const { leaves, nodes } = imagesOf(network, prototypes, cases);
  const limits = limitsOf(network, prototypes, cases, output_names);
  const [exact, above] = [[leaves, cases.leaves], [nodes, cases.nodes]].map(([states, part]) => farFromOwn(states, part, prototypes));
  if (above[0]?.far > MOST_RESIDUAL * Math.min(...limits)) return null;
  const block = new Block(network);
  const moved = [];
  for (const { window, image } of above) {
    moved.push({ image, far: block.distance(window, prototypes, image) });
    yield null;
    // What fails on some windows fails on all.
    if (moved.length <= FIRST && !closed(LEAST * MORE, exact, moved, limits)) return null;
  }
  for (const slack of SLACKS) {
    const radii = closed(slack * MORE, exact, moved, limits);
    if (radii) return { slack, radii };
    yield null;
  }
  return null;
}

// How far the state over each window is from its own prototype, the farthest first.
function farFromOwn(states, part, prototypes) {
  const found = part.map(([window, image], i) => ({ window, image: image - 1, far: distance(states.row(i), prototypes[image - 1]) }));
  return found.sort((a, b) => b.far - a.far);
}

// The least radii, or a little more, that keep the slack; null if they grow beyond the limits. From below: what is needed
// for these radii is needed for all larger ones.
function closed(slack, exact, moved, limits) {
  const floor = limits.map(() => slack);
  for (const { image, far } of exact) floor[image] = Math.max(floor[image], far + slack);
  let radii = floor;
  for (let round = 0; round < ROUNDS; round += 1) {
    const needed = [...floor];
    for (const { image, far } of moved) needed[image] = Math.max(needed[image], far(radii) + slack);
    if (!needed.every((radius, k) => radius < limits[k])) return null;
    if (needed.every((radius, k) => radius <= radii[k])) return radii;
    radii = needed.map((radius, k) => Math.min(limits[k], Math.max(radii[k], GROWTH * radius)));
  }
  return null;
}

// How large each ball may be: half the way to the next prototype, and as far as the answer's logit is the largest.
function limitsOf(network, prototypes, cases, output_names) {
  const [weight, bias] = network.readout.map((part) => Array.from({ length: part.rows }, (_, i) => part.row(i)));
  const logit = (i, p) => weight[i].reduce((sum, w, j) => sum + w * p[j], bias[0][i]);
  return prototypes.map((p, k) => {
    const apart = Math.min(...prototypes.filter((q) => q !== p).map((q) => distance(p, q) / 2));
    if (cases.answers[k] === null) return apart;
    const own = output_names.indexOf(cases.answers[k]);
    const margins = weight.map((row, i) => (i === own ? Infinity : (logit(own, p) - logit(i, p)) / distance(row, weight[own])));
    return 0.999 * Math.min(apart, ...margins);
  });
}

const phi = (x) => 0.5 * (1 + erf(x / Math.SQRT2));
const gelu = (x) => x * phi(x);
const geluSlope = (x) => phi(x) + (x * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);

// RegularGPT's block over windows of two states that move in balls.
export class Block {
  constructor(network) {
    const weights = new Weights(new Map(Object.entries(network.weights())));
    this.heads = network.options.n_heads;
    this.width = network.options.d_model / this.heads;
    this.exact = [network.pad, network.leaves(new Tape({ learning: false })).part(1, 1 + network.n_symbols)];
    this.r = weights.rows("blocks.0.attn.r");
    this.layer = (name) => [weights.rows(`${name}.weight`), weights.numbers(`${name}.bias`)];
    this.norm = (name) => [weights.numbers(`${name}.weight`), weights.numbers(`${name}.bias`)];
  }

  // At most how far the image of a window lies from a prototype, as a function of the radii.
  distance(window, prototypes, image) {
    const form = this.image(window.map((row, c) => this.child(window, c, prototypes)));
    const [residual, far] = [distance(form.centre, prototypes[image]), form.deviation()];
    return (radii) => residual + MARGIN * far(radii);
  }

  // A prototype in its ball, the pad, or along brackets a symbol, with its queries, keys and values, by head.
  child(window, c, prototypes) {
    const k = window[c] - 1;
    const [pad, symbols] = this.exact;
    if (k < 0 || k >= prototypes.length) return this.seen(new Form(Float64Array.from(k < 0 ? pad.row(0) : symbols.row(k - prototypes.length))));
    const own = source((radii) => radii[k]);
    return this.seen(new Form(Float64Array.from(prototypes[k]), new Map([[own, identity(prototypes[k].length)]])));
  }

  seen(state) {
    const normed = state.layerNorm(this.norm("blocks.0.ln1"));
    const [q, k, v] = ["query", "key", "value"].map((name) => this.split(normed.linear(...this.layer(`blocks.0.attn.${name}`))));
    const root = Math.sqrt(this.width);
    const out = this.layer("blocks.0.attn.out")[0];
    const through = v.map((part, h) => part.linear(out.map((row) => row.subarray(h * this.width, (h + 1) * this.width))));
    return { state, q: q.map((part) => part.scaled(part.centre.map(() => 1 / root))), k, v: through };
  }

  split(form) {
    return Array.from({ length: this.heads }, (_, h) => form.part(h * this.width, (h + 1) * this.width));
  }

  image([near, far]) {
    const heads = this.r.map((r, h) => attended(r, near.q[h], [near.k[h], far.k[h]], [near.v[h], far.v[h]]));
    const left = source((radii) => heads.reduce((sum, { left }) => sum + left(radii), 0));
    const bias = this.layer("blocks.0.attn.out")[1];
    const sum = heads.map(({ form }) => form).reduce((a, b) => a.plus(b)).with(left);
    const x = near.state.plus(sum).plus(new Form(Float64Array.from(bias)));
    const hidden = x.layerNorm(this.norm("blocks.0.ln2")).linear(...this.layer("blocks.0.ff_in")).gelu(gelu, geluSlope);
    return x.plus(hidden.linear(...this.layer("blocks.0.ff_out"))).layerNorm(this.norm("state_norm"));
  }
}

// One head over two offsets, and how long what its first order leaves is (`attend` in block_bounds.py says why).
function attended(r, q, k, v) {
  const odds = Math.exp(dot(q.centre, k[1].centre) + r[1] - dot(q.centre, k[0].centre) - r[0]);
  const p = [1 / (1 + odds), odds / (1 + odds)];
  // Logit 1 less logit 0, to first order.
  const apart = k[1].linear([q.centre]).plus(k[0].linear([q.centre.map((value) => -value)])).plus(q.linear([k[1].centre.map((value, i) => value - k[0].centre[i])]));
  // p_1 moves by p_0 p_1 times that, and p_0 by as much the other way.
  const difference = v[1].centre.map((value, i) => value - v[0].centre[i]);
  const turned = apart.linear(Array.from(difference, (value) => [value * p[0] * p[1]]));
  const mixed = v.map((value, j) => value.scaled(value.centre.map(() => p[j]))).reduce((a, b) => a.plus(b));
  const form = new Form(mixed.centre, mixed.plus(turned).maps);
  const [of, query, keys, values] = [apart.deviation(), q.deviation(), k.map((key) => key.deviation()), v.map((value) => value.deviation())];
  const length = Math.sqrt(dot(difference, difference));
  const left = (radii) => {
    const beta = keys.map((key) => query(radii) * key(radii));
    const w = of(radii) + beta[0] + beta[1];
    const P = Math.min(0.25, p[0] * p[1] * Math.exp(w));
    return p.reduce((sum, _, j) => {
      const first = p[j] * p[1 - j] * (beta[0] + beta[1]);
      return sum + length * p[1 - j] * (first + (P * w * w) / 2) + P * w * values[j](radii);
    }, 0);
  };
  return { form, left };
}
