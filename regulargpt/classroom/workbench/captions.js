// The seven captions: one is read, and the panel that it is about is lit. Where there is room the one stands above the
// panels; in one column all of them stand, each above its panel.

import { TrainButton } from "./train_button.js";

const WHILE_TRAINING = ["map", "wall"]; // captions of what one watches

export class Captions {
  constructor(bench) {
    this.bench = bench;
    this.captions = [...document.querySelectorAll(".guide")];
    this.links = [...document.querySelectorAll(".way a")];
    this.captions.slice(0, -1).forEach((caption, i) => caption.querySelector(".act").append(this.next(i + 2)));
    WHILE_TRAINING.forEach((name) => byId(name).querySelector(".act").append(new TrainButton(bench).place));
    this.links.forEach((link, i) => link.addEventListener("click", (event) => {
      event.preventDefault();
      this.go(i + 1);
    }));
    bench.on("step", () => this.show());
    this.show();
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
  }

  // In one column to the caption; else to its panel, if not all of it is seen.
  scroll() {
    const caption = this.captions[this.bench.step - 1];
    const isColumn = this.captions.every((other) => other.checkVisibility());
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    if (isColumn) caption.scrollIntoView({ behavior });
    else document.querySelector(`.panel.${caption.dataset.panel}`).scrollIntoView({ behavior, block: "nearest" });
  }
}
