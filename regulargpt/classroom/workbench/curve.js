// How a network's training went: the share of right answers as a line, its loss as a dashed one, in a frame of one size.

const FRAME = { width: 300, height: 80, edge: 3 };
const MOST_POINTS = 300;

export class Curve {
  constructor(label) {
    const { width, height } = FRAME;
    this.label = label;
    this.lines = ["loss", "accuracy"].map((name) => svg("polyline", { class: name }));
    const half = svg("line", { class: "half", x1: 0, x2: width, y1: height / 2, y2: height / 2 });
    this.place = svg("svg", { class: "course", viewBox: `0 0 ${width} ${height}`, role: "img", preserveAspectRatio: "none" });
    this.place.append(half, ...this.lines);
    this.clear();
  }

  clear() {
    this.points = [];
    this.draw();
  }

  // Of many points every second one is kept.
  add({ step, loss, accuracy }) {
    this.points.push({ step, loss, accuracy });
    if (this.points.length > MOST_POINTS) this.points = this.points.filter((_, i) => i % 2 === 0 || i === this.points.length - 1);
    this.draw();
  }

  draw() {
    const { points } = this;
    const { width, height, edge } = FRAME;
    const last = points[points.length - 1];
    const most = Math.max(...points.map(({ loss }) => loss), 1e-9);
    const at = (share, step) => `${((width * step) / Math.max(1, last.step)).toFixed(1)},${(height - edge - (height - 2 * edge) * share).toFixed(1)}`;
    this.lines[0].setAttribute("points", points.map(({ loss, step }) => at(loss / most, step)).join(" "));
    this.lines[1].setAttribute("points", points.map(({ accuracy, step }) => at(accuracy, step)).join(" "));
    const words = last ? `after ${last.step.toLocaleString("en")} steps ${percent(last.accuracy)} right` : "no step yet";
    this.place.setAttribute("aria-label", `${this.label}: ${words}. The line is the share of right answers, the dashed line the loss.`);
  }
}
