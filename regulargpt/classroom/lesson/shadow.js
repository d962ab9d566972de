// The two directions from which a picture of points is made: those in which their shadows lie farthest apart.

const PICTURE = { width: 440, height: 330, edge: 60 }; // at most so high
const TURNS = 300; // of the search for the directions in which points differ most
const VIEWS = 400; // that are tried beside them

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const scaled = (a, by) => a.map((value) => value * by);
const minus = (a, b) => a.map((value, i) => value - b[i]);
const distance = (a, b) => Math.hypot(...minus(a, b));
const mixed = (points, weights) => points.reduce((sum, point, i) => sum.map((value, j) => value + weights[i] * point[j]), points[0].map(() => 0));

// Two directions, the second turned until it is at a right angle to the first; any one where none is left.
function upright(first, second) {
  const unit = (v) => scaled(v, 1 / (Math.hypot(...v) || 1));
  const a = unit(first);
  const rest = minus(second, scaled(a, dot(second, a)));
  return [a, unit(Math.hypot(...rest) > 1e-9 ? rest : minus(a.map((_, j) => (j === 0 ? 1 : 0)), scaled(a, a[0])))];
}

// The two in which points differ most (power iteration). Where many are as good, the points stand in a circle.
function principal(points) {
  const found = [];
  for (const turn of [Math.cos, Math.sin]) {
    const clear = (v) => found.reduce((rest, axis) => minus(rest, scaled(axis, dot(rest, axis))), v);
    let axis = clear(mixed(points, points.map((_, i) => turn((2 * Math.PI * i) / points.length + 0.3))));
    for (let i = 0; i < TURNS && Math.hypot(...axis) > 1e-9; i += 1) {
      const unit = scaled(axis, 1 / Math.hypot(...axis));
      axis = clear(mixed(points, points.map((point) => dot(point, unit))));
    }
    found.push(scaled(axis, 1 / (Math.hypot(...axis) || 1)));
  }
  return upright(...found);
}

// The picture as these two directions show it: where a point is, how high it is, and how near the nearest two are.
function seen(points, axes) {
  const { width, height, edge } = PICTURE;
  const flat = (point) => axes.map((axis) => dot(point, axis));
  const all = points.map(flat);
  const spans = [0, 1].map((i) => [Math.min(...all.map((p) => p[i])), Math.max(...all.map((p) => p[i]))]);
  const scale = Math.min(...spans.map(([low, high], i) => ([width, height][i] - 2 * edge) / Math.max(1e-9, high - low)));
  const tall = 2 * edge + scale * (spans[1][1] - spans[1][0]);
  const centre = spans.map(([low, high]) => (low + high) / 2);
  const at = (point) => {
    const [x, y] = flat(point);
    return [width / 2 + scale * (x - centre[0]), tall / 2 - scale * (y - centre[1])];
  };
  const nearest = Math.min(Infinity, ...all.flatMap((p, i) => all.slice(0, i).map((q) => scale * distance(p, q))));
  return { at, tall, nearest };
}

// Of the principal directions and others, always the same, those from which one sees the points apart.
function clearest(points) {
  let best = seen(points, principal(points));
  let state = 1;
  const next = () => {
    state = (state * 48271) % 2147483647; // Park and Miller 1988
    return state / 2147483647 - 0.5;
  };
  for (let i = 0; i < VIEWS; i += 1) {
    const [first, second] = [0, 1].map(() => mixed(points, points.map(next)));
    const other = seen(points, upright(first, second));
    if (other.nearest > 1.2 * best.nearest) best = other;
  }
  return best;
}
