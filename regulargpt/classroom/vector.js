// A state's numbers: a strip of squares in colour, and the numbers as text.

const STRIP = { square: 20, across: 16 };

// Blue above zero, orange below; the largest number is the darkest.
function strip(vector) {
  const most = Math.max(...Array.from(vector, Math.abs)) || 1;
  const rows = Math.ceil(vector.length / STRIP.across);
  const size = { width: Math.min(vector.length, STRIP.across) * STRIP.square, height: rows * STRIP.square };
  const [low, high] = [Math.min(...vector), Math.max(...vector)].map((value) => value.toFixed(2));
  const picture = svg("svg", { class: "strip", viewBox: `0 0 ${size.width} ${size.height}`, style: `width: ${size.width}px`, role: "img", "aria-label": `${vector.length} numbers from ${low} to ${high}, listed below` });
  vector.forEach((value, i) => {
    const [x, y] = [(i % STRIP.across) * STRIP.square, Math.floor(i / STRIP.across) * STRIP.square];
    const square = svg("rect", { class: value < 0 ? "below" : "above", x, y, width: STRIP.square, height: STRIP.square, "fill-opacity": (Math.abs(value) / most).toFixed(3) });
    square.append(svg("title", {}, `${i}: ${value.toFixed(3)}`));
    picture.append(square);
  });
  return picture;
}

// The numbers behind a summary that opens them; `show(vector, words)` says whose they are.
class VectorView {
  constructor(place) {
    Object.assign(this, { place, body: place.querySelector("div"), vector: null });
    place.addEventListener("toggle", () => this.draw());
    this.draw();
  }

  show(vector, words) {
    Object.assign(this, { vector, words });
    this.draw();
  }

  draw() {
    if (!this.place.open) return;
    if (!this.vector) {
      this.body.replaceChildren(html("p", {}, "Choose a state, and its numbers stand here."));
      return;
    }
    const numbers = Array.from(this.vector, (value) => value.toFixed(3).replace("-", "−"));
    this.body.replaceChildren(html("p", {}, this.words), strip(Array.from(this.vector)), html("ol", { class: "numbers", start: 0, "aria-label": "The state's numbers" }, ...numbers.map((value) => html("li", {}, value))));
  }
}
