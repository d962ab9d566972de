// The operators of ldru: the states of two neighbouring nodes become one vector.

import { joined, linear, parts, plus, relu, sigmoid, times } from "../layers.js";

// z = D(A(g_x * x) + B(g_y * y)), the gates from both.
function mlp(weights) {
  const [wide, wider, gates, left, right, out] = ["wide", "wider", "gates", "left", "right", "out"].map((name) => linear(weights.of(name)));
  return (x, y) => {
    const [g_x, g_y] = parts(gates(wider(wide(joined(x, y)).map(relu)).map(relu)), 2);
    return out(plus(left(times(g_x, x)), right(times(g_y, y))));
  };
}

// z = g * x + (1 - g) * y.
function gatedSum(weights) {
  const gates = linear(weights.of("gates"));
  return (x, y) => gates(joined(x, y)).map((gate, i) => sigmoid(gate) * x[i] + (1 - sigmoid(gate)) * y[i]);
}

// z = x + y.
const sum = () => plus;

// z = A x + B y.
function linearMap(weights) {
  const [left, right] = ["left", "right"].map((name) => linear(weights.of(name)));
  return (x, y) => plus(left(x), right(y));
}

export const OPERATORS = { mlp, "gated-sum": gatedSum, sum, linear: linearMap };
