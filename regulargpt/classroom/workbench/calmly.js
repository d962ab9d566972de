// Draws at the next picture, and not again before four times as long as that took has passed: a page that draws what is
// calculated five times a second stays alive. Of several that wait each has a picture of its own.

const waiting = [];

function next() {
  const draw = waiting.shift();
  if (waiting.length) requestAnimationFrame(next);
  draw();
}

export function calmly(draw) {
  let [isWaiting, free] = [false, 0];
  const now = () => {
    isWaiting = false;
    const began = performance.now();
    draw();
    free = performance.now() + 4 * (performance.now() - began);
  };
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => waiting.push(now) === 1 && requestAnimationFrame(next), Math.max(0, free - performance.now()));
  };
}
