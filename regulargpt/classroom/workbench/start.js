// Makes the panels, and lets the address say what is on the bench.

import { Bench } from "./bench.js";
import { Captions } from "./captions.js";
import { LanesPanel } from "./lanes_panel.js";

const PANELS = { lanes: LanesPanel };

const bench = new Bench();
bench.set.language(null);
for (const [name, Panel] of Object.entries(PANELS)) new Panel(document.querySelector(`.panel.${name} .place`), bench);
new Captions(bench);
new Terms();
address.add("step", () => (bench.step === 1 ? null : String(bench.step)), (text) => bench.set.step(Math.min(7, Math.max(1, Number(text) || 1))));
