// The bench: what the panels share. A panel reads its fields, changes them by `set`, and listens. It never talks to
// another panel. All values are plain (those that go to a worker and back), but for `network`.
//
// Fields
//   drawn      Drawn: what the editor edits
//   language   Language, complete and minimal; null while what is drawn is none
//   problem    why it is none, as a sentence; else ""
//   classes    the language's state of each drawn state, null of one that is none of its; null with it
//   cases      Cases of the language; null with it
//   word       numbers of symbols: the word that is shown
//   lanes      ["regulargpt", "lstm", "transformer"]
//   snapshots  by lane: the last Snapshot; null before the first
//   network    what the page computes words with: the twin RegularGPT of snapshots.regulargpt with the hits; null before
//   prototypes [Float64Array], one for each of cases.elements; null before they are known
//   hits       [Hit], in the order in which they fell
//   seed       whole number: the same seed, the same training
//   speed      of SPEEDS: "slow" (one sees each step), "fast" (as fast as it goes)
//   training   "none", "going", "paused", "ended"
//   proven     { snapshot, cases, sentence } once every case of the network without hits is right; else null
//   failed     the sentence of a training that came to its end without a proof; else ""
//   wrong      by lane: { lane, word | null, answer, truth, tried }: the shortest wrong word of the network as it was looked
//              at last, and still a wrong one, or null and that all words of up to `tried` symbols were right; null before
//              the first search, and from when the network is right on its word; isAsked until the network says that too
//   wagers     by lane: true, false, null: "right on every word of 1,000 symbols?", said before training
//   tested     by lane: { right, tried, of, lengths: [least, most] }: answers to words of 1,000 symbols, or of the next
//              lengths that have any, after the training; null before
//   isCompared whether training came to its end once: the others have taken as many steps as RegularGPT
//   learning   what the training has: { learners, last, since, waiting }; null where nothing learns
//   isLevel    whether the machine is that of a level of the hammer
//   kept       what was learned of other machines, the last first: it is there again with its machine, and goes on
//   step       1 to 7: the caption that is read
//   aim        what a panel points at for the hammer: a Hit without image or by; null before
//
// Kinds, for `on(kind, listener)`: the listener is called with the bench after each change. `tell(kind)` calls them.
//   "language"  another machine: everything learned is put aside (snapshots, network, hits, proven, wrong, wagers, training),
//               or is that of this machine again
//   "word" "network" "snapshot" "proven" "wrong" "hits" "training" "wager" "tested" "step" "aim"
//   "network" is a snapshot of RegularGPT: who draws it has nothing to do when the others say how they are.
//   A hit changes `network`: who draws it listens to "network" and "hits". "begin again" and another seed forget as a
//   new machine does, but keep language and wagers: they tell "network", "snapshot", "hits", "proven", "wrong", "tested", "training".
//
// Changes, each of which tells its kind
//   set.language(drawn, isLevel)   set.word(symbols)   set.hits(hits)   set.wager(lane, answer)   set.step(number)   set.aim(target)
//   set.seed(number)   set.speed(speed)
//   set.training("going" | "paused")   set.one()  one step, then paused   set.again()   as if nothing had been learned
// Of the workers only: set.snapshot(snapshot)   set.proven(found)   set.wrong(found)   set.failed(sentence)   set.tested(lane, found)
//   set.training("ended")

import { allCases } from "./nested_cases.js";
import { struck } from "./hits.js";
import { languageOf } from "./machine.js";
import { nameOf } from "./wall.js";

export const LANES = ["regulargpt", "lstm", "transformer"];
export const SPEEDS = ["slow", "fast"];
// The running share of right answers from which on it is said as 100 %.
export const LEARNED = 0.995;

const LEARNED_OF = ["snapshots", "hits", "proven", "failed", "tested", "training", "isCompared", "learning", "wagers", "seed"];
const MOST_KEPT = 3; // machines
export const MOST_ASKED = 64; // symbols of a word that is asked again at each snapshot

const all = (value) => Object.fromEntries(LANES.map((lane) => [lane, value]));
const each = (learning, act) => Object.values(learning?.learners ?? {}).forEach(act);

export class Bench {
  constructor() {
    Object.assign(this, { lanes: LANES, listeners: new Map() });
    Object.assign(this, { drawn: null, language: null, problem: "", classes: null, cases: null, word: [], seed: 0, speed: "fast", wagers: all(null), step: 1, aim: null, isLevel: false, learning: null, kept: [] });
    this.forget();
    this.set = this.changes();
  }

  // Returns what ends it.
  on(kind, listener) {
    if (!this.listeners.has(kind)) this.listeners.set(kind, new Set());
    this.listeners.get(kind).add(listener);
    return () => this.listeners.get(kind).delete(listener);
  }

  tell(kind) {
    for (const listener of [...(this.listeners.get(kind) ?? [])]) listener(this);
  }

  // Nothing is learned yet.
  forget() {
    Object.assign(this, { snapshots: all(null), network: null, prototypes: null, hits: [], training: "none", proven: null, failed: "", wrong: all(null), tested: all(null), isCompared: false, onlyOne: false });
  }

  changes() {
    const told = (kind, change) => (...given) => {
      change(...given);
      this.tell(kind);
    };
    return {
      language: (drawn, isLevel = false) => {
        this.putAside();
        this.draw(drawn);
        this.isLevel = isLevel;
        const isBack = !isLevel && this.bring();
        this.tell("language");
        if (isBack) this.tellAll();
      },
      word: told("word", (word) => { this.word = word; }),
      hits: told("hits", (hits) => this.strike(hits)),
      wager: told("wager", (lane, answer) => { this.wagers[lane] = answer; }),
      step: told("step", (step) => { this.step = step; }),
      aim: told("aim", (aim) => { this.aim = aim; }),
      seed: (seed) => {
        this.seed = seed;
        this.again();
      },
      speed: told("training", (speed) => { this.speed = speed; }),
      training: told("training", (training) => Object.assign(this, { training, onlyOne: false, isCompared: this.isCompared || training === "ended" })),
      one: told("training", () => Object.assign(this, { training: "paused", onlyOne: true })),
      again: () => this.again(),
      snapshot: (snapshot) => {
        this.take(snapshot);
        if (snapshot.lane === "regulargpt") this.tell("network");
        this.tell("snapshot");
        this.asked(snapshot.lane);
      },
      proven: told("proven", (found) => { this.proven = found; }),
      wrong: (found) => {
        const { lane, word, answer, truth } = found;
        // Who still learns has another answer perhaps: it is asked first, beside the page.
        const isNew = String(word) !== String(this.wrong[lane]?.word);
        const isAsked = isNew && this.training === "going" && lane !== "regulargpt" && answer !== truth && word?.length <= MOST_ASKED;
        this.wrong[lane] = { ...found, isAsked };
        if (this.training !== "going" || !this.asked(lane)) this.tell("wrong");
      },
      tested: told("tested", (lane, found) => { this.tested[lane] = found; }),
      failed: told("proven", (sentence) => { this.failed = sentence; }),
    };
  }

  draw(drawn) {
    const { language, problem, classes = null } = languageOf(drawn);
    Object.assign(this, { drawn, language, problem, classes, cases: null, wagers: all(null) });
    try {
      this.cases = language && allCases(language);
    } catch ({ message }) {
      Object.assign(this, { language: null, problem: message, classes: null });
    }
    const known = this.language?.alphabet.length ?? 0;
    this.word = this.word.filter((symbol) => symbol < known);
    this.forget();
  }

  again() {
    this.forget();
    this.tellAll();
  }

  tellAll() {
    for (const kind of ["network", "snapshot", "hits", "proven", "wrong", "tested", "training"]) this.tell(kind);
  }

  // A language, whatever its states are called.
  get key() {
    return JSON.stringify({ ...this.language, states: null });
  }

  // What was learned waits with its machine, unless that is a level's; of too many machines the first ones end.
  putAside() {
    const { key, learning } = this;
    if (this.isLevel) return this.stopLearning();
    if (this.training === "none") return;
    const now = { key, ...Object.fromEntries(LEARNED_OF.map((name) => [name, this[name]])) };
    this.kept.unshift(now);
    each(learning, (learner) => learner.postMessage({ do: "pause" }));
    for (const old of this.kept.splice(MOST_KEPT)) each(old.learning, (learner) => learner.terminate());
    this.learning = null;
  }

  // Nobody hears of it any more.
  stopLearning() {
    each(this.learning, (learner) => learner.terminate());
    this.learning = null;
  }

  // What was learned of this machine is there again; whether there is any.
  bring() {
    const at = this.kept.findIndex(({ key }) => key === this.key);
    if (at < 0) return false;
    const [{ key, ...learned }] = this.kept.splice(at, 1);
    Object.assign(this, learned);
    this.prototypes = this.snapshots.regulargpt?.prototypes ?? null;
    this.calculate();
    return true;
  }

  take(snapshot) {
    this.snapshots[snapshot.lane] = snapshot;
    if (snapshot.lane !== "regulargpt") return;
    this.prototypes = snapshot.prototypes;
    this.calculate();
  }

  // A network that has learned on is asked its wrong word again; whether something else is known now. What is too long to
  // ask is known no more.
  asked(lane) {
    const [found, snapshot] = [this.wrong[lane], this.snapshots[lane]];
    if (!found || !snapshot || found.answer === found.truth) return false;
    const answer = found.word?.length <= MOST_ASKED ? this.answer(found.word, snapshot) : found.truth;
    if (answer === undefined || (answer === found.answer && !found.isAsked)) return false;
    this.wrong[lane] = answer === found.truth ? null : { ...found, answer, isAsked: false };
    this.tell("wrong");
    return true;
  }

  // What a network answers now; of the others, undefined until who learns has said it.
  answer(word, { lane, said }) {
    if (lane === "regulargpt") return nameOf(this.network.logits(word), this.language.output_names);
    return String(said?.word) === String(word) ? said.answer : undefined;
  }

  strike(hits) {
    this.hits = hits;
    this.wrong.regulargpt = null;
    this.calculate();
  }

  calculate() {
    const { regulargpt } = this.snapshots;
    this.network = regulargpt && struck(regulargpt, this.hits, this.prototypes, this.language.nesting?.direction);
  }
}
