// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), with the gradient's norm clipped, as in torch.

export class Adam {
  // `all` is a list of Parameters. `decay` shrinks the weights themselves (AdamW); `clip` is the largest norm, 0 for any.
  constructor(all, { rate = 1e-3, betas = [0.9, 0.999], epsilon = 1e-8, decay = 0, clip = 0 } = {}) {
    Object.assign(this, { all, rate, betas, epsilon, decay, clip, steps: 0 });
    this.moments = all.map(({ value }) => [new Float64Array(value.length), new Float64Array(value.length)]);
  }

  // The norm of all gradients together.
  norm() {
    let sum = 0;
    for (const { grad } of this.all) for (let i = 0; i < grad.length; i += 1) sum += grad[i] * grad[i];
    return Math.sqrt(sum);
  }

  // Moves the weights by their gradients, which become zero; gives the gradients' norm.
  step(rate = this.rate) {
    const norm = this.norm();
    const scale = this.clip ? Math.min(1, this.clip / (norm + 1e-6)) : 1;
    this.steps += 1;
    this.all.forEach((parameters, i) => {
      this.move(parameters, this.moments[i], rate, scale);
      parameters.grad.fill(0);
    });
    return norm;
  }

  move({ value, grad }, [first, second], rate, scale) {
    const [beta1, beta2] = this.betas;
    const step = rate / (1 - beta1 ** this.steps);
    const root = Math.sqrt(1 - beta2 ** this.steps);
    const kept = 1 - rate * this.decay;
    for (let i = 0; i < value.length; i += 1) {
      const g = grad[i] * scale;
      first[i] += (1 - beta1) * (g - first[i]);
      second[i] = beta2 * second[i] + (1 - beta2) * g * g;
      value[i] = kept * value[i] - (step * first[i]) / (Math.sqrt(second[i]) / root + this.epsilon);
    }
  }
}
