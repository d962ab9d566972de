// What a person does to a drawn machine: each edit gives a new machine and leaves the old one as it was.
// A part of a machine has a key: "3" is state 3, "3-4" the arrow from state 3 to state 4. Two states have one arrow each way.

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

// The arrow of a key; undefined if there is none.
export function arrowOf(drawn, key) {
  return drawn.arrows.find((arrow) => keyOf(arrow) === key);
}

// Whether a key still names something.
export function has(drawn, key) {
  return endsOf(key) ? Boolean(arrowOf(drawn, key)) : Number(key) < drawn.states.length;
}

// One arrow for every two states, its symbols in order.
export function tidy(drawn) {
  const found = new Map();
  for (const arrow of drawn.arrows) {
    const symbols = new Set([...(found.get(keyOf(arrow))?.symbols ?? []), ...arrow.symbols]);
    found.set(keyOf(arrow), { from: arrow.from, to: arrow.to, symbols: [...symbols].sort((a, b) => a - b) });
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
  if (ends) return withSymbols(drawn, ends, []);
  const [q, after] = [Number(key), (i) => (i > Number(key) ? i - 1 : i)];
  const arrows = drawn.arrows.filter(({ from, to }) => from !== q && to !== q);
  const initial = drawn.initial === q || drawn.initial === null ? null : after(drawn.initial);
  const shifted = arrows.map(({ from, to, symbols }) => ({ from: after(from), to: after(to), symbols }));
  return released(drawn, { ...drawn, states: drawn.states.filter((_, i) => i !== q), initial, arrows: shifted });
}

// The arrow between two states with these symbols, by name; new ones extend the alphabet. Without symbols there is none.
export function withSymbols(drawn, [from, to], names) {
  const alphabet = [...new Set([...drawn.alphabet, ...names])];
  const arrow = { from, to, symbols: names.map((name) => alphabet.indexOf(name)).sort((a, b) => a - b) };
  const at = drawn.arrows.findIndex((other) => keyOf(other) === keyOf(arrow));
  const arrows = at < 0 ? [...drawn.arrows, arrow] : drawn.arrows.with(at, arrow);
  return released(drawn, { ...drawn, alphabet, arrows: arrows.filter(({ symbols }) => symbols.length) });
}

// The names of an arrow's symbols.
export function namesOn(drawn, key) {
  return (arrowOf(drawn, key)?.symbols ?? []).map((symbol) => drawn.alphabet[symbol]);
}

// An arrow with other ends; if there is an arrow already, its symbols are added there.
export function rerouted(drawn, key, ends) {
  if (key === keyOf({ from: ends[0], to: ends[1] })) return drawn;
  const names = namesOn(drawn, key);
  const kept = { ...drawn, arrows: drawn.arrows.filter((arrow) => keyOf(arrow) !== key) };
  return withSymbols(kept, ends, [...new Set([...namesOn(drawn, ends.join("-")), ...names])]);
}

// The symbol that a new arrow is likely to have: the first that does not leave its state yet.
export function likely(drawn, from) {
  const taken = new Set(drawn.arrows.filter((arrow) => arrow.from === from).flatMap(({ symbols }) => symbols));
  return drawn.alphabet.find((_, symbol) => !taken.has(symbol)) ?? drawn.alphabet[0] ?? "a";
}

// These symbols, and no others on any arrow.
export function withAlphabet(drawn, alphabet) {
  const number = drawn.alphabet.map((name) => alphabet.indexOf(name));
  const renumbered = ({ from, to, symbols }) => ({ from, to, symbols: symbols.map((symbol) => number[symbol]).filter((symbol) => symbol >= 0).sort((a, b) => a - b) });
  return { ...drawn, alphabet, arrows: drawn.arrows.map(renumbered).filter(({ symbols }) => symbols.length) };
}

// These answers in place of those before; a state whose answer is none of them has the last.
export function withOutputs(drawn, outputs) {
  const states = drawn.states.map((state) => ({ ...state, output: state.output === null ? null : Math.min(state.output, outputs.length - 1) }));
  return { ...drawn, outputs, states };
}

// Without the symbols whose last arrow an edit took away.
function released(before, after) {
  const used = ({ arrows }) => new Set(arrows.flatMap(({ symbols }) => symbols));
  const [then, now] = [used(before), used(after)];
  const kept = after.alphabet.filter((_, symbol) => now.has(symbol) || !then.has(symbol));
  return kept.length === after.alphabet.length ? after : withAlphabet(after, kept);
}

// The names that were typed: letters, or what blanks or commas separate.
export function typed(text, known) {
  const parts = /[\s,]/u.test(text) || known.includes(text) ? text.split(/[\s,]+/u) : [...text];
  return [...new Set(parts.filter((part) => part))];
}
