"""Extraction along brackets: constructed networks and tampered ones, tables without law, and what the command says."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.convert.machines import read_json
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.extraction.nested import NestedTeacher, learn_nested
from regulargpt.extraction.run import described, of_tree, samples
from regulargpt.finite import levels
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.nested_specification import minimal_algebra
from regulargpt.finite.nested_trees import nested_roots, nested_states
from regulargpt.finite.table import QuantisedTable
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.nested import nested_root_plainly
from regulargpt.runs import run as running
from tests.cli.conftest import Cli, assert_refused, cli  # noqa: F401
from tests.languages.test_context_free import nested
from tests.regulargpt.test_construct_nested import every_word
from tests.regulargpt.test_construct_nested import model as constructed


def extracted(name: str, model: Tree, codebook: str = "blind"):
    """What is found in a network, and what is said of it."""
    task = nested(name)
    found = of_tree(model, task, samples(task, 0, 12), codebook)
    return found, described(task, found)


@pytest.mark.parametrize(
    ("name", "C", "codebook"),
    [
        *(("brackets-2", 2, "classes"), ("brackets-2", 3, "blind"), ("formula", 3, "blind"), ("json", 2, "blind")),
        *(("arithmetic-brackets", 2, "blind"), ("xml-2", 2, "blind"), ("reversal-2", 3, "blind")),
    ],
)
def test_of_a_constructed_network_the_machine_of_its_language(name: str, C: int, codebook: str):
    found, said = extracted(name, constructed(name, C), codebook)
    assert (said["proven_quantised"], said["equal"], said["counterexample"]) == (True, True, None)
    assert isinstance(found.learned.machine, PushdownTransducer)
    assert VisiblyPushdown.from_machine(found.learned.machine).counterexample(nested(name).visibly) is None
    assert said["algebra"] == minimal_algebra(nested(name).machine).size


@pytest.mark.parametrize(("name", "C"), [("brackets-2", 2), ("xml-2", 3), ("formula", 2)])
def test_a_tampered_network_is_another_machine_and_a_shortest_word_says_so(name: str, C: int):
    """One label is answered otherwise: which words are then wrong, all short ones through the network itself say."""
    model, task = copy.deepcopy(constructed(name, C)), nested(name)
    assert isinstance(model.readout, torch.nn.Linear)
    model.readout.weight.data[:, 1] *= -1
    found, said = extracted(name, model)
    assert (said["proven_quantised"], said["equal"]) == (True, False)
    assert found.word is not None
    for length in range(1, 1 + len(found.word)):
        words = every_word(task.n_symbols, length)
        with torch.no_grad():
            right, given = task.labels(words), model(torch.from_numpy(words)).argmax(1).numpy()
        wrong = words[(right >= 0) & (right != given)].tolist()
        assert bool(wrong) == (length == len(found.word))
        assert not wrong or list(found.word) in wrong


def lawless(seed: int, C: int, aligned: str) -> QuantisedTable:
    """The quantised network of weights that nothing trained, and of two or three of its own states as prototypes."""
    generator = torch.Generator().manual_seed(seed)
    if aligned == "right":
        model = RegularGPT(2, 2, chunk_size=C, d_model=8, n_heads=2, d_ff=16, generator=generator)
    else:
        model = Ldru(2, 2, d_model=8, generator=generator)
    model.follow([1, -1])
    network = Float64Network(model.eval())
    states, _ = nested_states(network, np.array([[0, 0, 1, 1, 0, 1, 1, 0]]))
    return QuantisedTable(network, states[:: len(states) // 3][: 2 + seed % 2])


@pytest.mark.parametrize(("C", "aligned"), [(2, "right"), (3, "right"), (2, "left")])
def test_what_a_table_without_law_computes_is_extracted_or_it_is_said_why_not(
    C: int, aligned: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(levels, "MAX_WINDOWS", 1 << 16)
    task, proven = nested("brackets-1"), 0
    for seed in range(8):
        teacher = NestedTeacher(task, lawless(seed, C, aligned))
        found = learn_nested(teacher, most_elements=16)
        if found.machine is None:
            assert found.reason == "no algebra of at most 16 elements is that of the quantised network's language"
            continue
        proven += found.proven
        for length in range(1, 11 if found.proven else 9):
            words = every_word(2, length)
            assert (found.machine.answers(words) == teacher.answers(words)).all(), (seed, length)
    assert proven


@pytest.mark.parametrize(("C", "aligned"), [(2, "right"), (3, "right"), (2, "left")])
def test_roots_over_a_table_of_all_states_are_the_roots_of_the_network(C: int, aligned: str):
    """Where every state of some words is a prototype, nothing is moved."""
    network = lawless(0, C, aligned).network
    words = np.array([[0, 0, 1, 1, 1, 0], [1, 0, 1, 0, 0, 1], [0, 0, 1, 1, 0, 1]])
    table = QuantisedTable(network, nested_states(network, words)[0])
    at = nested_roots(network, len(table.prototypes), table.image, words)
    direction = network.model.direction
    assert direction is not None
    with torch.no_grad():
        plain = torch.stack([nested_root_plainly(network.model, torch.from_numpy(word), direction) for word in words])
    assert torch.allclose(table.prototypes[at - 1], plain, atol=1e-9)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "run"
    few = {"evaluation.test_len": 42, "evaluation.extra_lengths": (), "evaluation.samples": 4}
    running.run(configuration("brackets-2").replaced(few), folder)
    return folder


def test_what_the_command_says_and_writes(cli: Cli, built: Path, tmp_path: Path):  # noqa: F811
    answer = cli("extract", built, "--out", "machine.json")
    assert answer.code == 0
    said = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert said == [
        "prototypes 8 (from the states alone: clusters 1.41 apart or more)",
        "machine 7 states and a stack, an algebra of 5 elements; the quantised network's answer at every length and "
        "every depth",
        "compared equal to the machine of brackets-2",
        "written machine.json",
    ]
    machine = read_json((tmp_path / "machine.json").read_text())
    assert isinstance(machine, PushdownTransducer)
    assert VisiblyPushdown.from_machine(machine).counterexample(nested("brackets-2").visibly) is None
    result = json.loads(cli("extract", built, "--out", "machine.dot", "--json").out)
    assert (result["states"], result["algebra"], result["equal"]) == (7, 5, True)
    assert (tmp_path / "machine.dot").read_text().startswith("digraph")


def test_clusters_are_compared_with_elements_and_open_pairs(cli: Cli, built: Path):  # noqa: F811
    result = json.loads(cli("verify", built, "--length", "60", "--json").out)
    assert result["summary"] == "8 clusters found for 8 of 8 elements and open pairs, one for each"
    assert (result["algebra"], result["never_occurred"], result["merged"]) == (5, [], [])
    depths = [row["depth"] for row in result["depths"]]
    assert depths[:4] == [1, 2, "3-4", "5-8"]
    certificate = result["certificate"]
    assert (certificate["proven"], certificate["algebra"], certificate["elements"]) == (True, 5, 5)
    said = cli("verify", built, "--length", "60").out
    assert "proven at every length and every depth, in real arithmetic" in said


@pytest.mark.parametrize("verb", ["verify", "extract"])
def test_a_network_that_does_not_follow_the_brackets(cli: Cli, tmp_path: Path, verb: str):  # noqa: F811
    small = {"data.name": "brackets-1", "model.name": "gru", "model.d_model": 4, "training.steps": 1}
    few = {"evaluation.test_len": 42, "evaluation.extra_lengths": (), "evaluation.samples": 2}
    running.run(RunConfig().replaced(small | few), tmp_path / "flat")
    states = ["--from", "states"] if verb == "extract" else []
    assert_refused(cli(verb, "flat", *states), "does not follow the brackets of brackets-1")
