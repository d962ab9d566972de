"""Certificates of gated RegularGPT and of ldru: accepted when they are right, refused after any one change."""

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import languages
from regulargpt.certificate.checker import Malformed, Rejected, check
from regulargpt.certificate.checker.claims import claim, unquantised_claim
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork
from regulargpt.certificate.search.codebook import Codebook
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import tree_levels
from regulargpt.storage.manifest import digest
from tests.regulargpt.exact_trees import (
    as_config,
    certificate_of,
    constructed_gated,
    last_ldru,
    last_symbol,
    parity_ldru,
)

Record = dict[str, Any]
KINDS = ("regulargpt", "ldru")
LDRU: dict[str, Any] = {"d_model": 2, "dropout": 0.0}


@pytest.fixture(scope="module", params=KINDS)
def certified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of each kind; the languages ask for the order of symbols."""
    folder = tmp_path_factory.mktemp("certified") / request.param
    if request.param == "ldru":
        found = certificate_of(
            last_ldru(), as_config("ldru", LDRU | {"operator": "linear"}, last_symbol()), last_symbol(), folder
        )
    else:
        model, options = constructed_gated("even-pairs")
        task = languages.get("even-pairs")
        found = certificate_of(model, as_config("regulargpt", asdict(options), task), task, folder)
    assert found.proven, found.report
    return folder


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / certified.name))


@pytest.mark.parametrize("operator", ["sum", "mlp"])
def test_an_exact_tree_counted_from_the_left_is_accepted_and_the_claim_says_so(operator: str, tmp_path: Path):
    task = languages.get("parity")
    options = LDRU | {"operator": operator}
    assert certificate_of(parity_ldru(operator), as_config("ldru", options, task), task, tmp_path / "it").proven
    accepted = check(tmp_path / "it" / "certificate.json")
    assert "computed as a tree with chunks of 2 counted from the left in real arithmetic" in accepted.claim
    assert (accepted.prototypes, accepted.entries, accepted.levels, accepted.roots) == (2, 6 + 6, 2, 2)
    assert accepted.homomorphism
    assert accepted.unquantised_claim is not None


@pytest.mark.parametrize("C", [2, 3])
def test_no_state_is_replaced_and_every_short_word_is_answered_rightly(C: int, tmp_path: Path):
    """What theorem 2 says, looked at: the states of all short words lie in the balls of the prototypes."""
    task = languages.get("parity")
    gated, options = constructed_gated("parity", C)
    models: list[tuple[Tree, Record]] = [(gated, as_config("regulargpt", asdict(options), task))]
    if C == 2:
        models.append((parity_ldru("mlp"), as_config("ldru", LDRU | {"operator": "mlp"}, task)))
    for i, (model, config) in enumerate(models):
        found = certificate_of(model, config, task, tmp_path / str(i))
        assert found.report["unquantised"]["proven"], found.report
        record = json.loads((tmp_path / str(i) / "certificate.json").read_text())
        prototypes, radii = torch.tensor(record["prototypes"], dtype=torch.float64), record["unquantised"]["radii"]
        words = torch.tensor(list(itertools.product((0, 1), repeat=7)))
        for level in itertools.islice(tree_levels(model.double(), words), 1, None):
            far = torch.cdist(level.states[1:], prototypes)  # (nodes, K)
            assert (far.min(1).values <= torch.tensor(radii)[far.argmin(1)]).all()
        assert model(words).argmax(1).equal(words.sum(1) % 2)


def test_prototypes_that_the_states_fall_short_of_are_moved_to_them_where_balls_need_it(tmp_path: Path):
    """As after a training with dropout; a prototype that no image comes to stays."""
    task, model = languages.get("parity"), parity_ldru()
    certifier = Certifier.of(task, 2, "left")
    exact = certifier.certify(model).book
    beyond = torch.cat([1.2 * exact.prototypes, torch.tensor([[30.0, 40.0]])])
    book = Codebook(beyond, np.append(exact.elements, 0))
    quantised = QuantisedNetwork.of(Float64Network(model), book, certifier.specification)
    assert quantised.certain
    centred = certifier.centred(model, quantised)
    assert centred is not None
    moved = centred.book.prototypes
    torch.testing.assert_close(moved[:2], exact.prototypes, atol=1e-6, rtol=0)
    assert moved[2].tolist() == [30.0, 40.0]
    config = as_config("ldru", LDRU | {"operator": "sum"}, task)
    found = certificate_of(model, config, task, tmp_path / "it", quantised)
    assert found.report["unquantised"]["proven"]
    record = json.loads((tmp_path / "it" / "certificate.json").read_text())
    torch.testing.assert_close(torch.tensor(record["prototypes"], dtype=torch.float64), moved, atol=1e-12, rtol=0)
    assert check(tmp_path / "it" / "certificate.json").unquantised_claim is not None


def test_both_kinds_are_accepted(certified: Path):
    accepted = check(certified / "certificate.json")
    assert ("counted from the left" in accepted.claim) == (certified.name == "ldru")
    assert accepted.states == accepted.answered_states
    assert accepted.unquantised_claim is not None


def edit(folder: Path, change: Callable[[Record], object]) -> None:
    path = folder / "certificate.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def resign(folder: Path, name: str, file: str) -> None:
    """Put the digest of a changed file into the certificate, as a careful forger would."""
    edit(folder, lambda record: record[name].update(sha256=digest((folder / file).read_bytes())))


def reclaim(record: Record) -> None:
    """The claim about the other side."""
    side = "right" if "counted from the left" in record["claim"] else "left"
    outputs = (["0", "1"], record["chunk_size"], len(record["prototypes"]), True)
    record["claim"] = claim(*outputs, side)  # type: ignore[arg-type]


def turn_windows(record: Record) -> None:
    """The tables of the mirrored tree."""
    for part in ("leaves", "nodes"):
        record[part]["windows"] = [w if w[1] == 0 else w[::-1] for w in record[part]["windows"]]


def leave_out_rests(record: Record) -> None:
    """A table of pairs alone."""
    table = record["nodes"]
    rows = [(w, i) for w, i in zip(table["windows"], table["images"], strict=True) if w[1]]
    table["windows"], table["images"] = ([row[side] for row in rows] for side in (0, 1))


FORGERIES: list[tuple[str, Callable[[Record], object], type[ValueError], str]] = [
    ("the other side's claim", reclaim, Rejected, "the claim is not the one"),
    ("mirrored windows", turn_windows, Rejected, "the state is not nearest"),
    ("no rests", leave_out_rests, Rejected, r"nodes: window \[\d, 0\] occurs at level 2 and is not in the table"),
    (
        "absent before a node",
        lambda r: r["nodes"]["windows"].__setitem__(0, [0, 1]),
        Malformed,
        "an absent place before a node",
    ),
    ("nothing", lambda r: r["nodes"]["windows"].__setitem__(0, [0, 0]), Malformed, "an absent place before a node"),
    (
        "an image",
        lambda r: r["nodes"]["images"].__setitem__(0, 1 + r["nodes"]["images"][0] % 2),
        Rejected,
        "the state is not nearest",
    ),
    (
        "a symbol's image",
        lambda r: r["leaves"]["images"].__setitem__(0, 1 + r["leaves"]["images"][0] % 2),
        Rejected,
        "the state is not nearest",
    ),
    ("an answer", lambda r: r["answers"].__setitem__(0, 1 - r["answers"][0]), Rejected, "the answer at prototype 1"),
    (
        "a prototype",
        lambda r: r["prototypes"][0].__setitem__(0, 9.0),
        Rejected,
        "the state is not nearest|the answer at prototype",
    ),
    ("chunks", lambda r: r.update(chunk_size=3), Rejected, "C = 3"),
]


def slack(value: float) -> Callable[[Record], object]:
    return lambda r: r["unquantised"].update(slack=value, claim=unquantised_claim(value))


BALLS: list[tuple[str, Callable[[Record], object], type[ValueError], str]] = [
    ("smaller balls", lambda r: r["unquantised"].update(radii=[0.0] * len(r["prototypes"])), Rejected, "as it is: "),
    (
        "larger balls",
        lambda r: r["unquantised"].update(radii=[9.0] * len(r["prototypes"])),
        Rejected,
        "the answer can change within the ball",
    ),
    ("a larger slack", slack(0.9), Rejected, "as it is: leaves, window"),
    ("fewer balls", lambda r: r["unquantised"]["radii"].pop(), Malformed, "'radii' is not"),
]
FORGERIES += BALLS


@pytest.mark.parametrize(("change", "kind", "message"), [f[1:] for f in FORGERIES], ids=[f[0] for f in FORGERIES])
def test_a_forged_certificate_is_refused(
    copy: Path, change: Callable[[Record], object], kind: type[ValueError], message: str
):
    edit(copy, change)
    with pytest.raises(kind, match=message):
        check(copy / "certificate.json")


def rewrite(folder: Path, change: Callable[[Record], object]) -> None:
    """Change config.json, with its digest."""
    record = json.loads((folder / "config.json").read_text())
    change(record["model"])
    (folder / "config.json").write_text(json.dumps(record))
    resign(folder, "network", "config.json")


@pytest.mark.parametrize("name", [*KINDS, "gated-regulargpt", "transformer", "my_package:Model", "Ldru", "", None])
def test_under_another_name_it_is_refused(copy: Path, name: str | None):
    if name == copy.name:
        assert check(copy / "certificate.json")
        return
    rewrite(copy, lambda model: model.update(name=name))
    with pytest.raises((Malformed, Rejected), match=r"unknown key|are not the tensors|a name among|names no model"):
        check(copy / "certificate.json")


def test_with_the_options_of_another_network_its_tensors_give_it_away(copy: Path, certified: Path):
    task = last_symbol() if copy.name == "ldru" else languages.get("even-pairs")
    sizes = json.loads((certified / "config.json").read_text())["model"]
    for name, gates in (("regulargpt", False), ("regulargpt", True), ("ldru", False)):
        if name == copy.name and gates == sizes.get("gates", False):
            continue
        options = {"n_heads": 1, "gates": gates} | {
            key: sizes[key] for key in ("d_model", "n_heads", "d_ff", "norm", "state_norm") if key in sizes
        }
        known = as_config(name, {}, task)["model"]
        record = as_config(name, {key: value for key, value in options.items() if key in known}, task)
        (copy / "config.json").write_text(json.dumps(record))
        resign(copy, "network", "config.json")
        with pytest.raises(Malformed, match="are not the tensors that"):
            check(copy / "certificate.json")


@pytest.mark.parametrize("operator", ["mlp", "gated-sum", "sum", "median"])
def test_another_operator_is_refused(copy: Path, operator: str):
    rewrite(copy, lambda model: model.update(operator=operator))
    message = "unknown key" if copy.name != "ldru" else "not the tensors" if operator != "median" else "is not known"
    with pytest.raises(Malformed, match=message):
        check(copy / "certificate.json")


def test_options_that_say_nothing_of_the_function_change_nothing(copy: Path):
    rewrite(copy, lambda model: model.update(state_noise=0.3))
    assert check(copy / "certificate.json")


def test_the_weights_are_those_that_were_certified(copy: Path):
    path = copy / "model.safetensors"
    for at in (-1, 9, len(path.read_bytes()) // 2):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(bytes(data))
        with pytest.raises(Rejected, match="is not the weights of this certificate"):
            check(copy / "certificate.json")
        data[at] ^= 1
        path.write_bytes(bytes(data))
    weights = load_file(path)
    for name in ("embedding.weight", "readout.weight"):
        save_file(weights | {name: -weights[name]}, path)
        resign(copy, "weights", "model.safetensors")
        with pytest.raises(Rejected, match=r"the state is not nearest|the answer at prototype"):
            check(copy / "certificate.json")
    save_file({name: w for name, w in weights.items() if "norm" not in name and "ln1" not in name}, path)
    resign(copy, "weights", "model.safetensors")
    with pytest.raises(Malformed, match="are not the tensors"):
        check(copy / "certificate.json")
