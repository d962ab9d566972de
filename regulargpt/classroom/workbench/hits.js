// A network with hits: single weights that are changed, cases that land elsewhere, edges that are cut.
//
//   struck(network, hits, prototypes, direction)  the twin RegularGPT of { options, weights } with the hits
//   weightsWith(weights, hits)                    the weights with all changes; those given stay as they are
//   hitsAsText(hits), hitsFromText(text)          hits as the end of an address, and back; null where it is none
//
// Hit: { kind: "weight", name, index, by } | { kind: "case", part, window, image } | { kind: "edge", part, window, offset }.
// part is "leaves" or "nodes", window [near, far] as the cases have it: a hit on a case or an edge is met wherever that
// window occurs, in the drawn tree, on the wall, and in every search. Taking a hit off the list undoes it.

import { memo } from "../../models/layers.js";
import { RegularGPT } from "../../models/regulargpt/model.js";
import { Weights } from "../../models/weights.js";
import { landing } from "./wall.js";

export function struck({ options, weights }, hits, prototypes, direction = null) {
  const tensors = new Map(Object.entries(weightsWith(weights, hits)));
  const given = { options, direction, weights: new Weights(tensors) };
  const ofWindows = hits.filter(({ kind }) => kind !== "weight");
  return ofWindows.length ? new Struck(given, ofWindows, prototypes ?? []) : new RegularGPT(given);
}

// Only a tensor with a change is copied.
export function weightsWith(weights, hits) {
  const found = { ...weights };
  for (const { kind, name, index, by } of hits) {
    if (kind !== "weight") continue;
    if (found[name] === weights[name]) found[name] = { ...weights[name], data: weights[name].data.slice() };
    found[name].data[index] += by;
  }
  return found;
}

// The network in which some windows are struck. Which window a node has is said by its children: symbols by their own
// states, all others by the nearest prototype.
class Struck extends RegularGPT {
  constructor(given, hits, prototypes) {
    super(given);
    this.prototypes = prototypes;
    this.symbols = super.leaves();
    this.rows = new Map(this.symbols.map((state, row) => [state, row]));
    this.strokes = new Map();
    for (const hit of hits) this.add(hit);
  }

  add({ kind, part, window, image, offset }) {
    const key = `${part} ${window}`;
    const before = this.strokes.get(key) ?? { image: null, cut: [] };
    this.strokes.set(key, kind === "case" ? { ...before, image } : { ...before, cut: [...before.cut, offset] });
  }

  // The same arrays each time: a state is known as a symbol's by being that array.
  leaves() {
    return [...this.symbols];
  }

  treeLayer(block, last) {
    const layer = super.treeLayer(block, last);
    const over = (states) => {
      const [merge, strokeAt] = [layer.over(states), this.strokesOver(states)];
      return (window, cut = []) => {
        const stroke = strokeAt(window);
        return stroke?.image ? this.prototypes[stroke.image - 1] : merge(window, [...cut, ...(stroke?.cut ?? [])]);
      };
    };
    const shares = (states) => {
      const [paid, strokeAt] = [layer.shares(states), this.strokesOver(states)];
      return (window, cut = []) => paid(window, [...cut, ...(strokeAt(window)?.cut ?? [])]);
    };
    return { ...layer, over, shares };
  }

  // What has struck a window of rows of these states.
  strokesOver(states) {
    const isSymbol = (row) => this.rows.has(states[row]);
    const place = memo((row) => landing(states[row], this.prototypes).here);
    const beside = (row) => (this.rows.get(states[row]) ? this.prototypes.length + this.rows.get(states[row]) : 0);
    return (window) => {
      if (window.every(isSymbol)) return this.strokes.get(`leaves ${window.map((row) => this.rows.get(states[row]))}`);
      return this.strokes.get(`nodes ${window.map((row) => (isSymbol(row) ? beside(row) : place(row)))}`);
    };
  }
}

// Hits for an address: w!NAME!INDEX!BY, c!PART!NEAR.FAR!IMAGE and e!PART!NEAR.FAR!OFFSET, with ~ between them.
export function hitsAsText(hits) {
  return hits.map(({ kind, part, window, name, index, by, image, offset }) => {
    if (kind === "weight") return ["w", name, index, by].join("!");
    return [kind[0], part, window.join("."), kind === "case" ? image : offset].join("!");
  }).join("~");
}

export function hitsFromText(text) {
  const hits = text ? text.split("~").map(hitOf) : [];
  return hits.includes(null) ? null : hits;
}

function hitOf(text) {
  const [kind, part, place, last] = text.split("!");
  const value = last ? Number(last) : NaN;
  if (kind === "w") return Number.isInteger(Number(place)) && Number.isFinite(value) ? { kind: "weight", name: part, index: Number(place), by: value } : null;
  const window = (place ?? "").split(".").map(Number);
  const isWindow = ["leaves", "nodes"].includes(part) && window.length === 2 && window.every(Number.isInteger);
  if (!isWindow || !Number.isInteger(value)) return null;
  if (kind === "c") return { kind: "case", part, window, image: value };
  return kind === "e" ? { kind: "edge", part, window, offset: value } : null;
}
