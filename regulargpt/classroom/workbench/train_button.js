// The button that trains: it says what happens next. Captions of panels that stand below the training have one, too.

import { LANES } from "./bench.js";

const WORDS = { paused: "Go on", ended: "Let the others go on" };

export class TrainButton {
  constructor(bench) {
    this.bench = bench;
    this.place = action("Train", () => bench.set.training(this.next), { class: "main" });
    for (const kind of ["language", "training", "proven", "wager", "snapshot"]) bench.on(kind, () => this.say());
    this.say();
  }

  // What it leads to. Once the first network is done, and the others have taken as many steps, they may go on for as long as one likes.
  get next() {
    const { training, isCompared, proven, failed, snapshots } = this.bench;
    if (training !== "going") return "going";
    const isFair = (proven || failed) && LANES.every((lane) => snapshots[lane]?.step >= snapshots.regulargpt?.step);
    return isCompared || isFair ? "ended" : "paused";
  }

  say() {
    const { training, wagers, language } = this.bench;
    const isOpen = LANES.some((lane) => wagers[lane] === null);
    const first = isOpen ? "Train without a wager" : "Train";
    this.place.textContent = training === "going" ? (this.next === "ended" ? "Stop the others" : "Pause") : (WORDS[training] ?? first);
    this.place.disabled = language === null;
  }
}
