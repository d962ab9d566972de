// What test_networks.py asks of the networks that learn in the page.

import { Sinusoidal } from "regulargpt/encodings/sinusoidal.js";
import { Adam } from "regulargpt/classroom/workbench/adam.js";
import { Forest } from "regulargpt/classroom/workbench/forest.js";
import { gelu } from "regulargpt/classroom/workbench/gelu.js";
import { LstmNetwork } from "regulargpt/classroom/workbench/lstm.js";
import { Random, philox } from "regulargpt/classroom/workbench/random.js";
import { Matrix, Tape } from "regulargpt/classroom/workbench/tape.js";
import { TransformerNetwork } from "regulargpt/classroom/workbench/transformer.js";
import { TreeNetwork } from "regulargpt/classroom/workbench/tree_network.js";
import { Lstm } from "regulargpt/models/lstm.js";
import { RegularGPT } from "regulargpt/models/regulargpt/model.js";
import { Transformer } from "regulargpt/models/transformer/model.js";
import { Weights } from "regulargpt/models/weights.js";

const LEARNING = { regulargpt: TreeNetwork, lstm: LstmNetwork, transformer: TransformerNetwork };
const TWINS = { regulargpt: RegularGPT, lstm: Lstm, transformer: Transformer };

const rowsOf = (matrix) => Array.from({ length: matrix.rows }, (_, i) => [...matrix.row(i)]);

// A matrix that has gradients.
function matrixOf(rows) {
  const numbers = Float64Array.from(rows.flat());
  return new Matrix(rows.length, rows[0].length, numbers, new Float64Array(numbers.length));
}

function made({ weights, ...given }) {
  const network = new LEARNING[given.options.name](given);
  if (weights) network.parameters.load(weights);
  return network;
}

// { name: numbers } of the gradients.
function gradients({ places, grad }) {
  return Object.fromEntries([...places].map(([name, { at, end }]) => [name, [...grad.subarray(at, end)]]));
}

// The weights that training starts with: { name: [shape, numbers] }.
export const started = (given) => Object.fromEntries(Object.entries(made(given).weights()).map(([name, { shape, data }]) => [name, [shape, [...data]]]));

// Logits, loss and gradients; the logits of a tape that does not learn; and those of the page's network with these weights.
export function computed({ words, answers, mask, ...given }) {
  const network = made(given);
  const tape = new Tape();
  network.logits(tape, words); // nothing is left of what the tape forgets
  tape.clear();
  const logits = network.logits(tape, words);
  const loss = tape.crossEntropy(logits, answers, mask);
  tape.backward(loss);
  const twin = new TWINS[given.options.name]({ ...given, weights: new Weights(new Map(Object.entries(network.weights()))), build: (of) => new Sinusoidal(of) });
  const still = network.logits(new Tape({ learning: false }), words);
  return { logits: rowsOf(logits), best: [...logits.best()], loss: loss.value[0], gradients: gradients(network.parameters), still: rowsOf(still), shown: words.map((word) => [...twin.logits(word)]) };
}

// What it says of a network that it cannot be, or null.
export function refused(given) {
  try {
    return made(given) && null;
  } catch (error) {
    return error.message;
  }
}

// States over windows of given states, with the gradients of a loss of two terms: the distances from targets, and the
// cross-entropy of the distances from all of them.
export function merged({ states, windows, targets, ...given }) {
  const [network, tape] = [made(given), new Tape()];
  const [below, prototypes] = [states, targets].map(matrixOf);
  const above = network.merge(tape, network.withPad(tape, below), windows.flat());
  const near = tape.crossEntropy(tape.scale(tape.distances(above, prototypes), -1), windows.map((_, i) => i % targets.length));
  const loss = tape.add(near, tape.squaredError(above, tape.gather(prototypes, windows.map(() => 0))));
  tape.backward(loss);
  return { above: rowsOf(above), loss: loss.value[0], gradients: { ...gradients(network.parameters), below: [...below.grad], prototypes: [...prototypes.grad] } };
}

// GELU and its derivative at some numbers.
export function gelus(x) {
  const [y, slopes] = [x.map(() => 0), x.map(() => 0)];
  gelu(x, y, slopes);
  return [y, slopes];
}

// The weights after each step of Adam with these gradients.
export function stepped({ start, gradients: each, options }) {
  const all = start.map((numbers) => ({ value: Float64Array.from(numbers), grad: new Float64Array(numbers.length) }));
  const adam = new Adam(all, options);
  return each.map((slopes) => {
    all.forEach(({ grad }, i) => grad.set(slopes[i]));
    const norm = adam.step();
    return { norm, values: all.map(({ value }) => [...value]), left: all.flatMap(({ grad }) => [...grad]) };
  });
}

// How many nodes of the words' trees there are above the leaves, and for how many rows the block was computed.
export function counted({ words, ...given }) {
  const forest = new Forest(given.n_symbols);
  words.forEach((word) => forest.root(word));
  let rows = 0;
  const tape = new Tape({ learning: false });
  const gelu = tape.gelu.bind(tape);
  tape.gelu = (x) => {
    rows += x.rows;
    return gelu(x);
  };
  made(given).logits(tape, words);
  return { nodes: forest.rows - 1 - given.n_symbols, rows };
}

export const philoxes = (cases) => cases.map(([counter, key]) => philox(counter, key));

// The n-th numbers of a purpose, in this order.
export function drawn({ seed, purpose, order, kind, below }) {
  const random = new Random(seed, purpose);
  return order.map((n) => random[kind](n, below));
}
