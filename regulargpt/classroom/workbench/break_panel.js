// The hammer: nodes, edges and weights that are struck, the word that notices, and five levels of a break that no short
// word notices.

import { calmly } from "./calmly.js";
import { hitsAsText, hitsFromText } from "./hits.js";
import { LEVELS, made, verdict } from "./levels.js";
import { inOrder, trial } from "./wall.js";
import { WeightGrid } from "./weight_grid.js";

const MOST_LISTED = 6; // hits in words
const PARTS = { leaves: "First level", nodes: "All other levels" };
const NOTE = "Words are tried in the order of their lengths, in double precision, with each state rounded to a multiple of 2⁻²⁴. Words that nothing behind them can tell apart are tried once.";

export class BreakPanel {
  constructor(place, bench) {
    Object.assign(this, { bench, tool: "node", aimed: null, level: null, own: null, passed: new Set() });
    this.grid = new WeightGrid((hit) => this.weigh(hit));
    this.tools = Object.entries({ node: "A node or an edge", weight: "A weight" }).map(([tool, words]) => action(words, () => this.take(tool), { "data-tool": tool }));
    this.undo = action("Undo", () => this.strike(bench.hits.slice(0, -1)));
    this.mend = action("Mend everything", () => this.strike([]));
    this.target = html("div", { class: "target" });
    this.list = html("ol", { class: "struck" });
    this.said = html("div", { class: "said", role: "status" });
    this.levels = html("ol", { class: "levels" });
    this.task = html("div", { class: "task", role: "status" });
    const levels = html("details", {}, html("summary", {}, "Five levels: break it so that no word of less than so many symbols notices"), this.levels, this.task);
    this.picks = this.selects();
    place.append(html("div", { class: "tools" }, ...this.tools, this.undo, this.mend), this.target, this.list, this.said, levels, html("p", { class: "caption" }, NOTE));
    this.unfolded = levels;
    bench.on("language", () => this.begin());
    for (const kind of ["snapshot", "proven", "training"]) bench.on(kind, () => this.endLevel());
    for (const kind of ["snapshot", "proven", "training", "hits"]) bench.on(kind, calmly(() => this.changed()));
    bench.on("wrong", () => this.say());
    bench.on("aim", () => this.aim(bench.aim));
    new MutationObserver(() => this.changed()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.begin();
  }

  // The level and its hits in the address.
  inAddress() {
    address.add("level", () => this.level && String(this.level.number), (text) => this.open(text));
    address.add("hits", () => (this.level && this.bench.hits.length ? hitsAsText(this.bench.hits) : null), (text) => {
      const hits = hitsFromText(text);
      if (this.level && hits?.every((hit) => this.fits(hit)) && hitsAsText(hits) !== hitsAsText(this.bench.hits)) this.strike(hits);
    });
    this.bench.on("hits", () => address.say());
  }

  open(text) {
    const level = LEVELS[Number(text) - 1];
    if (!level && this.level) this.leave();
    if (level && this.level?.number !== Number(text)) this.play(Number(text));
  }

  // Whether there is what a hit strikes.
  fits({ kind, part, window, name, index, image, offset }) {
    const { snapshots, cases } = this.bench;
    if (kind === "weight") return index in (snapshots.regulargpt.weights[name]?.data ?? []);
    const isCase = cases[part].some(([known]) => String(known) === String(window));
    return isCase && (kind === "case" ? Boolean(cases.elements[image - 1]) : Boolean(window[offset]));
  }

  // Another machine: there is nothing to strike yet. A level ends with its machine.
  begin() {
    if (this.level && this.bench.drawn !== this.level.drawn) this.level = null;
    this.aimed = this.bench.cases ? { part: "nodes", window: this.bench.cases.nodes[0]?.[0] } : null;
    this.changed();
  }

  // A level ends where its network is trained, too.
  endLevel() {
    const { regulargpt } = this.bench.snapshots;
    if (this.level && regulargpt && regulargpt !== this.level.snapshot) this.level = null;
  }

  changed() {
    const { bench } = this;
    if (bench.training === "going" && this.target.contains(document.activeElement)) return;
    for (const button of this.tools) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === this.tool));
      button.disabled = !bench.network;
    }
    this.undo.disabled = this.mend.disabled = !bench.hits.length;
    this.drawTarget();
    this.listHits();
    this.say();
    this.drawLevels();
  }

  take(tool) {
    this.tool = tool;
    this.changed();
  }

  // What another panel points at.
  aim({ kind, part, window, name, index }) {
    this.tool = kind === "weight" ? "weight" : "node";
    if (kind === "weight") this.grid.choose(name, index);
    else if (this.bench.cases[part].some(([known]) => String(known) === String(window))) this.aimed = { part, window };
    this.changed();
  }

  strike(hits) {
    this.bench.set.hits(hits);
  }

  // A slider that moves on changes the hit that it made.
  weigh(hit) {
    const others = this.bench.hits.filter(({ name, index }) => name !== hit.name || index !== hit.index);
    this.strike(hit.by ? [...others, hit] : others);
  }

  // Which case is meant: its level, and what its node has below, on the left and on the right.
  selects() {
    const chosen = (change) => () => {
      change();
      this.changed();
    };
    const pick = (name, words, change) => {
      const select = html("select", { id: `struck-${name}` });
      select.addEventListener("change", chosen(() => change(Number(select.value), select.value)));
      return { select, place: html("span", { class: "pick" }, html("label", { for: select.id }, words), select) };
    };
    const windows = (part) => this.bench.cases[part].map(([window]) => window);
    const nearest = (part, wanted) => windows(part).find(wanted) ?? windows(part)[0];
    return {
      part: pick("part", "Where", (_, part) => { this.aimed = { part, window: windows(part)[0] }; }),
      far: pick("far", "Left", (far) => { this.aimed.window = windows(this.aimed.part).find(([near, other]) => other === far && near === this.aimed.window[0]) ?? nearest(this.aimed.part, ([, other]) => other === far); }),
      near: pick("near", "Right", (near) => { this.aimed.window = nearest(this.aimed.part, ([other, far]) => other === near && far === this.aimed.window[1]); }),
    };
  }

  drawTarget() {
    const { bench, grid } = this;
    if (!bench.network) {
      const words = bench.language ? "There is no network to strike yet. Train one, or take a level below." : "There is no machine yet that gives the answers.";
      return this.target.replaceChildren(html("p", {}, words));
    }
    if (this.tool === "weight") {
      if (grid.place.parentElement !== this.target) this.target.replaceChildren(grid.place);
      return grid.show(bench.snapshots.regulargpt.weights, bench.hits);
    }
    if (!bench.prototypes || !this.aimed?.window) return this.target.replaceChildren(html("p", {}, "The network has no prototypes yet. Train on, or strike a weight."));
    return this.drawCase();
  }

  drawCase() {
    const { part, window: [near, far] } = this.aimed;
    const { cases } = this.bench;
    const all = cases[part].map(([window]) => window);
    const unique = (values) => [...new Set(values)].sort((a, b) => a - b);
    const { picks } = this;
    const fill = ({ select }, values, name, value) => {
      const options = values.map((item) => html("option", { value: item }, name(item)));
      select.replaceChildren(...options);
      select.value = value;
    };
    const focused = document.activeElement;
    fill(picks.part, Object.keys(PARTS).filter((name) => cases[name].length), (name) => PARTS[name], part);
    fill(picks.far, unique(all.map(([, item]) => item)), (item) => this.nameOf(part, item), far);
    fill(picks.near, unique(all.filter(([, item]) => item === far).map(([item]) => item)), (item) => this.nameOf(part, item), near);
    const found = this.landingOf(this.aimed);
    const { language } = this.bench;
    const lands = html("p", {}, "It makes ", chip(cases.elements[this.imageOf(this.aimed) - 1], language), found.right ? ", and lands there." : found.here ? html("span", {}, ", but lands at ", chip(cases.elements[found.here - 1], language)) : ", but its numbers overflow.");
    const others = cases.elements.flatMap((element, k) => (k + 1 === found.here ? [] : [this.landing(k + 1, element)]));
    const cuts = [["the left child", 1, far], ["the right child", 0, near]].filter(([, , item]) => item).map(([words, offset]) => action(`Cut ${words}`, () => this.strike([...this.bench.hits, { kind: "edge", ...this.aimed, offset }])));
    const shown = [html("div", { class: "tools" }, ...Object.values(picks).map(({ place }) => place)), lands, html("p", { class: "landings" }, "Let it land at ", ...others), html("div", { class: "tools" }, ...cuts), html("p", { class: "caption" }, "Wherever a node has these two children. A child that is cut gets no attention; a node's own numbers, those of its right child, stay.")];
    this.target.replaceChildren(...shown);
    if (Object.values(picks).some(({ select }) => select === focused)) focused.focus();
  }

  landing(image, element) {
    const name = elementName(element, this.bench.language);
    const made = html("button", { type: "button", class: "land", "aria-label": `let it land at ${name}`, "data-image": image }, chip(element, this.bench.language));
    made.addEventListener("click", () => this.strike([...this.bench.hits, { kind: "case", ...this.aimed, image }]));
    return made;
  }

  nameOf(part, item) {
    const { language, cases } = this.bench;
    if (item === 0) return "nothing";
    return part === "leaves" ? language.alphabet[item - 1] : elementName(cases.elements[item - 1], language);
  }

  imageOf({ part, window }) {
    return this.bench.cases[part].find(([known]) => String(known) === String(window))[1];
  }

  // Where a case lands in the network as it is struck now.
  landingOf(aimed) {
    const { network, prototypes, language } = this.bench;
    return trial(network, prototypes, language.output_names)({ ...aimed, image: this.imageOf(aimed) });
  }

  listHits() {
    const { hits } = this.bench;
    const first = Math.max(0, hits.length - MOST_LISTED);
    this.list.start = first + 1;
    this.list.replaceChildren(...hits.slice(first).map((hit) => html("li", {}, this.inWords(hit))));
  }

  inWords({ kind, part, window, image, offset, name, index, by }) {
    if (kind === "weight") return `${name}, number ${index + 1}: ${by > 0 ? "+" : "−"}${Math.abs(by)}`;
    const place = `${PARTS[part]}, ${[...window].reverse().map((item) => this.nameOf(part, item)).join(" then ")}`;
    if (kind === "case") return `${place}: lands at ${elementName(this.bench.cases.elements[image - 1], this.bench.language)}`;
    return `${place}: blind to its ${offset ? "left" : "right"} child`;
  }

  // The cases that are red, and how many there are.
  red() {
    const { network, prototypes, cases, language } = this.bench;
    if (!network || !prototypes) return { red: 0, all: 0 };
    if (this.counted?.network !== network) {
      const all = inOrder(cases);
      const tried = trial(network, prototypes, language.output_names);
      this.counted = { network, red: all.filter((one) => !tried(one).right).length, all: all.length };
    }
    return this.counted;
  }

  // What is wrong now, and who notices.
  say() {
    const { bench } = this;
    const found = bench.wrong.regulargpt;
    const counts = bench.hits.length ? this.red() : null;
    const words = !bench.network || !counts ? [] : [html("p", {}, this.redWords(counts)), ...(found ? this.found(found, counts) : [html("p", {}, "The page looks for the shortest word that is now wrong.")])];
    renew(this.said, words);
    if (this.level) this.judge(found, counts);
  }

  redWords({ red, all }) {
    if (!all) return "The network has no prototypes yet, so no case is tried.";
    return red ? `✗ ${red} of ${all} cases ${red === 1 ? "is" : "are"} red: the proof does not hold any more.` : `All ${all} cases are still green.`;
  }

  found(found, { red }) {
    const { word, length, answer, truth, tried, ended, isShortest, drawn, quantised } = found;
    const text = word && write(word, this.bench.language.alphabet);
    if (length) {
      const size = `${length.toLocaleString("en")} ${length === 1 ? "symbol" : "symbols"}`;
      const before = isShortest ? `The shortest word that it now gets wrong has ${size}: ` : `All words of up to ${tried} symbols are still right. This one of ${size} is wrong: `;
      const show = word ? action(short(text, 40), () => this.bench.set.word(word), { class: "word-button", "aria-label": `show ${text}` }) : "too long to be shown";
      return [html("p", {}, before, show, ` It answers ${answer ?? "nothing, its numbers overflow"}; right is ${truth}.`)];
    }
    if (ended) return [html("p", {}, `As calculated here, it is still right on words of every length${red ? ": no word brings a red case to a wrong answer." : "."}`)];
    const more = drawn ? `, and so are ${drawn} longer ones drawn at random` : "";
    const lines = [html("p", {}, `All words of up to ${tried} symbols are still right${more}: no test of these notices.${red ? " The proof does." : ""}`)];
    if (quantised?.length) lines.push(html("p", {}, `With every node moved to its nearest prototype, the shortest wrong word has ${quantised.length.toLocaleString("en")} symbols.`));
    return lines;
  }

  drawLevels() {
    const items = LEVELS.map(({ title, less }, i) => {
      const done = this.passed.has(i + 1);
      const button = action(`${less} symbols: ${title}`, () => this.play(i + 1), { "aria-pressed": String(this.level?.number === i + 1), "aria-label": `level ${i + 1}: ${title}, no word of less than ${less} symbols may notice${done ? ", passed" : ""}` });
      return html("li", {}, button, done ? html("b", { class: "right" }, " ✓") : "");
    });
    const at = [...this.levels.querySelectorAll("button")].indexOf(document.activeElement);
    this.levels.replaceChildren(...items);
    if (at >= 0) items[at].querySelector("button").focus();
    if (!this.level) {
      this.task.replaceChildren(html("p", {}, "A level brings a machine and a network that is right on every word. A training that goes on ends with it."));
    }
  }

  // A level begins: what is on the bench is kept, if it has come to its end.
  play(number) {
    const { bench } = this;
    const { drawn, snapshots, proven, training } = bench;
    if (!this.level) this.own = { drawn, snapshots, proven, training };
    this.level = { number, ...made(LEVELS[number - 1]) };
    bench.set.language(this.level.drawn);
    this.bring(this.level);
    this.unfolded.open = true;
    address.say(true);
  }

  bring({ snapshot, proven }) {
    this.bench.set.snapshot(snapshot);
    this.bench.set.proven(proven);
  }

  // Back to the machine that was there, and to its networks if they had been trained to the end.
  leave() {
    const { bench, own } = this;
    this.level = null;
    bench.set.language(own.drawn);
    if (own.training === "ended") {
      for (const snapshot of Object.values(own.snapshots)) if (snapshot) bench.set.snapshot(snapshot);
      if (own.proven) bench.set.proven(own.proven);
      bench.set.training("ended");
    }
    address.say(true);
  }

  judge(found, counts) {
    const { level } = this;
    const decided = counts && found ? verdict(level, found, counts.red) : null;
    if (decided?.passed && !this.passed.has(level.number)) {
      this.passed.add(level.number);
      this.drawLevels();
    }
    const asked = html("p", {}, html("b", {}, `Level ${level.number}. `), `Break it so that no word of less than ${level.less} symbols notices. `, html("span", { class: "hint" }, level.hint));
    const said = html("p", { class: `verdict ${decided ? (decided.passed ? "right" : "wrong") : ""}` }, decided ? `${decided.passed ? "✓" : "✗"} ${decided.words}` : "");
    renew(this.task, [asked, html("p", { class: "caption" }, level.proven.sentence), said, html("div", { class: "tools" }, action("Back to your own machine", () => this.leave()))]);
  }
}

// What is read out once, unless it says something else.
function renew(place, made) {
  if (place.textContent !== made.map(({ textContent }) => textContent).join("")) place.replaceChildren(...made);
}
