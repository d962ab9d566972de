"""The checker's network in balls: it is the model's, and no rounding is lost, however the weights are forged."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from flint import arb, ctx
from safetensors.torch import load_file, save_file

from regulargpt.certificate.checker import Rejected
from regulargpt.certificate.checker.balls import Undecided, exact, greatest, less, norm, spectral, sqrt
from regulargpt.certificate.checker.files import tensors
from regulargpt.certificate.checker.networks import network_of
from regulargpt.finite.float64_network import Float64Network
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from tests.pairwise import pairwise
from tests.regulargpt.forging import FILES, checked, resign

Floats = npt.NDArray[np.float64]

LDRU = {"name": "ldru", "dropout": 0.1, "state_noise": 0.0, "noise_loss": 0.0, "noise_growth": 1.01, "tree": "flat"}
FIELDS = {**LDRU, "name": "regulargpt", "thickness": 1, "distinct_levels": 1, "levels": 0, "pad": "learned"}
FIELDS |= {"attention": "dilated", "embedding_std": 1.0, "gates": False, "tied": False}
del FIELDS["dropout"]


def as_record(
    model: dict[str, Any], n_symbols: int, n_outputs: int, fields: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A config.json."""
    alphabet, names = [str(i) for i in range(n_symbols)], [str(i) for i in range(n_outputs)]
    counts = {"n_symbols": n_symbols, "n_outputs": n_outputs, "alphabet": alphabet, "output_names": names}
    return {"model": (fields or FIELDS) | model, **counts, "supervision": "last"}


def middle(balls: Any) -> np.ndarray:
    """The midpoints in float64."""
    return np.array([float(x.mid()) for x in balls.ravel()]).reshape(balls.shape)


KINDS = [("pre", "gelu", True), ("post", "relu", False)]


@pytest.mark.parametrize(("C", "kind", "state_norm", "gates"), pairwise([2, 3, 4], KINDS, [True, False], [False, True]))
def test_its_network_is_the_models(C: int, kind: tuple, state_norm: bool, gates: bool, tmp_path: Path):
    settings = dict(zip(("norm", "activation", "attention_bias"), kind, strict=True))
    settings |= {"state_norm": state_norm, "gates": gates, "embedding_scale": 1.5}
    settings |= {"chunk_size": C, "d_model": 12, "n_heads": 3, "d_ff": 20}
    generator = torch.Generator().manual_seed(C)
    model = RegularGPT(3, 4, generator=generator, **settings)
    disturb(model, generator)
    assert_same(model, as_record(settings, 3, 4), tmp_path)


@pytest.mark.parametrize("operator", ["mlp", "gated-sum", "sum", "linear"])
def test_its_ldru_is_the_models(operator: str, tmp_path: Path):
    settings, generator = {"operator": operator, "d_model": 12}, torch.Generator().manual_seed(0)
    model = Ldru(3, 4, generator=generator, **settings).eval()
    disturb(model, generator)
    assert_same(model, as_record(settings, 3, 4, LDRU), tmp_path)


def disturb(model: Tree, generator: torch.Generator) -> None:
    """Move every weight, so that none has a value by which it could be left out."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.empty_like(parameter).normal_(generator=generator), alpha=0.3)
        if isinstance(model, RegularGPT):
            model.get_parameter("blocks.0.attn.r")[0, 1] = -math.inf  # as constructed networks have it


def assert_same(model: Tree, record: dict[str, Any], tmp_path: Path) -> None:
    """The checker's network of the model's weights has its states, over symbols and over states, and its logits."""
    C = model.chunk_size
    save_file(model.state_dict(), tmp_path / "w.safetensors")
    ctx.prec = 53  # whatever was left behind
    with ctx.workprec(96):
        network = network_of(tensors((tmp_path / "w.safetensors").read_bytes()), record)
        assert (network.C, network.aligned) == (C, model.aligned)
        windows = np.array([w + (0,) * (C - n) for n in (1, 2) for w in itertools.product((1, 2, 3), repeat=n)])
        states = Float64Network(model).over_symbols(windows)
        found = network.merge(network.project(network.symbols), windows)
        rows = np.concatenate([network.absent, exact(states[:3].numpy())])
        above, logits = network.merge(network.project(rows), windows), network.readout(rows[1:])
    model_above, model_logits = (
        Float64Network(model).over(states[:3], windows),
        Float64Network(model).readout(states[:3]),
    )
    for balls, expected in ((found, states), (above, model_above), (logits, model_logits)):
        np.testing.assert_allclose(middle(balls), expected, atol=1e-12)
        assert max(float(x.rad()) for x in balls.ravel()) < 1e-20


def test_what_cannot_be_decided_is_not_and_nothing_undefined_is_ever_less():
    with ctx.workprec(64):
        third, nan, inf = arb(1) / 3, arb("nan"), arb("inf")
        assert less(exact([0.3]), third).all()
        assert not less(third, exact([0.3])).any()
        for a, b in ((third, third), (nan, arb(1)), (arb(1), nan), (nan, nan)):
            with pytest.raises(Undecided):
                less(np.array([a]), np.array([b]))
        undefined = np.array([nan, arb(1)])
        for value in (
            sqrt(undefined)[0],
            norm(undefined),
            spectral(undefined[None]),
            greatest(undefined),
            inf * 0,
        ):
            assert value.is_nan()


# A forged network. One coordinate of what the FFN reads is made 2^30, and a new hidden unit has the weight 2^54 there
# and the bias -2^84: what else it reads, x, is lost in float64, which sees 0 where in truth x stands. It moves every
# state from "odd" to "even". With tiny weights, and with weights that float32 holds as denormal numbers, x is tiny too.
FORGED = {"as in the audit": 0, "tiny": -60, "denormal": -117}


@pytest.mark.parametrize("exponent", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("quantised", [True, False])
def test_a_network_that_is_right_in_float64_and_wrong_in_truth_is_rejected(tmp_path, exponent: int, quantised: bool):
    certificate = json.loads((PARITY / "certificate.json").read_text())
    record = json.loads((PARITY / "config.json").read_text())
    weights = load_file(PARITY / "model.safetensors")
    into, bias, out = (weights[f"blocks.0.{name}"].double() for name in FFN)
    read, prototypes = what_the_ffn_reads(weights, record["model"], certificate), np.array(certificate["prototypes"])
    lost = int((read.std(0) * into.norm(dim=0).numpy()).argmin())  # the coordinate that matters least
    bias = bias + into[:, lost] * read[:, lost].mean()
    into[:, lost] = 0
    read[:, lost] = 0
    unit = torch.from_numpy(np.linalg.lstsq(read, np.full(len(read), 2.0**exponent), rcond=None)[0])
    unit[lost] = 2.0**54
    away = torch.from_numpy(prototypes[0] - prototypes[1]) * 2.0 ** min(12 - exponent, 126)
    weights["blocks.0.ln2.weight"][lost], weights["blocks.0.ln2.bias"][lost] = 0, 2.0**30
    forged = (
        torch.cat([into, unit[None]]),
        torch.cat([bias, bias.new([-(2.0**84)])]),
        torch.cat([out, away[:, None]], 1),
    )
    assert exponent > -117 or (unit[unit != 2.0**54].abs() < torch.finfo(torch.float32).tiny).any()
    weights |= {f"blocks.0.{name}": w.float() for name, w in zip(FFN, forged, strict=True)}
    record["model"]["d_ff"] += 1

    model = RegularGPT(2, 2, **{key: record["model"][key] for key in FORWARD})
    model.load_state_dict(weights)
    words = torch.randint(2, (64, 200), generator=torch.Generator().manual_seed(0))
    assert model.double()(words).argmax(1).equal(words.sum(1) % 2)  # right in float64, also at length 200
    save_file(weights, tmp_path / FILES["weights"])
    (tmp_path / FILES["network"]).write_text(json.dumps(record))
    (tmp_path / FILES["automaton"]).write_bytes((PARITY / FILES["automaton"]).read_bytes())
    if quantised:
        certificate["unquantised"] = None
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    for name in ("weights", "network"):
        resign(tmp_path, name)
    with pytest.raises(Rejected, match=r"leaves, window \[\d, \d\]: the state is not nearest to prototype 2"):
        checked(tmp_path)


PARITY = Path(__file__).parents[2] / "docs" / "certified" / "parity"
FFN = ("ff_in.weight", "ff_in.bias", "ff_out.weight")
FORWARD = ("chunk_size", "d_model", "n_heads", "d_ff", "norm", "activation", "attention_bias", "state_norm")


def what_the_ffn_reads(weights: dict[str, torch.Tensor], model: dict[str, Any], certificate: dict[str, Any]) -> Floats:
    """LayerNorm of every window's node after attention, (windows, d)."""
    network = RegularGPT(2, 2, **{name: model[name] for name in FORWARD})
    network.load_state_dict(weights)
    exact_network, read = Float64Network(network), []
    first = exact_network.model.get_submodule("blocks.0.ff_in")
    first.register_forward_pre_hook(lambda _, given: read.append(given[0].numpy()))
    exact_network.over_symbols(np.array(certificate["leaves"]["windows"]))
    exact_network.over(torch.tensor(certificate["prototypes"]).double(), np.array(certificate["nodes"]["windows"]))
    return np.concatenate(read)
