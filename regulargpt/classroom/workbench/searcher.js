// What the worker does that looks for wrong words: a search after the other. Who wants no more of one ends the worker.
//
//   to    { lane, network: { options, weights }, hits, prototypes, language, seed, longest, most }
//   from  { lane, word, answer, truth, tried, ... } as search.js returns it

import { search } from "./search.js";

export function begin(scope) {
  scope.onmessage = ({ data: { lane, ...given } }) => {
    const steps = search(given);
    let last = steps.next();
    while (!last.done) last = steps.next();
    scope.postMessage({ lane, ...last.value });
  };
}
