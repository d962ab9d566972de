// The Gaussian-like kernels of the thesis (section 3.7.3): sums with the logits, and products with them.

import { Kernel, power } from "./distance.js";

// +r_1 exp(-r_2 x^2)
export class GaussBias2 extends Kernel {
  biasAt(x, h) {
    return this.of("r1", h) * Math.exp(-this.of("r2", h) * this.inner(x, h));
  }

  inner(x) {
    return x * x;
  }
}

// +r_1 exp(-r_2 x^{r_3})
export class GaussBias3 extends GaussBias2 {
  inner(x, h) {
    return power(x, this.of("r3", h));
  }
}

// The logits times exp(-r_1 x^2).
export class GaussWeight1 extends Kernel {
  score(products, q, h, at) {
    const x = this.distances(at);
    return products.map((product, n) => product * Math.exp(-this.of("r1", h) * this.inner(x[n], h)));
  }

  inner(x) {
    return x * x;
  }

  bias() {
    return null;
  }
}

// The logits times exp(-r_1 x^{r_2}).
export class GaussWeight2 extends GaussWeight1 {
  inner(x, h) {
    return power(x, this.of("r2", h));
  }
}
