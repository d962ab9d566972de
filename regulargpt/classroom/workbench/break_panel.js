// The hammer: nodes, edges and weights that are struck, and the word that notices.

import { calmly } from "./calmly.js";
import { CaseAim } from "./case_aim.js";
import { LevelList } from "./level_list.js";
import { renew } from "./renew.js";
import { inOrder, ROUNDED, trial } from "./wall.js";
import { WeightGrid } from "./weight_grid.js";

const MOST_LISTED = 6; // hits in words
const NOTE = "Words are tried by length, in double precision, with states rounded to multiples of 2⁻²⁴. Words that nothing behind them tells apart are tried once.";

export class BreakPanel {
  constructor(place, bench) {
    Object.assign(this, { bench, tool: "node" });
    this.grid = new WeightGrid((hit) => this.weigh(hit));
    this.case = new CaseAim(bench, { strike: (hit) => this.strike([...bench.hits, hit]), aimed: () => this.changed() });
    this.levels = new LevelList(bench);
    this.tools = Object.entries({ node: "A node or an edge", weight: "A weight" }).map(([tool, words]) => action(words, () => this.take(tool), { "data-tool": tool }));
    this.undo = action("Undo", () => this.strike(bench.hits.slice(0, -1)));
    this.mend = action("Mend everything", () => this.strike([]));
    this.target = html("div", { class: "target" });
    this.list = html("ol", { class: "struck" });
    this.said = html("div", { class: "said", role: "status" });
    place.append(this.levels.task, html("div", { class: "tools" }, ...this.tools, this.undo, this.mend), this.target, this.list, this.said, this.levels.place, html("p", { class: "caption" }, NOTE));
    bench.on("language", () => this.begin());
    // While it is used, a training that goes on does not draw it anew.
    for (const kind of ["network", "proven", "training"]) bench.on(kind, calmly(() => this.isUsed || this.changed()));
    bench.on("hits", calmly(() => this.changed()));
    bench.on("wrong", () => this.say());
    bench.on("aim", () => this.aim(bench.aim));
    new MutationObserver(() => this.changed()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.begin();
  }

  get isUsed() {
    return this.target.contains(document.activeElement);
  }

  // Another machine: there is nothing to strike yet.
  begin() {
    this.case.at = null;
    this.case.aim();
    this.changed();
  }

  changed() {
    const { bench, isUsed } = this;
    for (const button of this.tools) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === this.tool));
      button.disabled = !bench.network;
    }
    this.undo.disabled = this.mend.disabled = !bench.hits.length;
    renewed(this.target, this.drawn());
    if (isUsed && !this.isUsed) this.undo.focus(); // what was pressed is there no more
    this.listHits();
    this.say();
  }

  // What the hammer is for now, or why there is nothing to strike.
  drawn() {
    const { bench, grid } = this;
    if (!bench.language) return html("p", {}, "There is no machine yet that gives the answers.");
    if (!bench.network) return html("p", {}, "There is no network to strike yet. Train one, or take a level below.");
    if (this.tool === "weight") {
      grid.show(bench.snapshots.regulargpt.weights, bench.hits);
      return grid.place;
    }
    if (!bench.prototypes || !this.case.at) return html("p", {}, "The network has no prototypes yet. Train on, or strike a weight.");
    this.case.draw();
    return this.case.place;
  }

  take(tool) {
    this.tool = tool;
    this.changed();
  }

  // What another panel points at.
  aim({ kind, part, window, name, index }) {
    this.tool = kind === "weight" ? "weight" : "node";
    if (kind === "weight") this.grid.choose(name, index);
    else this.case.aim(part, window);
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

  listHits() {
    const { hits } = this.bench;
    const first = Math.max(0, hits.length - MOST_LISTED);
    this.list.start = first + 1;
    this.list.replaceChildren(...hits.slice(first).map((hit) => html("li", {}, this.case.inWords(hit))));
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
    const counts = bench.hits.length && bench.network ? this.red() : null;
    const words = found && counts ? this.found(found, counts) : [html("p", {}, "The page looks for the shortest word that is now wrong.")];
    renew(this.said, counts ? [html("p", {}, this.redWords(counts)), ...words] : []);
    this.levels.say(found, counts);
  }

  redWords({ red, all }) {
    if (!all) return "The network has no prototypes yet, so no case is tried.";
    if (!red) return `All ${all} cases are still green: with each node at its prototype it is right on every word. As it is, nothing is proven now.`;
    return `✗ ${red} of ${all} cases ${red === 1 ? "is" : "are"} red: ${this.bench.proven ? "the proof does not hold any more" : "there is no proof"}.`;
  }

  found(found, { red }) {
    if (found.length) return [this.noticed(found)];
    const { tried, ended, drawn, quantised } = found;
    if (ended) return [html("p", {}, `As calculated here${ROUNDED}, it is still right on words of every length${red ? ": no word brings a red case to a wrong answer." : "."}`)];
    const more = drawn ? `, and so are ${drawn} longer ones drawn at random` : "";
    const end = red ? ": no test of these notices. The proof does." : ". Strike harder, or elsewhere.";
    const lines = [html("p", {}, `All words of up to ${tried} symbols are still right${more}${end}`)];
    if (quantised?.length) lines.push(html("p", {}, `With every node moved to its nearest prototype, the shortest wrong word has ${sized(quantised.length)}.`));
    return lines;
  }

  // The word that notices, and both answers.
  noticed({ word, length, answer, truth, tried, isShortest }) {
    const text = word && write(word, this.bench.language.alphabet);
    const before = isShortest ? `The shortest word that it now gets wrong has ${sized(length)}: ` : `All words of up to ${tried} symbols are still right. This one of ${sized(length)} is wrong: `;
    const show = word ? action(short(text, 40), () => this.bench.set.word(word), { class: "word-button", "aria-label": `show ${text}` }) : "too long to be shown.";
    return html("p", {}, before, show, ` It answers ${answer ?? "nothing"}; right is ${truth}.`);
  }
}

const sized = (length) => `${length.toLocaleString("en")} ${length === 1 ? "symbol" : "symbols"}`;

// What is there already stays where it is: it may have the focus.
function renewed(place, made) {
  if (place.firstChild !== made) place.replaceChildren(made);
}
