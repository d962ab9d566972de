// Machines as the project's JSON files have them (languages.convert): an automaton has "accepting", a machine with
// other answers has "outputs", where null is no answer.
//
//   fromJson(text)         -> { drawn, problem }: what the file says, with a place for each state
//   toJson(drawn)          -> { text, problem }: a file that the project reads; missing arrows lead to a sink
//   languageJson(language) -> text: what stands in automaton.json, byte for byte as Python writes it
import { placed } from "./arranged.js";
import { distinct, isAcceptor } from "./drawn.js";
import { deterministic } from "./machine.js";
import { Refusal, listed, short, tried } from "./refusal.js";

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
const MOST_NESTED = 100;
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g;

// The drawing of a file's machine.
export function fromJson(text) {
  return tried("drawn", () => placed(drawnOf(checkedFields(parsed(text)))));
}

// The value of a JSON text; objects are Maps, for a JavaScript object would order its keys anew.
function parsed(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    const remedy = "Take a file that this page or the project wrote.";
    throw new Refusal(`The text is no JSON${place(text, error.message)}. ${remedy}`);
  }
  const tokens = text.match(TOKEN);
  const [stack, top] = [[], []];
  const put = (value) => {
    const at = stack.at(-1);
    if (!at) top.push(value);
    else if (Array.isArray(at.inside)) at.inside.push(value);
    else at.inside.set(at.key, value);
  };
  tokens.forEach((token, i) => {
    if (tokens[i + 1] === ":") readKey(stack.at(-1), JSON.parse(token));
    else if (token === "{" || token === "[") open(stack, put, token === "{" ? new Map() : []);
    else if (token === "}" || token === "]") stack.pop();
    else if (token !== ":" && token !== ",") put(JSON.parse(token));
  });
  return top[0];
}

function open(stack, put, inside) {
  if (stack.length >= MOST_NESTED) throw new Refusal("The text is nested too deeply. A machine has three levels.");
  put(inside);
  stack.push({ inside, key: null });
}

function readKey(at, key) {
  if (at.inside.has(key)) throw new Refusal(`The key ${short(key)} is there twice. Give it once.`);
  at.key = key;
}

// Where a text stops being JSON, as far as the browser says.
function place(text, message) {
  const found = /position (\d+)/.exec(message);
  if (!found) return "";
  const lines = text.slice(0, Number(found[1])).split("\n");
  return ` from line ${lines.length}, column ${lines.at(-1).length + 1} on`;
}

const isName = (value) => typeof value === "string";
const CHECKS = {
  "a list of names": (value) => Array.isArray(value) && value.every(isName),
  "an object": (value) => value instanceof Map,
  "a name": isName,
};

// The file's fields, each of its kind.
function checkedFields(fields) {
  const keys = Object.keys(KINDS);
  if (!(fields instanceof Map)) {
    throw new Refusal(`The file holds no machine. A machine is an object with ${listed(COMMON)}.`);
  }
  for (const [key, value] of fields) {
    if (!keys.includes(key)) throw new Refusal(`The key ${short(key)} is unknown. The keys are ${listed(keys)}.`);
    if (!CHECKS[KINDS[key]](value)) throw new Refusal(`What stands behind ${key} must be ${KINDS[key]}.`);
  }
  const missing = COMMON.find((key) => !fields.has(key));
  if (missing) throw new Refusal(`The key ${missing} is missing. A machine has ${listed(COMMON)}.`);
  if (fields.has("accepting") === fields.has("outputs")) {
    throw new Refusal("A machine has either accepting (which words are in) or outputs (an answer for each state).");
  }
  if (fields.has("sink") && fields.has("outputs")) {
    throw new Refusal("A machine with outputs has no sink. Give every state all its arrows.");
  }
  return Object.fromEntries(fields);
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
  const start = stateOf(initial, "The start is");
  const shared = { alphabet, initial: start, arrows };
  if (accepting) {
    const accepts = new Set(accepting.map((name) => stateOf(name, "An accepting state is")));
    const output = (q) => Number(accepts.has(q));
    return { ...shared, outputs: ["reject", "accept"], states: states.map((name, q) => ({ name, output: output(q) })) };
  }
  return { ...shared, ...answersOf(states, outputs, output_names, stateOf) };
}

function checkNames(what, names) {
  if (!names.length) throw new Refusal(`There is no ${what}. Give at least one.`);
  names.forEach((name) => {
    if (!name) throw new Refusal(`A ${what} has an empty name. Give it one.`);
    if (/\p{Surrogate}/u.test(name)) throw new Refusal(`A ${what} has half a character in its name. Rename it.`);
  });
  const seen = new Set();
  for (const name of names) {
    if (seen.has(name)) throw new Refusal(`The ${what} ${short(name)} is there twice. Give it once.`);
    seen.add(name);
  }
}

function numberOf(number, name, role) {
  if (number.has(name)) return number.get(name);
  throw new Refusal(`${role} ${short(name)}, which is no state. The states are ${listed([...number.keys()])}.`);
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

// The answers of a machine that has others than accept and reject.
function answersOf(states, outputs, listedNames, stateOf) {
  for (const name of outputs.keys()) stateOf(name, "An output is given for");
  for (const [name, output] of outputs) {
    const isOutput = output === null || isName(output);
    if (!isOutput) throw new Refusal(`The output of ${short(name)} must be a name, or null for none.`);
  }
  const without = states.find((name) => !outputs.has(name));
  if (without !== undefined) throw new Refusal(`State ${short(without)} has no output. Give one, or null for none.`);
  const names = listedNames?.length ? listedNames : [...new Set(outputs.values())].filter((output) => output !== null);
  checkNames("answer", names);
  return {
    outputs: names,
    states: states.map((name) => {
      const output = outputs.get(name);
      const isKnown = output === null || names.includes(output);
      if (!isKnown) throw new Refusal(`State ${short(name)} has the output ${short(output)}; take one of ${listed(names)}.`);
      return { name, output: output === null ? null : names.indexOf(output) };
    }),
  };
}

// A file of a drawn machine. With several arrows for one symbol it holds the machine of the sets of states.
export function toJson(drawn) {
  return tried("text", () => {
    const { delta, outputs, names } = deterministic(drawn);
    const machine = { alphabet: drawn.alphabet, states: distinct(names), delta };
    const shown = outputs.map((output) => drawn.outputs[output] ?? null);
    if (!isAcceptor(drawn) || shown.includes(null)) return written({ ...machine, outputs: shown }, drawn.outputs);
    const accepting = machine.states.filter((_, q) => shown[q] === "accept");
    return lines(machine, [["accepting", json(accepting)]]);
  });
}

// What stands in automaton.json.
export function languageJson(language) {
  return written(language, language.output_names);
}

function written(machine, output_names) {
  const pairs = machine.states.map((name, q) => [name, json(machine.outputs[q])]);
  return lines(machine, [["outputs", object(pairs)], ["output_names", json(output_names)]]);
}

// A machine as Python writes it, a line for each state's arrows.
function lines({ states, alphabet, delta, initial = 0 }, answers) {
  const row = (q) => object(alphabet.map((symbol, a) => [symbol, json(states[delta[q][a]])]));
  const rows = states.map((name, q) => `    ${json(name)}: ${row(q)}`).join(",\n");
  const head = [["states", json(states)], ["alphabet", json(alphabet)], ["initial", json(states[initial])]];
  const pairs = [...head, ["transitions", `{\n${rows}\n  }`], ...answers];
  return `{\n${pairs.map(([key, value]) => `  ${json(key)}: ${value}`).join(",\n")}\n}\n`;
}

function object(pairs) {
  return `{${pairs.map(([key, value]) => `${json(key)}: ${value}`).join(", ")}}`;
}

function json(value) {
  return Array.isArray(value) ? `[${value.map(json).join(", ")}]` : JSON.stringify(value);
}
