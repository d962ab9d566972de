"""Certificates of gated RegularGPT and of ldru: accepted when they are right, refused after any one change."""

import itertools
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import languages
from regulargpt.certificate.checker import Malformed, Rejected
from regulargpt.certificate.checker.claims import claim
from regulargpt.certificate.search.certify import Certifier, QuantisedNetwork
from regulargpt.certificate.search.codebook import Codebook
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.levels import tree_levels
from tests.regulargpt.exact_trees import (
    as_config,
    certificate_of,
    constructed_gated,
    last_ldru,
    last_symbol,
    parity_ldru,
)
from tests.regulargpt.forging import (
    Cases,
    Change,
    Record,
    assert_refused,
    checked,
    drop,
    forge,
    put,
    refused_each,
    slack,
)

KINDS = ("regulargpt", "ldru")
LDRU: dict[str, Any] = {"d_model": 2, "dropout": 0.0}


def of_parity(operator: str) -> Record:
    """The config of an LDRU on parity."""
    return as_config("ldru", LDRU | {"operator": operator}, languages.get("parity"))


@pytest.fixture(scope="module", params=KINDS)
def certified(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of each kind; the languages ask for the order of symbols."""
    folder = tmp_path_factory.mktemp("certified") / request.param
    if request.param == "ldru":
        model, task, options = last_ldru(), last_symbol(), LDRU | {"operator": "linear"}
    else:
        (model, of_gated), task = constructed_gated("even-pairs"), languages.get("even-pairs")
        options = asdict(of_gated)
    found = certificate_of(model, as_config(request.param, options, task), task, folder)
    assert found.proven, found.report
    return folder


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / certified.name))


@pytest.mark.parametrize("operator", ["sum", "mlp"])
def test_an_exact_tree_counted_from_the_left_is_accepted_and_the_claim_says_so(operator: str, tmp_path: Path):
    found = certificate_of(parity_ldru(operator), of_parity(operator), languages.get("parity"), tmp_path / "it")
    assert found.proven
    accepted = checked(tmp_path / "it")
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
        models.append((parity_ldru("mlp"), of_parity("mlp")))
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
    certifier = Certifier.for_task(task, 2, "left")
    exact = certifier.certify(model).book
    beyond = torch.cat([1.2 * exact.prototypes, torch.tensor([[30.0, 40.0]])])
    book = Codebook(beyond, np.append(exact.elements, 0))
    quantised = QuantisedNetwork.compute(Float64Network(model), book, certifier.specification)
    assert quantised.certain
    centred = certifier.centred(model, quantised)
    assert centred is not None
    moved = centred.book.prototypes
    torch.testing.assert_close(moved[:2], exact.prototypes, atol=1e-6, rtol=0)
    assert moved[2].tolist() == [30.0, 40.0]
    found = certificate_of(model, of_parity("sum"), task, tmp_path / "it", quantised)
    assert found.report["unquantised"]["proven"]
    record = json.loads((tmp_path / "it" / "certificate.json").read_text())
    torch.testing.assert_close(torch.tensor(record["prototypes"], dtype=torch.float64), moved, atol=1e-12, rtol=0)
    assert checked(tmp_path / "it").unquantised_claim is not None


def test_both_kinds_are_accepted(certified: Path):
    accepted = checked(certified)
    assert ("counted from the left" in accepted.claim) == (certified.name == "ldru")
    assert accepted.states == accepted.answered_states
    assert accepted.unquantised_claim is not None


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


def without_norms(weights: Record) -> None:
    for name in [name for name in weights if "norm" in name or "ln1" in name]:
        del weights[name]


def other_image(part: str) -> Change:
    return lambda r: put(f"{part}/images/0", 1 + r[part]["images"][0] % 2)(r)


def all_radii(radius: float) -> Change:
    return lambda r: put("unquantised/radii", [radius] * len(r["prototypes"]))(r)


FORGERIES: Cases = {
    ("certificate", Rejected): {
        "the other side's claim": (reclaim, "the claim is not the one"),
        "mirrored windows": (turn_windows, "the state is not nearest"),
        "no rests": (leave_out_rests, r"nodes: window \[\d, 0\] occurs at level 2 and is not in the table"),
        "an image": (other_image("nodes"), "the state is not nearest"),
        "a symbol's image": (other_image("leaves"), "the state is not nearest"),
        "an answer": (lambda r: put("answers/0", 1 - r["answers"][0])(r), "the answer at prototype 1"),
        "a prototype": (put("prototypes/0/0", 9.0), "the state is not nearest|the answer at prototype"),
        "chunks": (put("chunk_size", 3), "C = 3"),
        "smaller balls": (all_radii(0.0), "as it is: "),
        "larger balls": (all_radii(9.0), "the answer can change within the ball"),
        "a larger slack": (slack(0.9), "as it is: leaves, window"),
    },
    ("certificate", Malformed): {
        "absent before a node": (put("nodes/windows/0", [0, 1]), "an absent place before a node"),
        "nothing": (put("nodes/windows/0", [0, 0]), "an absent place before a node"),
        "fewer balls": (drop("unquantised/radii/-1"), "'radii' is not"),
    },
    ("weights", Rejected): {
        name: (lambda w, name=name: w[name].neg_(), "the state is not nearest|the answer at prototype")
        for name in ("embedding.weight", "readout.weight")
    },
    ("weights", Malformed): {"no norms": (without_norms, "are not the tensors")},
}


@refused_each(FORGERIES)
def test_a_forged_certificate_is_refused(copy: Path, name: str, change: Change, kind: type[ValueError], message: str):
    assert_refused(copy, name, change, kind, message)


@pytest.mark.parametrize("name", [*KINDS, "gated-regulargpt", "transformer", "my_package:Model", "Ldru", "", None])
def test_under_another_name_it_is_refused(copy: Path, name: str | None):
    if name == copy.name:
        assert checked(copy)
        return
    message = "unknown key|are not the tensors|a name among|names no model"
    assert_refused(copy, "network", put("model/name", name), (Malformed, Rejected), message)


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
        assert_refused(
            copy, "network", lambda r, record=record: r.update(record), Malformed, "are not the tensors that"
        )


@pytest.mark.parametrize("operator", ["mlp", "gated-sum", "sum", "median"])
def test_another_operator_is_refused(copy: Path, operator: str):
    message = "unknown key" if copy.name != "ldru" else "not the tensors" if operator != "median" else "is not known"
    assert_refused(copy, "network", put("model/operator", operator), Malformed, message)


def test_options_that_say_nothing_of_the_function_change_nothing(copy: Path):
    forge(copy, "network", put("model/state_noise", 0.3))
    assert checked(copy)


def test_the_weights_are_those_that_were_certified(copy: Path):
    path = copy / "model.safetensors"
    for at in (-1, 9, len(path.read_bytes()) // 2):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(bytes(data))
        with pytest.raises(Rejected, match="is not the weights of this certificate"):
            checked(copy)
        data[at] ^= 1
        path.write_bytes(bytes(data))
