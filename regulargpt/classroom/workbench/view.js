// The two directions from which the map is seen. They turn slowly to where the classes of points lie farthest apart, so
// that nothing flips or jumps while a network learns.

import { Random } from "./random.js";

const STARTS = 8; // directions that are tried at first
const WIDE = 3; // how far each of these may turn, in radians
const TRIES = 60; // of turns
const FINEST = 1e-3; // turn
const NEAR = 0.25; // squared: points nearer than that are as good as one
const OF_STATES = 0.3; // how much it counts that single states are apart, too
const SAMPLE = 24; // of these
const FIRST_SAMPLE = 8; // of these, for the first look in many directions

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const plus = (a, b, by) => a.map((value, i) => value + by * b[i]);
const scaled = (a, by) => a.map((value) => value * by);
const mean = (points) => scaled(points.reduce((sum, point) => plus(sum, point, 1)), 1 / points.length);

// Two directions, of length one and at a right angle.
function upright([first, second]) {
  const unit = (v) => scaled(v, 1 / (Math.hypot(...v) || 1));
  const a = unit(first);
  return [a, unit(plus(second, a, -dot(second, a)))];
}

// Generators, which give the page its turn between the turns of a view.
export class View {
  constructor(axes, centre) {
    Object.assign(this, { axes, centre });
  }

  // The best of some views of states, and of the middles of their classes.
  static *first(middles, states) {
    const random = new Random(0, "view");
    const width = states[0].length;
    const sets = setsOf(middles, states, FIRST_SAMPLE);
    const turned = [];
    for (let n = 0; n < STARTS; n += 1) {
      const drawn = [0, 1].map((axis) => Array.from({ length: width }, (_, i) => random.normal((2 * n + axis) * width + i)));
      turned.push(yield* better(upright(drawn), sets, WIDE));
    }
    return new View(turned.reduce((best, axes) => (score(axes, sets) > score(best, sets) ? axes : best)), mean(middles));
  }

  // Turned towards where these are seen farthest apart, by at most so many radians.
  *turned(middles, states, most) {
    return new View(yield* better(this.axes, setsOf(middles, states), most), mean(middles));
  }

  // Where a state is seen: right of the centre and above it, in the unit of the states.
  at(state) {
    return this.axes.map((axis) => axis.reduce((sum, value, i) => sum + value * (state[i] - this.centre[i]), 0));
  }
}

// The points that are to lie apart, and how much each pair of them counts.
function setsOf(middles, states, most = SAMPLE) {
  const step = Math.max(1, Math.floor(states.length / most));
  const some = states.filter((_, i) => i % step === 0).slice(0, most);
  return [[middles, 1], [some, OF_STATES]].map(([points, share]) => ({ points, by: share / Math.max(1, points.length * (points.length - 1)) }));
}

// How well points are told apart: the sum of the logarithms of their squared distances, so that no two lie on each other.
function score(axes, sets) {
  let sum = 0;
  for (const { points, by } of sets) {
    const seen = points.map((point) => axes.map((axis) => dot(axis, point)));
    seen.forEach(([x, y], i) => {
      for (let j = 0; j < i; j += 1) sum += by * Math.log((x - seen[j][0]) ** 2 + (y - seen[j][1]) ** 2 + NEAR);
    });
  }
  return sum;
}

// The direction of turning in which the score rises most: its gradient, without what turns the picture in its plane.
function slope(axes, sets) {
  const found = axes.map((axis) => axis.map(() => 0));
  for (const { points, by } of sets) {
    const seen = points.map((point) => axes.map((axis) => dot(axis, point)));
    points.forEach((point, i) => {
      for (let j = 0; j < i; j += 1) {
        const apart = [0, 1].map((axis) => seen[i][axis] - seen[j][axis]);
        const force = scaled(apart, (2 * by) / (apart[0] ** 2 + apart[1] ** 2 + NEAR));
        for (let k = 0; k < point.length; k += 1) for (const axis of [0, 1]) found[axis][k] += force[axis] * (point[k] - points[j][k]);
      }
    });
  }
  return found.map((rise) => axes.reduce((rest, axis) => plus(rest, axis, -dot(rise, axis)), rise));
}

// Axes that score higher, turned by at most so many radians.
function* better(axes, sets, most) {
  let [left, size, now] = [most, most / 2, score(axes, sets)];
  for (let n = 0; n < TRIES && left > FINEST && size > FINEST; n += 1) {
    yield;
    const rise = slope(axes, sets);
    const steep = Math.hypot(...rise.flat());
    if (steep < 1e-9) break;
    const angle = Math.min(size, left);
    const next = upright(axes.map((axis, i) => plus(axis, rise[i], angle / steep)));
    const then = score(next, sets);
    if (then > now) [axes, now, left] = [next, then, left - angle];
    else size /= 2;
  }
  return axes;
}
