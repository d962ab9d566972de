// What is said of nodes: in words, and in tables.

const MARKS = { right: "✓", wrong: "✗", unknown: "?" };

const percent = (share) => `${(100 * share).toFixed(0)}\u00a0%`;

// The typed word with what is not in the alphabet marked; of a long word, from shortly before the first mark.
function marked({ symbols, single }, unknown, most = 60) {
  const isWrong = (symbol) => unknown.includes(symbol);
  const first = Math.max(0, symbols.findIndex(isWrong) - most / 3);
  const shown = symbols.slice(first, first + most).flatMap((symbol) => [isWrong(symbol) ? html("mark", { title: "not in the alphabet" }, symbol) : symbol, single ? "" : " "]);
  return html("code", { class: "typed-word" }, first ? "…" : "", ...shown, first + most < symbols.length ? "…" : "");
}

// The symbols that a child of a node stands for: a node, or the position of a symbol.
const spanOf = (child) => (child.level ? child : { from: child, to: child + 1 });

// What stands for a part of a word on its own: its least word. One that isOpen lacks the return of its first call.
const noun = (run, isOpen) => `${run.elements.noun ?? "monoid element"}${isOpen ? ", open," : ""}`;

// What a node is, in words.
function describe(node, word, run) {
  const sub = short(write(word.slice(node.from, node.to), run.alphabet), 60);
  const place = node.to - node.from === 1 ? `symbol ${node.to}` : `symbols ${node.from + 1} to ${node.to}`;
  const truth = `${noun(run, node.isOpen)} ${named(run.elements.words[node.element])}`;
  if (node.state === null) {
    return `Level ${node.level}, ${place}: ${sub}; ${truth}. ? ${run.unknown ?? "Not in the table: no word with an answer has this window."}`;
  }
  const verdict = node.verdict === "right" ? "✓ the same" : "✗ not the same";
  return `Level ${node.level}, ${place}: ${sub}; ${truth}. Network: prototype ${node.state}, stands for ${stands(run, node.state)}. ${verdict}.`;
}

function facts(node) {
  return {
    "data-level": node.level,
    "data-index": node.index,
    "data-from": node.from,
    "data-to": node.to,
    "data-element": node.element,
    "data-state": node.state ?? "",
    "data-verdict": node.verdict,
  };
}

const MOST_LEVELS = 100; // in the table: brackets that are nested deeply have levels by the thousand

// How many nodes of each level are right, from the root down.
function levelTable(levels) {
  const rows = [...levels].reverse().slice(0, MOST_LEVELS).map((level) => {
    const count = (verdict) => level.filter((node) => node.verdict === verdict).length;
    const counts = ["right", "wrong", "unknown"].map((verdict) => [verdict, count(verdict)]);
    const cells = counts.map(([verdict, n]) => html("td", { class: n ? verdict : "" }, String(n)));
    const data = Object.fromEntries(counts.map(([verdict, n]) => [`data-${verdict}`, n]));
    return html("tr", { "data-level": level[0].level, ...data }, html("th", { scope: "row" }, `${level[0].level}`), html("td", {}, `${level.length}`), ...cells);
  });
  const heads = ["level", "nodes", "✓ right", "✗ wrong", "? unknown"].map((name) => html("th", { scope: "col" }, name));
  const more = levels.length - rows.length;
  if (more > 0) rows.push(html("tr", {}, html("td", { colspan: heads.length }, `${more.toLocaleString("en")} levels more`)));
  return html("table", { class: "levels" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
}

// Every node in a row of a table.
function nodeTable(levels, word, run) {
  const rows = [...levels].reverse().flat().map((node) => {
    const cells = [
      `${node.from + 1}–${node.to}`,
      short(write(word.slice(node.from, node.to), run.alphabet), 40),
      named(run.elements.words[node.element]),
      node.state === null ? "?" : `#${node.state} ${stands(run, node.state)}`,
      MARKS[node.verdict],
    ].map((words) => html("td", {}, words));
    return html("tr", { class: node.verdict, ...facts(node) }, html("th", { scope: "row" }, `${node.level}`), ...cells);
  });
  const heads = ["level", "symbols", "sub-word", noun(run), "network", "verdict"].map((name) => html("th", { scope: "col" }, name));
  return html("table", { class: "nodes" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows));
}
