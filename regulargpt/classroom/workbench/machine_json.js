// Machines as the project's JSON files have them (languages.convert): an automaton has "accepting", a machine with
// other answers has "outputs", where null is no answer.
//
//   fromJson(text)         -> { drawn, problem }: what the file says, with a place for each state
//   toJson(drawn)          -> { text, problem }: a file that the project reads; missing arrows lead to a sink
//   languageJson(language) -> text: what stands in automaton.json, byte for byte as Python writes it
import { placed } from "./arranged.js";
import { distinct, isAcceptor, lettersOf } from "./drawn.js";
import { acceptorOf, answersOf, checkAnswering, checkedFields, checkNames, isName, json, lines, numberOf, object, parsed } from "./json_text.js";
import { deterministic } from "./machine.js";
import { nestedDrawn, nestedLanguageText, nestedText } from "./nested_json.js";
import { hasStack } from "./nested_machine.js";
import { Refusal, short, tried } from "./refusal.js";

const COMMON = ["states", "alphabet", "transitions", "initial"];
const KINDS = {
  states: "a list of names",
  alphabet: "a list of names",
  transitions: "an object",
  initial: "a name",
  accepting: "a list of names",
  outputs: "an object",
  output_names: "a list of names",
  sink: "a name",
};
const MOST_STATES = 200; // of a drawing

// The drawing of a file's machine.
export function fromJson(text) {
  return tried("drawn", () => {
    const fields = parsed(text);
    return placed(fields instanceof Map && fields.has("moves") ? nestedDrawn(fields) : drawnOf(checked(fields)));
  });
}

// The fields of a machine without a stack.
function checked(found) {
  const fields = checkedFields(found, KINDS, COMMON, "machine");
  checkAnswering(fields);
  if (fields.sink !== undefined && fields.outputs) {
    throw new Refusal("A machine with outputs has no sink. Give every state all its arrows.");
  }
  return fields;
}

// The drawing of checked fields, without places.
function drawnOf({ states, alphabet, transitions, initial, accepting, outputs, output_names, sink }) {
  for (const [what, names] of [["state", states], ["symbol", alphabet]]) checkNames(what, names);
  if (states.length > MOST_STATES) {
    throw new Refusal(`${states.length} states are too many: this page draws ${MOST_STATES}. Take a smaller machine.`);
  }
  const number = new Map(states.map((name, i) => [name, i]));
  const stateOf = (name, role) => numberOf(number, name, role);
  const arrows = arrowsOf(transitions, alphabet, stateOf);
  if (sink === undefined) checkComplete(states, alphabet, transitions);
  else if (number.has(sink) && !isComplete(states, alphabet, transitions)) {
    throw new Refusal(`The sink ${short(sink)} is a state already. Give it another name.`);
  }
  const shared = { alphabet, initial: stateOf(initial, "The start is"), arrows };
  if (accepting) return { ...shared, ...acceptorOf(states, accepting, stateOf) };
  return { ...shared, ...answersOf(states, outputs, output_names, stateOf) };
}

// The arrows, those from a state to a state as one.
function arrowsOf(transitions, alphabet, stateOf) {
  return [...transitions].flatMap(([name, row]) => {
    const from = stateOf(name, "An arrow starts in");
    if (!(row instanceof Map)) throw new Refusal(`The arrows of ${short(name)} must be an object symbol: state.`);
    const targets = new Map([...row].map(([symbol, target]) => [symbol, targetOf(short(name), symbol, target)]));
    const symbols = [...alphabet.keys()].filter((a) => targets.has(alphabet[a]));
    const to = (a) => stateOf(targets.get(alphabet[a]), `An arrow of ${short(name)} leads to`);
    return [...new Set(symbols.map(to))].map((q) => ({ from, to: q, symbols: symbols.filter((a) => to(a) === q) }));
  });

  function targetOf(name, symbol, target) {
    const arrow = `an arrow with ${short(symbol)}`;
    if (!alphabet.includes(symbol)) throw new Refusal(`State ${name} has ${arrow}, which is not in the alphabet. Add it.`);
    if (!isName(target)) throw new Refusal(`State ${name} has ${arrow} to something without a name. Write a state's name.`);
    return target;
  }
}

// The first state and symbol without an arrow.
function missing(states, alphabet, transitions) {
  const pairs = states.flatMap((name) => alphabet.map((symbol) => [name, symbol]));
  return pairs.find(([name, symbol]) => !transitions.get(name)?.has(symbol)) ?? null;
}

const isComplete = (...machine) => missing(...machine) === null;

function checkComplete(...machine) {
  const found = missing(...machine);
  if (!found) return;
  const [name, symbol] = found.map(short);
  throw new Refusal(`State ${name} has no arrow with ${symbol}. Add one, or name a sink.`);
}

// A file of a drawn machine. With several arrows for one symbol it holds the machine of the sets of states.
export function toJson(drawn) {
  return tried("text", () => {
    if (hasStack(drawn)) return nestedText(drawn);
    const { delta, outputs, names } = deterministic(drawn);
    const machine = { alphabet: lettersOf(drawn), states: distinct(names), delta };
    const shown = outputs.map((output) => drawn.outputs[output] ?? null);
    if (!isAcceptor(drawn) || shown.includes(null)) return written({ ...machine, outputs: shown }, drawn.outputs);
    const accepting = machine.states.filter((_, q) => shown[q] === "accept");
    return rowsOf(machine, [["accepting", json(accepting)]]);
  });
}

// What stands in automaton.json.
export function languageJson(language) {
  return language.nesting ? nestedLanguageText(language) : written(language, language.output_names);
}

function written(machine, output_names) {
  const pairs = machine.states.map((name, q) => [name, json(machine.outputs[q])]);
  return rowsOf(machine, [["outputs", object(pairs)], ["output_names", json(output_names)]]);
}

// A machine as Python writes it, a line for each state's arrows.
function rowsOf({ states, alphabet, delta, initial = 0 }, answers) {
  const row = (q) => object(alphabet.map((symbol, a) => [symbol, json(states[delta[q][a]])]));
  const rows = states.map((name, q) => `    ${json(name)}: ${row(q)}`).join(",\n");
  const head = [["states", json(states)], ["alphabet", json(alphabet)], ["initial", json(states[initial])]];
  return lines([...head, ["transitions", `{\n${rows}\n  }`], ...answers]);
}
