// Work in slices: a generator goes on for a moment, then the page has its turn.

const MOMENT = 12; // milliseconds

// Go through a generator, whose value `done` gets in the end, at once if that takes no longer; `between` comes after each
// slice. Returns what ends it.
export function inSlices(work, done, between = () => {}) {
  let next = null;
  const go = () => {
    const began = performance.now();
    next = null;
    let step = work.next();
    while (!step.done && performance.now() - began < MOMENT) step = work.next();
    between();
    if (step.done) done(step.value);
    else next = setTimeout(go);
  };
  go();
  return () => clearTimeout(next);
}
