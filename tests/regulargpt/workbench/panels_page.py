"""A page with the tree, the map and the wall on a bench; what a worker would send comes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata import MooreMachine
from regulargpt.classroom.document import document
from regulargpt.classroom.live.numbers import encoded
from regulargpt.classroom.live.twins import gathered
from regulargpt.classroom.workbench.page import HERE, script

Arrays = Mapping[str, npt.NDArray[np.floating[Any]]]
CALCULATIONS = ("bench", "wall", "view", "map_words", "word_draws")
PANELS = ("tree", "map", "wall")
SCRIPTS = (
    *("word.js", "nodes.js", "tree.js", "parting.js", "vector.js", "player.js"),
    *("lesson/field.js", "lesson/chips.js", "lesson/cases.js"),
)
STYLES = ("page.css", "lesson/lesson.css", "states.css", "workbench/workbench.css")
# `show(i)` gives the bench the i-th snapshot; prototypes come by the least word of their element.
START = """
const data = JSON.parse(byId("data").textContent);
const { Bench } = modules["HERE/bench.js"];
const bench = new Bench();
bench.save = () => { bench.saved = true; };
if (data.drawn) bench.set.language(data.drawn);
const panels = {};
for (const [name, Panel] of Object.entries({ tree: "TreePanel", map: "MapPanel", wall: "WallPanel" })) {
  panels[name] = new modules[`HERE/${name}_panel.js`][Panel](document.querySelector(`.panel.${name} .place`), bench);
}
function show(i) {
  const { step, phase, weights, prototypes } = data.snapshots[i];
  const { tensors } = modules["regulargpt/models/weights.js"].Weights.decoded(weights);
  const { language: { elements }, cases } = bench;
  const points = prototypes && cases.elements.map((e) => Float64Array.from(prototypes[elements.words[e]]));
  const given = { lane: "regulargpt", step, phase, options: data.options, prototypes: points };
  bench.set.snapshot({ ...given, weights: Object.fromEntries(tensors) });
}
""".replace("HERE", HERE)


@dataclass(frozen=True)
class Moment:
    """What is known at a step of a training; prototypes by the least word of their element."""

    step: int
    weights: Arrays
    prototypes: Mapping[str, Sequence[float]] | None = None
    phase: str = "words"

    def data(self) -> dict[str, Any]:
        """JSON values."""
        shapes = {name: list(array.shape) for name, array in self.weights.items()}
        numbers = {"shapes": shapes, "numbers": encoded(*self.weights.values())}
        return {"step": self.step, "phase": self.phase, "weights": numbers, "prototypes": self.prototypes}


def written(
    out: Path,
    machine: MooreMachine | None,
    options: Mapping[str, Any] | None = None,
    moments: Sequence[Moment] = (),
) -> Path:
    """The page's file; in it `bench`, `panels` by name, and `show(i)`."""
    calculations = gathered(map(script, CALCULATIONS))
    own = gathered(script(f"{name}_panel") for name in PANELS)
    later = [source for name, source in own.items() if name not in calculations]
    places = "".join(
        f'<section class="panel {name}" aria-label="{name}"><h2>{name}</h2><div class="place"></div></section>'
        for name in PANELS
    )
    drawn = None if machine is None else drawn_of(machine)
    page = document(
        title="Panels",
        heading="Panels",
        skip=("tree", "To the tree"),
        body=f'<main class="bench" id="tree">{places}</main>',
        data={"drawn": drawn, "options": dict(options or {}), "snapshots": [moment.data() for moment in moments]},
        styles=(*STYLES, *(f"workbench/{name}_panel.css" for name in PANELS)),
        scripts=SCRIPTS,
        modules="\n".join(["const modules = {};", *calculations.values()]),
        after="\n".join([*later, START]),
    )
    out.write_text(page, "utf-8")
    return out


def drawn_of(machine: MooreMachine) -> dict[str, Any]:
    """A machine as a person would draw it."""
    names = list(machine.output_names)
    states = [
        {"name": name, "x": 0, "y": 0, "output": None if output < 0 else output}
        for name, output in zip(machine.states, machine.outputs, strict=True)
    ]
    arrows = [
        {"from": q, "to": int(target), "symbols": [a]}
        for q, row in enumerate(machine.table)
        for a, target in enumerate(row)
    ]
    alphabet = list(machine.alphabet)
    return {
        **{"alphabet": alphabet, "outputs": names, "states": states},
        **{"initial": machine.initial_index, "arrows": arrows},
    }
