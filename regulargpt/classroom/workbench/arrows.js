// Where the arrows of a drawn machine run, and where their labels stand: the curves of regulargpt/classroom/automaton.py,
// and labels that keep off states and each other.

export const RADIUS = 30;
const NEAR = 40.5; // a state that close to a straight arrow stands in its way
const GAP = 13; // from an arrow to the middle of its label
const LETTER = 4.5; // half its width
export const LINE = 18; // from line to line of a label
const ANGLES = Array.from({ length: 24 }, (_, i) => (2 * Math.PI * i) / 24);
const SAMPLES = Array.from({ length: 13 }, (_, i) => i / 12); // of an arrow, to see whether a label stands on it
const PLACES = [0.5, 0.4, 0.6, 0.3, 0.7]; // of a label along its arrow, the best first

const pair = ([x, y]) => `${round(x)},${round(y)}`;
const round = (value) => Math.round(100 * value) / 100;

// A point some way off.
export function moved([x, y], [dx, dy], by) {
  return [x + by * dx, y + by * dy];
}

// How far two points are apart.
export function distance(a, b) {
  return Math.hypot(b[0] - a[0], b[1] - a[1]);
}

// The direction from a to b; to the right if they are one.
export function towards(a, b) {
  const d = distance(a, b);
  return d ? [(b[0] - a[0]) / d, (b[1] - a[1]) / d] : [1, 0];
}

// The head of an arrow, as the points of a polygon.
function head(tip, back) {
  const [base, across] = [moved(tip, back, 11), [-back[1], back[0]]];
  return [tip, moved(base, across, 5), moved(base, across, -5)].map(pair).join(" ");
}

// A line, or a Bézier curve with three or four control points, as a path.
function path([first, ...rest]) {
  return `M${pair(first)} ${"LQC"[rest.length - 1]}${rest.map(pair).join(" ")}`;
}

// The lines of a machine: { arrows, start }, each with its path, its head, and an arrow's label; start may be null.
// `sizes` are the letters in each label's longest line, and its lines.
export function lines({ states, arrows, initial }, sizes) {
  const plan = new Plan(states.map(({ x, y }) => [x, y]), arrows, sizes);
  const edges = arrows.map(({ from, to }, i) => (from === to ? null : plan.edge(i)));
  const start = initial === null ? null : plan.start(initial);
  const found = edges.map((edge, i) => edge ?? plan.loop(i));
  const ways = found.map(({ curve }) => SAMPLES.map((t) => on(curve, t)));
  const fewestFirst = [...found.keys()].sort((i, j) => found[i].spots.length - found[j].spots.length); // who has no choice
  fewestFirst.forEach((i) => plan.label(found[i].spots, ways, i));
  return { arrows: found.map(({ curve, head }, i) => ({ path: path(curve), head, label: plan.labels[i] })), start };
}

class Plan {
  constructor(places, arrows, sizes) {
    Object.assign(this, { places, arrows, sizes, labels: [], taken: places.map(() => []) });
    this.centre = [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
  }

  // From state to state; bent where there is an arrow back, or a state in its way.
  edge(i) {
    const { from, to } = this.arrows[i];
    const [a, b] = [this.places[from], this.places[to]];
    const along = towards(a, b);
    const across = [along[1], -along[0]];
    const bend = this.bend(from, to);
    const middle = moved([(a[0] + b[0]) / 2, (a[1] + b[1]) / 2], across, bend * distance(a, b));
    const back = towards(b, middle);
    const tip = moved(b, back, RADIUS + 4);
    this.taken[from].push(angle(a, middle));
    this.taken[to].push(angle(b, middle));
    const curve = [moved(a, towards(a, middle), RADIUS), middle, moved(tip, back, 6)];
    const sides = bend ? [across] : [across, [-across[0], -across[1]]];
    const spots = sides.flatMap((side) => PLACES.map((t) => this.beside(on(curve, t), side, GAP, i)));
    return { curve, head: head(tip, back), spots };
  }

  bend(from, to) {
    const others = this.places.filter((_, r) => r !== from && r !== to);
    if (others.some((place) => offLine(place, this.places[from], this.places[to]) < NEAR)) return 0.45;
    return this.arrows.some((other) => other.from === to && other.to === from) ? 0.22 : 0;
  }

  // From a state to itself, where nothing else leaves it.
  loop(i) {
    const { from } = this.arrows[i];
    const place = this.places[from];
    const theta = this.open(from, this.places.length > 2 ? angle(this.centre, place) : -Math.PI / 2);
    const reach = RADIUS * 2.3;
    const [out, back] = [-0.45, 0.45].map((turned) => direction(theta + turned));
    const tip = moved(place, back, RADIUS + 4);
    this.taken[from].push(theta);
    const curve = [moved(place, out, RADIUS), moved(place, out, reach), moved(place, back, reach), moved(tip, back, 5)];
    return { curve, head: head(tip, back), spots: [this.beside(place, direction(theta), reach * 0.86 + 9, i)] };
  }

  // Into the initial state.
  start(q) {
    const theta = this.open(q, Math.PI);
    const back = direction(theta);
    const tip = moved(this.places[q], back, RADIUS + 4);
    const tail = moved(tip, back, RADIUS);
    this.taken[q].push(theta);
    return { path: path([tail, moved(tip, back, 6)]), head: head(tip, back), tail };
  }

  // The direction at a state farthest from what leaves it, if possible the preferred one.
  open(q, preferred) {
    const goodness = (theta) => Math.min(1.2, ...this.taken[q].map((other) => turn(theta, other))) - 0.15 * turn(theta, preferred);
    return ANGLES.reduce((best, theta) => (goodness(theta) > goodness(best) ? theta : best));
  }

  // A label's middle beside a point: a large label stands farther off.
  beside(point, away, gap, i) {
    const [width, height] = this.sizes[i];
    return moved(point, away, gap + Math.abs(away[0]) * LETTER * (width - 1) + (Math.abs(away[1]) * LINE * (height - 1)) / 2);
  }

  // Of the spots for a label the first where it hides the least: no state, no other label, if possible no other arrow.
  label(spots, ways, i) {
    const half = (j) => [LETTER * this.sizes[j][0], (LINE * this.sizes[j][1]) / 2];
    const near = (points, spot, gaps) => points.filter((point) => [0, 1].every((axis) => Math.abs(point[axis] - spot[axis]) < gaps[axis] + half(i)[axis])).length;
    const labels = (spot) => this.labels.filter((label, j) => near([label], spot, half(j))).length; // those that there are
    const others = ways.filter((_, j) => j !== i);
    const crossed = (spot) => others.filter((way) => near(way, spot, [4, 0])).length;
    const costs = spots.map((spot) => 9 * near(this.places, spot, [RADIUS, RADIUS]) + 9 * labels(spot) + crossed(spot));
    this.labels[i] = spots[costs.indexOf(Math.min(...costs))];
  }
}

// A point of a line or a Bézier curve (de Casteljau).
function on(points, t) {
  if (points.length === 1) return points[0];
  return on(points.slice(1).map((point, i) => [0, 1].map((axis) => (1 - t) * points[i][axis] + t * point[axis])), t);
}

const angle = (a, b) => Math.atan2(b[1] - a[1], b[0] - a[0]);
const direction = (theta) => [Math.cos(theta), Math.sin(theta)];

// The angle between two directions.
function turn(a, b) {
  const full = 2 * Math.PI;
  return Math.abs(((((a - b + Math.PI) % full) + full) % full) - Math.PI);
}

// How far a point is from the segment from a to b.
function offLine(point, a, b) {
  const d = distance(a, b) || 1;
  const [x, y] = towards(a, b);
  const t = Math.min(d, Math.max(0, (point[0] - a[0]) * x + (point[1] - a[1]) * y));
  return distance(point, moved(a, [x, y], t));
}
