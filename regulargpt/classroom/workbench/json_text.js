// JSON texts of machines: objects as Maps, for a JavaScript object would order its keys anew; and what both kinds of
// files have, those with a stack and those without.

import { NO_SYMBOL } from "./drawn.js";
import { Refusal, listed, short } from "./refusal.js";

const MOST_NESTED = 100;
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g;

// The value of a JSON text.
export function parsed(text) {
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

export const isName = (value) => typeof value === "string";
const CHECKS = {
  "a list": Array.isArray,
  "true or false": (value) => typeof value === "boolean",
  "a list of names": (value) => Array.isArray(value) && value.every(isName),
  "an object": (value) => value instanceof Map,
  "a name": isName,
};

// The fields of an object, each of its kind; `what` says what the object is.
export function checkedFields(fields, kinds, needed, what) {
  const keys = Object.keys(kinds);
  if (!(fields instanceof Map)) throw new Refusal(`There is no ${what}. It is an object with ${listed(needed)}.`);
  for (const [key, value] of fields) {
    if (!keys.includes(key)) throw new Refusal(`The key ${short(key)} is unknown. The keys are ${listed(keys)}.`);
    if (!CHECKS[kinds[key]](value)) throw new Refusal(`What stands behind ${key} must be ${kinds[key]}.`);
  }
  const missing = needed.find((key) => !fields.has(key));
  if (missing) throw new Refusal(`The key ${missing} is missing. A ${what} has ${listed(needed)}.`);
  return Object.fromEntries(fields);
}

// Refuses an object that does not say in one way what the machine answers.
export function checkAnswering(fields) {
  if ((fields.accepting === undefined) === (fields.outputs === undefined)) {
    throw new Refusal("A machine has either accepting (which words are in) or outputs (an answer for each state).");
  }
}

// Refuses names that cannot be shown, or are there twice.
export function checkNames(what, names) {
  if (!names.length) throw new Refusal(`There is no ${what}. Give at least one.`);
  names.forEach((name) => {
    if (!name) throw new Refusal(`A ${what} has an empty name. Give it one.`);
    if (what === "symbol" && name === NO_SYMBOL) throw new Refusal("ε stands for no symbol on this page. Give this symbol another name.");
    if (/\p{Surrogate}/u.test(name)) throw new Refusal(`A ${what} has half a character in its name. Rename it.`);
  });
  const seen = new Set();
  for (const name of names) {
    if (seen.has(name)) throw new Refusal(`The ${what} ${short(name)} is there twice. Give it once.`);
    seen.add(name);
  }
}

// The number of a state that is named.
export function numberOf(number, name, role) {
  if (number.has(name)) return number.get(name);
  throw new Refusal(`${role} ${short(name)}, which is no state. The states are ${listed([...number.keys()])}.`);
}

// The states of a machine of which some accept, as a drawing has them.
export function acceptorOf(states, accepting, stateOf) {
  const accepts = new Set(accepting.map((name) => stateOf(name, "An accepting state is")));
  return { outputs: ["reject", "accept"], states: states.map((name, q) => ({ name, output: Number(accepts.has(q)) })) };
}

// The answers of a machine that has others than accept and reject.
export function answersOf(states, outputs, listedNames, stateOf) {
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

// Values as Python writes them.
export function json(value) {
  return Array.isArray(value) ? `[${value.map(json).join(", ")}]` : JSON.stringify(value);
}

const pair = ([key, value]) => `${json(key)}: ${value}`;

export function object(pairs) {
  return `{${pairs.map(pair).join(", ")}}`;
}

// The lines of a file.
export function lines(pairs) {
  return `{\n  ${pairs.map(pair).join(",\n  ")}\n}\n`;
}
