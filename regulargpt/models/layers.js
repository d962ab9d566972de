// What the networks share, in float64 and for one vector at a time: linear maps, norms, activations, softmax.

// x -> W x + b, or W x where there is no b; `first` and `end` choose some rows of W.
export function linear(weights, first = 0, end = weights.tensor("weight").shape[0]) {
  const { shape: [, width], data } = weights.tensor("weight");
  const bias = weights.has("bias") ? weights.numbers("bias") : null;
  return (x) => {
    const y = new Float64Array(end - first);
    for (let i = first, at = first * width; i < end; i += 1) {
      let sum = bias ? bias[i] : 0;
      for (let j = 0; j < width; j += 1, at += 1) sum += data[at] * x[j];
      y[i - first] = sum;
    }
    return y;
  };
}

// The readout; a tied one is the embedding's transpose.
export function readout(weights, tied = false) {
  if (!tied) return linear(weights.of("readout"));
  const rows = weights.rows("embedding.weight");
  return (x) => rows.map((row) => dot(row, x));
}

// (x - mean) / sqrt(variance + epsilon), times the weight, plus the bias.
export function layerNorm(weights, epsilon = 1e-5) {
  const [weight, bias] = [weights.numbers("weight"), weights.numbers("bias")];
  return (x) => {
    const mean = total(x) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const scale = 1 / Math.sqrt(variance + epsilon);
    return x.map((value, i) => (value - mean) * scale * weight[i] + bias[i]);
  };
}

// x / sqrt(mean square + epsilon), times the weight.
export function rmsNorm(weights, epsilon) {
  const weight = weights.numbers("weight");
  return (x) => {
    const scale = 1 / Math.sqrt(dot(x, x) / x.length + epsilon);
    return x.map((value, i) => value * scale * weight[i]);
  };
}

export const total = (x) => x.reduce((sum, value) => sum + value, 0);
export const plus = (x, y) => x.map((value, i) => value + y[i]);
export const times = (x, y) => x.map((value, i) => value * y[i]);

export function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += x[i] * y[i];
  return sum;
}

// Vectors one after the other, as one.
export function joined(...vectors) {
  const found = new Float64Array(vectors.reduce((length, x) => length + x.length, 0));
  let at = 0;
  for (const x of vectors) {
    found.set(x, at);
    at += x.length;
  }
  return found;
}

// A vector as `count` vectors of one width.
export function parts(x, count) {
  const width = x.length / count;
  return Array.from({ length: count }, (_, i) => x.subarray(i * width, (i + 1) * width));
}

// The error function: 2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (1 3 5 ... (2n+1)) (Abramowitz and Stegun 7.1.6).
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x); // nearer to 1 than float64 tells apart
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

export const sigmoid = (x) => 1 / (1 + Math.exp(-x));
export const relu = (x) => (x > 0 ? x : 0);
const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));
const gelu_tanh = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
export const ACTIVATIONS = { relu, gelu, gelu_tanh };

// exp(x_i) / sum_j exp(x_j); what is minus infinity gets nothing, and so does everything where all of it is.
export function softmax(x) {
  let [highest, sum] = [-Infinity, 0];
  for (let i = 0; i < x.length; i += 1) if (x[i] > highest) highest = x[i];
  const powers = new Float64Array(x.length);
  if (highest === -Infinity) return powers;
  for (let i = 0; i < x.length; i += 1) sum += powers[i] = Math.exp(x[i] - highest);
  for (let i = 0; i < x.length; i += 1) powers[i] /= sum;
  return powers;
}

// f, computed once for each whole number.
export function memo(f) {
  const found = [];
  return (i) => (found[i] ??= f(i));
}
