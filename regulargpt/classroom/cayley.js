// The multiplication table of the prototypes: cells to walk through, or pixels where there are many.

const MOST_CELLS = 60;
const MOST_NAMED = 12;

class CayleyView {
  constructor(place, product, run) {
    Object.assign(this, { place, product, run, at: null });
    this.size = run.network.elements.length;
    if (this.size <= MOST_CELLS) this.cells();
    else this.pixels();
    place.addEventListener("keydown", (event) => this.key(event));
  }

  // What the network makes of prototype p and, to its right, q; null where that never occurs.
  of(p, q) {
    const { chunk_size: C, aligned, nodes } = this.run.network;
    return image(nodes, [...(aligned === "right" ? [q, p] : [p, q]), ...Array(C - 2).fill(0)]);
  }

  words(p, q) {
    const made = this.of(p, q);
    const shown = (state) => `${stands(this.run, state)} (prototype ${state})`;
    if (made === null) return `${shown(p)} then ${shown(q)}: occurs in no word that has an answer.`;
    return `${shown(p)} then ${shown(q)} gives ${shown(made)}.`;
  }

  cells() {
    const all = Array.from({ length: this.size }, (_, i) => i + 1);
    const named = this.size <= MOST_NAMED;
    const label = (state) => short(stands(this.run, state).replace(/^\[(.*)\]$/u, "$1"), 9);
    const head = html("tr", {}, html("td"), ...all.map((q) => html("th", { scope: "col" }, label(q))));
    const body = all.map((p) => {
      const cells = all.map((q) => {
        const made = this.of(p, q);
        const [colour, ink] = made === null ? ["transparent", "inherit"] : this.run.network.colours[made - 1];
        const inner = made === null ? "·" : named ? label(made) : String(made);
        const style = `background: ${colour}; color: ${ink}`;
        const cell = html("td", { tabindex: -1, style, "data-row": p, "data-column": q, "data-image": made ?? "", "aria-label": this.words(p, q) }, inner);
        cell.addEventListener("focus", () => this.choose(p, q));
        cell.addEventListener("mouseenter", () => this.tell(p, q));
        return cell;
      });
      return html("tr", {}, html("th", { scope: "row" }, label(p)), ...cells);
    });
    const table = html("table", { class: named ? "products" : "products dense", role: "grid" }, html("thead", {}, head), html("tbody", {}, ...body));
    table.querySelector("tbody td").setAttribute("tabindex", 0);
    this.place.append(table);
  }

  pixels() {
    const size = Math.max(2, Math.floor(720 / this.size));
    const canvas = html("canvas", { width: size * this.size, height: size * this.size, tabindex: 0, role: "application", "aria-label": `Cayley table of ${this.size} prototypes; arrow keys move` });
    Object.assign(this, { canvas, pixel: size });
    const place = (event) => [event.offsetY, event.offsetX].map((v) => Math.min(this.size, 1 + Math.max(0, Math.floor(v / size))));
    canvas.addEventListener("mousemove", (event) => this.tell(...place(event)));
    canvas.addEventListener("click", (event) => this.choose(...place(event)));
    canvas.addEventListener("focus", () => this.choose(...(this.at ?? [1, 1])));
    this.place.append(canvas);
    this.paint();
  }

  paint() {
    const pen = this.canvas.getContext("2d");
    const { pixel, size } = this;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (let p = 1; p <= size; p += 1) {
      for (let q = 1; q <= size; q += 1) {
        const made = this.of(p, q);
        if (made === null) continue;
        [pen.fillStyle] = this.run.network.colours[made - 1];
        pen.fillRect((q - 1) * pixel, (p - 1) * pixel, pixel, pixel);
      }
    }
    this.picture = pen.getImageData(0, 0, this.canvas.width, this.canvas.height);
  }

  tell(p, q) {
    this.product.textContent = this.words(p, q);
  }

  choose(p, q) {
    this.at = [p, q];
    this.tell(p, q);
    if (this.canvas) {
      const pen = this.canvas.getContext("2d");
      pen.putImageData(this.picture, 0, 0);
      pen.lineWidth = 3;
      pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
      pen.strokeRect((q - 1) * this.pixel - 3, (p - 1) * this.pixel - 3, this.pixel + 6, this.pixel + 6);
      return;
    }
    this.place.querySelectorAll("td[data-row]").forEach((cell) => {
      const here = Number(cell.dataset.row) === p && Number(cell.dataset.column) === q;
      cell.classList.toggle("chosen", here);
      cell.setAttribute("tabindex", here ? 0 : -1);
    });
  }

  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || !this.at) return;
    event.preventDefault();
    const [p, q] = this.at.map((v, i) => Math.min(this.size, Math.max(1, v + step[i])));
    if (this.canvas) this.choose(p, q);
    else this.place.querySelector(`td[data-row="${p}"][data-column="${q}"]`).focus();
  }
}
