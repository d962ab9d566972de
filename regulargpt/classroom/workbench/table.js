// Training on the table of cases (regulargpt/certificate/tuning): the block learns what each window of prototypes gives,
// and the prototypes learn where to lie.

import { Draws } from "./draws.js";
import { flat, matrixOf } from "./prototypes.js";
import { Matrix } from "./tape.js";

// The weights of squared distances, in units of the prototypes' mean square, as logits and as a loss (mending.py).
const [SHARPNESS, COMPACTNESS] = [32, 4];
// Noise on the states under a window, at most, in units of the prototypes' RMS. It falls with the rate, down to a share.
const [NOISE, LEAST_NOISE] = [0.3, 0.1];
// States this far apart, in the same units, tell how much the block stretches.
const NEAR = 0.02;
const STRETCH = { usual: 0.3, tight: 1 };
// Windows a step.
const MOST = 128;
// Normal numbers that all noise is made of, from a place on that is drawn: to draw each anew would take as long as a step.
const POOL = 1 << 13;

export class Table {
  constructor(network, cases, output_names, prototypes, seed) {
    Object.assign(this, { network, cases, seed });
    const [gain, bias] = network.state_norm.map(({ value }) => value);
    // Whatever these are, the state norm makes of them what states can be.
    const before = Float64Array.from(prototypes.flatMap((p) => [...p.map((value, j) => (value - bias[j]) / (gain[j] || 1))]));
    this.free = { value: before, grad: new Float64Array(before.length) };
    this.answers = cases.answers.map((answer) => (answer === null ? 0 : output_names.indexOf(answer)));
    this.asked = cases.answers.map((answer) => Number(answer !== null));
    this.images = cases.nodes.map(([, image]) => image - 1);
    this.leafImages = cases.leaves.map(([, image]) => image - 1);
    [this.windows, this.leafWindows] = [flat(cases.nodes), flat(cases.leaves)];
    const random = new Draws(seed, "noise");
    this.pool = Float64Array.from({ length: POOL }, () => random.normal());
  }

  // Where the prototypes are, on a tape.
  places(tape) {
    const width = this.network.options.d_model;
    const before = new Matrix(this.free.value.length / width, width, this.free.value, this.free.grad);
    return tape.layerNorm(before, ...this.network.state_norm);
  }

  // Where they are, as vectors.
  prototypes(tape) {
    const places = this.places(tape);
    return Array.from({ length: places.rows }, (_, k) => places.row(k).slice());
  }

  // The loss of a step; `left` is the share of the rate.
  loss(tape, step, left, contraction = "usual") {
    const random = new Draws(this.seed, `table ${step}`);
    const places = this.places(tape);
    const unit = places.value.reduce((sum, x) => sum + x * x, 0) / places.value.length;
    const chosen = this.chosen(random);
    const states = this.disturbed(tape, places, chosen, [0, NOISE * Math.max(LEAST_NOISE, left), NEAR], Math.sqrt(unit), random);
    const leaves = this.network.merge(tape, this.network.leaves(tape), this.leafWindows);
    const count = chosen.length;
    const images = chosen.map((i) => this.images[i]);
    const found = [states.part(0, 2 * count), leaves];
    const of = [[...images, ...images], this.leafImages];
    const losses = found.map((part, i) => towards(tape, part, places, of[i]));
    const stretched = tape.scale(tape.squaredError(states.part(2 * count, 3 * count), states.part(0, count)), (COMPACTNESS * STRETCH[contraction]) / (NEAR * NEAR * unit * places.columns));
    const read = this.network.read(tape, tape.stack(...found, places));
    const rows = [...of.flat(), ...this.answers.keys()];
    const answered = tape.crossEntropy(read, rows.map((k) => this.answers[k]), rows.map((k) => this.asked[k]));
    return [...losses, stretched, answered].reduce((a, b) => tape.add(a, b));
  }

  // The states over all windows of symbols and of prototypes, the latter at each level of noise, and where they should be.
  *everywhere(tape, levels, random) {
    const places = this.places(tape);
    const rows = (images) => images.map((image) => places.row(image));
    yield { states: this.network.merge(tape, this.network.leaves(tape), this.leafWindows), targets: rows(this.leafImages) };
    const unit = places.value.reduce((sum, x) => sum + x * x, 0) / places.value.length;
    const states = this.disturbed(tape, places, [...this.images.keys()], levels, Math.sqrt(unit), random);
    yield { states, targets: levels.flatMap(() => rows(this.images)) };
  }

  // Windows by their numbers: all, or half of them uniform and half uniform by what they give.
  chosen(random) {
    const all = this.images.map((_, i) => i);
    if (all.length <= MOST) return all;
    this.byImage ??= this.cases.elements.map((_, k) => all.filter((i) => this.images[i] === k)).filter((list) => list.length);
    return Array.from({ length: MOST }, (_, i) => {
      const list = i % 2 ? all : this.byImage[random.below(this.byImage.length)];
      return list[random.below(list.length)];
    });
  }

  // The states over these windows of prototypes, once for each level of noise, in units of the RMS; pad and symbols never
  // move.
  disturbed(tape, places, chosen, levels, rms, random) {
    const rows = this.network.beside(tape, places);
    const windows = chosen.flatMap((i) => [this.windows[2 * i], this.windows[2 * i + 1]]);
    const clean = tape.gather(rows, levels.flatMap(() => windows));
    const noise = tape.matrix(clean.rows, clean.columns);
    levels.forEach((level, n) => {
      windows.forEach((row, i) => {
        const size = row && row <= places.rows && level * rms * (level === NEAR ? 1 : random.uniform());
        if (!size) return;
        const [to, from] = [noise.row(n * windows.length + i), random.below(POOL - clean.columns)];
        for (let j = 0; j < to.length; j += 1) to[j] = size * this.pool[from + j];
      });
    });
    return this.network.merge(tape, tape.add(clean, noise), Int32Array.from({ length: clean.rows }, (_, i) => i));
  }
}

// The cross-entropy of the nearest prototype, with squared distances as logits, and the squared distance to the right one
// (mending.py), in units of the prototypes' mean square.
function towards(tape, states, places, images) {
  const far = inUnits(tape, tape.distances(states, places), places);
  const near = tape.scale(far, -SHARPNESS);
  return tape.add(tape.crossEntropy(near, images), tape.scale(meanAt(tape, far, images), COMPACTNESS));
}

// Squared distances over the mean square length of the prototypes: a common factor of all states changes nothing.
function inUnits(tape, far, places) {
  const y = tape.matrix(far.rows, far.columns);
  const unit = places.value.reduce((sum, x) => sum + x * x, 0) / places.rows;
  for (let i = 0; i < y.value.length; i += 1) y.value[i] = far.value[i] / unit;
  tape.then(() => {
    let along = 0;
    for (let i = 0; i < y.value.length; i += 1) {
      far.grad[i] += y.grad[i] / unit;
      along += y.grad[i] * y.value[i];
    }
    const slope = (-2 * along) / (unit * places.rows);
    for (let i = 0; i < places.value.length; i += 1) places.grad[i] += slope * places.value[i];
  });
  return y;
}

// The mean of one number of each row.
function meanAt(tape, x, columns) {
  const mean = tape.matrix(1, 1);
  columns.forEach((column, i) => (mean.value[0] += x.value[i * x.columns + column] / x.rows));
  tape.then(() => columns.forEach((column, i) => (x.grad[i * x.columns + column] += mean.grad[0] / x.rows)));
  return mean;
}
