"""The independent checker: equal to the model, accepts what is proven, and refuses every forgery by name."""

import ast
import dataclasses
import itertools
import json
import math
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from languages.errors import UserError
from regulargpt.certificate import check
from regulargpt.certificate.check import Network, Rejected, erf, tensors
from regulargpt.certificate.record import text
from regulargpt.certificate.table import Exact
from regulargpt.certificate.verdict import certificate_report
from regulargpt.construct.configuration import configuration
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.run import run
from regulargpt.storage.folder import RunFolder

Record = dict[str, Any]


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certified run of Even Pairs, whose weights are made, not trained."""
    folder = tmp_path_factory.mktemp("certified") / "run"
    config = configuration("even-pairs").replaced({"evaluation.test_len": 42, "evaluation.beyond": ()})
    run(config, folder)
    assert certificate_report(RunFolder.open(folder))["proven"]
    return folder


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / "run"))


def imported(module: str) -> set[str]:
    """What the file of a module imports, wherever in it."""
    tree = ast.parse(Path(str(find_spec(module).origin)).read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return modules | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_the_file_and_the_proof_without_snapping_share_no_code_with_the_rest():
    waiting, known = ["regulargpt.certificate.check"], set()
    while waiting:
        known.add(module := waiting.pop())
        for other in imported(module):
            if other.startswith("regulargpt.certificate."):
                waiting += {other} - known
            else:
                assert other.partition(".")[0] in {"numpy", *sys.stdlib_module_names}, (module, other)
    assert known == {
        f"regulargpt.certificate.{name}" for name in ("check", "enclosure", "cells", "forms", "attention_ball")
    }


@pytest.mark.parametrize("C", [2, 3, 4])
@pytest.mark.parametrize(("norm", "activation", "bias"), [("pre", "gelu", True), ("post", "relu", False)])
@pytest.mark.parametrize("state_norm", [True, False])
def test_its_network_is_the_models(C: int, norm: str, activation: str, bias: bool, state_norm: bool, tmp_path: Path):
    settings = {"norm": norm, "activation": activation, "state_norm": state_norm, "embedding_scale": 1.5}
    generator = torch.Generator().manual_seed(C)
    model = RegularGPT(
        3, 4, chunk_size=C, d_model=12, n_heads=3, d_ff=20, attention_bias=bias, generator=generator, **settings
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(generator=generator), alpha=0.3)
    save_file(model.state_dict(), tmp_path / "w.safetensors")
    shape = {"n_heads": 3, "chunk_size": C, "thickness": 1, "distinct_levels": 1}
    network = Network(tensors((tmp_path / "w.safetensors").read_bytes()), {**settings, **shape})
    windows = np.array([w + (0,) * (C - n) for n in (1, 2) for w in itertools.product((1, 2, 3), repeat=n)])
    exact = Exact(model)
    np.testing.assert_allclose(network.block(network.symbols, windows), exact.over_symbols(windows), atol=1e-12)
    states = exact.over_symbols(windows)[:3]
    rows = np.concatenate([network.pad, states])
    np.testing.assert_allclose(network.block(rows, windows), exact.over(states, windows), atol=1e-12)
    np.testing.assert_allclose(network.readout(rows[1:]), exact.readout(states), atol=1e-12)


def test_erf_is_exact_to_rounding():
    x = np.linspace(-8, 8, 100_003)
    assert np.abs(erf(x) - np.array([math.erf(v) for v in x])).max() < 1e-15


def test_it_accepts(certified: Path):
    accepted = check.check(certified / "certificate.json")
    assert accepted.prototypes == 4
    assert accepted.raw_claim is not None
    assert accepted.raw_claim.startswith("The same holds of the network as it is")
    assert accepted.claim.startswith("For every word over {0, 1} on which the automaton has an answer")


def edit(path: Path, change: Callable[[Record], object]) -> None:
    record = json.loads((path / "certificate.json").read_text())
    change(record)
    (path / "certificate.json").write_text(text(record))


def drop_window(record: Record) -> None:
    for column in ("windows", "images", "margins"):
        record["nodes"][column].pop()


def swap_image(record: Record) -> None:
    record["nodes"]["images"][3] = 1 + record["nodes"]["images"][3] % 4


def two_in_one(record: Record) -> None:
    """All prototypes the same: every entry is a tie."""
    record["prototypes"] = [record["prototypes"][0]] * 4


FORGERIES: list[tuple[str, Callable[[Record], object], str]] = [
    ("another format", lambda r: r.update(format="regulargpt certificate 0"), "is no certificate of the format"),
    ("a window dropped", drop_window, r"nodes: window \[\d, \d\] occurs at level \d and is not in the table"),
    ("an image swapped", swap_image, r"nodes, window .*: the network goes to prototype"),
    (
        "margins improved",
        lambda r: r["leaves"]["margins"].__setitem__(0, 99.0),
        r"leaves, window .* the certificate says",
    ),
    (
        "a prototype moved",
        lambda r: r["prototypes"][0].__setitem__(0, 5.0),
        r"window .*: the network goes to prototype",
    ),
    ("a prototype that is no number", lambda r: r["prototypes"][0].__setitem__(0, float("nan")), "finite numbers"),
    ("equal prototypes", two_in_one, r"the network goes to prototype \d by 0;"),
    ("an answer flipped", lambda r: r["answers"].__setitem__(0, 1 - r["answers"][0]), "the answer at prototype 1 is"),
    ("fewer answers", lambda r: r["answers"].pop(), "4 prototypes need as many answers; the certificate has 3"),
    ("a larger claim", lambda r: r.update(claim="For every word, without snapping"), "the claim is not the one"),
    ("another chunk size", lambda r: r.update(chunk_size=3), "C = 3"),
    ("margins left out", lambda r: r["nodes"]["margins"].pop(), r"nodes: \d+ windows, \d+ images, \d+ margins"),
    ("a symbol too many", lambda r: r["leaves"]["windows"][0].__setitem__(0, 7), "outside 0..2"),
    ("smaller balls", lambda r: r["raw"].update(radii=[0.0] * 4), "the network as it is: leaves, window"),
    ("fewer balls", lambda r: r["raw"]["radii"].pop(), "the network as it is: there are not 4 finite radii"),
    ("a larger slack", lambda r: r["raw"].update(slack=0.9, claim=check.raw_claim(0.9)), "the network as it is: "),
    ("a larger claim of the network as it is", lambda r: r["raw"].update(claim="always"), "goes beyond what is proven"),
    ("a key missing", lambda r: r.pop("nodes"), "malformed: KeyError 'nodes'"),
    ("a wrong kind", lambda r: r.update(prototypes="many"), "malformed: ValueError"),
    ("another digest", lambda r: r["weights"].update(sha256="0" * 64), "is not the weights of this certificate"),
    ("no digest", lambda r: r["automaton"].pop("sha256"), "malformed"),
]


@pytest.mark.parametrize(("change", "message"), [(c, m) for _, c, m in FORGERIES], ids=[n for n, _, _ in FORGERIES])
def test_it_refuses_a_forged_certificate(copy: Path, change: Callable[[Record], object], message: str):
    edit(copy, change)
    with pytest.raises(Rejected, match=message):
        check.check(copy / "certificate.json")


def resign(path: Path, name: str, file: str) -> None:
    """Put the digest of a changed file into the certificate, as a careful forger would."""
    digest = check.hashlib.sha256((path / file).read_bytes()).hexdigest()
    edit(path, lambda record: record[name].update(sha256=digest))


def test_it_refuses_other_weights_even_with_their_digest(copy: Path):
    weights = load_file(copy / "model.safetensors")
    weights["blocks.0.ff_in.weight"][0] += 3.0
    save_file(weights, copy / "model.safetensors")
    with pytest.raises(Rejected, match="is not the weights of this certificate"):
        check.check(copy / "certificate.json")
    resign(copy, "weights", "model.safetensors")
    with pytest.raises(Rejected, match="the network goes to prototype"):
        check.check(copy / "certificate.json")


def test_it_refuses_another_automaton_even_with_its_digest(copy: Path):
    automaton = json.loads((copy / "automaton.json").read_text())
    state = next(iter(automaton["outputs"]))
    automaton["outputs"] = {**automaton["outputs"], **dict.fromkeys(list(automaton["outputs"])[1:], None)}
    automaton["outputs"][list(automaton["outputs"])[-1]] = automaton["output_names"][0]
    automaton["outputs"][list(automaton["outputs"])[-2]] = automaton["output_names"][0]
    (copy / "automaton.json").write_text(json.dumps(automaton))
    with pytest.raises(Rejected, match="is not the automaton of this certificate"):
        check.check(copy / "certificate.json")
    resign(copy, "automaton", "automaton.json")
    with pytest.raises(Rejected, match=r"answers \d; the automaton answers \d"):
        check.check(copy / "certificate.json")
    assert state


def test_it_refuses_another_architecture_even_with_its_digest(copy: Path):
    network = json.loads((copy / "config.json").read_text())
    network["model"]["norm"] = "pre"
    (copy / "config.json").write_text(json.dumps(network))
    resign(copy, "network", "config.json")
    with pytest.raises(Rejected):
        check.check(copy / "certificate.json")


@pytest.mark.parametrize("change", [{"levels": 3}, {"pad": "masked"}, {"attention": "full"}], ids=str)
def test_it_refuses_a_network_that_is_not_the_tree_of_the_proof(copy: Path, change: Record):
    network = json.loads((copy / "config.json").read_text())
    for name in change:
        del network["model"][name]
    (copy / "config.json").write_text(json.dumps(network))
    resign(copy, "network", "config.json")
    assert check.check(copy / "certificate.json")  # without these keys, as older runs are
    network["model"] |= change
    (copy / "config.json").write_text(json.dumps(network))
    resign(copy, "network", "config.json")
    with pytest.raises(Rejected, match="the network is no tree of C children or pads, as deep as the word is long"):
        check.check(copy / "certificate.json")


@pytest.mark.parametrize("options", [{"levels": 3}, {"pad": "masked"}, {"attention": "full"}], ids=str)
def test_the_certifiers_maps_are_not_to_be_had_of_it_either(options: Record):
    with pytest.raises(UserError, match="a certificate is for adaptive depth, a learned pad and dilated attention"):
        Exact(RegularGPT(2, 2, d_model=8, n_heads=2, d_ff=8, **options))


def cut(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.99])
def test_it_refuses_cut_files(copy: Path, share: float):
    for file, name in (("model.safetensors", "weights"), ("automaton.json", "automaton"), ("config.json", "network")):
        other = Path(shutil.copytree(copy, copy.with_name(name)))
        cut(other / file, share)
        resign(other, name, file)
        with pytest.raises(Rejected):
            check.check(other / "certificate.json")
    cut(copy / "certificate.json", share)
    with pytest.raises(Rejected, match="is not JSON"):
        check.check(copy / "certificate.json")


def test_any_flipped_byte_of_the_certificate_changes_nothing_or_is_refused(copy: Path, certified: Path):
    data = (certified / "certificate.json").read_bytes()
    accepted = check.check(certified / "certificate.json")
    for place in np.random.default_rng(0).integers(len(data), size=60):
        flipped = bytearray(data)
        flipped[place] ^= 1
        (copy / "certificate.json").write_bytes(bytes(flipped))
        try:
            found = check.check(copy / "certificate.json")
        except (Rejected, FileNotFoundError):
            continue
        stated = dataclasses.replace(found, smallest_margin=accepted.smallest_margin)  # it may differ by rounding
        assert stated == accepted
