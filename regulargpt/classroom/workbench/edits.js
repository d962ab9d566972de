// What a person does to a drawn machine: each edit gives a new machine and leaves the old one as it was.
// A part of a machine has a key: "3" is state 3, "3-4" the arrow from state 3 to state 4. Two states have one arrow each
// way, whose symbols may do different things to a stack: then it is several arrows of the machine.

import { lettersOf, NO_SYMBOL } from "./drawn.js";

const BOTTOM = "the bottom"; // of the stack
const STACKED = /^(.*?)\/\s*(push|pop)\s+(.+)$/u;

export const EMPTY = { alphabet: [], outputs: ["reject", "accept"], states: [], initial: null, arrows: [] };

const MOST_UNDONE = 500;

// The machine as it is, those before it, and those that were undone.
export class History {
  constructor(now) {
    Object.assign(this, { now, past: [], future: [] });
  }

  do(next) {
    if (same(next, this.now)) return;
    this.past = [...this.past, this.now].slice(-MOST_UNDONE);
    Object.assign(this, { now: next, future: [] });
  }

  // The last edit, done another way.
  amend(next) {
    this.now = next;
    if (same(next, this.past.at(-1))) this.past.pop();
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(this.now);
    this.now = this.past.pop();
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.now);
    this.now = this.future.pop();
  }
}

// Whether two machines are drawn alike.
export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// The ends of an arrow by its key; null for a state.
export function endsOf(key) {
  return key.includes("-") ? key.split("-").map(Number) : null;
}

// The key of an arrow.
export function keyOf({ from, to }) {
  return `${from}-${to}`;
}

// The keys of all arrows, each once.
export function keysOf({ arrows }) {
  return [...new Set(arrows.map(keyOf))];
}

// The arrows of a key.
export function arrowsOf(drawn, key) {
  return drawn.arrows.filter((arrow) => keyOf(arrow) === key);
}

// Whether a key still names something.
export function has(drawn, key) {
  return endsOf(key) ? arrowsOf(drawn, key).length > 0 : Number(key) < drawn.states.length;
}

// What an arrow does to the stack, as the project writes it; empty where it leaves it alone.
export function doneBy({ push, pop }) {
  if (push !== undefined) return ` / push ${push}`;
  return pop ? ` / pop ${pop.map((name) => name ?? BOTTOM).join(", ")}` : "";
}

// One arrow for every two states and what is done to the stack, its symbols in order.
export function tidy(drawn) {
  const found = new Map();
  for (const arrow of drawn.arrows) {
    const key = keyOf(arrow) + doneBy(arrow);
    const symbols = new Set([...(found.get(key)?.symbols ?? []), ...arrow.symbols]);
    found.set(key, { ...arrow, symbols: [...symbols].sort((a, b) => a - b) });
  }
  return { ...drawn, arrows: [...found.values()].filter(({ symbols }) => symbols.length) };
}

// A new state; the first one is the start.
export function withState(drawn, [x, y]) {
  const names = new Set(drawn.states.map(({ name }) => name));
  const free = drawn.states.map((_, i) => `q${i}`).find((name) => !names.has(name)) ?? `q${drawn.states.length}`;
  const state = { name: free, x: Math.round(x), y: Math.round(y), output: Math.max(0, drawn.outputs.indexOf("reject")) };
  return { ...drawn, states: [...drawn.states, state], initial: drawn.states.length ? drawn.initial : 0 };
}

// A state with something changed.
export function changed(drawn, q, change) {
  return { ...drawn, states: drawn.states.map((state, i) => (i === q ? { ...state, ...change } : state)) };
}

// A state with the next answer of all.
export function answered(drawn, q) {
  const { output } = drawn.states[q];
  return changed(drawn, q, { output: ((output ?? -1) + 1) % drawn.outputs.length });
}

// Without a state and its arrows, or without an arrow. A symbol that was on it alone leaves the alphabet.
export function without(drawn, key) {
  const ends = endsOf(key);
  if (ends) return withParts(drawn, ends, []);
  const [q, after] = [Number(key), (i) => (i > Number(key) ? i - 1 : i)];
  const arrows = drawn.arrows.filter(({ from, to }) => from !== q && to !== q);
  const initial = drawn.initial === q || drawn.initial === null ? null : after(drawn.initial);
  const shifted = arrows.map((arrow) => ({ ...arrow, from: after(arrow.from), to: after(arrow.to) }));
  return released(drawn, { ...drawn, states: drawn.states.filter((_, i) => i !== q), initial, arrows: shifted });
}

// The arrow between two states with these parts, each { names, push or pop or neither }; new names extend the alphabet.
// Without names there is none. `before` is the machine before the whole edit.
export function withParts(drawn, [from, to], parts, before = drawn) {
  const alphabet = [...new Set([...drawn.alphabet, ...parts.flatMap(({ names }) => names)])];
  const made = parts.map(({ names, ...done }) => ({ from, to, symbols: names.map((name) => alphabet.indexOf(name)), ...done }));
  const isOther = (arrow) => arrow.from !== from || arrow.to !== to;
  const at = drawn.arrows.findIndex((arrow) => !isOther(arrow));
  const arrows = drawn.arrows.filter(isOther);
  arrows.splice(at < 0 ? arrows.length : at, 0, ...made);
  return released(before, tidy({ ...drawn, alphabet, arrows }));
}

// An arrow as one writes it: `a b`, or `a; ( / push g; ) / pop g, the bottom`.
export function textOf(drawn, key) {
  return arrowsOf(drawn, key).map((arrow) => arrow.symbols.map((symbol) => drawn.alphabet[symbol]).join(" ") + doneBy(arrow)).join("; ");
}

// The parts of an arrow that one wrote.
export function partsOf(text, known) {
  const pieces = STACKED.test(text) ? text.split(";") : [text];
  return pieces.map((piece) => {
    const [, symbols, what, on] = STACKED.exec(piece) ?? [null, piece];
    const tops = on?.split(",").map((name) => (name.trim() === BOTTOM ? null : name.trim()));
    return { names: typed(symbols, known), ...(what === "push" && { push: on.trim() }), ...(what === "pop" && { pop: tops }) };
  });
}

// The letter or digit behind the last symbol; the first symbol again where there is none.
function following(alphabet) {
  const next = alphabet.length ? String.fromCodePoint(alphabet.at(-1).codePointAt() + 1) : "a";
  return /[\p{L}\d]/u.test(next) && !alphabet.includes(next) ? next : alphabet[0];
}

// What a new arrow is likely to be for: the first symbol that does not leave its state yet, or a new one, and what that
// does elsewhere.
export function likely(drawn, from) {
  const taken = new Set(drawn.arrows.filter((arrow) => arrow.from === from).flatMap(({ symbols }) => symbols));
  const symbol = drawn.alphabet.findIndex((name, a) => !taken.has(a) && name !== NO_SYMBOL);
  const { push, pop } = drawn.arrows.find(({ symbols }) => symbols.includes(symbol)) ?? {};
  return { names: [drawn.alphabet[symbol] ?? following(lettersOf(drawn))], ...(push !== undefined && { push }), ...(pop && { pop }) };
}

// These symbols, and no others on any arrow.
export function withAlphabet(drawn, alphabet) {
  const number = drawn.alphabet.map((name) => alphabet.indexOf(name));
  const renumbered = (arrow) => ({ ...arrow, symbols: arrow.symbols.map((symbol) => number[symbol]).filter((symbol) => symbol >= 0).sort((a, b) => a - b) });
  return { ...drawn, alphabet, arrows: drawn.arrows.map(renumbered).filter(({ symbols }) => symbols.length) };
}

// These answers in place of those before; a state whose answer is none of them has the last.
export function withOutputs(drawn, outputs) {
  const states = drawn.states.map((state) => ({ ...state, output: state.output === null ? null : Math.min(state.output, outputs.length - 1) }));
  return { ...drawn, outputs, states };
}

// Without the symbols whose last arrow an edit took away, or that it added for nothing.
function released(before, after) {
  const used = ({ arrows }) => new Set(arrows.flatMap(({ symbols }) => symbols));
  const [then, now] = [used(before), used(after)];
  const wasFree = (symbol) => symbol < before.alphabet.length && !then.has(symbol);
  const kept = after.alphabet.filter((_, symbol) => now.has(symbol) || wasFree(symbol));
  return kept.length === after.alphabet.length ? after : withAlphabet(after, kept);
}

// The symbols that were typed: letters, or what blanks or commas separate; \e is ε.
function typed(text, known) {
  const plain = text.replaceAll("\\e", NO_SYMBOL);
  const parts = /[\s,]/u.test(plain) || known.includes(plain) ? plain.split(/[\s,]+/u) : [...plain];
  return [...new Set(parts.filter((part) => part))];
}
