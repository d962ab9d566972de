// Reverse-mode differentiation: a tape keeps what was computed from what, and runs it backward.

import { gelu } from "./gelu.js";
import { addProducts } from "./products.js";

const CHUNK = 1 << 18; // numbers that are asked of the browser at once: 2 MB

// Rows of numbers, one after the other. `grad` is the loss's derivative by each of them, null where nobody asks for it.
export class Matrix {
  constructor(rows, columns, value, grad = null) {
    Object.assign(this, { rows, columns, value, grad });
  }

  // A row's numbers: the same, not a copy.
  row(i) {
    return this.value.subarray(i * this.columns, (i + 1) * this.columns);
  }

  // The same numbers in rows of another width.
  wide(columns) {
    return new Matrix((this.rows * this.columns) / columns, columns, this.value, this.grad);
  }

  // Some rows that lie one after the other: the same, not a copy.
  part(first, end) {
    const cut = (numbers) => numbers && numbers.subarray(first * this.columns, end * this.columns);
    return new Matrix(end - first, this.columns, cut(this.value), cut(this.grad));
  }

  // The same numbers, kept when the tape is cleared.
  copy() {
    return new Matrix(this.rows, this.columns, this.value.slice());
  }

  // In each row the place of the largest number.
  best() {
    return Int32Array.from({ length: this.rows }, (_, i) => this.row(i).reduce((best, x, j, row) => (x > row[best] ? j : best), 0));
  }
}

// What a tape makes is good until it is cleared; then its memory is used again. One that is not `learning` has no gradients.
export class Tape {
  constructor({ learning = true } = {}) {
    Object.assign(this, { learning, steps: [], chunks: [], chunk: 0, used: 0 });
  }

  clear() {
    this.steps.length = 0;
    this.chunk = this.used = 0;
  }

  // So many zeros.
  numbers(count) {
    while (this.chunk < this.chunks.length && this.used + count > this.chunks[this.chunk].length) {
      this.chunk += 1;
      this.used = 0;
    }
    if (this.chunk === this.chunks.length) this.chunks.push(new Float64Array(Math.max(count, CHUNK)));
    this.used += count;
    return this.chunks[this.chunk].subarray(this.used - count, this.used).fill(0);
  }

  // A matrix of zeros, to be computed from others.
  matrix(rows, columns) {
    return new Matrix(rows, columns, this.numbers(rows * columns), this.learning ? this.numbers(rows * columns) : null);
  }

  // What is done on the way back.
  then(step) {
    if (this.learning) this.steps.push(step);
  }

  // Adds to all gradients those of a loss, which is a matrix of one number.
  backward(loss) {
    loss.grad[0] = 1;
    for (let i = this.steps.length - 1; i >= 0; i -= 1) this.steps[i]();
  }

  // x W^T + b, in torch's form: a row of W for each number that comes out.
  linear(x, weight, bias = null) {
    const [y, n_in, n_out] = [this.matrix(x.rows, weight.rows), x.columns, weight.rows];
    if (bias) for (let at = 0; at < y.value.length; at += n_out) y.value.set(bias.value, at);
    addProducts(byRows(x.value, n_in), byRows(weight.value, n_in), y.value, x.rows, n_out, n_in);
    this.then(() => {
      if (x.grad) addProducts(byRows(y.grad, n_out), byColumns(weight.value, n_in), x.grad, x.rows, n_in, n_out);
      if (weight.grad) addProducts(byColumns(y.grad, n_out), byColumns(x.value, n_in), weight.grad, n_out, n_in, x.rows);
      if (bias && bias.grad) addRows(y.grad, bias.grad);
    });
    return y;
  }

  // (x - mean) / sqrt(variance + epsilon) of each row, times the weight, plus the bias.
  layerNorm(x, weight, bias, epsilon = 1e-5) {
    const [y, width, w, b] = [this.matrix(x.rows, x.columns), x.columns, weight.value, bias.value];
    const [normed, scales] = [this.numbers(y.value.length), this.numbers(x.rows)];
    for (let i = 0, at = 0; i < x.rows; i += 1, at += width) {
      scales[i] = normalise(x.value, normed, at, width, epsilon);
      for (let j = 0; j < width; j += 1) y.value[at + j] = normed[at + j] * w[j] + b[j];
    }
    this.then(() => {
      for (let i = 0; i < x.rows; i += 1) normSlopes(i * width, normed, scales[i], w, y.grad, x.grad, weight.grad, bias.grad);
    });
    return y;
  }

  // 0.5 x (1 + erf(x / sqrt 2)).
  gelu(x) {
    const [y, slopes] = [this.matrix(x.rows, x.columns), this.numbers(x.value.length)];
    gelu(x.value, y.value, slopes);
    this.then(() => {
      for (let i = 0; i < slopes.length; i += 1) x.grad[i] += y.grad[i] * slopes[i];
    });
    return y;
  }

  relu(x) {
    const y = this.matrix(x.rows, x.columns);
    for (let i = 0; i < x.value.length; i += 1) if (x.value[i] > 0) y.value[i] = x.value[i];
    this.then(() => {
      for (let i = 0; i < x.value.length; i += 1) if (x.value[i] > 0) x.grad[i] += y.grad[i];
    });
    return y;
  }

  add(x, other) {
    const y = this.matrix(x.rows, x.columns);
    for (let i = 0; i < y.value.length; i += 1) y.value[i] = x.value[i] + other.value[i];
    this.then(() => [x, other].forEach(({ grad }) => grad && addRows(y.grad, grad)));
    return y;
  }

  // Number by number.
  times(x, other) {
    const y = this.matrix(x.rows, x.columns);
    for (let i = 0; i < y.value.length; i += 1) y.value[i] = x.value[i] * other.value[i];
    this.then(() => {
      for (let i = 0; i < y.value.length; i += 1) {
        if (x.grad) x.grad[i] += y.grad[i] * other.value[i];
        if (other.grad) other.grad[i] += y.grad[i] * x.value[i];
      }
    });
    return y;
  }

  // Times a number.
  scale(x, factor) {
    const y = this.matrix(x.rows, x.columns);
    for (let i = 0; i < y.value.length; i += 1) y.value[i] = factor * x.value[i];
    this.then(() => {
      for (let i = 0; i < y.value.length; i += 1) x.grad[i] += factor * y.grad[i];
    });
    return y;
  }

  // The rows of these numbers, each as often as it is named.
  gather(x, rows) {
    const [y, width] = [this.matrix(rows.length, x.columns), x.columns];
    for (let i = 0; i < rows.length; i += 1) for (let j = 0; j < width; j += 1) y.value[i * width + j] = x.value[rows[i] * width + j];
    this.then(() => {
      if (!x.grad) return;
      for (let i = 0; i < rows.length; i += 1) for (let j = 0; j < width; j += 1) x.grad[rows[i] * width + j] += y.grad[i * width + j];
    });
    return y;
  }

  // Puts the rows of x into these rows of `whole`, in which nobody has looked there before.
  scatter(x, whole, rows) {
    const width = x.columns;
    for (let i = 0; i < rows.length; i += 1) for (let j = 0; j < width; j += 1) whole.value[rows[i] * width + j] = x.value[i * width + j];
    this.then(() => {
      if (!x.grad) return;
      for (let i = 0; i < rows.length; i += 1) for (let j = 0; j < width; j += 1) x.grad[i * width + j] += whole.grad[rows[i] * width + j];
    });
  }

  // Matrices of one width, one below the other.
  stack(...parts) {
    const y = this.matrix(parts.reduce((rows, part) => rows + part.rows, 0), parts[0].columns);
    let first = 0;
    for (const part of parts) {
      const place = y.part(first, (first += part.rows));
      place.value.set(part.value);
      this.then(() => part.grad && addRows(place.grad, part.grad));
    }
    return y;
  }

  // The mean of -log softmax at the targets, over the rows, or over those whose share in `mask` is not 0, by that share.
  crossEntropy(logits, targets, mask = null) {
    const [loss, powers, width] = [this.matrix(1, 1), this.numbers(logits.value.length), logits.columns];
    let sum = 0;
    for (let i = 0; i < logits.rows; i += 1) sum += mask ? mask[i] : 1;
    for (let i = 0; i < logits.rows; i += 1) {
      const share = (mask ? mask[i] : 1) / sum;
      if (share) loss.value[0] -= share * softmaxRow(logits.value, powers, i * width, width, targets[i]);
    }
    this.then(() => {
      for (let i = 0; i < logits.rows; i += 1) {
        const share = (loss.grad[0] * (mask ? mask[i] : 1)) / sum;
        if (!share) continue;
        for (let j = 0; j < width; j += 1) logits.grad[i * width + j] += share * powers[i * width + j];
        logits.grad[i * width + targets[i]] -= share;
      }
    });
    return loss;
  }

  // The squared distance of each row of x from each row of `other`.
  distances(x, other) {
    const [y, width] = [this.matrix(x.rows, other.rows), x.columns];
    const each = (f) => {
      for (let i = 0, at = 0; i < x.rows; i += 1) for (let k = 0; k < other.rows; k += 1, at += 1) f(at, i * width, k * width);
    };
    each((at, a, b) => (y.value[at] = squaredDistance(x.value, a, other.value, b, width)));
    this.then(() => each((at, a, b) => {
      const slope = 2 * y.grad[at];
      if (x.grad) addDifference(slope, x.value, a, other.value, b, x.grad, width);
      if (other.grad) addDifference(slope, other.value, b, x.value, a, other.grad, width);
    }));
    return y;
  }

  // The mean over the rows of the squared distance from the same row of `other`.
  squaredError(x, other) {
    const loss = this.matrix(1, 1);
    for (let i = 0; i < x.value.length; i += 1) loss.value[0] += (x.value[i] - other.value[i]) ** 2 / x.rows;
    this.then(() => {
      for (let i = 0; i < x.value.length; i += 1) {
        const slope = (2 * loss.grad[0] * (x.value[i] - other.value[i])) / x.rows;
        if (x.grad) x.grad[i] += slope;
        if (other.grad) other.grad[i] -= slope;
      }
    });
    return loss;
  }
}

// Numbers as a matrix of this width, and as the same one with its columns for rows.
const byRows = (of, width) => ({ of, row: width, step: 1 });
const byColumns = (of, width) => ({ of, row: 1, step: width });

// Adds all rows of `from` to `to`, which has one row or as many.
function addRows(from, to) {
  for (let at = 0; at < from.length; at += to.length) for (let j = 0; j < to.length; j += 1) to[j] += from[at + j];
}

function squaredDistance(x, a, other, b, width) {
  let sum = 0;
  for (let j = 0; j < width; j += 1) {
    const difference = x[a + j] - other[b + j];
    sum += difference * difference;
  }
  return sum;
}

// Adds what a row of x has more than one of `other`, times a factor, to the gradient of the first.
function addDifference(factor, x, a, other, b, grad, width) {
  for (let j = 0; j < width; j += 1) grad[a + j] += factor * (x[a + j] - other[b + j]);
}

// A row less its mean, over its deviation, which it gives as a factor.
function normalise(x, normed, at, width, epsilon) {
  let [mean, variance] = [0, 0];
  for (let j = at; j < at + width; j += 1) mean += x[j] / width;
  for (let j = at; j < at + width; j += 1) variance += (x[j] - mean) ** 2 / width;
  const scale = 1 / Math.sqrt(variance + epsilon);
  for (let j = at; j < at + width; j += 1) normed[j] = (x[j] - mean) * scale;
  return scale;
}

// The way back through the norm of one row: what is left of its slopes without their mean and their part along it.
function normSlopes(at, normed, scale, w, dy, dx, dw, db) {
  const width = w.length;
  let [mean, along] = [0, 0];
  for (let j = 0; j < width; j += 1) {
    const slope = dy[at + j];
    dw[j] += slope * normed[at + j];
    db[j] += slope;
    mean += (slope * w[j]) / width;
    along += (slope * w[j] * normed[at + j]) / width;
  }
  if (dx) for (let j = 0; j < width; j += 1) dx[at + j] += scale * (dy[at + j] * w[j] - mean - normed[at + j] * along);
}

// The softmax of a row, and the logarithm of one of its shares.
function softmaxRow(x, powers, at, width, target) {
  let [highest, sum] = [-Infinity, 0];
  for (let j = at; j < at + width; j += 1) highest = Math.max(highest, x[j]);
  for (let j = at; j < at + width; j += 1) sum += powers[j] = Math.exp(x[j] - highest);
  for (let j = at; j < at + width; j += 1) powers[j] /= sum;
  return x[at + target] - highest - Math.log(sum);
}
