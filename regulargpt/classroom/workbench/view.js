// The two directions from which the map is seen. They turn slowly to where the classes of points lie farthest apart, so
// that nothing flips or jumps while a network learns.

import { Random } from "./random.js";

const STARTS = 8; // directions that are tried at first
const WIDE = 3; // how far each of these may turn, in radians
const TRIES = 60; // of turns
const FINEST = 1e-3; // turn
const NEAR = 0.25; // squared: classes nearer than that are as good as one

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

export class View {
  // The best of some views of the middles of classes.
  constructor(middles) {
    const random = new Random(0, "view");
    const width = middles[0].length;
    const views = Array.from({ length: STARTS }, (_, n) => upright([0, 1].map((axis) => Array.from({ length: width }, (_, i) => random.normal((2 * n + axis) * width + i)))));
    const turned = views.map((axes) => better(axes, middles, WIDE));
    this.axes = turned.reduce((best, axes) => (score(axes, middles) > score(best, middles) ? axes : best));
    this.centre = mean(middles);
  }

  // Turn towards where these are seen farthest apart, by at most so many radians.
  turn(middles, most) {
    this.axes = better(this.axes, middles, most);
    this.centre = mean(middles);
  }

  // Where a state is seen: right of the centre and above it, in the unit of the states.
  at(state) {
    return this.axes.map((axis) => axis.reduce((sum, value, i) => sum + value * (state[i] - this.centre[i]), 0));
  }
}

// How well points are told apart: the sum of the logarithms of their squared distances, so that no two lie on each other.
function score(axes, points) {
  const seen = points.map((point) => axes.map((axis) => dot(axis, point)));
  let sum = 0;
  seen.forEach(([x, y], i) => {
    for (let j = 0; j < i; j += 1) sum += Math.log((x - seen[j][0]) ** 2 + (y - seen[j][1]) ** 2 + NEAR);
  });
  return sum;
}

// The direction of turning in which the score rises most: its gradient, without what turns the picture in its plane.
function slope(axes, points) {
  const seen = points.map((point) => axes.map((axis) => dot(axis, point)));
  const found = axes.map((axis) => axis.map(() => 0));
  points.forEach((point, i) => {
    for (let j = 0; j < i; j += 1) {
      const apart = [0, 1].map((axis) => seen[i][axis] - seen[j][axis]);
      const by = scaled(apart, 2 / (apart[0] ** 2 + apart[1] ** 2 + NEAR));
      for (let k = 0; k < point.length; k += 1) for (const axis of [0, 1]) found[axis][k] += by[axis] * (point[k] - points[j][k]);
    }
  });
  return found.map((rise) => axes.reduce((rest, axis) => plus(rest, axis, -dot(rise, axis)), rise));
}

// Axes that score higher, turned by at most so many radians.
function better(axes, points, most) {
  let [left, size, now] = [most, most / 2, score(axes, points)];
  for (let n = 0; n < TRIES && left > FINEST && size > FINEST; n += 1) {
    const rise = slope(axes, points);
    const steep = Math.hypot(...rise.flat());
    if (steep < 1e-9) break;
    const angle = Math.min(size, left);
    const next = upright(axes.map((axis, i) => plus(axis, rise[i], angle / steep)));
    const then = score(next, points);
    if (then > now) [axes, now, left] = [next, then, left - angle];
    else size /= 2;
  }
  return axes;
}
