// Where the states of each element lie in a network, and how it does on the cases there.

import { Tape } from "./tape.js";

const LEVELS = 16; // over which a drift is followed

// The states over all windows of symbols and of prototypes: matrices `leaves` and `nodes`.
export function imagesOf(network, prototypes, cases, tape = new Tape({ learning: false })) {
  const over = (states, part) => network.merge(tape, states, flat(part));
  return { leaves: over(network.leaves(tape), cases.leaves), nodes: over(network.beside(tape, matrixOf(tape, prototypes)), cases.nodes) };
}

// The windows of a part, one after the other.
export const flat = (part) => Int32Array.from(part.flatMap(([window]) => window));

// Vectors as the rows of a matrix.
export function matrixOf(tape, rows) {
  const found = tape.matrix(rows.length, rows[0].length);
  rows.forEach((row, i) => found.row(i).set(row));
  return found;
}

// The mean state of each element, from the leaves up: of the windows over what is there, until all elements are.
export function meansOf(network, cases) {
  const count = cases.elements.length;
  const width = network.options.d_model;
  const unknown = Array.from({ length: count }, () => new Float64Array(width));
  let { leaves } = imagesOf(network, unknown, { leaves: cases.leaves, nodes: [] });
  const images = cases.leaves.map(([, image]) => image);
  let found = means(unknown, [[leaves, images]]);
  const isKnown = (row) => known.has(row) || row > count; // a symbol beside prototypes
  const known = new Set([0, ...images]);
  for (let more = true; more; ) {
    const ready = cases.nodes.filter(([window]) => window.every(isKnown));
    const fresh = ready.filter(([, image]) => !known.has(image));
    const of = fresh.length ? fresh : ready;
    const { nodes } = imagesOf(network, found, { leaves: [], nodes: of });
    const parts = [[nodes, of.map(([, image]) => image)]];
    found = means(found, fresh.length ? parts : [[leaves, images], ...parts]);
    of.forEach(([, image]) => known.add(image));
    more = fresh.length > 0;
  }
  return found;
}

// The mean of the states that come to each prototype; the vector before where none does.
function means(before, parts) {
  const counts = before.map(() => 0);
  const sums = before.map((vector) => new Float64Array(vector.length));
  for (const [states, images] of parts) {
    images.forEach((image, i) => {
      counts[image - 1] += 1;
      states.row(i).forEach((value, j) => (sums[image - 1][j] += value));
    });
  }
  return sums.map((sum, k) => (counts[k] ? sum.map((value) => value / counts[k]) : before[k]));
}

// Each prototype moved to the mean of the states that come to it.
export function centred(network, prototypes, cases) {
  const { leaves, nodes } = imagesOf(network, prototypes, cases);
  return means(prototypes, [leaves, nodes].map((states, i) => [states, [cases.leaves, cases.nodes][i].map(([, image]) => image)]));
}

// How a network does on its cases: how many windows and answers are `wrong`, and by how much the closest is decided: how
// much farther its state is from the second prototype, or how much larger its answer's logit.
export function standing(network, prototypes, cases, output_names) {
  const tape = new Tape({ learning: false });
  const { leaves, nodes } = imagesOf(network, prototypes, cases, tape);
  const margins = [
    ...marginsOf(leaves, prototypes, cases.leaves),
    ...marginsOf(nodes, prototypes, cases.nodes),
    ...answerMargins(network.read(tape, matrixOf(tape, prototypes)), cases.answers, output_names),
  ];
  return { wrong: margins.filter((margin) => !(margin > 0)).length, margin: Math.min(...margins) };
}

// How much nearer the state over each window is to its own prototype than to any other.
function marginsOf(states, prototypes, part) {
  return part.map(([, image], i) => {
    const far = prototypes.map((prototype) => distance(states.row(i), prototype));
    return Math.min(...far.filter((_, k) => k !== image - 1)) - far[image - 1];
  });
}

function answerMargins(logits, answers, output_names) {
  const asked = answers.map((answer, k) => [k, answer]).filter(([, answer]) => answer !== null);
  return asked.map(([k, answer]) => {
    const [row, own] = [[...logits.row(k)], output_names.indexOf(answer)];
    return row[own] - Math.max(...row.filter((_, i) => i !== own));
  });
}

// How far states go astray on their way up, in units of half the smallest distance of two prototypes: levels are built one
// on the other over all windows, of each prototype the worst state (`drift` in fine_tuning.py). A generator: it yields null
// after each level.
export function* driftOf(network, prototypes, cases) {
  const half = Math.min(...prototypes.flatMap((p, k) => prototypes.slice(0, k).map((q) => distance(p, q)))) / 2;
  let [worst, farthest] = [prototypes, 0];
  for (let level = 0; level < LEVELS; level += 1) {
    const { nodes } = imagesOf(network, worst, { leaves: [], nodes: cases.nodes });
    const far = prototypes.map(() => 0);
    worst = [...prototypes];
    cases.nodes.forEach(([, image], i) => {
      const length = distance(nodes.row(i), prototypes[image - 1]);
      if (length > far[image - 1]) [far[image - 1], worst[image - 1]] = [length, nodes.row(i).slice()];
    });
    farthest = Math.max(farthest, ...far);
    yield null;
  }
  return farthest / half;
}

export function distance(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += (x[i] - y[i]) ** 2;
  return Math.sqrt(sum);
}
