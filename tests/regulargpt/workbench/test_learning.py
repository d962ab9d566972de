"""What learns in the workbench: its cases and words against Python, and a training whose folder the checker accepts."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import languages
from languages.automata import MooreMachine
from languages.errors import UserError
from regulargpt.certificate.checker import Accepted, Malformed, Rejected, check
from regulargpt.certificate.checker.balls import exact
from regulargpt.certificate.checker.networks import bounds_of, network_of
from regulargpt.certificate.search.certify import Certifier
from regulargpt.classroom.network import machine_data
from regulargpt.cli.commands.check import automaton_of
from regulargpt.finite.levels import levels
from regulargpt.finite.specification import Specification, specified_machine
from regulargpt.storage.manifest import digest
from tests.regulargpt.browser import Browser
from tests.regulargpt.workbench.scripts import opened, results

NAMED = (
    *("parity", "even-pairs", "cycle-navigation", *(f"tomita-{n}" for n in range(1, 8)), "dyck-1", "dyck-2", "dyck-3"),
    *("regex:(ab)*", "regex:(aa)*b", "regex:(a|b)*abb", "regex:abab", "regex:(abc)*;alphabet=abc"),
)
DRAWN = 24
"""Machines with random arrows, some states of which have no answer."""


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A page with what learns, and nothing else."""
    yield opened(tab, tmp_path_factory.mktemp("learning"), "cases", "words", "worker", "saving", "sha256")
    assert tab.problems == []  # a worker is asked for by an address of its own


def any_machine(seed: int) -> MooreMachine:
    """A random machine of two or three answers, with states that have none in every other one."""
    draw = np.random.default_rng(seed)
    n_states, n_symbols, n_answers = (int(draw.integers(2, most)) for most in (5, 4, 4))
    outputs = draw.integers(-(seed % 2), n_answers, n_states)
    states, names = (tuple(map(str, range(n))) for n in (n_states, n_answers))
    table = draw.integers(0, n_states, (n_states, n_symbols))
    return MooreMachine(states, tuple("abc"[:n_symbols]), table, "0", tuple(outputs.tolist()), names).minimise()


def language_of(machine: MooreMachine) -> tuple[dict[str, Any], Specification]:
    """A minimal machine as the workbench has it."""
    specification = Specification.of_machine(machine)
    monoid, names = specification.monoid, machine.output_names
    data = machine_data(machine, monoid) | {"table": monoid.table.tolist(), "letter": monoid.generators.tolist()}
    outputs = [None if output < 0 else names[output] for output in machine.output_table.tolist()]
    kind = "accepts" if set(names) == {"accept", "reject"} else "answers"
    return data | {"outputs": outputs, "output_names": list(names), "kind": kind}, specification


def named(name: str) -> tuple[dict[str, Any], Specification]:
    """A language of the project."""
    return language_of(specified_machine(languages.get(name)))


@cache
def some() -> list[tuple[dict[str, Any], Specification]]:
    """Languages with something to prove."""
    found = [*map(named, NAMED), *(language_of(any_machine(seed)) for seed in range(DRAWN))]
    return [(data, specification) for data, specification in found if cases_of(specification) is not None]


def cases_of(specification: Specification) -> dict[str, Any] | None:
    """The cases, as the certificate's search has them; None where it refuses the language."""
    try:
        target = Certifier.specified(specification, 2, "right", "all alike").target
    except UserError:
        return None
    elements = target.elements.tolist()
    number = {0: 0} | {1 + element: 1 + k for k, element in enumerate(elements)}
    leaves = [[window, number[1 + e]] for window, e in listed(target.symbol_windows, target.symbol_products)]
    nodes = [[[number[at] for at in window], number[1 + e]] for window, e in listed(target.windows, target.products)]
    asked, names = roots_of(specification), specification.machine.output_names
    answers = [names[target.answers[e]] if e in asked and target.answers[e] >= 0 else None for e in elements]
    return {"elements": elements, "answers": answers, "leaves": leaves, "nodes": nodes}


def listed(windows: Any, products: Any) -> list[tuple[list[int], int]]:
    return list(zip(windows.tolist(), products.tolist(), strict=True))


def roots_of(specification: Specification) -> set[int]:
    """The elements of the roots of words, as a network has them that makes no mistake."""
    monoid = specification.monoid
    of_symbols, times = monoid.generators.astype(np.int64), monoid.table.astype(np.int64)

    def image(height: int, windows: Any) -> Any:
        near, far = ((windows[:, c] - 1 if height else of_symbols[windows[:, c] - 1]) for c in (0, 1))
        return 1 + np.where(windows[:, 1] > 0, times[np.where(windows[:, 1] > 0, far, 0), near], near)

    return {int(e) for level in levels(specification, 2, image) for e in level.roots.elements}


def test_cases_are_those_of_the_certificates_search(page: Browser):
    """A window too many is a case that no word has, a window too few is a proof with a hole."""
    assert len(some()) >= 30
    found = results(page, "cases", "casesOf", [data for data, _ in some()])
    for (data, specification), theirs in zip(some(), found, strict=True):
        assert theirs == cases_of(specification), data


def test_words_have_right_answers_each_as_often_and_are_a_function_of_seed_and_step(page: Browser):
    chosen = [data for data, _ in some() if data["outputs"] != [None]]
    asked = "(language) => { const [a, b, c] = [3, 3, 4].map((seed) => new TrainingWords(language, seed)); b.batch(9);"
    asked += "return [0, 500, 900].map((step) => [a, b, c].map((words) => words.batch(step))); }"
    for language, found in zip(chosen, results(page, "words", asked, chosen), strict=True):
        for (batch, again, other), longest in zip(found, (10, 20, 40), strict=True):
            assert batch == again
            assert batch != other or len(language["alphabet"]) == 1
            assert max(map(len, batch["words"])) <= longest
            for word, answer in zip(batch["words"], batch["answers"], strict=True):
                assert len(word) > 0
                state = language["initial"]
                for symbol in word:
                    state = language["delta"][state][symbol]
                assert language["outputs"][state] == language["output_names"][answer]


def test_half_of_the_words_of_a_sparse_language_are_members_and_others_nearly_are(page: Browser):
    data, _ = named("regex:(ab)*")
    asked = "(language) => Array.from({ length: 20 }, (_, i) => new TrainingWords(language, 0).batch(20 * i))"
    (batches,) = results(page, "words", asked, [data])
    answers = Counter(answer for batch in batches for answer in batch["answers"])
    assert answers.total() == 20 * 128
    assert abs(answers[0] / answers.total() - 0.5) < 0.05
    non = [
        word
        for batch in batches
        for word, a in zip(*batch.values(), strict=True)
        if a == data["output_names"].index("reject")
    ]
    edge = [word for word in non if len(word) >= 6 and changes(word) <= 3]
    assert len(edge) > 0.2 * len(non)


def changes(word: list[int]) -> int:
    """How often two neighbours are the same symbol."""
    return sum(a == b for a, b in pairwise(word))


SMALL = {"chunk_size": 2, "gates": False, "d_model": 8, "n_heads": 2, "d_ff": 12, "norm": "pre", "activation": "gelu"}
SMALL |= {"attention_bias": True, "state_norm": True, "embedding_scale": 1, "thickness": 1, "distinct_levels": 1}
SMALL |= {"levels": 0, "pad": "learned", "attention": "dilated", "tied": False, "tree": "flat"}
BOUNDS = """({ options, prototypes, windows, radii, seed }) => {
  const { TreeNetwork } = modules["regulargpt/classroom/workbench/tree_network.js"];
  const { configOf } = modules["regulargpt/classroom/workbench/saving.js"];
  const network = new TreeNetwork({ options, n_symbols: 1, n_outputs: 2, seed });
  const block = new Block(network);
  const rows = prototypes.map((row) => Float64Array.from(row));
  const far = (window) => block.image(window.map((row, c) => block.child(window, c, rows))).deviation();
  const weights = Object.entries(network.weights()).map(([name, { shape, data }]) => [name, [shape, [...data]]]);
  const config = configOf({ options, language: { alphabet: ["a"], output_names: ["reject", "accept"] } });
  return { far: windows.map((window) => far(window)(radii)), weights: Object.fromEntries(weights), config };
}"""


def test_balls_are_as_large_as_the_checker_needs_them(page: Browser):
    """A proposal that is a little too small would have the whole folder refused."""
    draw, windows = np.random.default_rng(0), [[1, 0], [1, 2], [2, 1], [2, 2]]
    prototypes = draw.normal(size=(2, SMALL["d_model"]))
    given = {"options": SMALL, "prototypes": prototypes.tolist(), "windows": windows}
    cases = [given | {"radii": [size, size / 2], "seed": seed} for seed in range(3) for size in (1e-4, 1e-3, 0.01)]
    for case, found in zip(cases, results(page, "balls", BOUNDS, cases), strict=True):
        weights = {name: np.array(data).reshape(shape) for name, (shape, data) in found["weights"].items()}
        bounds = bounds_of(network_of(weights, found["config"]), exact(prototypes), exact(np.array(case["radii"])))
        theirs = [float(bounds.image(np.array(window)).deviation) for window in windows]
        assert np.allclose(found["far"], theirs, rtol=0.08), (case, theirs)


SOLVED = """({ options, language, seed }) => {
  const of = (name) => modules[`regulargpt/classroom/workbench/${name}.js`];
  const [{ TreeNetwork }, { Table }, { Tape }] = ["tree_network", "table", "tape"].map(of);
  const [{ casesOf }, { imagesOf, meansOf, distance }] = ["cases", "prototypes"].map(of);
  const network = new TreeNetwork({ options, n_symbols: 2, n_outputs: 2, seed });
  const cases = casesOf(language);
  const table = new Table(network, cases, language.output_names, meansOf(network, cases), seed);
  const farthest = () => {
    const prototypes = table.prototypes(new Tape({ learning: false }));
    const { nodes } = imagesOf(network, prototypes, cases);
    return Math.max(...cases.nodes.map(([, image], i) => distance(nodes.row(i), prototypes[image - 1])));
  };
  const before = farthest();
  solveLastLayer(table, seed);
  return [before, farthest()];
}"""


def test_the_last_layer_brings_each_window_to_its_prototype(page: Browser):
    """Of six windows it can: it has more inputs."""
    options = SMALL | {"d_model": 16, "n_heads": 4, "d_ff": 64}
    cases = [{"options": options, "language": named("parity")[0], "seed": seed} for seed in range(3)]
    for before, after in results(page, "last_layer", SOLVED, cases):
        assert after < 0.2 * before


def train(page: Browser, plan: str, until: str) -> list[dict[str, Any]]:
    """What a worker of the page says after the messages of a plan, until a condition on all that it `said`."""
    trained, language = (
        Path(__file__).with_name("trained.js").read_text("utf-8").rstrip().rstrip(";"),
        named("parity")[0],
    )
    return page.evaluate(f"({trained})({json.dumps(language)}, (tell, start) => {{ {plan} }}, (said) => {until})")


@pytest.fixture(scope="module")
def folder(page: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parity, trained by the page's worker and saved."""
    said = train(page, "tell(start);", "['proven', 'failed'].includes(said.at(-1).is)")
    assert said[-1]["is"] == "proven"
    out = tmp_path_factory.mktemp("saved")
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(said[-1]["zip"]))) as archive:
        assert archive.testzip() is None
        archive.extractall(out)
    claim = json.loads((out / "proven/certificate.json").read_text())["claim"]
    assert said[-1]["sentence"].startswith(claim)
    return out / "proven"


def test_the_checker_accepts_what_the_page_saves_of_the_network_as_it_is_too(folder: Path):
    accepted = check(folder / "certificate.json", language=("parity", automaton_of("parity")))
    assert isinstance(accepted, Accepted)
    assert accepted.unquantised_claim is not None
    assert accepted.language_claim is not None
    assert (accepted.prototypes, accepted.entries) == (2, 12)


def forged(folder: Path, out: Path, file: str, change: Any) -> Path:
    """The folder with one file changed, whose digest the certificate then states."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    files[file] = change(files[file])
    record = json.loads(files["certificate.json"])
    for part in ("weights", "network", "automaton"):
        record[part]["sha256"] = digest(files[record[part]["file"]])
    files["certificate.json"] = json.dumps(record).encode()
    for name, data in files.items():
        (out / name).write_bytes(data)
    return out / "certificate.json"


def other_image(data: bytes) -> bytes:
    record = json.loads(data)
    record["nodes"]["images"][0] = 3 - record["nodes"]["images"][0]
    return json.dumps(record).encode()


FORGERIES = {
    "a weight": ("model.safetensors", lambda data: data[:-4] + np.float32(40).tobytes()),
    "an image": ("certificate.json", other_image),
    "the automaton": ("automaton.json", lambda _: automaton_of("regex:0*10*").encode()),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_the_checker_refuses_it_once_something_is_changed(folder: Path, tmp_path: Path, what: str):
    certificate = forged(folder, tmp_path, *FORGERIES[what])
    with pytest.raises((Rejected, Malformed)):
        check(certificate)


def test_it_pauses_takes_single_steps_and_goes_on(page: Browser):
    """It hears what it is told while it trains: a worker that trained to its end first would say nothing in between."""
    said = train(
        page,
        "tell({ ...start, paused: true }, { do: 'step' }, { do: 'step' }, { do: 'go' });"
        "tell({ do: 'speed', speed: 'slow' }); setTimeout(() => tell({ do: 'pause' }, { do: 'step' }), 1000);",
        "said.length > 4 && said.at(-1).step === said.at(-2).step + 1",
    )
    steps = [message["step"] for message in said]
    assert steps[:2] == [1, 2]
    assert steps == sorted(steps)
    assert steps[-1] < 40
    for message in said:
        assert (message["is"], message["phase"], message["lane"]) == ("snapshot", "words", "regulargpt")
        assert (message["weights"], message["prototypes"], message["note"]) == (23, 2, "")
        assert 0 <= message["accuracy"] <= 1


def test_rivals_learn_the_same_words_and_have_no_prototypes(page: Browser):
    for lane in ("lstm", "transformer"):
        said = train(page, f"tell({{ ...start, lane: '{lane}', paused: true }}, {{ do: 'step' }});", "true")
        assert (said[0]["lane"], said[0]["step"], said[0]["prototypes"]) == (lane, 1, None)


def test_digests_are_those_of_python(page: Browser):
    lengths = [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000]
    asked = "(n) => sha256(Uint8Array.from({ length: n }, (_, i) => (37 * i) % 256))"
    found = results(page, "sha256", asked, lengths)
    assert found == [digest(bytes(37 * i % 256 for i in range(n))) for n in lengths]
