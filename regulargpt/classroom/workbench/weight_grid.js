// A tensor of weights as a heat map, of which one weight is chosen; and a slider that changes it.

import { calmly } from "./calmly.js";

const MOST = 8; // that a slider adds or takes away
const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// The layers of a network by the ends of their names.
const LAYERS = { embedding: "symbols", ln1: "first norm", query: "queries", key: "keys", value: "values", out: "attended", r: "places", ln2: "second norm", ff_in: "first layer", ff_out: "second layer", state_norm: "last norm", readout: "answers" };

export class WeightGrid {
  // `strike(hit)` sets what is added to a weight.
  constructor(strike) {
    this.strike = strike;
    this.names = html("select", { id: "tensor" });
    this.canvas = html("canvas", { role: "img", tabindex: 0, class: "heat" });
    this.mark = html("i", { class: "mark", hidden: "" });
    [this.row, this.column] = ["row", "column"].map((name) => html("input", { type: "number", min: 1, step: 1, value: 1, id: `weight-${name}` }));
    this.slider = html("input", { type: "range", min: -MOST, max: MOST, step: 0.05, value: 0, id: "weight-by" });
    this.value = html("output", { for: "weight-by" });
    const field = (words, input) => html("span", { class: "pick" }, html("label", { for: input.id }, words), input);
    const note = html("p", { class: "caption" }, "Each field is a weight: blue above 0, orange below, stronger the farther from it.");
    this.place = html("div", { class: "weights" }, field("Weights", this.names), html("div", { class: "heat-map" }, this.canvas, this.mark), note, html("div", { class: "tools" }, field("Row", this.row), field("Column", this.column)), html("div", { class: "tools" }, field("Add", this.slider), this.value));
    this.names.addEventListener("change", () => this.choose(this.names.value, 0));
    for (const input of [this.row, this.column]) input.addEventListener("input", () => this.go(this.row.value - 1, this.column.value - 1));
    // A slider moves faster than a page is drawn: the last place it was moved to counts, whatever is drawn meanwhile.
    const moved = calmly(() => {
      this.strike(this.asked);
      this.asked = null;
    });
    this.slider.addEventListener("input", () => {
      this.asked = { kind: "weight", name: this.name, index: this.index, by: Number(this.slider.value) };
      moved();
    });
    this.canvas.addEventListener("click", ({ offsetX, offsetY }) => this.go(...this.under(offsetX, offsetY)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    Object.assign(this, { weights: null, name: null, index: 0, asked: null });
  }

  // The weights as they are without hits, and what hits add to them.
  show(weights, hits) {
    if (!weights) return;
    const isNew = this.weights !== weights;
    Object.assign(this, { weights, hits });
    if (isNew && Object.keys(weights).join() !== [...this.names.options].map(({ value }) => value).join()) {
      this.names.replaceChildren(...Object.entries(weights).map(([name, { shape }]) => html("option", { value: name }, `${layerOf(name)}, ${shape.join(" × ")}`)));
      this.name = null;
    }
    if (!(this.name in weights)) this.choose(Object.keys(weights).find((name) => name.endsWith("ff_out.weight")) ?? Object.keys(weights)[0], 0);
    else this.draw();
  }

  choose(name, index) {
    Object.assign(this, { name, index });
    this.names.value = name;
    this.draw();
  }

  // Rows and columns of the tensor; a vector is one row.
  get size() {
    const { shape, data } = this.weights[this.name];
    return [data.length / shape[shape.length - 1], shape[shape.length - 1]];
  }

  go(row, column) {
    const [rows, columns] = this.size;
    const inside = (at, count) => Math.min(count - 1, Math.max(0, Math.floor(at) || 0));
    this.index = inside(row, rows) * columns + inside(column, columns);
    this.draw(document.activeElement);
  }

  under(x, y) {
    const [rows, columns] = this.size;
    const { clientWidth, clientHeight } = this.canvas;
    return [(rows * y) / clientHeight, (columns * x) / clientWidth];
  }

  key(event) {
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    const [, columns] = this.size;
    this.go(Math.floor(this.index / columns) + step[0], (this.index % columns) + step[1]);
  }

  added(index) {
    return this.hits.reduce((sum, hit) => sum + (hit.kind === "weight" && hit.name === this.name && hit.index === index ? hit.by : 0), 0);
  }

  // What is typed into is left as it is.
  draw(typed = null) {
    const [rows, columns] = this.size;
    const { data } = this.weights[this.name];
    const [row, column] = [Math.floor(this.index / columns), this.index % columns];
    for (const [input, at, count] of [[this.row, row, rows], [this.column, column, columns]]) {
      input.max = count;
      if (input !== typed) input.value = at + 1;
    }
    const [before, by] = [data[this.index], this.added(this.index)];
    if (document.activeElement !== this.slider && !this.asked) this.slider.value = by;
    this.value.textContent = by ? `${number(before)} → ${number(before + by)}` : number(before);
    this.canvas.setAttribute("aria-label", `${layerOf(this.name)}: row ${row + 1} of ${rows}, column ${column + 1} of ${columns}, ${this.value.textContent}. Arrow keys choose another weight.`);
    this.paint(rows, columns, data);
    Object.assign(this.mark.style, { left: `${(100 * column) / columns}%`, top: `${(100 * row) / rows}%`, width: `${100 / columns}%`, height: `${100 / rows}%` });
    this.mark.hidden = false;
  }

  paint(rows, columns, data) {
    Object.assign(this.canvas, { width: columns, height: rows });
    this.canvas.style.aspectRatio = `${columns} / ${Math.min(Math.max(rows, columns / 16), columns)}`;
    const found = getComputedStyle(document.documentElement);
    const [plus, minus, paper] = ["--curve", "--mark", "--paper"].map((name) => parts(found.getPropertyValue(name)));
    const most = data.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0) || 1;
    const image = new ImageData(columns, rows);
    data.forEach((value, i) => {
      const now = value + this.added(i);
      const share = Math.min(1, Math.abs(now) / most);
      (now < 0 ? minus : plus).forEach((part, c) => { image.data[4 * i + c] = paper[c] + share * (part - paper[c]); });
      image.data[4 * i + 3] = 255;
    });
    this.canvas.getContext("2d").putImageData(image, 0, 0);
  }
}

// A tensor's name in words.
export function layerOf(name) {
  const [, layer, bias] = /(\w+?)(?:\.weight|\.(bias))?$/u.exec(name);
  return [LAYERS[layer] ?? layer, ...(bias ? [bias] : [])].join(", ");
}

const number = (value) => (Number.isFinite(value) ? value.toFixed(3).replace("-", "−") : value < 0 ? "−∞" : "∞");

// A colour as #rrggbb, in numbers.
const parts = (text) => text.trim().slice(1).match(/../gu).map((part) => parseInt(part, 16));
