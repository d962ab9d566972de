// The weights of a network, by the names that they have in Python.

export class Weights {
  constructor(tensors, prefix = "") {
    Object.assign(this, { tensors, prefix });
  }

  // From the page: the shape of each tensor, and all their numbers one after the other, float32 in base64.
  static decoded({ shapes, numbers }) {
    const bytes = Uint8Array.from(atob(numbers), (character) => character.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const tensors = new Map();
    let at = 0;
    for (const [name, shape] of Object.entries(shapes)) {
      const data = new Float64Array(shape.reduce((a, b) => a * b, 1));
      for (let i = 0; i < data.length; i += 1, at += 4) data[i] = view.getFloat32(at, true);
      tensors.set(name, { shape, data });
    }
    return new Weights(tensors);
  }

  // Those of a part: `weights.of("blocks.0")` calls "blocks.0.ln1.weight" "ln1.weight".
  of(part) {
    return new Weights(this.tensors, `${this.prefix}${part}.`);
  }

  has(name) {
    return this.tensors.has(this.prefix + name);
  }

  tensor(name) {
    const found = this.tensors.get(this.prefix + name);
    if (!found) throw new Error(`the network has no ${this.prefix}${name}`);
    return found;
  }

  // A vector, or a tensor's numbers in a row.
  numbers(name) {
    return this.tensor(name).data;
  }

  // A matrix as a list of vectors.
  rows(name) {
    const { shape, data } = this.tensor(name);
    const width = shape[shape.length - 1];
    return Array.from({ length: data.length / width }, (_, i) => data.subarray(i * width, (i + 1) * width));
  }
}
