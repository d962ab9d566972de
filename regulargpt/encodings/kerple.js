// KERPLE: kernelised relative positions (Chi et al. 2022; sections 3.4, 3.5 and 3.7.2 of the thesis).

import { Kernel, power } from "./distance.js";

// -r_1 x^{r_2} (Eq. 3.3)
export class KerplePower extends Kernel {
  biasAt(x, h) {
    return -this.of("r1", h) * power(x, this.of("r2", h));
  }
}

// -r_1 ln(1 + r_2 x) (Eq. 3.4)
export class KerpleLog extends Kernel {
  biasAt(x, h) {
    return -this.of("r1", h) * Math.log1p(this.of("r2", h) * x);
  }
}

// -r_1 ln(1 + r_2 x^{r_3})
export class KerpleLog3 extends Kernel {
  biasAt(x, h) {
    return -this.of("r1", h) * Math.log1p(this.of("r2", h) * power(x, this.of("r3", h)));
  }
}

// The logits times exp(-r_3 x^{r_4}), then -r_1 x^{r_2}.
export class KerpleBiasWeight extends KerplePower {
  score(products, q, h, at) {
    const x = this.distances(at);
    return products.map((product, n) => product * Math.exp(-this.of("r3", h) * power(x[n], this.of("r4", h))));
  }
}
