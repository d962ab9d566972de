// The cases of the proof, tried with a network: where each window lands, and what is answered at each prototype.

export const ROUNDED = ", with each state rounded to 2⁻²⁴"; // as searches calculate
const TIE = 1e-6; // two distances, or two logits, that are nearer to each other decide nothing

// The name of the largest logit; null where others are as large, or numbers overflow.
export function nameOf(logits, names) {
  const [first, second] = Float64Array.from(logits).sort().reverse();
  return logits.every(Number.isFinite) && !(first - second <= TIE) ? (names[logits.indexOf(first)] ?? null) : null;
}

// The number of the prototype at which a state has landed; 0 where the next one is as near.
export const sure = ({ here, margin }) => (margin > TIE ? here : 0);

// The number of the prototype nearest to a state, from 1, how far it is, and how much farther the next one is. It is 0
// where the state has no place: its numbers overflow.
export function landing(state, prototypes) {
  let [here, off, next] = [0, Infinity, Infinity];
  prototypes.forEach((prototype, k) => {
    let sum = 0;
    for (let i = 0; i < prototype.length; i += 1) sum += (state[i] - prototype[i]) ** 2;
    const far = Math.sqrt(sum);
    if (far < off) [here, off, next] = [k + 1, far, off];
    else if (far < next) next = far;
  });
  return { here, off, margin: next - off };
}

// All cases, in the order of the wall: {part, window, image}. The last ones are the answers, of which a window is the
// prototype alone, and an image the answer's name.
export function inOrder(cases) {
  const windows = (part) => cases[part].map(([window, image]) => ({ part, window, image }));
  const ends = cases.answers.flatMap((answer, k) => (answer === null ? [] : [{ part: "answers", window: [k + 1], image: answer }]));
  return [...windows("leaves"), ...windows("nodes"), ...ends];
}

// What tries a case: {here, right, off, margin}, where `here` is the prototype or the answer that the network comes to.
// `names` are those of the answers.
export function trial(network, prototypes, names) {
  const leaves = network.leaves();
  // Along brackets symbols stand beside prototypes, and are numbered behind them.
  const rows = { leaves, nodes: [network.absent, ...prototypes, ...(network.direction ? leaves.slice(1) : [])] };
  const [{ over }] = network.treeLayers(network.chunk_size);
  const merge = { leaves: over(rows.leaves), nodes: over(rows.nodes) };
  return ({ part, window, image }) => {
    if (part === "answers") return answered(network.read(prototypes[window[0] - 1]), names, image);
    const found = landing(merge[part](window), prototypes);
    return { ...found, right: sure(found) === image };
  };
}

// The answer with the largest logit, and how far it is above the next.
function answered(logits, names, image) {
  const [first, second] = Array.from(logits).sort((a, b) => b - a);
  const here = nameOf(logits, names);
  return { here, right: here === image, off: null, margin: first - second };
}
