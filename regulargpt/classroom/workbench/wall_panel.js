// The wall: a square for each case of the proof, which turns while the network learns.

import { inSlices } from "./slices.js";
import { inOrder, ROUNDED, trial } from "./wall.js";

const NAMED = 46; // pixels of a square whose row and column have a name; with less room they have a colour
const MARKED = 18; // of one with a mark on it; with less room what is wrong is striped
const AT_ONCE = 40; // cases at least, for on a busy computer a moment may hold one
const NO_WALL = "The LSTM and the Transformer have no wall: nothing on this page gathers what they carry at a few points, so it has no list of cases to try. They may be right.";
const ALONG = "The page finds no machine with a stack in a network's answers: what is right in each case is said by the machine that was drawn. Below a node there may be symbols beside elements, such as the brackets of a pair.";
const HELP = "Point at a square, or walk there with arrow keys, to read its case.";
const NO_CASE = "No word with an answer has these two neighbours: there is no case.";
const PARTS = { leaves: "First level", nodes: "All other levels", answers: "Answers" };

export class WallPanel {
  constructor(place, bench) {
    Object.assign(this, { bench, squares: [], cases: [], found: [] });
    this.count = html("p", { class: "count" });
    this.progress = html("progress", { value: 0, max: 1, "aria-label": "Cases that are right" });
    this.tables = html("div", { class: "squares wall-squares", role: "group", "aria-label": "The cases, a square for each; arrow keys walk through them" });
    this.detail = html("p", { class: "detail" });
    [this.proof, this.claim] = [html("div", { class: "proof", role: "status" }), html("div", { class: "claim" })];
    this.wrong = html("p", { class: "first-wrong" });
    this.along = html("p", { class: "caption" });
    place.append(this.proof, this.count, this.progress, this.along, this.tables, this.detail, this.claim, html("h3", {}, "The shortest wrong word so far"), this.wrong, html("p", { class: "caption" }, NO_WALL));
    this.tables.addEventListener("keydown", (event) => this.key(event));
    this.tables.addEventListener("click", ({ target }) => this.aim(target));
    this.tables.addEventListener("focusin", ({ target }) => this.stop(target));
    for (const kind of ["focusin", "mouseover"]) this.tables.addEventListener(kind, ({ target }) => this.look(target.closest("[data-place]")));
    bench.on("language", () => this.build());
    new ResizeObserver(() => this.cases.length && this.roomy() !== this.room && this.build()).observe(this.tables);
    for (const kind of ["network", "hits", "proven"]) bench.on(kind, () => this.turn());
    for (const kind of ["wrong", "proven", "hits"]) bench.on(kind, () => this.sayWrong());
    this.build();
  }

  // Other cases: all squares anew.
  build() {
    const { language, cases } = this.bench;
    Object.assign(this, { cases: language && cases ? inOrder(cases) : [], found: [], looked: null, at: 0, left: 0 });
    this.tables.replaceChildren();
    this.detail.textContent = "";
    this.along.textContent = language?.nesting ? ALONG : "";
    if (this.cases.length) this.draw();
    this.turn();
    this.sayWrong();
  }

  draw() {
    const { language, cases } = this.bench;
    this.room = this.roomy();
    const isNamed = this.room === "named";
    const shape = { alphabet: language.alphabet, nesting: language.nesting, network: { chunk_size: 2, aligned: "right", elements: cases.elements }, leaves: cases.leaves, nodes: cases.nodes };
    const name = (part) => (row) => this.head(part, row, isNamed);
    const ends = this.cases.filter(({ part }) => part === "answers").map(({ window: [k] }) => k);
    const parts = [
      levelSquares(shape, "leaves", PARTS.leaves, name("leaves"), Infinity),
      levelSquares(shape, "nodes", PARTS.nodes, name("nodes"), Infinity),
      answerSquares(ends.map(name("nodes"))),
    ];
    this.squares = parts.flatMap(({ squares }) => squares);
    this.squares.forEach((square, i) => { square.dataset.case = i; });
    const tables = parts.map(({ place }) => place.querySelector("table"));
    tables.forEach((table, i) => {
      table.setAttribute("role", "grid");
      table.className = i ? this.room : "";
      table.style.setProperty("--columns", table.rows[0].cells.length);
    });
    this.tables.replaceChildren(...tables);
    this.grid = [...this.tables.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")]);
    this.grid.forEach((row, r) => row.forEach((square, c) => {
      square.dataset.place = `${r},${c}`;
      square.tabIndex = -1;
    }));
    this.grid[0][0].tabIndex = 0;
    this.detail.textContent = HELP + (this.tables.textContent.includes(MISSING) ? ` ${MISSING} ${NO_CASE}` : "");
  }

  // What there is room for in each square.
  roomy() {
    const each = this.tables.clientWidth / (this.bench.cases.elements.length + 2);
    return each > NAMED ? "named" : each > MARKED ? "coloured" : "coloured dense";
  }

  // What stands at a row or a column: a symbol, or an element in its colour.
  head(part, row, isNamed) {
    const { language, cases } = this.bench;
    const K = cases.elements.length;
    if (part === "leaves" || row > K) return row ? language.alphabet[row - 1 - (part === "leaves" ? 0 : K)] : PAD;
    if (row === 0) return isNamed ? PAD : spot(PAD, "none");
    const e = cases.elements[row - 1];
    return isNamed ? chip(e, language) : spot(elementName(e, language), language.colours[e][0]);
  }

  // The same in words.
  words(part, row) {
    const { language, cases } = this.bench;
    const K = cases.elements.length;
    if (row === 0) return "nothing";
    if (part === "leaves") return language.alphabet[row - 1];
    return row > K ? language.alphabet[row - K - 1] : elementName(cases.elements[row - 1], language);
  }

  // Another network: all cases once more, from where the last turn has come to, a moment's work between two pictures.
  turn() {
    const { network, prototypes, language } = this.bench;
    this.left = network && prototypes ? this.cases.length : 0;
    if (!this.left) {
      this.found = [];
      this.squares.forEach((square) => paint(square, null));
      return this.say();
    }
    this.try = trial(network, prototypes, language.output_names);
    if (!this.turning) {
      this.turning = true;
      inSlices(this.tries(), () => { this.turning = false; }, () => this.say());
    }
    return undefined;
  }

  *tries() {
    for (; this.left; this.left -= 1) {
      this.at %= this.cases.length;
      this.found[this.at] = this.try(this.cases[this.at]);
      paint(this.squares[this.at], this.found[this.at].right);
      this.at += 1;
      if (this.left % AT_ONCE === 0) yield;
    }
  }

  get right() {
    return this.found.filter((found) => found?.right).length;
  }

  say() {
    const { cases, right, left, bench } = this;
    const [all, tried] = [cases.length, this.found.length > 0];
    const counted = `${right.toLocaleString("en")} of ${all.toLocaleString("en")} cases are right`;
    this.count.textContent = !all ? "No machine is drawn yet." : tried ? `${counted}${right === all && !left ? ": all of them." : "."}` : `${all.toLocaleString("en")} cases. They are tried as soon as the network has prototypes.`;
    Object.assign(this.progress, { value: right, max: Math.max(1, all) });
    if (this.looked) this.detail.textContent = this.describe(this.looked);
    if (!left) this.sayProof(tried && right === all && !bench.hits?.length);
  }

  // What is proven: the verdict stands first, and the checker's words below the squares.
  sayProof(allRight) {
    const proven = allRight ? this.bench.proven : null;
    if (proven === this.proved) return;
    this.proved = proven;
    for (const place of [this.proof, this.claim]) place.replaceChildren();
    if (!proven) return;
    const note = html("p", {}, "Checked here in double precision; the proof is ", html("code", {}, "regulargpt check"), ", whose file you can save.");
    const which = proven.snapshot?.balls ? "the network as it is, and with each node moved to its nearest prototype." : "the network with each node moved to its nearest prototype.";
    this.proof.append(html("p", {}, html("b", {}, "✓ Proven: right on every word, "), which), action("Save the file", () => this.bench.save()));
    this.bench.share?.().then((share) => share && this.proved === proven && this.claim.append(action("Copy a link with this trained network", ({ target }) => share(target))));
    this.claim.append(html("p", { class: "caption" }, proven.sentence), note);
  }

  // The network's own; those of the others stand with their lanes.
  sayWrong() {
    const { wrong, proven, hits } = this.bench;
    this.wrong.replaceChildren(...this.wrongOf(wrong.regulargpt, proven && !hits.length));
  }

  wrongOf(found, isProven) {
    if (isProven) return [`None, at any length${this.bench.proven.snapshot?.balls ? "" : ", with each node at its prototype"}: that is the proof.`];
    if (!found) return ["Not searched yet."];
    const tried = found.ended ? ", at any length" : ` of at most ${found.tried} symbols`;
    if (found.word === null) return [found.length ? `One of ${found.length.toLocaleString("en")} symbols, too long to be shown.` : `None${tried}${ROUNDED}.`];
    const text = write(found.word, this.bench.language.alphabet);
    const show = action(short(text, 24), () => this.bench.set.word(found.word), { class: "word-button", "aria-label": `show ${text}` });
    return [show, ` It answers ${found.answer ?? "nothing"}; right is ${found.truth}.`];
  }

  // What a square is, in words.
  describe(square) {
    const i = square.dataset.case;
    if (i === undefined) return NO_CASE;
    const [{ part, window, image }, found] = [this.cases[i], this.found[i]];
    const name = (row) => this.words(part, row);
    if (part === "answers") {
      const says = found ? ` The network answers ${found.here ?? "nothing"}. ${found.right ? "✓ Right" : "✗ Wrong"}.` : " Not tried yet.";
      return `Answers: a word that ends at ${this.words("nodes", window[0])} is ${image}.${says}`;
    }
    const given = `${PARTS[part]}: ${[...window].reverse().map(name).join(", then ")}, is ${this.words("nodes", image)}.`;
    if (!found) return `${given} Not tried yet.`;
    if (!found.here) return `${given} No prototype is nearest. ✗ Wrong.`;
    const near = found.margin === Infinity ? "" : ` The next prototype is ${found.margin.toFixed(2)} farther.`;
    return `${given} The network comes to ${this.words("nodes", found.here)}, ${found.off.toFixed(2)} off. ${found.right ? "✓ Right" : "✗ Wrong"}.${near}`;
  }

  look(square) {
    if (!square) return;
    this.looked = square;
    this.detail.textContent = this.describe(square);
    square.setAttribute("aria-label", this.detail.textContent);
  }

  // Where the focus comes back to.
  stop(square) {
    this.tables.querySelector("[tabindex='0']").tabIndex = -1;
    square.tabIndex = 0;
  }

  // What the hammer is to strike.
  aim(square) {
    const { part, window } = this.cases[square.dataset.case] ?? {};
    if (part in { leaves: 0, nodes: 0 }) this.bench.set.aim({ kind: "case", part, window });
  }

  // The squares are one grid: below the last row of a table stands the first of the next.
  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] }[event.key];
    const from = event.target.dataset.place;
    if (event.key === "Enter") this.aim(event.target);
    if (!step || !from) return;
    event.preventDefault();
    const [r, c] = from.split(",").map(Number);
    const row = this.grid[Math.min(this.grid.length - 1, Math.max(0, r + step[0]))];
    const square = row[Math.min(row.length - 1, Math.max(0, c + step[1]))];
    square.focus();
  }
}

// What has a colour and no room for its name.
function spot(words, colour) {
  return html("span", { class: "spot", title: words, style: `background: ${colour}` }, html("span", { class: "unseen" }, words));
}

// A square as its case stands, unless it stands so.
function paint(square, right) {
  if (square.shown === right) return;
  square.shown = right;
  colour(square, right);
}
