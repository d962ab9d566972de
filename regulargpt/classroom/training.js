// The network at the steps of its training whose weights were kept: what it answers there, and where its states lie.

// The number that 16 bits stand for (IEEE 754 half precision).
function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

// Numbers in half precision, little end first in base64, as what the page reads weights from: float32 in base64.
function asSingle(numbers) {
  const bytes = Uint8Array.from(atob(numbers), (character) => character.charCodeAt(0));
  const [view, single] = [new DataView(bytes.buffer), new DataView(new ArrayBuffer(2 * bytes.length))];
  for (let i = 0; i < bytes.length; i += 2) single.setFloat32(2 * i, fromHalf(view.getUint16(i, true)), true);
  const found = new Uint8Array(single.buffer);
  let text = "";
  for (let i = 0; i < found.length; i += 4096) text += String.fromCharCode(...found.subarray(i, i + 4096));
  return btoa(text);
}

// The last place of the slider is the trained network itself.
class Training {
  // `live` is the page's data of the run; `onStep` is called when another step is looked at.
  constructor(place, live, onStep) {
    const part = (name) => place.querySelector(`[data-training="${name}"]`);
    Object.assign(this, { live, onStep, range: part("range"), output: part("output"), networks: new Map() });
    this.range.max = live.snapshots.steps.length;
    this.range.value = this.range.max;
    this.range.addEventListener("input", onStep);
    for (const [name, by] of [["back", -1], ["forth", 1]]) {
      part(name).addEventListener("click", () => {
        this.range.value = Number(this.range.value) + by;
        onStep();
      });
    }
    playing(this.range, part("play"));
  }

  // The network at the slider's step; null for the trained one.
  get network() {
    const at = Number(this.range.value);
    return at === this.live.snapshots.steps.length ? null : this.networkAt(at);
  }

  // The networks of all steps but the trained one.
  get steps() {
    return this.live.snapshots.steps.map((_, at) => this.networkAt(at));
  }

  networkAt(at) {
    if (!this.networks.has(at)) {
      const weights = { ...this.live.weights, numbers: asSingle(this.live.snapshots.numbers[at]) };
      this.networks.set(at, new Live({ ...this.live, weights }));
    }
    return this.networks.get(at);
  }

  // What it answers there, beside what is right.
  say(answer, truth) {
    const at = Number(this.range.value);
    const { steps } = this.live.snapshots;
    const when = at === steps.length ? "The trained network" : steps[at] ? `After ${steps[at].toLocaleString("en")} ${steps[at] === 1 ? "step" : "steps"} the network` : "Before the first step the network";
    this.range.setAttribute("aria-valuetext", at === steps.length ? "trained" : `step ${steps[at]}`);
    if (!answer) this.output.textContent = `${when} has no answer.`;
    else {
      const same = truth === null ? "unknown" : answer.name === truth ? "right" : "wrong";
      this.output.replaceChildren(`${when} answers `, html("span", { class: same, "data-at": steps[at] ?? "" }, `${MARKS[same]} ${answer.name}`), `, ${certainty(answer.share)} sure.`);
    }
  }
}
