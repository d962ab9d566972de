// What goes on beside the page: a worker for each network that learns, one that looks for wrong words, and one that asks
// long words. It hears of the bench what is wanted, and puts on the bench what comes back.

import { LANES, LEARNED, MOST_ASKED } from "./bench.js";

const [FIRST, ...RIVALS] = LANES;
const LONGER = 60_000; // milliseconds for which the others learn on by themselves

let calculations = null; // for all workers: a quarter of a million letters are copied once

// A worker of the page's own calculations, which begins as one of its modules says. To make one takes long: that is a task
// of its own, and what is said before waits.
export function worker(module, listener) {
  let [made, waiting] = [null, []];
  const making = setTimeout(() => {
    made = madeOf(module, listener);
    waiting.forEach((message) => made.postMessage(message));
  });
  return {
    postMessage: (message) => (made ? made.postMessage(message) : waiting.push(message)),
    terminate: () => {
      clearTimeout(making);
      made?.terminate();
    },
  };
}

function madeOf(module, listener) {
  calculations ??= new Blob([byId("calculations").textContent]);
  const begun = `\nmodules["regulargpt/classroom/workbench/${module}.js"].begin(self);`;
  const address = URL.createObjectURL(new Blob([calculations, begun], { type: "text/javascript" }));
  const made = new Worker(address);
  made.onmessage = ({ data }) => listener(data);
  made.onerror = ({ message }) => listener({ is: "failed", sentence: `The calculation ended with an error: ${message}.` });
  URL.revokeObjectURL(address);
  return made;
}

// What a learner of RegularGPT or another network says, on the bench.
function heard({ set }, { is, sentence, ...message }) {
  if (is === "snapshot") set.snapshot(message);
  if (is === "proven") set.snapshot(message.snapshot);
  if (is === "proven") set.proven({ sentence, ...message });
  if (is === "failed") set.failed(sentence);
}

export class Training {
  constructor(bench) {
    this.bench = bench;
    for (const kind of ["language", "training"]) bench.on(kind, () => this.follow());
    bench.on("wrong", () => this.learners && this.ask());
  }

  // The others are asked their wrong words while they learn, beside the page.
  ask() {
    for (const lane of RIVALS) {
      const word = this.bench.wrong[lane]?.word ?? null;
      if (word?.length <= MOST_ASKED) this.tell({ do: "ask", word }, [lane]);
    }
  }

  get learners() {
    return this.bench.learning?.learners;
  }

  // What the reader wants now.
  follow() {
    const { training, onlyOne, speed } = this.bench;
    if (training === "none") this.stop();
    if (training === "none" || (training === "ended" && !this.learners)) return;
    if (!this.learners) this.start();
    for (const [lane, message] of this.bench.learning.waiting.splice(0)) this.hear(lane, message);
    this.tell({ do: "speed", speed });
    if (this.bench.isCompared && training === "going") this.tell({ do: "until", step: Infinity }, RIVALS);
    if (training === "going") this.bench.learning.since = performance.now();
    if (training === "going") this.tell({ do: "go" });
    else this.tell({ do: onlyOne ? "step" : "pause" });
  }

  start() {
    const { language, cases, seed, speed, proven, hits, set } = this.bench;
    // What a level of the hammer brought is over.
    if (proven) set.proven(null);
    if (hits.length) set.hits([]);
    // What they say while they are put aside is heard when their machine is there again.
    const learning = { last: null, since: 0, waiting: [] };
    const hear = (lane) => (message) => (this.bench.learning === learning ? this.hear(lane, message) : learning.waiting.push([lane, message]));
    learning.learners = Object.fromEntries(LANES.map((lane) => [lane, worker("worker", hear(lane))]));
    this.bench.learning = learning;
    for (const lane of LANES) this.learners[lane].postMessage({ do: "start", lane, language, cases, seed, speed, paused: true, until: lane === FIRST ? Infinity : 1 });
  }

  stop() {
    this.bench.stopLearning();
  }

  tell(message, lanes = LANES) {
    for (const lane of lanes) this.learners[lane].postMessage(message);
  }

  hear(lane, { is, sentence, ...message }) {
    heard(this.bench, { is, sentence, ...message });
    if (is === "proven" || is === "failed") Object.assign(this.bench.learning, { last: this.stepOf(FIRST), since: performance.now() });
    if (!this.bench.isCompared) for (const rival of RIVALS) this.tell({ do: "until", step: this.until(rival) }, [rival]);
    this.end();
  }

  stepOf(lane) {
    return this.bench.snapshots[lane]?.step ?? 0;
  }

  // The others take as many steps as the first, and more until they have learned.
  until(lane) {
    const { last } = this.bench.learning;
    if (last === null) return this.stepOf(FIRST);
    return this.hasLearned(lane) ? last : Infinity;
  }

  hasLearned(lane) {
    return this.bench.snapshots[lane]?.accuracy >= LEARNED;
  }

  // It is over when they have, or have had their time.
  end() {
    const { last, since } = this.bench.learning;
    const isLate = performance.now() > since + LONGER;
    const isThere = (lane) => this.bench.snapshots[lane]?.phase === "done" || (this.stepOf(lane) >= last && (isLate || this.hasLearned(lane)));
    if (last === null || this.bench.isCompared || !RIVALS.every(isThere)) return;
    this.bench.set.training("ended");
  }
}

const LEARNING = { longest: 10, most: 1 << 12 }; // what a search looks at while the network changes
const REST = 3; // times as long as a search took, before the next one

// One search at a time: of the network that has waited longest for one.
export class Searches {
  constructor(bench) {
    this.bench = bench;
    this.stop();
    bench.on("snapshot", () => this.next());
    bench.on("hits", () => this.again());
    bench.on("language", () => this.stop());
    for (const kind of ["language", "training"]) bench.on(kind, () => (bench.training === "none" ? this.stop() : this.next()));
  }

  stop() {
    this.worker?.terminate();
    clearTimeout(this.resting);
    Object.assign(this, { worker: null, running: null, resting: null, searched: new Map() });
  }

  // What runs is about another network.
  again() {
    const { searched } = this;
    this.stop();
    searched.delete(FIRST);
    this.searched = searched;
    this.next();
  }

  next() {
    const { bench, searched } = this;
    const wanted = (lane) => bench.snapshots[lane] && searched.get(lane) !== this.stateOf(lane);
    const lane = [...LANES].sort((a, b) => [...searched.keys()].indexOf(a) - [...searched.keys()].indexOf(b)).find(wanted);
    if (this.running || this.resting || !lane) return;
    this.running = { lane, began: performance.now() };
    searched.delete(lane); // it goes to the end of the row
    searched.set(lane, this.stateOf(lane));
    this.worker ??= worker("searcher", (found) => this.take(found));
    this.worker.postMessage(this.question(lane));
  }

  // A search is of a network in its last state; a longer one once that is the end.
  stateOf(lane) {
    const { snapshots, training } = this.bench;
    return training === "going" ? snapshots[lane] : `${snapshots[lane].step} at rest`;
  }

  question(lane) {
    const { bench } = this;
    const { options, weights } = bench.snapshots[lane];
    const own = lane === FIRST ? { hits: bench.hits, prototypes: bench.prototypes } : {};
    return { lane, network: { options, weights }, language: bench.language, seed: bench.seed, ...own, ...(bench.training === "going" ? LEARNING : {}) };
  }

  take(found) {
    const took = performance.now() - this.running.began;
    this.running = null;
    this.resting = setTimeout(() => {
      this.resting = null;
      this.next();
    }, this.bench.training === "going" ? REST * took : 0);
    if (found.is !== "failed") this.bench.set.wrong(found);
  }
}

// Whether a network has answered all its long words.
const isAsked = (found) => found && found.tried === found.of;

// After the training each network is asked long words, one after the other.
export class LongWordsAsked {
  constructor(bench) {
    Object.assign(this, { bench, worker: null });
    for (const kind of ["language", "training"]) bench.on(kind, () => this.follow());
  }

  follow() {
    const { bench } = this;
    this.worker?.terminate();
    this.worker = null;
    if (bench.training === "going") for (const lane of RIVALS) if (bench.tested[lane]) bench.set.tested(lane, null);
    if (bench.training !== "ended") return;
    this.worker = worker("asking", ({ lane, ...found }) => bench.set.tested(lane, found));
    const { language, seed, snapshots } = bench;
    for (const lane of LANES.filter((name) => snapshots[name] && !isAsked(bench.tested[name]))) {
      const { options, weights } = snapshots[lane];
      this.worker.postMessage({ lane, options, weights, language, seed });
    }
  }
}

// A network that came with a link, and is tried beside the page: what was learned here stays until it is known to fit.
export class Arrivals {
  constructor(bench) {
    Object.assign(this, { bench, worker: null });
    for (const kind of ["language", "training"]) bench.on(kind, () => this.worker?.terminate());
  }

  // `refuse` is told why it does not fit.
  take(numbers, refuse) {
    const { bench } = this;
    const { language, cases, seed } = bench;
    let first = true;
    this.worker?.terminate();
    const made = worker("worker", (message) => {
      if (first && message.is === "failed") return refuse(message.sentence);
      if (first) {
        this.worker = null;
        bench.set.again();
        this.worker = made;
      }
      first = false;
      return heard(bench, message);
    });
    this.worker = made;
    made.postMessage({ do: "start", lane: FIRST, language, cases, seed, numbers });
  }
}
