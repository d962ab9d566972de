// Five levels to play: each brings its own machine and network, and keeps what was on the bench.

import { LANES } from "./bench.js";
import { hitsAsText, hitsFromText } from "./hits.js";
import { LEVELS, made, verdict } from "./levels.js";
import { asText } from "./machine_link.js";
import { renew } from "./renew.js";

const DRAWN = 150; // milliseconds, in which the panels above have their heights
const NONE = "A level brings a machine and a network. Rounded to its prototypes, that is right on every word. A training that goes on waits meanwhile.";

export class LevelList {
  constructor(bench) {
    Object.assign(this, { bench, level: null, brought: null, own: null, passed: new Set() });
    this.list = html("ol", { class: "levels" });
    this.task = html("div", { class: "task", role: "status" });
    this.place = html("details", {}, html("summary", {}, "Five levels: break it so that no word of less than so many symbols notices"), this.list, html("p", {}, NONE));
    bench.on("language", () => this.end(bench.drawn !== this.level?.drawn));
    // It ends where its network is trained or forgotten, too.
    const isOther = () => bench.snapshots.regulargpt !== this.level?.snapshot;
    for (const kind of ["snapshot", "training"]) bench.on(kind, () => this.end(isOther()));
  }

  end(isOther) {
    if (isOther) this.level = null;
  }

  // Whether the machine of a level stands there, whose network may be forgotten: there is a way back to one's own.
  get isAway() {
    return this.bench.drawn === this.brought;
  }

  // The level and its hits in the address.
  inAddress() {
    const { bench } = this;
    address.add("level", () => this.level && String(this.level.number), (text) => this.open(text));
    address.add("hits", () => (this.level && bench.hits.length ? hitsAsText(bench.hits) : null), (text) => {
      const hits = hitsFromText(text);
      if (this.level && hits?.every((hit) => this.fits(hit)) && hitsAsText(hits) !== hitsAsText(bench.hits)) bench.set.hits(hits);
    });
    bench.on("hits", () => address.say());
  }

  open(text) {
    const number = Number(text);
    if (!LEVELS[number - 1] && this.level) this.leave();
    if (LEVELS[number - 1] && this.level?.number !== number) this.play(number);
  }

  // Whether there is what a hit strikes.
  fits({ kind, part, window, name, index, image, offset }) {
    const { snapshots, cases } = this.bench;
    if (kind === "weight") return index in (snapshots.regulargpt.weights[name]?.data ?? []);
    const isCase = cases[part].some(([known]) => String(known) === String(window));
    return isCase && (kind === "case" ? cases.elements[image - 1] !== undefined : Boolean(window[offset]));
  }

  // By the reader's wish, who sees what to do then.
  begin(number) {
    this.play(number);
    setTimeout(() => this.task.scrollIntoView(), DRAWN);
  }

  // A level begins.
  play(number) {
    const { bench } = this;
    if (!this.isAway) this.own = { ...bench };
    this.level = { number, ...made(LEVELS[number - 1]) };
    this.brought = this.level.drawn;
    address.say(true); // before the machine is said, which would take the place of one's own
    bench.set.language(this.level.drawn, true);
    bench.set.snapshot(this.level.snapshot);
    bench.set.proven(this.level.proven);
    this.place.open = true;
  }

  // Whether an address with this machine is for the levels: one brings its machine itself, or leads back to this one.
  takes(drawn) {
    if (LEVELS[address.said().get("level") - 1]) return true;
    if (!this.isAway || asText(drawn) !== asText(this.own.drawn)) return false;
    this.leave();
    return true;
  }

  // Back to the machine that was there, its wagers, and its networks, which go on if they were going.
  leave() {
    const { bench, own } = this;
    const { set } = bench;
    this.level = null;
    address.say(true);
    if (bench.seed !== own.seed) set.seed(own.seed);
    set.language(own.drawn);
    set.word(own.word);
    for (const lane of LANES) set.wager(lane, own.wagers[lane]);
  }

  // What a search says decides a level; null while it goes on.
  say(found, counts) {
    const { level, passed } = this;
    const decided = level && counts && found ? verdict(level, found, counts.red) : null;
    if (decided?.passed) passed.add(level.number);
    this.draw();
    const ended = html("p", {}, "The level has ended: its network is forgotten.");
    const back = html("div", { class: "tools" }, action("Back to your own machine", () => this.leave()));
    renew(this.task, level ? [...this.tasked(decided), back] : this.isAway ? [ended, back] : []);
  }

  tasked(decided) {
    const { number, less, hint } = this.level;
    const mark = decided?.passed ? "right" : "wrong";
    return [
      html("p", {}, html("b", {}, `Level ${number}. `), `Break it so that no word of less than ${less} symbols notices. `, html("span", { class: "hint" }, `${hint} The network is made, not trained.`)),
      html("p", { class: `verdict ${decided ? mark : ""}` }, decided ? `${MARKS[mark]} ${decided.words}` : ""),
    ];
  }

  draw() {
    const items = LEVELS.map(({ title, less }, i) => {
      const [isDone, isOn] = [this.passed.has(i + 1), this.level?.number === i + 1];
      const label = `level ${i + 1}: ${title}, no word of less than ${less} symbols may notice${isDone ? ", passed" : ""}`;
      const button = action(`${less} symbols: ${title}`, () => this.begin(i + 1), { "aria-pressed": String(isOn), "aria-label": label });
      return html("li", {}, button, isDone ? html("b", { class: "right" }, " ✓") : "");
    });
    const at = [...this.list.querySelectorAll("button")].indexOf(document.activeElement);
    this.list.replaceChildren(...items);
    if (at >= 0) items[at].querySelector("button").focus({ preventScroll: true });
  }
}
