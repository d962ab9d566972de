// Machines with calls and returns: the symbol alone says whether the stack grows, shrinks or stays (Alur and
// Madhusudan, Visibly pushdown languages, 2004).
//
//   nestedLanguageOf(drawn, most)  -> the Language of a drawing with a stack; refuses what is none
//   hasStack(drawn)                -> whether an arrow pushes or pops
//   statesAfter(language, word)    -> the states before and after each symbol
//   elementAlong(language, word)   -> the element of a word
//
// In a drawing an arrow { from, to, symbols, push: "g" } puts g on the stack. { from, to, symbols, pop: ["g", "h"] }
// needs one of these on top and takes it away; null among them is the empty stack, where a return closes nothing. A
// symbol pushes on all its arrows, pops on all of them, or does neither. Missing arrows lead to a sink, as without a
// stack. A Language has the states that are drawn: only its elements are as few as can be.
//
// Language.nesting = { direction: by symbol 1 (call), -1 (return) or 0; place: of a symbol among those of its kind;
//   pushed[state][call]; close[state][top][return], top 0 being the empty stack, 1 + g stack symbol g; stack: their names;
//   samples: [] }. Language.elements, .table and .letter are those of nested_algebra.js; behind the words of elements stand
//   those of open nodes, as in the lesson.
import { algebraOf } from "./nested_algebra.js";
import { checkAnswers, checkDrawn, distinct, isAcceptor, NO_ANSWER, NO_SYMBOL, sinkName } from "./drawn.js";
import { colours } from "./palette.js";
import { partners } from "../../models/tree/nested.js";
import { Refusal, short } from "./refusal.js";
import { asText, numbersOf } from "./symbols.js";

const [CALL, RETURN, INTERNAL] = [1, -1, 0];

// Whether an arrow pushes or pops.
export function hasStack({ arrows }) {
  return arrows.some(({ push, pop }) => push !== undefined || pop !== undefined);
}

// The Language of a drawing with a stack.
export function nestedLanguageOf(drawn, most) {
  checkDrawn(drawn);
  const machine = nestedMachine(drawn);
  const algebra = algebraOf(machine, most);
  checkAnswers(drawn, algebra.answers, longerThan(algebra));
  return { ...described(drawn, machine), ...withElements(drawn.alphabet, algebra, machine.calls) };
}

// The tables of a drawing; the last state is where there is no move.
export function nestedMachine(drawn) {
  if (drawn.alphabet.includes(NO_SYMBOL)) throw new Refusal("Where there is a stack, each arrow reads a symbol. Take ε away.");
  const direction = drawn.alphabet.map((_, symbol) => directionOf(drawn, symbol));
  const of = (kind) => [...direction.keys()].filter((symbol) => direction[symbol] === kind);
  const [calls, returns, internals] = [of(CALL), of(RETURN), of(INTERNAL)];
  const place = direction.map((kind, symbol) => of(kind).indexOf(symbol));
  const stack = [...new Set(drawn.arrows.filter((arrow) => arrow.push !== undefined).map(({ push }) => push))];
  const symbols = { direction, calls, returns, internals, place, stack };
  const machine = { ...symbols, initial: drawn.initial, ...emptyTables(drawn, symbols) };
  for (const arrow of drawn.arrows) for (const symbol of arrow.symbols) addMove(drawn, machine, arrow, symbol);
  return completed(drawn, machine);
}

// Whether a symbol pushes, pops or does neither.
function directionOf({ alphabet, arrows }, symbol) {
  const kinds = new Set(arrows.filter(({ symbols }) => symbols.includes(symbol)).map(kindOf));
  if (kinds.size <= 1) return [...kinds][0] ?? INTERNAL;
  const name = short(alphabet[symbol]);
  const remedy = "Let it push, pop or do neither on all its arrows.";
  throw new Refusal(`The symbol ${name} does not do the same to the stack on all arrows. ${remedy}`);
}

function kindOf({ push, pop }) {
  if (push !== undefined) return CALL;
  return pop !== undefined ? RETURN : INTERNAL;
}

// Tables in which every move leads to the state behind those drawn.
function emptyTables({ alphabet, states }, { calls, returns, stack }) {
  const rows = [...states.keys(), states.length];
  return {
    delta: rows.map(() => alphabet.map(() => states.length)),
    pushed: rows.map(() => calls.map(() => 0)),
    close: rows.map(() => ["", ...stack].map(() => returns.map(() => states.length))),
  };
}

function addMove({ alphabet, states }, machine, { from, to, push, pop }, symbol) {
  const place = machine.place[symbol];
  const refuse = (what) => {
    const name = short(states[from].name);
    throw new Refusal(`State ${name} has two arrows with ${short(alphabet[symbol])}${what}. Take one away.`);
  };
  if (pop === undefined) {
    const known = machine.delta[from][symbol];
    const isOther = push !== undefined && machine.pushed[from][place] !== machine.stack.indexOf(push);
    if (known < states.length && (known !== to || isOther)) refuse("");
    machine.delta[from][symbol] = to;
    if (push !== undefined) machine.pushed[from][place] = machine.stack.indexOf(push);
    return;
  }
  for (const name of pop) {
    const top = 1 + (name === null ? -1 : machine.stack.indexOf(name));
    if (name !== null && !top) {
      throw new Refusal(`An arrow pops ${short(name)}, and no arrow pushes it. Draw one that does.`);
    }
    const known = machine.close[from][top][place];
    const where = name === null ? " on the empty stack" : ` that pop ${short(name)}`;
    if (known < states.length && known !== to) refuse(where);
    machine.close[from][top][place] = to;
  }
}

// The machine with outputs and names. What is missing rejects, or has no answer.
function completed(drawn, machine) {
  const n = drawn.states.length;
  const names = distinct(drawn.states.map(({ name }) => name));
  const outputs = drawn.states.map(({ output }) => output ?? NO_ANSWER);
  if (isTotal(machine, n) || !isAcceptor(drawn)) {
    return { ...machine, names: isTotal(machine, n) ? names : [...names, "no move"], outputs: [...outputs, NO_ANSWER] };
  }
  // What stood for no move is a state that rejects, and behind it stands another.
  const last = emptyTables({ ...drawn, states: [...drawn.states, null] }, machine);
  const further = (q, symbol) => (machine.direction[symbol] === RETURN ? n + 1 : q);
  return {
    ...machine,
    delta: [...machine.delta.map((row) => row.map(further)), last.delta[0]],
    pushed: [...machine.pushed, last.pushed[0]],
    close: [...machine.close, last.close[0]],
    names: [...names, sinkName(drawn)],
    outputs: [...outputs, drawn.outputs.indexOf("reject"), NO_ANSWER],
  };
}

// Whether there is a move wherever a word may lead.
function isTotal({ delta, close, direction }, n) {
  const isMove = (q, symbol) => q < n || direction[symbol] === RETURN;
  const tops = close.slice(0, n).flat(2);
  return delta.slice(0, n).every((row) => row.every(isMove)) && tops.every((q) => q < n);
}

// By element, those of longer words: with an item before it or behind it, or with brackets round it.
function longerThan({ product, wrap, items }) {
  const beside = (e) => items.flatMap((item) => [product[e][item], product[item][e]]);
  return product.map((_, e) => [...beside(e), ...wrap[e].flat()].filter((to) => to >= 0));
}

// The states of a Language.
function described(drawn, { names, delta, outputs, initial, direction, place, pushed, close, stack }) {
  const shown = names.map((_, q) => (outputs[q] === NO_ANSWER ? null : drawn.outputs[outputs[q]]));
  return {
    alphabet: [...drawn.alphabet],
    states: names,
    initial,
    delta,
    outputs: shown,
    output_names: drawn.outputs.filter((name) => shown.includes(name)),
    kind: isAcceptor(drawn) ? "accepts" : "answers",
    nesting: { direction, place, pushed, close, stack, samples: [] },
  };
}

// The elements of a Language. Behind those of words come those of open nodes, a call and what stands behind it: of each
// call as many as there are elements.
function withElements(alphabet, { size, product, wrap, letter, least, items }, calls) {
  const open = calls.flatMap((a) => least.map((word) => [a, ...word]));
  const words = [...least, ...open].map((word) => asText(alphabet, word));
  const column = Object.fromEntries(items.map((item, i) => [item, i]));
  const right = product.map((row) => items.map((item) => row[item]));
  return {
    elements: { noun: "element", words, right, column, letter, wrap },
    table: product,
    letter,
    colours: words.map((_, i) => colours(i)),
  };
}

// The states before and after each symbol: a call pushes, and a return pops.
export function statesAfter({ delta, initial, nesting: { direction, place, pushed, close } }, word) {
  const [states, tops] = [[initial], []];
  for (const symbol of word) {
    const state = states[states.length - 1];
    if (direction[symbol] === CALL) tops.push(1 + pushed[state][place[symbol]]);
    states.push(direction[symbol] === RETURN ? close[state][tops.pop() ?? 0][place[symbol]] : delta[state][symbol]);
  }
  return states;
}

// What words of each element are answered; null where they have no answer.
export function answersOfElements(language) {
  const { alphabet, elements, table, outputs } = language;
  return table.map((_, element) => outputs[statesAfter(language, numbersOf(alphabet, elements.words[element])).pop()]);
}

// The elements of each answer.
export function elementsByAnswer(language) {
  const answers = answersOfElements(language);
  return language.output_names.map((name) => [...answers.keys()].filter((e) => answers[e] === name));
}

// The element of a word along its brackets.
export function elementAlong({ elements, table, nesting: { direction, place } }, word) {
  const [partner, outer] = [partners(word, direction), []];
  const pair = (inside, a, b) => elements.wrap[inside][place[a]][place[b]];
  return word.reduce((element, symbol, i) => {
    if (partner[i] < 0) return table[element][elements.letter[symbol]];
    if (direction[symbol] === RETURN) return table[outer.pop()][pair(element, word[partner[i]], symbol)];
    outer.push(element);
    return 0;
  }, 0);
}
