// Behind the points of a map: all states that `verify` clusters, the clusters it finds, and what symbols do to them.

const BEND = 0.18; // how far an arrow swerves, as a share of its length: two that go there and back lie beside each other
const SHORT = 14; // between the end of an arrow and the middle of a heap, at most
const MOST_LETTERS = 4; // at an arrow

class Crowd {
  // `colours` are those of the page's elements or states, by number.
  constructor({ grid, dots, outlines, arrows, kept, middles, pairs, reads }, colours, alphabet) {
    const [left, low, step] = grid;
    const place = ([x, y]) => [left + step * x, low + step * y];
    const places = (text) => {
      const numbers = new Int16Array(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
      return Array.from({ length: numbers.length / 2 }, (_, i) => place(numbers.slice(2 * i, 2 * i + 2)));
    };
    const colour = (kind) => colours.get(pairs.find(([key, found]) => found === kind && colours.has(key))?.[0]) ?? "var(--soft)";
    const letters = (symbols) => symbols.slice(0, MOST_LETTERS).map((a) => alphabet[a]).join(", ") + (symbols.length > MOST_LETTERS ? ", …" : "");
    // The class of a number; null where it goes with several.
    this.classOf = (key) => {
      const [found, other] = pairs.filter(([number]) => number === key);
      return found && !other ? found[1] : null;
    };
    Object.assign(this, { reads, lit: [null, null, null] });
    this.dots = dots.map(([kind, text]) => ({ kind, colour: colour(kind), places: places(text) }));
    this.outlines = outlines.map(([kind, name, isSure, text]) => ({ kind, name, isSure, colour: colour(kind), places: places(text) }));
    this.arrows = arrows.map(([from, to, symbols]) => ({ from, to, symbols, label: letters(symbols), ends: [from, to].map((kind) => place(middles[kind])) }));
    this.kept = (key) => (kept[this.classOf(key)]?.length ? ` ↺ ${letters(kept[this.classOf(key)])}` : "");
  }

  // Outlines and dots; `scale` takes a place to the picture.
  behind(scale) {
    const rims = this.outlines.map(({ kind, name, isSure, colour, places }) => {
      const corners = places.map((at) => scale(at).map((value) => value.toFixed(1)).join()).join(" ");
      const title = `Cluster of ${name}${isSure ? "" : ": it does not match"}`;
      return svg("g", { class: `heap${isSure ? "" : " unsure"}`, "data-class": kind }, svg("title", {}, title), svg("polygon", { points: corners, fill: colour, stroke: colour }));
    });
    const heaps = this.dots.map(({ kind, colour, places }) => svg("path", { class: "crowd", "data-class": kind, stroke: colour, d: places.map((at) => `M${scale(at).map((value) => value.toFixed(1)).join(" ")}h0`).join("") }));
    return [...rims, ...heaps];
  }

  // The arrows, bent to the right of their way, and where their letters stand.
  moves(scale) {
    return this.arrows.map(({ from, to, symbols, label, ends }, i) => {
      const [start, end] = ends.map(scale);
      const way = [end[0] - start[0], end[1] - start[1]];
      const [x, y] = [0, 1].map((k) => (start[k] + end[k]) / 2 + (BEND / 2) * [-way[1], way[0]][k]);
      const turn = [0, 1].map((k) => 2 * [x, y][k] - (start[k] + end[k]) / 2);
      const short = Math.min(SHORT, Math.hypot(...way) / 3);
      const toward = (at) => at.map((value, k) => value + (short * (turn[k] - value)) / (Math.hypot(turn[0] - at[0], turn[1] - at[1]) || 1));
      const [tail, tip] = [toward(start), toward(end)];
      const angle = (180 / Math.PI) * Math.atan2(tip[1] - turn[1], tip[0] - turn[0]);
      const drawn = svg("g", { class: "move", "data-from": from, "data-to": to, "data-symbols": symbols.join(" ") });
      drawn.append(svg("title", {}, `The arrow of ${label}`), svg("path", { d: `M${tail} Q${turn} ${tip}` }), svg("polygon", { points: "3,0 -8,-4.5 -8,4.5", transform: `translate(${tip}) rotate(${angle})` }));
      return { drawn, x, y, label, number: `arrow ${i}` };
    });
  }

  // Light the arrow of the last symbol of what was read, and the outline of where it leads. `element` gives that of all.
  light(place, word, element) {
    const reached = (part) => part.reduce((kind, a) => this.reads[1][kind][a], this.reads[0]);
    const before = this.reads && word.length ? reached(word.slice(0, -1)) : null;
    this.lit = [before, this.reads ? reached(word) : this.classOf(element()), word[word.length - 1]];
    this.relight(place);
  }

  relight(place) {
    const [before, after, symbol] = this.lit;
    place.querySelectorAll(".heap:not(.unsure)").forEach((heap) => heap.classList.toggle("lit", Number(heap.dataset.class) === after));
    place.querySelectorAll(".move").forEach(({ classList, dataset: { from, to, symbols } }) => {
      classList.toggle("lit", Number(from) === before && Number(to) === after && symbols.split(" ").includes(String(symbol)));
    });
  }
}
