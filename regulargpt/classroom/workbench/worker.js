// What a worker does: it trains a network and says how that goes. Messages are those of the workbench's protocol:
//
//   to    { do: "start", lane, language, cases, seed, speed, paused, numbers }   { do: "pause" } { do: "go" } { do: "step" }
//         { do: "ask", word }: its answer comes with each snapshot   { do: "speed", speed }   { do: "until", step }: it takes no more steps than that for now   { do: "stop" }
//   from  { is: "snapshot", ...Snapshot }   { is: "proven", snapshot, cases, sentence }   { is: "failed", sentence }
//
// A Snapshot has lane, step, phase ("words", "table", "done"), loss, accuracy, seconds (of calculating), options, weights,
// prototypes, note (a sentence where training began again, else ""), said ({ word, answer } of what it was asked, or null),
// and once it is proven margin and balls.

import { arrived, learning, rival } from "./learning.js";
import { nameOf } from "./wall.js";

// It calculates for so long before it hears messages again, and says at most so often how it goes, in milliseconds.
const [SLICE, SAYING, OTHERS_SAYING] = [20, 200, 600];
// Steps of a slow training are so far apart: one sees each of them.
const SLOW = 400;

export function begin(scope) {
  const trainer = new Trainer((message) => scope.postMessage(message));
  scope.onmessage = ({ data }) => trainer.hear(data);
}

class Trainer {
  constructor(say) {
    Object.assign(this, { say, steps: null, paused: true, speed: "fast", wanted: null, until: Infinity, singles: 0 });
    // A message to itself comes after those that wait, and sooner than a timeout.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => this.slice();
    this.port = port2;
  }

  hear(message) {
    const { speed, paused, until } = { speed: this.speed, paused: false, until: Infinity, ...message };
    if (message.do === "start") Object.assign(this, { ...starting(message), paused: Boolean(paused), speed, until, seconds: 0, last: null, said: 0, asked: null, saying: message.lane === "regulargpt" ? SAYING : OTHERS_SAYING });
    if (message.do === "ask") this.asked = message.word;
    if (message.do === "speed") this.speed = speed;
    if (message.do === "until") this.until = message.step;
    if (message.do === "go") this.paused = false;
    if (message.do === "pause") this.pause();
    if (message.do === "stop") this.steps = null;
    if (message.do === "step") Object.assign(this, { paused: true, singles: this.singles + 1 });
    this.later();
  }

  pause() {
    this.paused = true;
    this.tell();
  }

  // Whether there is no more to do for now.
  get isThere() {
    return !this.steps || (!this.singles && (this.paused || (this.last?.step ?? 0) >= this.until));
  }

  // Go on when all messages have been heard.
  later() {
    if (this.isThere || this.wanted) return;
    this.wanted = true;
    if (this.speed === "slow" && !this.singles) setTimeout(() => this.slice(), SLOW);
    else this.port.postMessage(null);
  }

  slice() {
    this.wanted = null;
    if (this.isThere) return;
    const end = performance.now() + SLICE;
    let shown = false;
    while (!this.isThere && !shown && performance.now() < end) shown = this.take() && (this.singles > 0 || this.speed === "slow");
    if (shown) this.singles = Math.max(0, this.singles - 1);
    if (shown || this.isThere || performance.now() > this.said + this.saying) this.tell();
    this.later();
  }

  // One step of the training; whether it was one, and no look at its answers.
  take() {
    const from = performance.now();
    const { value, done } = this.steps.next();
    this.seconds += (performance.now() - from) / 1000;
    if (done) this.end(value);
    else this.last = value ?? this.last;
    return done || value !== null;
  }

  end({ proven, sentence }) {
    this.steps = null;
    const snapshot = this.last && this.snapshot("done", proven ?? {});
    if (proven) this.say({ is: "proven", snapshot, cases: this.cases, sentence: proven.sentence });
    else if (snapshot) this.say({ is: "snapshot", ...snapshot });
    if (sentence) this.say({ is: "failed", sentence });
  }

  tell() {
    if (!this.last || !this.steps) return;
    this.said = performance.now();
    this.say({ is: "snapshot", ...this.snapshot(this.last.phase) });
  }

  snapshot(phase, { prototypes = this.last.prototypes(), margin = null, balls = null } = {}) {
    const { step, loss, accuracy, note = "", learner } = this.last;
    const [{ lane, options, network, language }, word] = [learner, this.asked];
    const said = word && { word, answer: nameOf(learner.asked([word]).row(0), language.output_names) };
    return { said, lane, step, phase, loss, accuracy, seconds: this.seconds, options, weights: network.weights(), prototypes, note, margin, balls };
  }
}

// A training from its beginning, or the trial of a network with these weights.
function starting({ lane, language, cases, seed, numbers }) {
  if (numbers) return { cases, steps: arrived({ language, cases, seed, numbers }) };
  return { cases, steps: lane === "regulargpt" ? learning({ language, cases, seed }) : rival({ lane, language, seed }) };
}
