// What all encodings share whose logits depend on the distance x = |m - n|.

import { memo } from "../models/layers.js";
import { Encoding } from "./base.js";

const number = new Float32Array(1);
const bits = new Uint32Array(number.buffer);

// The nearest number of 8 binary digits, the even one of two.
function bfloat16(x) {
  number[0] = x;
  bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000;
  return number[0];
}

export class DistanceEncoding extends Encoding {
  constructor(given) {
    super(given);
    this.found = memo((h) => memo((x) => this.biasAt(x, h)));
  }

  // |m - n| for each key n, found once for all heads.
  distances(at) {
    if (!at.distances) {
      at.distances = at.n.map((key) => Math.abs(at.m - key));
      if (this.options.bias_dtype === "bfloat16") at.distances = at.distances.map(bfloat16);
    }
    return at.distances;
  }

  bias(q, h, at) {
    const [x, found] = [this.distances(at), this.found(h)];
    const row = new Float64Array(x.length);
    for (let n = 0; n < x.length; n += 1) row[n] = found(x[n]);
    return row;
  }
}

// A function of the distance with a few learned numbers a head, the same in all layers.
export class Kernel extends DistanceEncoding {
  // The parameter of a head.
  of(name, h) {
    return this.weights.numbers(name)[h];
  }
}

// x^p, with 0 at x = 0.
export const power = (x, p) => (x > 0 ? x ** p : 0);
