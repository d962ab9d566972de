// Words of one's own, one in each line: what the machine answers, and each network that has learned. Networks are asked in
// a worker: two hundred words are too many for the page.

import { LONG } from "./asking.js";
import { LANES } from "./bench.js";
import { calmly } from "./calmly.js";
import { worker } from "./training.js";

const MOST = 200; // words
const REST = 3; // times as long as the answers took, before the networks that have learned on are asked again

export class WordList {
  // `names` are those of the lanes.
  constructor(bench, names) {
    Object.assign(this, { bench, names, lines: [] });
    this.text = html("textarea", { "aria-label": "Words, one in each line", rows: 4, spellcheck: "false", autocapitalize: "off" });
    this.table = html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Answers to the words" });
    this.place = html("details", { class: "word-list" }, html("summary", {}, "Test a list of words"), html("p", { class: "caption" }, `One in each line, at most ${MOST}.`), this.text, this.table);
    this.draw = calmly(() => this.show());
    const read = calmly(() => this.read());
    for (const [place, kind] of [[this.text, "input"], [this.place, "toggle"]]) place.addEventListener(kind, read);
    for (const kind of ["language", "hits", "training"]) bench.on(kind, read);
    bench.on("snapshot", () => this.ask());
  }

  // Other words, or other networks: what was asked is of no use.
  read() {
    const { bench: { language }, place, text } = this;
    this.worker?.terminate();
    clearTimeout(this.resting);
    const lines = place.open && language ? text.value.split("\n").filter((line) => line.trim()) : [];
    Object.assign(this, { worker: null, waiting: 0, said: {}, asked: {}, lines: lines.slice(0, MOST).map((line) => lineOf(line.trim(), language)) });
    this.ask();
    this.draw();
  }

  ask() {
    const { bench: { snapshots, language, hits, prototypes }, asked, waiting, lines } = this;
    const lanes = LANES.filter((lane) => snapshots[lane] && snapshots[lane] !== asked?.[lane]);
    if (waiting || !lines.length || !lanes.length) return;
    Object.assign(this, { waiting: lanes.length, began: performance.now() });
    this.worker ??= worker("asking", (found) => this.take(found));
    for (const lane of lanes) {
      const { options, weights } = (asked[lane] = snapshots[lane]);
      this.worker.postMessage({ lane, options, weights, language, words: lines.map(({ word }) => word), ...(lane === LANES[0] ? { hits, prototypes } : {}) });
    }
  }

  take({ lane, answers }) {
    this.said[lane] = answers;
    this.draw();
    if (this.waiting > 1) this.waiting -= 1;
    else this.resting = setTimeout(() => {
      this.waiting = 0;
      this.ask();
    }, REST * (performance.now() - this.began));
  }

  show() {
    const { lines, said, names, table } = this;
    const lanes = LANES.filter((lane) => said?.[lane]);
    const row = (...cells) => html("tr", {}, ...cells);
    const head = ["Word", "Machine", ...lanes.map((lane) => names[lane])].map((name) => html("th", { scope: "col" }, name));
    const body = lines.map(({ text, word, truth, problem }, i) => {
      const answers = word ? [html("td", {}, truth), ...lanes.map((lane) => cell(said[lane][i], truth))] : [html("td", { class: "wrong", colspan: 1 + lanes.length }, `${MARKS.unknown} ${problem}`)];
      return row(html("th", { scope: "row" }, short(text, 24)), ...answers);
    });
    const known = lines.filter(({ word, truth }) => word && truth !== NO_ANSWER);
    const counts = lanes.map((lane) => html("td", {}, html("b", {}, `${known.filter((line) => said[lane][lines.indexOf(line)] === line.truth).length} of ${known.length} right`)));
    table.replaceChildren(...(lines.length ? [html("table", {}, html("thead", {}, row(...head)), html("tbody", {}, ...body), html("tfoot", {}, row(html("td", { colspan: 2 }), ...counts)))] : []));
  }
}

// A word with its right answer, or why a line is none.
function lineOf(text, language) {
  const { word, unknown } = read(text, language.alphabet);
  const problem = unknown.length ? `no symbol of this language: ${short(unknown.join(" "), 24)}` : word.length > LONG ? `more than ${LONG} symbols` : "";
  return problem ? { text, word: null, problem } : { text, word, truth: answerOf(word, language) };
}

// Where the machine has no answer, none is wrong.
function cell(answer, truth) {
  const mark = truth === NO_ANSWER ? "" : answer === truth ? "right" : "wrong";
  return html("td", { class: mark }, `${MARKS[mark] ?? ""} ${answer ?? "nothing"}`);
}
