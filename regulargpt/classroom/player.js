// A slider that moves by itself: play, pause, speed.

const BEAT = 900; // milliseconds between two steps at speed 1

class Player {
  // `range` is the slider, `button` plays and pauses it, `speed` chooses how fast.
  constructor(range, button, speed) {
    Object.assign(this, { range, button, speed, timer: null });
    button.addEventListener("click", () => (this.timer === null ? this.play() : this.pause()));
  }

  get atEnd() {
    return Number(this.range.value) >= Number(this.range.max);
  }

  // From where the slider is, or from the beginning if it is at the end.
  play() {
    if (this.atEnd) this.move(Number(this.range.min));
    this.wait();
    this.say();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.say();
  }

  wait() {
    this.timer = setTimeout(() => {
      this.move(Number(this.range.value) + 1);
      if (this.atEnd) this.pause();
      else this.wait();
    }, BEAT / Number(this.speed.value));
  }

  move(value) {
    this.range.value = value;
    this.range.dispatchEvent(new Event("input", { bubbles: true }));
  }

  say() {
    const act = this.timer === null ? "Play" : "Pause";
    this.button.textContent = act;
    this.button.setAttribute("aria-label", `${act} ${this.button.dataset.what}`);
  }
}
