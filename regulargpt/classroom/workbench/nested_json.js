// Machines with a stack as the project's JSON files have them (languages/convert/pushdown.py): a list of moves.

import { checkDrawn, free, isAcceptor } from "./drawn.js";
import { acceptorOf, answersOf, checkAnswering, checkedFields, checkNames, json, lines, numberOf, object } from "./json_text.js";
import { nestedMachine } from "./nested_machine.js";
import { Refusal, short } from "./refusal.js";

const NEEDED = ["alphabet", "initial", "moves"];
const KINDS = {
  alphabet: "a list of names",
  initial: "a name",
  moves: "a list",
  accepting: "a list of names",
  outputs: "an object",
  output_names: "a list of names",
};
const OF_A_MOVE = {
  from: "a name",
  read: "a name",
  to: "a name",
  tops: "a list",
  push: "a name",
  pop: "true or false",
};
const MOST_MOVES = 2000; // of a drawing

// The drawing of a file's fields, without places.
export function nestedDrawn(found) {
  const fields = checkedFields(found, KINDS, NEEDED, "machine with a stack");
  checkAnswering(fields);
  checkNames("symbol", fields.alphabet);
  if (fields.moves.length > MOST_MOVES) {
    const count = `${fields.moves.length} moves are too many`;
    throw new Refusal(`${count}: this page draws ${MOST_MOVES}. Take a smaller machine.`);
  }
  const moves = fields.moves.map((move) => checkedFields(move, OF_A_MOVE, ["from", "read", "to"], "move"));
  const named = new Set([fields.initial, ...moves.flatMap(({ from, to }) => [from, to])]);
  const states = fields.outputs ? [...fields.outputs.keys()] : [...named];
  checkNames("state", states);
  const number = new Map(states.map((name, q) => [name, q]));
  const stateOf = (name, role) => numberOf(number, name, role);
  const initial = stateOf(fields.initial, "The start is");
  const shared = { alphabet: fields.alphabet, initial, arrows: joined(allMoves(fields.alphabet, moves, stateOf)) };
  if (fields.accepting) return { ...shared, ...acceptorOf(states, fields.accepting, stateOf) };
  const drawn = { ...shared, ...answersOf(states, fields.outputs, fields.output_names, stateOf) };
  return isAcceptor(drawn) ? withoutAnswers(drawn) : drawn;
}

// The moves as arrows of one symbol each. Tops are names of the stack, null the empty one.
function allMoves(alphabet, moves, stateOf) {
  const stack = [...new Set(moves.filter(({ push }) => push !== undefined).map(({ push }) => push))];
  const returns = new Set(moves.filter(({ pop }) => pop).map(({ read }) => read));
  const found = moves.map(({ from, read, to, tops = [], push, pop = false }) => {
    const said = `The move from ${short(from)} with ${short(read)}`;
    const symbol = alphabet.indexOf(read);
    if (symbol < 0) throw new Refusal(`${said} reads what is not in the alphabet. Add it there.`);
    const unknown = tops.find((top) => top !== null && !stack.includes(top));
    if (unknown !== undefined) {
      throw new Refusal(`${said} needs ${short(String(unknown))} on the stack. Give a move that pushes it.`);
    }
    const arrow = { from: stateOf(from, "A move starts in"), to: stateOf(to, "A move leads to"), symbols: [symbol] };
    return { ...arrow, ...doneTo(stack, { said, isReturn: returns.has(read), tops, push, pop }) };
  });
  return withEveryTop(found, stack, (arrow) => `The move with ${short(alphabet[arrow.symbols[0]])}`);
}

// What a move does to the stack, as an arrow says it.
function doneTo(stack, { said, isReturn, tops, push, pop }) {
  if (pop && (push !== undefined || tops.includes(null))) {
    throw new Refusal(`${said} pops and pushes, or pops the empty stack. Give a move one of them.`);
  }
  if (!isReturn) return { tops: tops.length ? tops : [null, ...stack], ...(push === undefined ? {} : { push }) };
  const needed = tops.length ? tops : [...(pop ? [] : [null]), ...stack];
  if (push !== undefined || (!pop && needed.some((top) => top !== null))) {
    throw new Refusal(`${said} does not pop, others with this symbol do. Let all of them pop, but on the empty stack.`);
  }
  return { pop: needed };
}

// The arrows, those of calls and internal symbols without tops: only what pops may depend on them.
function withEveryTop(arrows, stack, said) {
  const key = ({ from, to, symbols, push }) => JSON.stringify([from, to, symbols, push]);
  const tops = new Map();
  for (const arrow of arrows.filter(({ pop }) => !pop)) {
    tops.set(key(arrow), new Set([...(tops.get(key(arrow)) ?? []), ...arrow.tops]));
  }
  return arrows.map(({ tops: mine, ...arrow }) => {
    if (mine && tops.get(key(arrow)).size <= stack.length) {
      throw new Refusal(`${said(arrow)} depends on the top of the stack. Only what pops may: let the state say it.`);
    }
    return arrow;
  });
}

// Arrows that pop several symbols of the stack, then arrows of several symbols, where they do the same.
function joined(arrows) {
  const pops = merged(arrows.filter(({ pop }) => pop), ["from", "to", "symbols"], "pop");
  const others = arrows.filter(({ pop }) => !pop);
  return merged([...others, ...pops], ["from", "to", "push", "pop"], "symbols");
}

// Arrows with equal `fields` as one, with what the `list` of each has.
function merged(arrows, fields, list) {
  const found = new Map();
  for (const arrow of arrows) {
    const key = JSON.stringify(fields.map((field) => arrow[field]));
    const before = found.get(key);
    found.set(key, before ? { ...before, [list]: [...new Set([...before[list], ...arrow[list]])] } : arrow);
  }
  return [...found.values()];
}

// The same with a state without an answer for what is missing: in a drawing that would reject.
function withoutAnswers(drawn) {
  const { names, delta, close, calls, returns, internals, stack } = nestedMachine(drawn);
  const n = drawn.states.length;
  if (names.length === n) return drawn;
  const tops = [null, ...stack];
  const missing = [...drawn.states.keys(), n].flatMap((from) => {
    const to = (symbols, more = {}) => ({ from, to: n, symbols, ...more });
    const isMissing = (symbol) => from === n || delta[from][symbol] === n;
    const topsOf = (i) => tops.filter((_, top) => from === n || close[from][top][i] === n);
    const popped = returns.map((symbol, i) => to([symbol], { pop: topsOf(i) })).filter(({ pop }) => pop.length);
    return [to(internals.filter(isMissing)), to(calls.filter(isMissing), { push: stack[0] }), ...popped];
  });
  const state = { name: free("no answer", drawn.states), output: null };
  const arrows = [...drawn.arrows, ...missing.filter(({ symbols }) => symbols.length)];
  return { ...drawn, states: [...drawn.states, state], arrows };
}

// A file of a drawing.
export function nestedText(drawn) {
  checkDrawn(drawn);
  const machine = nestedMachine(drawn);
  return textOf(drawn.alphabet, machine, machine.outputs.map((output) => drawn.outputs[output] ?? null), drawn.outputs);
}

// A file of a Language, as automaton.json has it.
export function nestedLanguageText({ alphabet, states, initial, delta, outputs, output_names, nesting }) {
  return textOf(alphabet, { ...nesting, names: states, initial, delta }, outputs, output_names);
}

// A file of the tables; moves to the last state, where there is none, are left out.
function textOf(alphabet, machine, outputs, output_names) {
  const names = machine.names.slice(0, machine.delta.length - 1);
  const moves = names.flatMap((_, q) => alphabet.flatMap((__, symbol) => movesOf(machine, q, symbol)));
  const written = moves.map(({ to, symbol, from, ...more }) => {
    const ends = [["from", names[from]], ["read", alphabet[symbol]], ["to", names[to]]];
    return `    ${object([...ends, ...Object.entries(more)].map(([key, value]) => [key, json(value)]))}`;
  });
  return lines([
    ["alphabet", json(alphabet)],
    ["initial", json(names[machine.initial])],
    ["outputs", object(names.map((name, q) => [name, json(outputs[q])]))],
    ["output_names", json(output_names)],
    ["moves", `[\n${written.join(",\n")}\n  ]`],
  ]);
}

// The moves from a state with a symbol.
function movesOf({ delta, direction, place, pushed, close, stack }, from, symbol) {
  const [none, i] = [delta.length - 1, place[symbol]];
  const move = (to, more) => (to === none ? [] : [{ from, symbol, to, ...more }]);
  if (direction[symbol] === 0) return move(delta[from][symbol], {});
  if (direction[symbol] > 0) return move(delta[from][symbol], { push: stack[pushed[from][i]] });
  const targets = [...new Set(stack.map((_, g) => close[from][1 + g][i]))];
  const popped = (to) => ({ tops: stack.filter((_, g) => close[from][1 + g][i] === to), pop: true });
  return [...move(close[from][0][i], { tops: [null] }), ...targets.flatMap((to) => move(to, popped(to)))];
}
