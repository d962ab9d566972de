// Vectors inside a network while the states under it move in balls: centre + sum_s M_s e_s, where of the sources e_s only
// the length is bounded (regulargpt/certificate/checker/affine_forms.py). The maps M_s depend on the centres alone and are
// computed once; lengths are functions of the radii of the balls.

import { dot } from "../../models/layers.js";

const EPSILON = 1e-5; // LayerNorm's

// A matrix is {rows, columns, data}, row by row.
const matrix = (rows, columns) => ({ rows, columns, data: new Float64Array(rows * columns) });

// A function of the radii, computed once for each of them.
function remembered(f) {
  let [last, value] = [null, null];
  return (radii) => {
    if (last !== radii) [last, value] = [radii, f(radii)];
    return value;
  };
}

// Any vector of at most the length `size(radii)`, and, where it is given, of at most the coordinates `each(radii)`.
export function source(size, each = null) {
  return { size: remembered(size), each: each && remembered(each) };
}

export class Form {
  constructor(centre, maps = new Map()) {
    Object.assign(this, { centre, maps });
  }

  // W x + b, W being rows of numbers; or a part of its columns.
  linear(weight, bias = null) {
    const centre = weight.map((row, i) => dot(row, this.centre) + (bias ? bias[i] : 0));
    return new Form(Float64Array.from(centre), this.mapped((m) => times(weight, m)));
  }

  // gain x + bias, coordinate by coordinate.
  scaled(gain, bias = null) {
    const centre = this.centre.map((value, i) => value * gain[i] + (bias ? bias[i] : 0));
    return new Form(centre, this.mapped((m) => eachRow(m, (i, value) => value * gain[i])));
  }

  // The sum; a source in both is the same vector in both.
  plus(other) {
    const maps = new Map(this.maps);
    for (const [s, m] of other.maps) maps.set(s, maps.has(s) ? added(maps.get(s), m) : m);
    return new Form(this.centre.map((value, i) => value + other.centre[i]), maps);
  }

  // Some of the coordinates.
  part(from, to) {
    const cut = (m) => ({ rows: to - from, columns: m.columns, data: m.data.slice(from * m.columns, to * m.columns) });
    return new Form(this.centre.slice(from, to), this.mapped(cut));
  }

  mapped(f) {
    return new Map([...this.maps].map(([s, m]) => [s, f(m)]));
  }

  // One more source, any vector of this length.
  with(added) {
    return new Form(this.centre, new Map(this.maps).set(added, identity(this.centre.length)));
  }

  // How far at most it lies from its centre, as a function of the radii.
  deviation() {
    const parts = [...this.maps].map(([s, m]) => {
      const [norm, columns] = [spectralBound(m), s.each && columnLengths(m)];
      return (radii) => Math.min(norm * s.size(radii), s.each ? dot(columns, s.each(radii)) : Infinity);
    });
    return remembered((radii) => parts.reduce((sum, part) => sum + part(radii), 0));
  }

  // The same of each coordinate.
  deviations() {
    const parts = [...this.maps].map(([s, m]) => {
      const rows = rowsOf(m);
      const lengths = rows.map((row) => Math.sqrt(dot(row, row)));
      return (radii) => rows.map((row, i) => (s.each ? absoluteDot(row, s.each(radii)) : lengths[i] * s.size(radii)));
    });
    return remembered((radii) => parts.reduce((sum, part) => part(radii).map((value, i) => sum[i] + value), this.centre.map(() => 0)));
  }

  // LayerNorm with gain and bias. Beyond the derivative it moves by at most sqrt(d) h^2 / (sqrt(3) s (s - h)).
  layerNorm([gain, bias]) {
    const d = this.centre.length;
    const u = this.centred();
    const s = Math.sqrt(dot(u.centre, u.centre) + d * EPSILON);
    const v = u.centre.map((value) => value / s);
    const root = Math.sqrt(d);
    const maps = u.mapped((m) => {
      const along = Float64Array.from({ length: m.columns }, (_, j) => v.reduce((sum, value, i) => sum + value * m.data[i * m.columns + j], 0));
      return eachRow(m, (i, value, j) => ((value - v[i] * along[j]) * root) / s);
    });
    const far = u.deviation();
    const left = source((radii) => (far(radii) < s ? (root * far(radii) ** 2) / (Math.sqrt(3) * s * (s - far(radii))) : Infinity));
    return new Form(v.map((value) => value * root), maps).with(left).scaled(gain, bias);
  }

  centred() {
    const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
    const maps = this.mapped((m) => {
      const means = Float64Array.from({ length: m.columns }, (_, j) => mean(rowsOf(m).map((row) => row[j])));
      return eachRow(m, (_, value, j) => value - means[j]);
    });
    const middle = mean(this.centre);
    return new Form(this.centre.map((value) => value - middle), maps);
  }

  // GELU, given with its slope. Beyond the derivative a coordinate moves by at most h^2 / 2 times the largest |g''| on the way.
  gelu(value, slope) {
    const [z, far] = [this.centre, this.deviations()];
    const each = remembered((radii) => far(radii).map((h, i) => (curvature(z[i], h) * h * h) / 2));
    const left = source((radii) => Math.sqrt(dot(each(radii), each(radii))), each);
    const slopes = z.map(slope);
    return new Form(z.map(value), this.mapped((m) => eachRow(m, (i, entry) => entry * slopes[i]))).with(left);
  }
}

// At least |g''(x)| = phi(x) |2 - x^2| for x from z - h to z + h. Like the checker's, which takes x^2 for anything from
// z^2 - w to z^2 + w, w = 2 |z| h + h^2.
function curvature(z, h) {
  const [middle, wide] = [z * z, 2 * Math.abs(z) * h + h * h];
  return (Math.exp((wide - middle) / 2) / Math.sqrt(2 * Math.PI)) * (Math.abs(2 - middle) + wide);
}

export const identity = (n) => ({ rows: n, columns: n, data: Float64Array.from({ length: n * n }, (_, i) => Number(i % (n + 1) === 0)) });

export function rowsOf({ rows, columns, data }) {
  return Array.from({ length: rows }, (_, i) => data.subarray(i * columns, (i + 1) * columns));
}

// W M, W being rows of numbers.
function times(weight, m) {
  const found = matrix(weight.length, m.columns);
  weight.forEach((row, i) => {
    for (let k = 0; k < m.rows; k += 1) for (let j = 0, factor = row[k]; j < m.columns; j += 1) found.data[i * m.columns + j] += factor * m.data[k * m.columns + j];
  });
  return found;
}

const added = (a, b) => ({ ...a, data: a.data.map((value, i) => value + b.data[i]) });

// Each entry as a function of its row, itself and its column.
function eachRow(m, f) {
  return { ...m, data: m.data.map((value, at) => f(Math.floor(at / m.columns), value, at % m.columns)) };
}

function columnLengths({ rows, columns, data }) {
  return Float64Array.from({ length: columns }, (_, j) => {
    let sum = 0;
    for (let i = 0; i < rows; i += 1) sum += data[i * columns + j] ** 2;
    return Math.sqrt(sum);
  });
}

// At most 7 % above the spectral norm: ||M||^64 <= ||G^16||_F^2 for G = M M^T or M^T M.
function spectralBound(m) {
  let power = gram(m);
  const size = (g) => Math.sqrt(dot(g.data, g.data)) + 1e-300;
  let log = 0;
  for (let squarings = 0; squarings < 4; squarings += 1) {
    const scale = size(power);
    log += Math.log(scale);
    power = times(rowsOf({ ...power, data: power.data.map((value) => value / scale) }), { ...power, data: power.data.map((value) => value / scale) });
    log *= 2;
  }
  return Math.exp((log + Math.log(size(power))) / 32) * (1 + 1e-9);
}

function gram(m) {
  const flipped = transposed(m);
  return m.rows < m.columns ? times(rowsOf(m), flipped) : times(rowsOf(flipped), m);
}

function transposed({ rows, columns, data }) {
  return { rows: columns, columns: rows, data: Float64Array.from(data, (_, at) => data[(at % rows) * columns + Math.floor(at / rows)]) };
}

function absoluteDot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += Math.abs(x[i]) * y[i];
  return sum;
}
