// Random numbers for one purpose, one after the other.

import { Random } from "./random.js";

export class Draws {
  constructor(seed, purpose) {
    [this.random, this.drawn] = [new Random(seed, purpose), 0];
  }

  uniform() {
    return this.random.uniform(this.drawn++);
  }

  below(n) {
    return this.random.integer(this.drawn++, n);
  }

  normal() {
    return this.random.normal(this.drawn++);
  }
}
