// The cases of step 7 as tables: a square for each, so that a reader can count them.

const PAD = "pad";
const MOST_ROWS = 40; // of a table
const MISSING = "·"; // where no word has these two neighbours

// The squares of a level, by case: a row for the left neighbour and a column for the right one. Of more neighbours than
// two the squares stand in a row.
function levelSquares(lesson, part, caption, name, most = MOST_ROWS) {
  const { chunk_size: C, aligned } = lesson.network;
  const windows = lesson[part].map(([window]) => window);
  const beside = lesson.nesting ? lesson.alphabet.length : 0; // symbols in windows with prototypes
  const size = part === "leaves" ? lesson.alphabet.length : lesson.network.elements.length + beside;
  const said = `${caption}: ${windows.length.toLocaleString("en")} cases`;
  if (C !== 2 || size > most) return rowOfSquares(said, windows.length);
  // The one that may be missing stands where the network has its pad.
  const [whole, padded] = [lesson.nesting ? 0 : 1, 0].map((from) => Array.from({ length: size + 1 - from }, (_, i) => i + from));
  const [rows, columns] = aligned === "right" ? [padded, whole] : [whole, padded];
  const number = new Map(windows.map(([near, far], i) => [String(aligned === "right" ? [far, near] : [near, far]), i]));
  const squares = windows.map(() => html("td"));
  const body = rows.map((left) => [name(left), ...columns.map((right) => squares[number.get(String([left, right]))] ?? html("td", {}, MISSING))]);
  return { place: squareTable(said, "left \\ right", columns.map(name), body), squares };
}

// The squares of the answers: one for each prototype where a word may end.
function answerSquares(names) {
  const squares = names.map(() => html("td"));
  return { place: squareTable(`Answers: ${names.length}`, "a word ends at", names, [["answer", ...squares]]), squares };
}

function rowOfSquares(caption, count) {
  const squares = Array.from({ length: count }, () => html("i"));
  return { place: html("figure", {}, html("figcaption", {}, caption), html("div", { class: "row" }, ...squares)), squares };
}

function squareTable(caption, corner, heads, body) {
  const rows = body.map(([head, ...cells]) => html("tr", {}, html("th", { scope: "row" }, head), ...cells));
  const columns = heads.map((head) => html("th", { scope: "col" }, html("span", {}, head)));
  const table = html("table", {}, html("caption", {}, caption), html("thead", {}, html("tr", {}, html("td", {}, corner), ...columns)), html("tbody", {}, ...rows));
  return html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
}

// A square as it stands after its case was tried; null before.
function colour(square, right) {
  square.className = right === null ? "" : right ? "right" : "wrong";
  if (square.localName === "td") square.textContent = right === null ? "" : MARKS[square.className];
}
