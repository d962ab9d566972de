// How a network learns in the page: words and answers first, then its table of cases, until every case is right; then it
// is rounded to float32 and looked at once more. Generators: the worker takes step after step.

import { Adam } from "./adam.js";
import { ballsOf } from "./balls.js";
import { bracketed } from "./bracketings.js";
import { Draws } from "./draws.js";
import { solveLastLayer } from "./last_layer.js";
import { learnedMachine } from "./lstar.js";
import { LstmNetwork } from "./lstm.js";
import { centred, driftOf, meansOf, standing } from "./prototypes.js";
import { claimOf, unquantisedClaim } from "./saving.js";
import { Table } from "./table.js";
import { Tape } from "./tape.js";
import { TRANSFORMER_ONLY, TransformerNetwork } from "./transformer.js";
import { trainingWords } from "./nested_words.js";
import { TREE_ONLY, TreeNetwork } from "./tree_network.js";
import { answerTo, LONGEST } from "./words.js";

const TREE = { ...TREE_ONLY, gates: false, d_model: 16, n_heads: 4, d_ff: 64, tree: "flat" };
const TRANSFORMER = { ...TRANSFORMER_ONLY, d_model: 16, n_heads: 4, d_ff: 64, n_layers: 2, causal: true, encoding: { name: "sinusoidal" } };
// Of each lane: what learns, its options, and its rate on words. The LSTM has as many weights as the tree.
const LANES = {
  regulargpt: { Network: TreeNetwork, options: TREE, rate: 3e-3 },
  lstm: { Network: LstmNetwork, options: { d_model: 27, n_layers: 1 }, rate: 3e-3 },
  transformer: { Network: TransformerNetwork, options: TRANSFORMER, rate: 1e-3 },
};
const ADAM = { betas: [0.9, 0.98], clip: 1 };
const [TABLE_RATE, WARMUP] = [1e-2, 50];
// So often it is asked whether the words are learned; where they are not after so many steps, other weights are tried.
const [EVERY, MOST_WORD_STEPS] = [25, 2000];
// Steps of the rounds on a table of few windows, and on a larger one; the rate falls to 0 over this share of a round.
const ROUNDS = { few: [400, 600, 600, 600, 600], many: [400, 800, 1600] };
const FALL = 0.6;
const MOST_ATTEMPTS = 4;
// States of a network that drift by less than the first, in units of half the smallest distance of two prototypes, come
// out right; balls may close where they drift by less than the second, of no more than so many windows.
const [STEADY, CLOSE, FEW] = [0.5, 0.2, 64];
// What is said once every case is right.
const AFTER = { note: "Every case is right. It trains on, until states stay near their prototypes by themselves, however long the word." };
const ARRIVED = "It came with a link: trained elsewhere, and tried here.";
// A network that is never proven learns for so many steps.
const MOST_STEPS = 4000;
// All words of a length are asked for, while they are no more than this.
const MOST_SHORT = 256;
// Batches of words of up to the longest that have to be right where there is a stack.
const HELD = 8;
// A case counts as right in float32 if it is decided by this much.
const MARGIN = 1e-2;
// While the table is learned the words' accuracy is looked at every so many steps.
const LOOK = 20;

// A network of a lane with the weights that it starts with, and its words.
class Learner {
  constructor(lane, language, seed, attempt = 0) {
    const { Network, options, rate } = LANES[lane];
    const direction = options.tree && language.nesting ? language.nesting.direction : null;
    Object.assign(this, { lane, language, direction, options: direction ? { ...options, tree: "nested" } : options, rate, seed: attempt ? `${seed}, again ${attempt}` : `${seed}` });
    this.network = new Network({ options: this.options, n_symbols: language.alphabet.length, n_outputs: language.output_names.length, seed: this.seed, direction });
    this.source = trainingWords(language, seed);
    this.tape = new Tape();
    this.quiet = new Tape({ learning: false });
    this.accuracy = null;
    this.adam = new Adam([this.network.parameters], { ...ADAM, rate });
  }

  // The logits of words; half of the words of a tree go through random bracketings.
  logits(words, step) {
    const { network, tape } = this;
    if (this.lane !== "regulargpt") return network.logits(tape, words);
    const random = new Draws(this.seed, `bracketings ${step}`);
    const { forest, roots } = bracketed(words, this.language.alphabet.length, this.direction, () => random.uniform() < 0.5);
    return network.read(tape, tape.gather(network.states(tape, forest), roots));
  }

  // A step on words; its loss. The accuracy runs.
  wordStep(step) {
    const { words, answers } = this.source.batch(step);
    this.tape.clear();
    const logits = this.logits(words, step);
    const loss = this.tape.crossEntropy(logits, answers);
    this.tape.backward(loss);
    this.count(logits, answers);
    this.adam.step(this.rate * Math.min(1, (step + 1) / WARMUP));
    return loss.value[0];
  }

  count(logits, answers) {
    const share = shareRight(logits, answers);
    this.accuracy = this.accuracy === null ? share : this.accuracy + 0.1 * (share - this.accuracy);
  }

  // Whether these words have the right answers.
  knows({ words, answers }) {
    return shareRight(this.asked(words), answers) === 1;
  }

  asked(words) {
    this.quiet.clear();
    return this.network.logits(this.quiet, words);
  }
}

const shareRight = (logits, answers) => logits.best().reduce((sum, best, i) => sum + Number(best === answers[i]), 0) / answers.length;

// The steps of a network that learns words alone: {step, phase, loss, accuracy, learner} after each.
export function* rival({ lane, language, seed }) {
  const learner = new Learner(lane, language, seed);
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const loss = learner.wordStep(step);
    yield { step: step + 1, phase: "words", loss, accuracy: learner.accuracy, learner, prototypes: () => null };
  }
  return { proven: null, sentence: "" };
}

// The steps of the network that is to be proven: the same, with `prototypes()`, one for each of the cases' elements, and a
// `note` that says what happened; null where it only looks at its answers. Returns what is proven, {network, prototypes,
// margin, sentence}, or a sentence that says that nothing is.
export function* learning({ language, cases, seed }) {
  let step = 0;
  if (!trainingWords(language, seed).given.length) return { proven: null, sentence: `No word of up to ${LONGEST} symbols has an answer: there is nothing to learn from.` };
  const numbered = function* (steps, note) {
    for (;;) {
      const { value, done } = steps.next();
      if (done) return value;
      yield value && { note, ...value, step: (step += 1) };
    }
  };
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const learner = new Learner("regulargpt", language, seed, attempt);
    const again = attempt ? `It did not learn all cases, and began again with other weights: attempt ${attempt + 1} of ${MOST_ATTEMPTS}. This may take minutes; a smaller machine is quicker.` : "";
    const asked = yield* numbered(words(learner, cases), again);
    if (!asked) continue;
    const note = language.nesting ? nestedNote(asked) : `Its answers to ${asked.toLocaleString("en")} words are those of a machine with ${counted(language.states.length, "state")}: the machine that was drawn. Now it learns this machine's table.`;
    const proven = yield* numbered(table(learner, cases), note);
    if (proven) return { proven: { ...proven, sentence: sentenceOf(language, proven) } };
  }
  return { proven: null, sentence: `Not all cases were right after ${step.toLocaleString("en")} steps, from ${MOST_ATTEMPTS} sets of first weights. Choose another seed, or a machine with fewer elements.` };
}

// What is proven, in the checker's words.
function sentenceOf(language, { prototypes, balls }) {
  return [claimOf(language, prototypes.length), ...(balls ? [unquantisedClaim(balls.slack, language.nesting)] : [])].join(" ");
}

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// Until the machine of the network's own answers is the one that was drawn; how many words it was asked then, 0 if that
// never came.
function* words(learner, cases) {
  const short = shortWords(learner.language);
  for (let step = 0; step < MOST_WORD_STEPS; step += 1) {
    const loss = learner.wordStep(step);
    yield { phase: "words", loss, accuracy: learner.accuracy, learner, prototypes: () => meansOf(learner.network, cases) };
    if (step % EVERY < EVERY - 1 || !learner.knows(short)) continue;
    const asked = yield* (learner.language.nesting ? rightAnswers(learner, short) : ownMachine(learner));
    if (asked) return asked;
  }
  return 0;
}

// With a stack no machine is made of the answers. How many words it was asked if all answers are right, else 0.
function* rightAnswers(learner, short) {
  let asked = short.words.length;
  for (let n = 0; n < HELD; n += 1) {
    const words = learner.source.batch(MOST_WORD_STEPS + n);
    if (!learner.knows(words)) return 0;
    asked += words.words.length;
    yield null;
  }
  return asked;
}

function nestedNote(asked) {
  return `Its answers to ${asked.toLocaleString("en")} words are right. No machine with a stack is made of them on this page: the table that it now learns is that of the drawn machine.`;
}

// How many words L* asked for until the machine of the network's answers was the one that was drawn; 0 if it is another.
function* ownMachine(learner) {
  const { language, source } = learner;
  const ask = (words) => [...learner.asked(words).best()];
  const looking = learnedMachine({ language, ask, draw: (n) => source.batch(MOST_WORD_STEPS + n).words, longest: LONGEST });
  for (;;) {
    const { value, done } = looking.next();
    if (done) return value.language && isSame(value.language, language) ? value.asked : 0;
    yield null;
  }
}

// Whether two machines, both complete, give every word the same answer.
function isSame(one, other) {
  const pairs = [[one.initial, other.initial]];
  const seen = new Set([pairs[0].join()]);
  for (const [p, q] of pairs) {
    if (one.outputs[p] !== other.outputs[q]) return false;
    one.delta[p].forEach((next, symbol) => {
      const pair = [next, other.delta[q][symbol]];
      if (!seen.has(pair.join())) pairs.push(pair), seen.add(pair.join());
    });
  }
  return true;
}

// All words that have an answer, from the shortest on, with their answers.
function shortWords(language) {
  const symbols = language.alphabet.map((_, symbol) => symbol);
  const found = [];
  for (let [row, length] = [[[]], 1]; length <= LONGEST && (length === 1 || row.length * symbols.length <= MOST_SHORT); length += 1) {
    row = row.flatMap((word) => symbols.map((symbol) => [...word, symbol]));
    found.push(...row);
  }
  const words = found.filter((word) => answerTo(language, word) >= 0);
  return { words, answers: words.map((word) => answerTo(language, word)) };
}

// The steps of a network that was trained elsewhere: none, but it is on the bench, and its cases are tried as after a
// training. `numbers` are its weights, one after the other.
export function* arrived({ language, cases, seed, numbers }) {
  const learner = new Learner("regulargpt", language, seed);
  const { network: { parameters }, network } = learner;
  if (numbers.length !== parameters.value.length) return { proven: null, sentence: "its network is none for this machine." };
  parameters.value.set(numbers);
  look(learner, 0);
  const prototypes = meansOf(network, cases);
  yield { step: 0, phase: "words", loss: 0, accuracy: learner.accuracy, learner, note: ARRIVED, prototypes: () => prototypes };
  const proven = yield* provenOf(network, prototypes, cases, language.output_names);
  return proven ? { proven: { ...proven, sentence: sentenceOf(language, proven) } } : { proven: null, sentence: `${ARRIVED} Not all cases are right: nothing is proven.` };
}

// A network that is right in float32, with the balls that prove it as it is, or null; null where a case is wrong.
function* provenOf(network, prototypes, cases, output_names) {
  const found = yield* rounded(network, prototypes, cases, output_names);
  return found && { ...found, balls: found.drift < CLOSE ? yield* ballsOf(network, found.prototypes, cases, output_names) : null };
}

// Rounds on the table, until every case is right; and then until the network is right as it is: balls prove it, or, of a
// larger table, its states do not drift. What is proven, null if nothing is.
function* table(learner, cases) {
  const { network, language, quiet } = learner;
  const tuned = new Table(network, cases, language.output_names, meansOf(network, cases), learner.seed);
  const size = cases.nodes.length > FEW ? "many" : "few";
  let [proven, from] = [null, 0];
  for (const steps of ROUNDS[size]) {
    // Drawn together so much, the states of many elements would leave each other no room.
    const contraction = proven && size === "few" ? "tight" : "usual";
    yield* tableRound(learner, tuned, { from, steps, contraction, ...(proven ? AFTER : {}) });
    from += steps;
    if (size === "few") solveLastLayer(tuned, `${learner.seed} ${from}`);
    const found = yield* provenOf(network, tuned.prototypes(quiet), cases, language.output_names);
    if (!found) continue;
    if (!proven || found.balls || found.drift < proven.drift) proven = { ...found, weights: network.weights() };
    if (found.balls || (found.drift < STEADY && size === "many")) break;
  }
  if (proven) network.parameters.load(proven.weights);
  return proven;
}

// Steps of one round: the rate is constant, and then falls to 0.
function* tableRound(learner, tuned, { from, steps, contraction, ...said }) {
  const { network, tape, quiet } = learner;
  const adam = new Adam([network.parameters, tuned.free], { ...ADAM, rate: TABLE_RATE });
  for (let i = 0; i < steps; i += 1) {
    const left = Math.min(1, (steps - i) / (FALL * steps));
    tape.clear();
    const loss = tuned.loss(tape, from + i, left, contraction);
    tape.backward(loss);
    adam.step(TABLE_RATE * left * Math.min(1, (i + 1) / WARMUP));
    if ((from + i) % LOOK === 0) look(learner, from + i);
    yield { ...said, phase: "table", loss: loss.value[0], accuracy: learner.accuracy, learner, prototypes: () => tuned.prototypes(quiet) };
  }
}

// How it does on words that it is not trained on now.
function look(learner, step) {
  const { words, answers } = learner.source.batch(step);
  learner.count(learner.asked(words), answers);
}

// The network in float32, if every case is right there: with its prototypes.
function* rounded(network, prototypes, cases, output_names) {
  network.parameters.value.forEach((value, i, all) => (all[i] = Math.fround(value)));
  const found = centred(network, prototypes, cases);
  const { wrong, margin } = standing(network, found, cases, output_names);
  return !wrong && margin > MARGIN ? { network, prototypes: found, margin, drift: yield* driftOf(network, found, cases) } : null;
}
