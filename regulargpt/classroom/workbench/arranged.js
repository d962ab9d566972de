// Places for the states of a drawing, in pixels of the page: the start on the left, neighbours about as far apart as a
// label needs.
//
//   placed(drawn) -> the drawing with x and y for every state. Places that are there stay; the others are found.
import { hasStack } from "./nested_machine.js";

export const APART = 130;
const LONG = 1.8; // times as far apart, where labels say what is done to a stack
const MARGIN = 70;
const MOST_ARRANGED = 60; // of more states nobody sees the arrows
const MOST_ROUNDS = 250;
const MOST_PULLS = 100000; // of states by states, in all rounds
const MOST_CROSSING = 60; // of more lines some always cross
const NEAR = 45; // a line that close to a state runs into it

// The drawing with a place for every state.
export function placed(drawn) {
  const { states } = drawn;
  const known = states.map(({ x, y }) => (Number.isFinite(x) && Number.isFinite(y) ? [x, y] : null));
  if (known.every((place) => place)) return drawn;
  const places = states.length > MOST_ARRANGED ? inRows(known) : best(drawn, known);
  const scale = hasStack(drawn) && known.every((place) => !place) ? LONG : 1;
  const at = (q) => ({ x: Math.round(scale * places[q][0]), y: Math.round(scale * places[q][1]) });
  return { ...drawn, states: states.map((state, q) => ({ ...state, ...at(q) })) };
}

// In rows, below those that have a place.
function inRows(known) {
  const across = Math.ceil(Math.sqrt(known.length));
  const top = known.reduce((most, place) => Math.max(most, place?.[1] ?? 0), 0);
  const cell = (i) => [MARGIN + APART * (i % across), top + MARGIN + APART * Math.floor(i / across)];
  return known.map((place, i) => place ?? cell(i));
}

// Of several arrangements, each from another order on a circle, the one that is read best.
function best(drawn, known) {
  const lines = linesOf(drawn);
  const [start, n] = [drawn.initial ?? 0, drawn.states.length];
  const neighbours = neighboursOf(lines, n);
  const orders = [known.map((_, q) => q), breadthFirst(neighbours, start), depthFirst(neighbours, start)];
  const found = orders.map((order) => arranged(distances(neighbours), order, known));
  const isFree = known.every((place) => !place);
  const all = isFree ? found.flatMap((places) => views(places, start)) : found;
  const costs = all.map((places) => cost(places, lines, start));
  return all[costs.indexOf(Math.min(...costs))];
}

// Which states have a line between them, each pair once.
function linesOf({ arrows }) {
  const between = ({ from, to }) => [Math.min(from, to), Math.max(from, to)];
  const pairs = arrows.map(between).filter(([p, q]) => p !== q);
  return [...new Map(pairs.map((pair) => [pair.join(), pair])).values()];
}

function neighboursOf(lines, n) {
  const found = Array.from({ length: n }, () => []);
  for (const [p, q] of lines) {
    found[p].push(q);
    found[q].push(p);
  }
  return found;
}

// The states as they are reached, then all others.
function breadthFirst(neighbours, start) {
  const order = new Set([start]);
  for (const q of order) neighbours[q].forEach((next) => order.add(next));
  neighbours.forEach((_, q) => order.add(q));
  return [...order];
}

function depthFirst(neighbours, start) {
  const order = new Set();
  const visit = (q) => {
    if (order.has(q)) return;
    order.add(q);
    neighbours[q].forEach(visit);
  };
  [start, ...neighbours.keys()].forEach(visit);
  return [...order];
}

// How many lines lie between two states; where there is no way, a little more than anywhere else.
function distances(neighbours) {
  const rows = neighbours.map((_, start) => {
    const far = new Map([[start, 0]]);
    for (const [q, steps] of far) for (const next of neighbours[q]) if (!far.has(next)) far.set(next, steps + 1);
    return neighbours.map((__, q) => far.get(q));
  });
  const most = Math.max(...rows.flat().filter((steps) => steps !== undefined));
  return rows.map((row) => row.map((steps) => steps ?? most + 1));
}

// Places from a circle of this order, moved until their distances are nearly those in the graph (stress majorisation:
// Gansner, Koren and North, Graph drawing by stress majorization, 2004). Known places stay.
function arranged(steps, order, known) {
  const [middle, radius] = [centre(known.filter((place) => place)), (APART * order.length) / 5];
  const turn = (q) => (2 * Math.PI * order.indexOf(q)) / order.length;
  const onCircle = (q) => [middle[0] - radius * Math.cos(turn(q)), middle[1] - radius * Math.sin(turn(q))];
  const places = known.map((place, q) => place ?? onCircle(q));
  const rounds = Math.min(MOST_ROUNDS, MOST_PULLS / places.length ** 2);
  for (let round = 0; round < rounds; round += 1) {
    known.forEach((place, q) => {
      if (!place && places.length > 1) places[q] = pulled(places, q, steps[q]);
    });
  }
  return places;
}

// Where the other states want a state to be, the near ones most.
function pulled(places, q, steps) {
  const sum = [0, 0, 0];
  places.forEach((place, p) => {
    if (p === q) return;
    const [weight, away] = [steps[p] ** -2, [places[q][0] - place[0], places[q][1] - place[1]]];
    const scale = (APART * steps[p]) / Math.max(1, Math.hypot(...away));
    sum[0] += weight * (place[0] + scale * away[0]);
    sum[1] += weight * (place[1] + scale * away[1]);
    sum[2] += weight;
  });
  return [sum[0] / sum[2], sum[1] / sum[2]];
}

function centre(places) {
  const count = Math.max(1, places.length);
  return [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / count);
}

// An arrangement from several sides, each with the nearest two states so far apart as they should be.
function views(places, start) {
  const [x, y] = centre(places);
  const moved = places.map((place) => [place[0] - x, place[1] - y]);
  const toStart = Math.PI - Math.atan2(moved[start][1], moved[start][0]);
  const along = -widest(moved);
  const turned = [0, toStart, along, along + Math.PI].map((angle) => moved.map((place) => rotated(place, angle)));
  const straight = turned.filter(isFlat).map((view) => view.map(([a]) => [a, 0]));
  return [...turned, ...turned.map((view) => view.map(([a, b]) => [a, -b])), ...straight].map(framed);
}

// Whether places are nearly on one level line.
function isFlat(places) {
  return places.every(([, y]) => Math.abs(y) < APART / 3);
}

// The direction in which the places spread most.
function widest(places) {
  const sum = (of) => places.reduce((found, place) => found + of(place), 0);
  return Math.atan2(2 * sum(([x, y]) => x * y), sum(([x, y]) => x * x - y * y)) / 2;
}

function rotated([x, y], angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return [c * x - s * y, s * x + c * y];
}

// The same so large that the nearest two are APART apart, and from the margin on.
function framed(places) {
  const gaps = places.flatMap((p, i) => places.slice(0, i).map((q) => Math.hypot(p[0] - q[0], p[1] - q[1])));
  const scale = Math.min(3, Math.max(1, APART / Math.max(1, Math.min(APART, ...gaps))));
  const least = [0, 1].map((axis) => Math.min(...places.map((place) => place[axis])));
  return places.map((place) => place.map((value, axis) => MARGIN + scale * (value - least[axis])));
}

// Long lines cost, more those that cross, and most those that run through a state; the start stands on the left, and
// nothing is high.
function cost(places, lines, start) {
  const ends = lines.map(([p, q]) => [places[p], places[q]]);
  const few = ends.slice(0, MOST_CROSSING);
  const runsInto = (line) => (place) => !line.includes(place) && fromLine(place, ...line) < NEAR;
  const near = few.flatMap((line) => places.filter(runsInto(line)));
  const length = ends.reduce((sum, [p, q]) => sum + Math.hypot(p[0] - q[0], p[1] - q[1]), 0);
  const [xs, ys] = [0, 1].map((axis) => places.map((place) => place[axis]));
  const left = places[start][0] - Math.min(...xs);
  const crossed = few.flatMap((line, i) => few.slice(0, i).filter((other) => cross(line, other)));
  return length + 400 * near.length + 100 * crossed.length + 2 * (left + Math.max(...ys) - Math.min(...ys));
}

// Whether two lines cross between their ends.
function cross([p, q], [r, s]) {
  const side = (a, b, c) => Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
  return side(p, q, r) * side(p, q, s) < 0 && side(r, s, p) * side(r, s, q) < 0;
}

// How far a place is from the line between two others.
function fromLine(r, p, q) {
  const [x, y] = [q[0] - p[0], q[1] - p[1]];
  const along = ((r[0] - p[0]) * x + (r[1] - p[1]) * y) / (x * x + y * y || 1);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(r[0] - p[0] - t * x, r[1] - p[1] - t * y);
}
