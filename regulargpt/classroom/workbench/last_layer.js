// The last linear layer solved for the table by least squares: what lies below it is left as it is, and its output goes
// straight into the state norm (regulargpt/certificate/tuning/last_layer.py).

import { Draws } from "./draws.js";
import { Tape } from "./tape.js";

// Beside the windows of prototypes stand so many copies of states near them, in units of the prototypes' RMS, or the layer
// would stretch what moves them. The state norm is taken as linear: once more from where the first solution ended.
const [COPIES, NEAR, ROUNDS] = [4, 0.02, 2];
const RIDGE = 1e-6;

// A tape that keeps what the last layer reads, and what the state norm is given.
class Watching extends Tape {
  constructor(network) {
    super({ learning: false });
    Object.assign(this, { network, read: [], given: [] });
  }

  linear(x, weight, ...rest) {
    if (weight === this.network.ff_out[0]) this.read.push(x);
    return super.linear(x, weight, ...rest);
  }

  layerNorm(x, weight, ...rest) {
    if (weight === this.network.state_norm[0] && this.read.length > this.given.length) this.given.push(x);
    return super.layerNorm(x, weight, ...rest);
  }
}

// Changes the layer so that windows come nearest to their prototypes.
export function solveLastLayer(table, seed) {
  for (let round = 0; round < ROUNDS; round += 1) solved(table, new Draws(seed, `last layer ${round}`));
}

function solved(table, random) {
  const { network } = table;
  const [weight, bias] = network.ff_out;
  const [k, d] = [weight.columns + 1, weight.rows];
  const [gram, moved] = [Array.from({ length: k }, () => new Float64Array(k)), Array.from({ length: k }, () => new Float64Array(d))];
  const tape = new Watching(network);
  for (const { states, targets } of table.everywhere(tape, [0, ...Array(COPIES).fill(NEAR)], random)) {
    const [inputs, sums] = [tape.read.pop(), tape.given.pop()];
    targets.forEach((target, i) => {
      const x = [...inputs.row(i), 1];
      const change = changeOf(network.state_norm[0].value, sums.row(i), states.row(i), target);
      for (let a = 0; a < k; a += 1) {
        for (let b = 0; b < k; b += 1) gram[a][b] += x[a] * x[b];
        for (let j = 0; j < d; j += 1) moved[a][j] += x[a] * change[j];
      }
    });
  }
  const ridge = (RIDGE * gram.reduce((sum, row, a) => sum + row[a], 0)) / k;
  gram.forEach((row, a) => (row[a] += ridge));
  eliminate(gram, moved);
  for (let a = 0; a < k - 1; a += 1) for (let j = 0; j < d; j += 1) weight.value[j * weight.columns + a] += moved[a][j];
  for (let j = 0; j < d; j += 1) bias.value[j] += moved[k - 1][j];
}

// By how much what the state norm is given has to change for the state to come to its target, to first order.
function changeOf(gain, sums, state, target) {
  const mean = sums.reduce((a, b) => a + b, 0) / sums.length;
  const spread = Math.sqrt(sums.reduce((sum, x) => sum + (x - mean) ** 2, 0) / sums.length + 1e-5);
  return target.map((value, j) => (spread * (value - state[j])) / (gain[j] || 1));
}

// Solves A X = B in place of B, for a positive definite A.
function eliminate(A, B) {
  const n = A.length;
  for (let p = 0; p < n; p += 1) {
    for (let i = p + 1; i < n; i += 1) {
      const factor = A[i][p] / A[p][p];
      for (let j = p; j < n; j += 1) A[i][j] -= factor * A[p][j];
      for (let j = 0; j < B[i].length; j += 1) B[i][j] -= factor * B[p][j];
    }
  }
  for (let p = n - 1; p >= 0; p -= 1) {
    for (let j = 0; j < B[p].length; j += 1) {
      for (let i = p + 1; i < n; i += 1) B[p][j] -= A[p][i] * B[i][j];
      B[p][j] /= A[p][p];
    }
  }
}
