// What goes on beside the page: a worker for each network that learns, one that looks for wrong words, and one that asks
// long words. It hears of the bench what is wanted, and puts on the bench what comes back.

import { LANES } from "./bench.js";

const HERE = "regulargpt/classroom/workbench";
const WHILE_LEARNING = 10; // symbols of the longest word that is looked at
const AFTERWARDS = 1000;

// A worker of the page's own calculations, which begins with a function of one of its modules.
function worker(start, listener) {
  const source = `${byId("calculations").textContent}\n${start};`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const made = new Worker(address);
  made.onmessage = ({ data }) => listener(data);
  made.onerror = ({ message }) => listener({ is: "failed", sentence: `The calculation ended with an error: ${message}.` });
  URL.revokeObjectURL(address);
  return made;
}

const starts = (module, call) => `modules["${HERE}/${module}.js"].${call}`;

export class Training {
  constructor(bench) {
    Object.assign(this, { bench, searches: new Searches(bench), asker: null });
    this.stop();
    for (const kind of ["language", "again"]) bench.on(kind, () => this.stop());
    bench.on("training", () => this.follow());
  }

  stop() {
    for (const learner of Object.values(this.learners ?? {})) learner.terminate();
    this.asker?.terminate();
    Object.assign(this, { learners: null, asker: null, last: null });
    this.searches.stop();
  }

  // What the reader wants now.
  follow() {
    const { training, onlyOne, speed } = this.bench;
    if (training === "none" || training === "ended") return;
    const isNew = this.learners === null;
    if (isNew) this.start();
    if (training === "going") this.tell({ do: "go" });
    else if (onlyOne) this.tell({ do: "step" });
    else this.tell({ do: "pause" });
    this.tell({ do: "speed", speed });
  }

  start() {
    const { language, cases, seed, speed } = this.bench;
    this.learners = Object.fromEntries(LANES.map((lane) => [lane, worker(starts("worker", 'begin(self, "learner")'), (message) => this.hear(lane, message))]));
    for (const lane of LANES) this.learners[lane].postMessage({ do: "start", lane, language, cases, seed, speed, paused: true });
  }

  tell(message) {
    for (const learner of Object.values(this.learners)) learner.postMessage(message);
  }

  hear(lane, { is, ...message }) {
    const { set } = this.bench;
    if (is === "snapshot") set.snapshot(message);
    if (is === "failed") set.failed(message.sentence);
    if (is === "proven") {
      set.snapshot(message.snapshot);
      set.proven(message);
    }
  }
}

// One search at a time, of the network that has waited longest for one.
class Searches {
  constructor(bench) {
    Object.assign(this, { bench, worker: null, waiting: new Map() });
    bench.on("snapshot", () => this.want());
    bench.on("hits", () => this.again());
  }

  stop() {
    this.worker?.terminate();
    Object.assign(this, { worker: null, running: null, done: {} });
    this.waiting.clear();
  }
}
