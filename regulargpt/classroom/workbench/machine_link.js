// A drawn machine as a part of an address: the name of one that one may start from, or the whole drawing.

import { STARTERS } from "./starters.js";

const nameOf = ({ title }) => title.toLowerCase().replace(/[^a-z0-9]+/gu, "-").replace(/^-|-$/gu, "");

const rows = ({ alphabet, outputs, states, initial, arrows }) => [
  alphabet,
  outputs,
  states.map(({ name, x, y, output }) => [name, Math.round(x), Math.round(y), output]),
  initial,
  arrows.map(({ from, to, symbols, push, pop }) => [from, to, symbols, ...(push ?? pop ? [push ?? pop] : [])]),
];

// The text; null where nothing is drawn.
export function asText(drawn) {
  if (!drawn) return null;
  const text = JSON.stringify(rows(drawn));
  const starter = STARTERS.find((other) => JSON.stringify(rows(other.drawn)) === text);
  return starter ? nameOf(starter) : text;
}

// The drawing; null where the text is none of a machine.
export function fromText(text) {
  const starter = STARTERS.find((other) => nameOf(other) === text);
  if (starter) return starter.drawn;
  try {
    return drawingOf(JSON.parse(text));
  } catch {
    return null;
  }
}

// More than the page can draw in a moment is no machine of its own.
const MOST = 200; // states; twenty times as many arrows

function drawingOf([alphabet, outputs, states, initial, arrows]) {
  const isSmall = [alphabet, outputs, states].every(({ length }) => length <= MOST) && arrows.length <= 20 * MOST;
  const below = (list) => (i) => Number.isInteger(i) && i >= 0 && i < list.length;
  const areNames = (list) => Array.isArray(list) && list.every((name) => typeof name === "string");
  const [state, symbol, output] = [states, alphabet, outputs].map(below);
  const isRight = isSmall && areNames(alphabet) && areNames(outputs)
    && states.every(([name, x, y, answer]) => typeof name === "string" && [x, y].every((at) => Number.isFinite(at) && Math.abs(at) <= 1e5) && (answer === null || output(answer)))
    && (initial === null || state(initial))
    && arrows.every(([from, to, symbols, done]) => state(from) && state(to) && symbols.length <= MOST && symbols.every(symbol) && isOfStack(done));
  if (!isRight) return null;
  return {
    alphabet,
    outputs,
    states: states.map(([name, x, y, answer]) => ({ name, x, y, output: answer })),
    initial,
    arrows: arrows.map(([from, to, symbols, done]) => ({ from, to, symbols, ...doneTo(done) })),
  };
}

// What an arrow pushes, a name, or pops, a list of names and null for the empty stack; undefined where it leaves it alone.
const isOfStack = (done) => done === undefined || typeof done === "string" || (Array.isArray(done) && done.every((top) => top === null || typeof top === "string"));

function doneTo(done) {
  if (done === undefined) return {};
  return Array.isArray(done) ? { pop: done } : { push: done };
}
