// Two networks on one word: what each answers, and the first node or prefix at which they differ.

const MOST_COMPARED = 500; // nodes in the table

// A run's name in a list: its language and its folder.
const titleOf = ({ article }) => `${article.querySelector("h2").textContent}: ${article.querySelector(".folder code").textContent}`;

// Whether two runs name the same elements by the same words, so that their nodes can be compared.
const sameMonoid = (a, b) => JSON.stringify(a.run.elements?.words) === JSON.stringify(b.run.elements?.words);

// The elements that a node's nearest prototype stands for.
const elementsAt = (run, node) => run.run.live.prototypes.elements[node.state - 1];

// Both nodes at each place of two trees, from the symbols up; null where the trees are not of one shape.
function pairs(a, b) {
  if (!a.original?.length || !b.original?.length || !sameMonoid(a, b)) return null;
  const [first, second] = [a, b].map(({ live }) => [live.model.chunk_size, live.model.aligned, live.model.direction].join());
  if (first !== second) return null;
  return a.original.flatMap((level, l) => level.map((node, i) => {
    const other = b.original[l][i];
    const [left, right] = [elementsAt(a, node), elementsAt(b, other)];
    return { node, other, differ: left !== right && !left.some((e) => right.includes(e)) };
  }));
}

// The answers after each prefix that is computed for both.
function answersAfter(a, b) {
  const [left, right] = [a, b].map(({ live, word }) => (live.model.state ? live.prefixes(word) : []));
  return Array.from({ length: Math.min(left.length, right.length) }, (_, i) => [left[i].answer?.name ?? null, right[i].answer?.name ?? null]);
}

class Comparison {
  constructor(place, all) {
    const part = (name) => place.querySelector(`[data-compare="${name}"]`);
    Object.assign(this, { place, part, runs: all.filter(({ live }) => live) });
    for (const [side, chosen] of [["left", 0], ["right", 1]]) {
      part(side).append(...this.runs.map((run, i) => html("option", { value: i }, `${i + 1}. ${titleOf(run)}`)));
      part(side).value = chosen;
      part(side).addEventListener("change", () => this.show());
    }
    place.querySelector("details").addEventListener("toggle", () => this.list());
    // Where several runs share the word, the last of the two that is shown knows both.
    byId("runs").addEventListener("shown", ({ target }) => target === this.later && this.show());
    byId("runs").addEventListener("changed", () => this.show());
    this.show();
  }

  get chosen() {
    return ["left", "right"].map((side) => this.runs[this.part(side).value]);
  }

  get later() {
    return this.runs[Math.max(...["left", "right"].map((side) => Number(this.part(side).value)))].article;
  }

  show() {
    const [a, b] = this.chosen;
    this.pairs = pairs(a, b);
    this.part("answers").replaceChildren(this.answers(a, b));
    this.part("said").replaceChildren(...this.say(a, b));
    const differ = a.answer?.name !== b.answer?.name || this.pairs?.some((pair) => pair.differ);
    this.part("said").classList.toggle("here", Boolean(differ));
    this.list();
  }

  // What both answer, and how much is proven of them, in a table.
  answers(a, b) {
    const both = (words) => [a, b].map((run) => html("td", {}, words(run)));
    const truth = ({ word, states, run }) => (word.length ? run.outputs[states[states.length - 1]] : null);
    const verdict = (run) => (truth(run) === null ? "unknown" : run.answer?.name === truth(run) ? "right" : "wrong");
    const sure = (run) => (run.live.sure(run.answer) ? `, ${run.live.sure(run.answer)} sure` : ", made by hand");
    const network = (run) => (run.answer ? `${MARKS[verdict(run)]} ${run.answer.name}${sure(run)}` : "not computed");
    const nodes = (run) => (run.original?.length ? `${run.original.flat().filter((node) => node.verdict === "right").length} of ${run.original.flat().length}` : "no tree");
    const rows = [
      ["network", both(network)],
      ["automaton", both((run) => truth(run) ?? "no answer")],
      ["nodes right", both(nodes)],
      ["proven", both(({ article }) => article.querySelector(".badge").textContent)],
    ].map(([name, cells]) => html("tr", {}, html("th", { scope: "row" }, name), ...cells));
    const heads = [html("td"), ...["left", "right"].map((name) => html("th", { scope: "col" }, name))];
    return html("table", { class: "side-by-side" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
  }

  say(a, b) {
    if (JSON.stringify(a.run.alphabet) !== JSON.stringify(b.run.alphabet)) return ["They read other symbols: each has its own word of what is typed."];
    if (!a.word.length) return [];
    const same = a.answer && b.answer && a.answer.name === b.answer.name;
    const answers = !a.answer || !b.answer ? "One of them is not computed on this word." : same ? `Both answer ${a.answer.name}.` : `Left answers ${a.answer.name}, right answers ${b.answer.name}.`;
    const without = [a, b].some(({ now }) => now.isChanged) ? " Your changes are not in this comparison." : "";
    return [answers, " ", ...this.sayNodes(a, b), " ", this.sayPrefixes(a, b), without];
  }

  // The first node at which their trees differ, and a button that goes there.
  sayNodes(a, b) {
    if (!this.pairs) return [a.original?.length && b.original?.length ? "Their trees cannot be compared node by node: they have another shape, or other elements." : "They have no two trees to compare."];
    const first = this.pairs.find(({ differ }) => differ);
    if (!first) return ["No node of their trees differs."];
    const { node, other } = first;
    const button = html("button", { type: "button" }, "Show it");
    button.addEventListener("click", () => a.tree.unfold(a.levels[node.level - 1][node.index]));
    const sub = short(write(a.word.slice(node.from, node.to), a.run.alphabet), 24);
    const place = node.to - node.from === 1 ? `symbol ${node.to}` : `symbols ${node.from + 1} to ${node.to}`;
    const [left, right] = [stands(a.run, node.state), stands(b.run, other.state)];
    return [`Their trees differ first at level ${node.level}, ${place}, the sub-word `, html("code", {}, sub), `: left is nearest to ${left}, right to ${right}; it is ${named(a.run.elements.words[node.element])}. `, button];
  }

  sayPrefixes(a, b) {
    const found = answersAfter(a, b);
    const at = found.findIndex(([left, right]) => left !== right);
    const some = found.length < a.word.length ? ` that were computed, of ${a.word.length.toLocaleString("en")},` : "";
    if (!found.length) return "";
    if (at < 0) return `After each of the ${found.length.toLocaleString("en")} prefixes${some} they answer alike.`;
    const [left, right] = found[at].map((name) => name ?? "nothing");
    return `Their answers differ first after ${at + 1} ${at ? "symbols" : "symbol"}: left says ${left}, right ${right}.`;
  }

  // Every node of both, in a table.
  list() {
    const nodes = this.part("nodes");
    nodes.replaceChildren();
    if (!this.place.querySelector("details").open) return;
    if (!this.pairs) nodes.append(html("p", {}, "There are no two trees of one shape."));
    else nodes.append(this.table());
  }

  table() {
    const [a, b] = this.chosen;
    const rows = this.pairs.slice(0, MOST_COMPARED).map(({ node, other, differ }) => {
      const sub = short(write(a.word.slice(node.from, node.to), a.run.alphabet), 30);
      const cells = [`${node.from + 1}–${node.to}`, sub, named(a.run.elements.words[node.element]), stands(a.run, node.state), stands(b.run, other.state), differ ? "≠" : "="];
      return html("tr", { class: differ ? "wrong" : "", "data-differ": differ }, html("th", { scope: "row" }, `${node.level}`), ...cells.map((words) => html("td", {}, words)));
    });
    const heads = ["level", "symbols", "sub-word", "true", "left", "right", "the same"].map((name) => html("th", { scope: "col" }, name));
    const left = this.pairs.length - MOST_COMPARED;
    const caption = left > 0 ? [html("caption", {}, `${left.toLocaleString("en")} more nodes are not listed.`)] : [];
    return html("table", {}, ...caption, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
  }
}

const compared = document.querySelector(".compare");
if (compared) new Comparison(compared, known);
