// The tree over a word: each node a dot in the colour of the element whose prototype is nearest.

import { calmly } from "./calmly.js";
import { Random } from "./random.js";
import { levelsOf, runOf } from "./reading.js";
import { put } from "./renew.js";
import { nameOf } from "./wall.js";
import { longestDrawn, wordWith } from "./word_draws.js";

const DOTS = { width: 36, height: 34, row: 60, leaf: 20, gap: 6, edge: 34 };
const LONGEST = 10000; // symbols
const MOST_NAME = 3; // characters on a dot
const KEY = "A dot has the colour of the element whose prototype is nearest to its numbers. Dashed, with ✗: the symbols below have another element.";
const BEFORE = "A dot is grey while no network has been trained. Its rim and its letters are by the machine: the element of the symbols below, or ε where they move nothing.";
const ALONG = "The tree follows the brackets. What stands in a pair is merged first, as a word of its own; then come a node over the opening bracket and the inside, and one over this and the closing bracket. An element is here what words do wherever they stand.";
const PACE = { value: 3 }; // steps in a beat of the player

// The tree with dots instead of boxes.
class DotTree extends TreeView {
  box = DOTS;

  inside(node, x, y) {
    const middle = y + DOTS.height / 2;
    const name = svg("text", { class: "name", x, y: middle + 4 });
    const mark = svg("text", { class: "mark", x: x + 15, y: y + 6 });
    return [svg("circle", { cx: x, cy: middle, r: 15 }), name, mark];
  }

  node(node, x) {
    const made = super.node(node, x);
    this.paint(made, node);
    return made;
  }

  // Of many folded nodes a short count: there is little room below a dot.
  folded(node, x) {
    const made = super.folded(node, x);
    made.textContent = `⋯${countUnder(node).toLocaleString("en", { notation: "compact" })}`;
    return made;
  }

  // Edges are all alike: what is paid along them is said of a node that is chosen.
  edge(node, from, to, _, toSymbol) {
    return super.edge(node, from, to, undefined, toSymbol);
  }

  // A dot as its node stands now.
  paint(made, node) {
    const { state, verdict } = node;
    const { run } = this;
    // Before there are prototypes the machine says what will be right.
    const shown = state === null ? (this.isKnown ? null : node.element) : run.standsFor[state - 1][0];
    const [fill, ink] = state === null ? ["var(--line)", "var(--ink)"] : run.colours[shown];
    const words = run.colours[shown] ? run.elements.words[shown] || "ε" : "";
    const [circle, name, mark] = made.children;
    for (const other in MARKS) made.classList.toggle(other, other === verdict);
    for (const [key, value] of Object.entries({ ...facts(node), "aria-label": this.words(node) })) put(made, key, value);
    put(circle, "style", `fill: ${fill}; --rim: ${run.colours[shown]?.[0] ?? "var(--soft)"}`);
    put(name, "style", `fill: ${ink}`);
    const texts = [[name, [...words].length <= MOST_NAME ? words : ""], [mark, verdict === "wrong" ? MARKS.wrong : ""]];
    for (const [place, text] of texts) if (place.textContent !== text) place.textContent = text;
  }

  // The nodes of the same word by another network, or by the same with more known of it.
  refresh(levels) {
    levels.flat().forEach(({ level, index, element, state, verdict, vector, attention }) => Object.assign(this.levels[level - 1][index], { element, state, verdict, vector, attention }));
    for (const node of this.drawn.where.keys()) this.paint(this.drawing(node), node);
    if (this.chosen) this.tell(this.chosen);
  }
}

export class TreePanel {
  constructor(place, bench) {
    Object.assign(this, { place, bench, shown: [], drawn: 0 });
    this.top = html("div");
    this.range = html("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Symbols read" });
    this.play = html("button", { type: "button", "data-what": "the word, symbol by symbol" }, "Play");
    this.read = html("span", { class: "read" });
    this.length = html("input", { type: "number", min: 1, max: LONGEST, value: 12, "aria-label": "Symbols of a random word" });
    const tools = html("div", { class: "tools" }, this.play, this.range, this.read);
    const random = html("div", { class: "tools" }, action("Random word", () => this.random()), "of", this.length);
    this.answer = html("p", { class: "said", "aria-live": "polite" });
    this.count = html("p", { class: "count" });
    this.picture = html("div", { class: "picture dots" });
    this.detail = html("p", { class: "detail" });
    this.key = html("p", { class: "caption" });
    this.strip = html("div", { class: "its-numbers" });
    const [numbers, levels] = ["Its numbers", "Right and wrong nodes by level"].map((words) => html("details", {}, html("summary", {}, words), html("div")));
    place.append(this.top, random, tools, this.answer, this.count, this.picture, this.strip, this.detail, this.key, numbers, levels);
    this.player = new Player(this.range, this.play, PACE);
    this.vector = new VectorView(numbers);
    this.levels = levels;
    levels.addEventListener("toggle", () => this.listLevels());
    this.tree = new DotTree(this.picture, this.detail, (node) => this.choose(node), (node) => this.look(node ?? this.tree.chosen));
    this.range.addEventListener("input", () => this.show());
    const again = calmly(() => this.refresh());
    bench.on("language", () => this.begin());
    bench.on("word", () => this.take());
    for (const kind of ["network", "hits"]) bench.on(kind, again);
    this.begin();
  }

  // Another language: another field.
  begin() {
    const { bench } = this;
    this.run = bench.cases && runOf(bench);
    this.field = bench.language && new WordField(bench.language, "Word", (word) => this.typed(word), LONGEST);
    this.top.replaceChildren(...(this.field ? [this.field.place] : []));
    this.take();
  }

  typed(word) {
    if (this.isTaking) return;
    this.bench.set.word(word);
  }

  // The bench's word, which may have been typed here.
  take() {
    const { bench, field, range } = this;
    if (field && String(field.word) !== String(bench.word)) {
      this.isTaking = true;
      field.set(bench.word);
      this.isTaking = false;
    }
    if (this.player.timer !== null) this.player.pause();
    range.max = bench.word.length;
    range.value = range.max;
    this.show();
  }

  random() {
    const most = longestDrawn(this.bench.language ?? {});
    const length = wholeNumber(this.length.value, most);
    if (length === null || !this.field) {
      this.answer.textContent = `Here a length is a whole number from 1 to ${most.toLocaleString("en")}.`;
      return;
    }
    const { cases, language } = this.bench;
    const random = new Random(this.bench.seed, `word ${(this.drawn += 1)}`);
    let number = 0;
    const draw = () => random.uniform((number += 1));
    const answer = language.output_names[Math.floor(draw() * language.output_names.length)];
    const fitting = (isFitting) => wordWith(language, cases.elements.filter((_, k) => isFitting(cases.answers[k])), length, draw);
    this.bench.set.word(fitting((other) => other === answer) ?? fitting((other) => other !== null) ?? []);
  }

  // The symbols that are read so far.
  show() {
    const { bench, run } = this;
    this.shown = bench.word.slice(0, Number(this.range.value));
    this.read.textContent = `${this.shown.length.toLocaleString("en")} of ${bench.word.length.toLocaleString("en")}`;
    this.tree.show(this.shown, run, run ? this.levelsNow() : [], null, (node) => node.attention?.() || null);
    this.vector.show(null);
    this.strip.replaceChildren();
    this.say();
  }

  levelsNow() {
    this.tree.isKnown = Boolean(this.bench.prototypes);
    return levelsOf(this.shown, this.run, this.bench.network, this.bench.prototypes);
  }

  refresh() {
    if (!this.run || !this.tree.levels.length) return;
    this.tree.refresh(this.levelsNow());
    if (this.tree.chosen) this.number(this.tree.chosen);
    this.say();
  }

  // What the network answers, and how many nodes are right.
  say() {
    const { bench, shown, tree } = this;
    const nodes = tree.levels.flat();
    const answers = this.answers();
    if (this.answer.textContent !== answers) this.answer.textContent = answers;
    const number = (verdict) => nodes.filter((node) => node.verdict === verdict).length;
    const counted = bench.prototypes ? `: ${number("right").toLocaleString("en")} right, ${number("wrong").toLocaleString("en")} wrong` : "";
    this.count.textContent = shown.length ? `${nodes.length.toLocaleString("en")} nodes${counted}.` : "";
    this.key.textContent = [...(bench.language?.nesting ? [ALONG] : []), ...(nodes.length ? [bench.prototypes ? KEY : BEFORE] : [])].join(" ");
    this.listLevels();
  }

  answers() {
    const { bench, shown, tree } = this;
    if (!bench.language) return bench.problem || "No machine is drawn yet.";
    if (!shown.length) return "Type a word, or take a random one.";
    const truth = answerOf(shown, bench.language);
    if (!bench.network) return `The machine: ${truth}. The network has not begun.`;
    const said = nameOf(Array.from(bench.network.read(tree.root.vector)), bench.language.output_names) ?? "nothing";
    const mark = truth === NO_ANSWER ? "" : said === truth ? "✓ " : "✗ ";
    return `The machine: ${truth}. The network: ${mark}${said}.`;
  }

  // A node in words, and its numbers in colour.
  look(node) {
    if (!node) return;
    this.tree.tell(node);
    this.strip.replaceChildren(...(node.vector ? [strip(Array.from(node.vector))] : []));
  }

  // A node's numbers stand below, and the hammer is to strike there.
  choose(node) {
    this.number(node);
    const window = windowOf(node, this.shown, this.run);
    if (!window.includes(null)) this.bench.set.aim({ kind: "case", part: hasSymbolsOnly(node) ? "leaves" : "nodes", window });
  }

  number(node) {
    this.look(node);
    if (node.vector) this.vector.show(node.vector, describe(node, this.shown, this.run));
  }

  listLevels() {
    if (this.levels.open) this.levels.querySelector("div").replaceChildren(...(this.tree.levels.length ? [levelTable(this.tree.levels)] : []));
  }
}

// What a node has below, near and far, as cases have it. Beside prototypes symbols are numbered behind them.
function windowOf(node, word, run) {
  const before = hasSymbolsOnly(node) ? 0 : run.standsFor.length;
  const rows = node.children.map((child) => (child === null ? 0 : child.level ? child.state : before + 1 + word[child]));
  return [...rows.reverse(), 0].slice(0, 2);
}
