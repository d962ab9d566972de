// What goes on beside the page: a worker for each network that learns, one that looks for wrong words, and one that asks
// long words. It hears of the bench what is wanted, and puts on the bench what comes back.

import { LANES } from "./bench.js";

const HERE = "regulargpt/classroom/workbench";
const LONGEST_SEARCHED = 12; // symbols, while a network learns

// A worker of the page's own calculations.
function worker(module, start, listener) {
  const source = `${byId("calculations").textContent}\nmodules["${HERE}/${module}"].${start}(self);`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const made = new Worker(address);
  made.onmessage = ({ data }) => listener(data);
  made.onerror = ({ message }) => listener({ is: "failed", sentence: `The calculation ended with an error: ${message}.` });
  URL.revokeObjectURL(address);
  return made;
}

export class Training {
  constructor(bench) {
    Object.assign(this, { bench, learners: {}, searcher: null, asker: null });
    bench.on("language", () => this.stop());
    bench.on("training", () => this.follow());
  }

  stop() {
    for (const learner of Object.values(this.learners)) learner.terminate();
    this.learners = {};
  }
}
