// The language of a machine that a person draws: deterministic, complete, minimal, with its monoid.
//
//   languageOf(drawn, most = 60)   -> { language, problem, classes }: the Language and "", or null and one line that
//                                     says what is missing or too large and what to do; classes: the Language's state
//                                     of each drawn state (null: no word leads there, or states are sets of drawn ones)
//   stateOf(language, word)        -> the state after a word (a list of symbol numbers)
//   answerOf(language, word)       -> the name of its answer; null where it has none
//   elementOf(language, word)      -> the monoid element of a word
//   elementsOfStates(language)     -> by state, the first element that leads there from the start: a state's colour;
//                                     null where no least word leads, as with a stack there may be
//   languageOfTable(names, table, most) -> the same of a table { delta, outputs } whose first state is the start, as
//                                     { language, problem }; names: { alphabet, outputs }, an output -1 is no answer
//
// Beside it: symbols.js has asText(alphabet, word) and numbersOf(alphabet, text), which is null for another symbol;
// drawn.js has isAcceptor(drawn), whether its outputs are accept and reject; palette.js has colours(i), fill and ink of
// element i; expression.js has fromExpression(pattern, alphabet = null) -> { drawn, problem }; machine_json.js has
// fromJson(text) -> { drawn, problem }, toJson(drawn) -> { text, problem } and languageJson(language) -> text;
// arranged.js has placed(drawn) -> Drawn with a place for every state; starters.js has STARTERS.
//
// Drawn: { alphabet, outputs, states: [{ name, x, y, output }], initial, arrows: [{ from, to, symbols }] }. A state's
// output is an index into outputs, or null for no answer. nested_machine.js says what arrows with a stack have besides.
import { checkAnswers, checkDrawn, distinct, isAcceptor, lettersOf, NO_ANSWER, onward, sinkAnswer, sinkName, tooManyElements } from "./drawn.js";
import { elementAlong, hasStack, nestedLanguageOf, statesAfter } from "./nested_machine.js";
import { colours } from "./palette.js";
import { alike } from "./partition.js";
import { Refusal, short, tried } from "./refusal.js";
import { asText, numbersOf } from "./symbols.js";

const MOST_ELEMENTS = 60;
const MOST_SUBSETS = 2 ** 12;
const MOST_STEPS = 2 ** 20; // arrows followed in the subset construction

// The language of a drawn machine, or what it lacks.
export function languageOf(drawn, most = MOST_ELEMENTS) {
  if (hasStack(drawn)) return nested(drawn, most);
  let classes = null;
  const found = tried("language", () => {
    const machine = deterministic(drawn);
    const minimal = minimised(machine, most);
    classes = machine.places.map((place) => (place === null ? null : minimal.classes[place]));
    // A network reads words of one symbol or more.
    checkAnswers(drawn, minimal.outputs, minimal.delta);
    return withElements(drawn, minimal, most);
  });
  return { ...found, classes: found.language && classes };
}

// The same of a machine with a stack, whose states are those drawn.
function nested(drawn, most) {
  const found = tried("language", () => nestedLanguageOf(drawn, most));
  return { ...found, classes: found.language && [...drawn.states.keys()] };
}

// The language of a table whose first state is the start.
export function languageOfTable(names, { delta, outputs }, most = MOST_ELEMENTS) {
  const machine = { delta, outputs, names: delta.map((_, q) => `q${q}`) };
  return tried("language", () => withElements(names, minimised(reachable(machine), most), most));
}

// The state after a word.
export function stateOf(language, word) {
  if (language.nesting) return statesAfter(language, word)[word.length];
  return word.reduce((state, symbol) => language.delta[state][symbol], language.initial);
}

// The name of the answer to a word; null where it has none.
export function answerOf(language, word) {
  return language.outputs[stateOf(language, word)];
}

// The element of a word.
export function elementOf(language, word) {
  if (language.nesting) return elementAlong(language, word);
  return word.reduce((element, symbol) => language.elements.right[element][symbol], 0);
}

// By state, the first element of which a word leads there from the start; null where none of the least words does.
export function elementsOfStates(language) {
  const { elements, states, alphabet } = language;
  const ends = elements.right.map((_, i) => stateOf(language, numbersOf(alphabet, elements.words[i])));
  return states.map((_, state) => (ends.includes(state) ? ends.indexOf(state) : null));
}

// The machine { delta, outputs, names, places } of a drawing, from state 0, complete; only what words lead to.
export function deterministic(drawn) {
  checkDrawn(drawn);
  return complete(drawn);
}

// The same of any drawing that has a start; `problem` is what is wrong where it needs too many states.
export function complete(drawn, problem = tooManySets()) {
  const targets = targetsOf(drawn);
  const hasEmpty = lettersOf(drawn).length < drawn.alphabet.length;
  const isDeterministic = !hasEmpty && targets.every((sets) => sets.every((set) => set.length <= 1));
  return isDeterministic ? byStates(drawn, targets) : bySubsets(drawn, targets, problem);
}

// By state and letter, the states that arrows lead to, ascending; and those to which one comes from there without a letter.
function targetsOf(drawn) {
  const { alphabet, states, arrows } = drawn;
  const letters = lettersOf(drawn);
  const place = alphabet.map((name) => letters.indexOf(name));
  const targets = states.map(() => letters.map(() => []));
  for (const { from, to, symbols } of arrows) for (const symbol of symbols) targets[from][place[symbol]]?.push(to);
  const after = letters.length < alphabet.length ? states.map((_, q) => onward(drawn, [q])) : null;
  const sorted = (set) => [...new Set(after ? set.flatMap((q) => after[q]) : set)].sort((p, q) => p - q);
  return targets.map((sets) => sets.map((set) => (after || set.length > 1 ? sorted(set) : set)));
}

// A machine whose states are those drawn, and a sink where an arrow is missing.
function byStates(drawn, targets) {
  const sink = targets.length;
  const step = (state, symbol) => (state === sink ? sink : (targets[state][symbol][0] ?? sink));
  const { order, place, delta } = reached(drawn.initial, drawn.alphabet.length, step);
  return {
    delta,
    outputs: order.map((state) => (state === sink ? sinkAnswer(drawn) : (drawn.states[state].output ?? NO_ANSWER))),
    names: order.map((state) => (state === sink ? sinkName(drawn) : drawn.states[state].name)),
    places: drawn.states.map((_, state) => place.get(state) ?? null),
  };
}

// A machine whose states are sets of those drawn: a word is in if one of its ways ends in a state that accepts.
function bySubsets(drawn, targets, problem) {
  if (!isAcceptor(drawn)) throw new Refusal(twoArrows(drawn, targets));
  const start = onward(drawn, [drawn.initial]);
  const sets = new Map([[start.join(), start]]);
  let steps = 0;
  const step = (key, symbol) => {
    const found = new Set(sets.get(key).flatMap((state) => targets[state][symbol]));
    steps += 1 + sets.get(key).length + found.size;
    const next = [...found].sort((p, q) => p - q);
    if (!sets.has(next.join())) sets.set(next.join(), next);
    if (sets.size > MOST_SUBSETS || steps > MOST_STEPS) throw new Refusal(problem);
    return next.join();
  };
  const { order, delta } = reached(start.join(), lettersOf(drawn).length, step);
  const accept = drawn.outputs.indexOf("accept");
  const accepts = (key) => sets.get(key).some((state) => drawn.states[state].output === accept);
  return {
    delta,
    outputs: order.map((key) => (accepts(key) ? accept : 1 - accept)),
    names: order.map((_, i) => `q${i}`),
    sets: order.map((key) => sets.get(key)),
    places: drawn.states.map(() => null),
  };
}

// Which arrow is one too many.
function twoArrows(drawn, targets) {
  const state = targets.findIndex((sets) => sets.some((set) => set.length > 1));
  if (state < 0) return "An arrow with ε reads nothing, and a word has one answer. Take ε away.";
  const symbol = lettersOf(drawn)[targets[state].findIndex((set) => set.length > 1)];
  const name = short(drawn.states[state].name);
  return `State ${name} has two arrows with ${short(symbol)}, and a word has one answer. Take one away.`;
}

function tooManySets() {
  const remedy = "Take away arrows that share a state and a symbol.";
  return `With one arrow for each symbol this machine has more than ${MOST_SUBSETS} states. ${remedy}`;
}

// What is reached from a start, breadth-first: its order, the place of each, and the rows of places.
function reached(start, n_symbols, step) {
  const [order, place, delta] = [[start], new Map([[start, 0]]), []];
  for (const state of order) {
    const row = Array.from({ length: n_symbols }, (_, symbol) => step(state, symbol));
    for (const next of row) if (!place.has(next)) place.set(next, order.push(next) - 1);
    delta.push(row.map((next) => place.get(next)));
  }
  return { order, place, delta };
}

// What is reached from state 0 of a machine.
function reachable({ delta, outputs, names }) {
  const found = reached(0, delta[0].length, (state, symbol) => delta[state][symbol]);
  return { delta: found.delta, outputs: found.order.map((q) => outputs[q]), names: found.order.map((q) => names[q]) };
}

// The least machine with the same answers, its states breadth-first; classes: of each state, its state there.
export function minimised({ delta, outputs, names }, most, problem = tooManyElements(most)) {
  // There are at least as many elements as states.
  const classes = alike(delta, outputs, most);
  if (classes.count > most) throw new Refusal(problem);
  const first = classes.of.reduce((found, i, q) => ((found[i] ??= q), found), []);
  const step = (i, symbol) => classes.of[delta[first[i]][symbol]];
  const { order, place, delta: rows } = reached(classes.of[0], delta[0].length, step);
  return {
    delta: rows,
    outputs: order.map((i) => outputs[first[i]]),
    names: distinct(order.map((i) => names[first[i]])),
    classes: classes.of.map((i) => place.get(i)),
  };
}

// The Language of a minimal machine.
function withElements(drawn, { delta, outputs, names }, most) {
  const monoid = monoidOf(delta, most);
  const shown = outputs.map((output) => (output === NO_ANSWER ? null : drawn.outputs[output]));
  return {
    alphabet: lettersOf(drawn),
    states: names,
    initial: 0,
    delta,
    outputs: shown,
    output_names: drawn.outputs.filter((name) => shown.includes(name)),
    elements: { words: monoid.words.map((word) => asText(lettersOf(drawn), word)), right: monoid.right },
    table: productsOf(monoid),
    letter: [...monoid.right[0]],
    colours: monoid.words.map((_, i) => colours(i)),
    kind: isAcceptor(drawn) ? "accepts" : "answers",
    nesting: null,
  };
}

// All functions on the states that words induce, in the order of their least words; right[i][a]: "word of i, then a".
function monoidOf(delta, most) {
  const steps = delta[0].map((_, symbol) => delta.map((row) => row[symbol])); // by symbol and state
  const identity = delta.map((_, q) => q);
  const number = new Map([[identity.join(), 0]]);
  const [functions, words, right] = [[identity], [[]], []];
  for (let i = 0; i < functions.length; i += 1) {
    right.push(
      steps.map((step, symbol) => {
        const product = functions[i].map((q) => step[q]);
        const key = product.join();
        if (!number.has(key)) {
          number.set(key, functions.push(product) - 1);
          words.push([...words[i], symbol]);
        }
        return number.get(key);
      }),
    );
    if (functions.length > most) throw new Refusal(tooManyElements(most));
  }
  return { words, right };
}

// The product of every two elements: of a row's element, then a column's.
function productsOf({ words, right }) {
  return words.map((_, i) => words.map((word) => word.reduce((element, symbol) => right[element][symbol], i)));
}
