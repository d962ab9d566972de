// The seven captions: one is read, and the panel that it is about is lit. Where there is room the one stands above the
// panels, in a few lines that can be unfolded; in one column all of them stand, each above its panel.

import { calmly } from "./calmly.js";
import { TrainButton } from "./train_button.js";

// When the thing to do is done: after a change of a kind, by the reader and not by an address, that leaves the bench so.
const DONE = {
  draw: ["language", ({ language }) => isEven(language)],
  tree: ["word", ({ word }) => word.length > 6],
  train: ["training", ({ training }) => training === "going"],
  map: ["snapshot", ({ snapshots }) => snapshots.regulargpt?.phase === "table"],
  wall: ["proven", ({ proven, training }) => proven && training !== "none"],
  break: ["hits", ({ hits }) => hits.length],
  compare: ["tested", ({ tested }) => Object.values(tested).every((found) => found && found.tried === found.of)],
};
const WHILE_TRAINING = ["map", "wall"]; // captions of what one watches

// Whether it is the machine of caption 1: a leads to the other one of two states, and every other symbol stays.
const isEven = (language) =>
  String(language?.outputs) === "accept,reject" && !language.nesting && language.alphabet.includes("a") && language.delta.every((row, q) => row.every((next, symbol) => next === (language.alphabet[symbol] === "a" ? 1 - q : q)));

export class Captions {
  constructor(bench) {
    this.bench = bench;
    this.captions = [...document.querySelectorAll(".guide")];
    this.links = [...document.querySelectorAll(".way a")];
    this.captions.forEach((caption) => caption.querySelector(".act").append(action("Read all", () => this.fold(!caption.classList.contains("open")), { class: "more" })));
    this.captions.slice(0, -1).forEach((caption, i) => caption.querySelector(".act").append(this.next(i + 2)));
    const last = this.captions[this.captions.length - 1];
    last.querySelector(".act").append(
      action("Show the networks", () => reveal(".lane:last-of-type", "end"), { class: "next last" }),
      action("Show the proof", () => reveal(".wall .proof", "center"), { class: "main last" }),
    );
    WHILE_TRAINING.forEach((name) => byId(name).querySelector(".act").append(new TrainButton(bench).place));
    this.links.forEach((link, i) => link.addEventListener("click", (event) => {
      event.preventDefault();
      this.go(i + 1);
    }));
    Object.values(DONE).forEach(([kind, isDone], i) => bench.on(kind, () => isDone(bench) && !address.opening && this.finished(this.links[i])));
    bench.on("step", () => this.show());
    addEventListener("scroll", calmly(() => this.follow()));
    addEventListener("resize", calmly(() => this.fold()));
    this.show();
  }

  // A mark in the way through the captions.
  finished(link) {
    if (link.classList.contains("done")) return;
    link.classList.add("done");
    link.append(html("span", { class: "mark" }, html("span", { "aria-hidden": "true" }, " ✓"), html("span", { class: "unseen" }, ", done")));
  }

  next(step) {
    const heading = this.captions[step - 1].querySelector("h2").lastChild.textContent;
    return action(`Next: ${heading}`, () => this.go(step), { class: "next" });
  }

  // By the reader's wish: "back" leads to where they were. The button that was pressed may be gone.
  go(step) {
    this.bench.set.step(step);
    address.say(true);
    this.captions[step - 1].querySelector("h2").focus({ preventScroll: true });
    this.scroll();
  }

  show() {
    const { step } = this.bench;
    const { panel } = this.captions[step - 1].dataset;
    this.captions.forEach((caption, i) => caption.classList.toggle("current", i === step - 1));
    document.querySelectorAll(".panel").forEach((place) => place.classList.toggle("lit", place.classList.contains(panel)));
    this.links.forEach((link, i) => (i === step - 1 ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current")));
    this.fold();
  }

  // What has no room in a caption is unfolded, or folded again; where all of it has room there is nothing to press.
  fold(isOpen = false) {
    const caption = this.captions[this.bench.step - 1];
    const [says, more] = [".says", ".more"].map((part) => caption.querySelector(part));
    caption.classList.toggle("open", isOpen);
    more.textContent = isOpen ? "Fold" : "Read all";
    more.setAttribute("aria-expanded", String(isOpen));
    more.hidden = !isOpen && says.scrollHeight <= says.clientHeight + 1;
  }

  get isColumn() {
    return this.captions.every((caption) => caption.checkVisibility());
  }

  // In one column the caption is read that the reader has scrolled to.
  follow() {
    const read = this.captions.filter((caption) => caption.getBoundingClientRect().top < innerHeight / 2).length || 1;
    if (this.isColumn && read !== this.bench.step) this.bench.set.step(read);
  }

  // In one column to the caption; else to its panel, below the caption.
  scroll() {
    const caption = this.captions[this.bench.step - 1];
    if (this.isColumn) caption.scrollIntoView({ behavior: pace() });
    else if (caption.id === "compare") reveal(".lane:last-of-type", "end");
    else this.scrollTo(caption);
  }

  // As far as it takes to see all of the panel, or what has room of it.
  scrollTo(caption) {
    const panel = document.querySelector(`.panel.${caption.dataset.panel}`);
    const above = getComputedStyle(caption).position === "sticky" ? caption.offsetHeight : 50;
    panel.style.scrollMarginTop = `${above + 12}px`;
    panel.scrollIntoView({ behavior: pace(), block: panel.offsetHeight + above + 12 > innerHeight ? "start" : "nearest" });
  }
}

// What decides stands at the end of a panel.
const reveal = (selector, block) => document.querySelector(selector).scrollIntoView({ behavior: pace(), block });

const pace = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
