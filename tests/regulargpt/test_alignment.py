"""Attention alignment: temperatures inside any encoding, how sharp attention is, the search, and the closed forms."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Encoding
from regulargpt.encodings.tempered import Tempered
from regulargpt.evaluation.temperature import Temperature, read, weights_of, write
from regulargpt.measurements.measuring import measured
from regulargpt.models import MODELS
from regulargpt.models.transformer import Transformer, attention
from regulargpt.runs import run as running
from regulargpt.runs.again import evaluate, points_again
from regulargpt.storage.folder import RunFolder
from regulargpt.text.measurements import patterns
from regulargpt.text.measurements.alignment import propositions, statistics
from regulargpt.text.measurements.alignment.search import HALVINGS, HIGHEST, LOWEST, search
from regulargpt.text.measurements.alignment.statistics import average_logits, sharpness
from tests.regulargpt.attending import attended, transformer, visible, words
from tests.regulargpt.small import config
from tests.regulargpt.test_encodings_properties import WRITTEN, Inputs, built, logits, same, turned
from tests.regulargpt.texts import text_run

TAU = torch.tensor([[0.5, 1.25], [0.8, 2.0]], dtype=torch.float64)


# The temperature in the encoding.


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("layer", [0, 1])
def test_all_of_every_logit_is_divided(written: str, layer: int):
    inner, inputs = built(written), Inputs(9)
    expected = logits(inner, inputs, layer=layer) / TAU[layer, :, None, None]
    assert same(logits(Tempered(inner, TAU), inputs, layer=layer), expected)


@pytest.mark.parametrize("written", WRITTEN)
def test_the_content_of_every_logit_is_divided_alone(written: str):
    inner, inputs = built(written), Inputs(9)
    q, k, at = turned(inner, inputs, inputs.n)
    content = inner.score(q @ k.mT / math.sqrt(q.shape[-1]), q, k, at) / TAU[1, :, None, None]
    bias = inner.bias(q, k, at)
    expected = (content if bias is None else content + bias).masked_fill(at.distances < 0, -math.inf)
    assert same(logits(Tempered(inner, TAU, "content"), inputs), expected.detach())


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_model_with_a_temperature_attends_as_the_whole_pattern_says(name: str):
    model, some = transformer(name), words(2, 11)
    before = model(some, readout="all")
    model.set_temperature(TAU)
    x = torch.randn(2, 11, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    n = torch.arange(11, dtype=torch.float64)
    found = model.blocks[1].attn(x, model.encoding, n, 1)  # type: ignore[operator]  # an Attention
    assert torch.allclose(found, attended(model, 1, x, visible(11, "full")), atol=1e-12)
    assert not torch.allclose(model(some, readout="all"), before, atol=1e-6)
    # Another temperature is not mixed up with what was kept of the one before, and none is as it was.
    model.set_temperature(torch.ones_like(TAU))
    assert torch.allclose(model(some, readout="all"), before, atol=1e-12)
    model.set_temperature(None)
    assert torch.equal(model(some, readout="all"), before)


@pytest.mark.parametrize("name", ["none", "alibi", "rotary", "t5", "transformer_xl", "forgetting"])
def test_cached_decoding_knows_the_temperature(name: str):
    model, some = transformer(name), words(1, 9)
    model.set_temperature(TAU)
    decoder = model.decoder()
    read = [decoder.feed(some[:, at : at + 1]) for at in range(some.shape[1])]
    assert torch.allclose(torch.stack(read, 1), model(some, readout="all"), atol=1e-10)


REFUSED = [
    ({"tau": torch.ones(3, 2)}, "the model has 2 x 2 heads; there are 3 x 2 temperatures"),
    ({"tau": torch.zeros(2, 2)}, "a temperature is a number above 0"),
    ({"tau": torch.full((2, 2), math.nan)}, "a temperature is a number above 0"),
    ({"tau": torch.ones(2, 2), "on": "some"}, "a temperature is on all or content, not on 'some'"),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_temperature_that_does_not_fit_is_refused(given: dict[str, Any], reason: str):
    with pytest.raises(UserError, match=reason):
        transformer("alibi").set_temperature(**given)


# How sharp attention is.


def reference(model: Transformer, some: torch.Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P_max and H by head, and the logits of layer 0, from whole patterns."""
    found = []

    def hear(attn: Any, inputs: Any) -> None:
        whole, _ = attn.turned(*inputs)
        found.append(whole.logits(whole.bias()).expand(len(some), attn.n_heads, -1, -1))

    handles = [block.attn.register_forward_pre_hook(hear) for block in model.blocks]  # type: ignore[union-attr]
    with torch.no_grad():
        model(some, readout="all")
    for handle in handles:
        handle.remove()
    logits = torch.stack(found)  # (layers, batch, n_heads, length, length)
    p = logits.softmax(-1)
    rows = slice(math.ceil(p.shape[-1] / 2) - 1 if model.causal else 0, None)
    largest, entropy = p.amax(-1), -torch.xlogy(p, p).sum(-1)
    return *(x[..., rows].mean((1, 3)).numpy() for x in (largest, entropy)), logits[0].numpy()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize("name", ["none", "alibi", "t5"])
def test_sharpness_in_pieces_is_that_of_the_whole_patterns(name: str, at_once: int, causal: bool, monkeypatch):
    monkeypatch.setattr(attention, "CPU_AT_ONCE", at_once)
    monkeypatch.setattr(attention, "BOTH_WAYS_AT_ONCE", at_once)
    monkeypatch.setattr(attention, "MIN_QUERIES", 3)
    model, some = transformer(name, causal=causal), words(3, 12)
    p_max, entropy, layer_0 = reference(model, some)
    before = model(some)
    found = sharpness(model, some.numpy())
    assert torch.equal(model(some), before)
    assert not model.blocks[0].attn._forward_pre_hooks  # type: ignore[union-attr]
    assert np.allclose(found.p_max, p_max, atol=1e-12)
    assert np.allclose(found.entropy, entropy, atol=1e-12)
    vectors = (layer_0[:, :, -1:] if causal else layer_0).reshape(-1, 12)
    mean = np.sort(vectors, -1).mean(0)
    logits = average_logits(model, some.numpy())
    assert np.allclose(logits.values, mean - mean.mean(), atol=1e-12)
    assert logits.sigma == pytest.approx(mean.std())
    assert logits.largest == pytest.approx(mean.max() - mean.mean())


@pytest.mark.parametrize("causal", [True, False])
def test_no_piece_is_larger_than_is_said(causal: bool, monkeypatch):
    monkeypatch.setattr(attention, "CPU_AT_ONCE", 1 << 11)
    monkeypatch.setattr(attention, "BOTH_WAYS_AT_ONCE", 1 << 11)
    monkeypatch.setattr(attention, "MIN_QUERIES", 1)
    sizes: list[int] = []
    model = transformer("alibi", causal=causal)
    patterns.listen(model, words(2, 64).numpy(), lambda _, piece: sizes.append(piece.logits(None).numel()))
    assert max(sizes) <= 1 << 11
    assert sum(sizes) >= 2 * 2 * 2 * 64 * 65 / 2


def test_gaussian_logits_lie_on_the_line():
    normal = np.sort(np.random.default_rng(0).normal(0, 2, (4000, 400)), -1).mean(0)
    found = statistics.Logits(normal - normal.mean())
    assert found.gaussian > 0.9999
    assert found.sigma == pytest.approx(2, abs=0.02)
    two_valued = statistics.Logits(np.repeat([-1.0, 1.0], 200))
    assert two_valued.gaussian < 0.9
    assert math.isnan(statistics.Logits(np.zeros(4)).gaussian)


# The search.


@given(st.lists(st.floats(0.25, 1.4), min_size=1, max_size=5), st.booleans())
def test_every_group_finds_its_temperature(wanted: list[float], rises: bool):
    sign, asked = (1 if rises else -1), []

    def ask(tau: np.ndarray) -> np.ndarray:
        asked.append(tau)
        return sign * np.log(tau)

    target = sign * np.log(np.array(wanted))
    found = search(ask, target, np.zeros(len(wanted)), rises=rises)
    assert np.allclose(found.tau, wanted, rtol=2e-3)
    assert len(asked) == HALVINGS == 10  # with both lengths at 1, twelve passes
    assert found.is_monotone
    assert not found.at_bound.any()


def test_what_lies_beyond_a_bound_is_said():
    found = search(lambda tau: tau, np.array([0.01, 9.0, 1.0]), np.ones(3), rises=True)
    assert found.at_bound.tolist() == [True, True, False]
    assert found.tau == pytest.approx([LOWEST, HIGHEST, 1.0], rel=1e-2)


def test_a_statistic_that_turns_back_is_noticed_and_the_nearest_point_stands():
    found = search(lambda tau: (tau - 0.6) ** 2, np.array([0.04]), np.array([0.16]), rises=True)
    assert not found.is_monotone
    assert found.value[0] == min((one.value[0] for one in found.tried), key=lambda value: abs(value - 0.04))


# The propositions.


def softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_proposition_5_1_against_a_simulation():
    random, sigma, largest = np.random.default_rng(0), 1.0, 7.0

    def p_max(length: int, tau: float) -> float:
        logits = random.normal(0, sigma, (200, length))
        logits[:, 0] = largest
        return float(softmax(logits / tau)[:, 0].mean())

    trained = p_max(512, 1.0)
    found = propositions.of_p_max(512, 15_000, sigma, sigma, trained)
    assert found == pytest.approx(0.588, abs=2e-3)
    assert p_max(15_000, 1.0) == pytest.approx(0.042, abs=2e-3)
    # It restores more than there was: ln L P neglects the planted logit in the sum.
    assert found is not None
    assert p_max(15_000, found) == pytest.approx(0.700, abs=1e-2)
    assert trained < 0.69


def test_proposition_5_1_solves_its_equation_with_the_larger_root():
    tau = propositions.of_p_max(512, 4096, 0.7, 0.9, 0.3)
    assert tau is not None
    A, B, C = (math.log(4096 * 0.3), math.log(512 * 0.3) + 0.7**2 / 2, 0.9**2 / 2)
    assert A * tau**2 - B * tau + C == pytest.approx(0, abs=1e-12)
    assert tau > B / (2 * A)


def test_proposition_5_1_may_have_no_solution():
    for case in [(512, 15_000, 2.0, 2.0, 0.5), (512, 15_000, 1.5, 1.5, 0.05), (4, 8, 1.0, 1.0, 0.1)]:
        assert propositions.of_p_max(*case) is None


@given(st.integers(2, 10**6), st.floats(0.01, 1.2))
def test_equal_lengths_need_no_temperature(length: int, sigma: float):
    assert propositions.of_entropy(length, length, sigma, sigma) == pytest.approx(1)
    assert propositions.of_lengths(length, length) == 1
    found = propositions.of_p_max(length, length, sigma, sigma, 1.0)
    # One of the roots is 1; the larger is, where logits spread little.
    assert found is None or found == pytest.approx(1) or sigma**2 / 2 > math.log(length)


@pytest.mark.parametrize(("sigma", "simulated"), [(0.5, 6.114), (1, 5.743), (1.5, 5.133), (2, 4.388), (2.5, 3.630)])
def test_the_entropy_of_gaussian_logits_is_as_simulated_and_too_low_where_they_spread(sigma: float, simulated: float):
    p = softmax(np.random.default_rng(1).normal(0, sigma, (2000, 512)))
    entropy = float(-(p * np.log(p)).sum(-1).mean())
    assert entropy == pytest.approx(simulated, abs=0.01)
    said = propositions.gaussian_entropy(512, sigma)
    assert said == pytest.approx(entropy, abs=0.01) if sigma <= 1 else said < entropy - 0.01


# A run.


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> RunFolder:
    return text_run(tmp_path_factory.mktemp("align"), model__encoding__name="t5", training__lr=0.05, training__steps=20)


@pytest.mark.parametrize(("by", "groups"), [("model", 1), ("layer", 2), ("head", 4)])
def test_a_report_restores_what_it_says(trained: RunFolder, tmp_path: Path, by: str, groups: int):
    report = measured("align", trained.path, tmp_path, length=32, words=4, by=by, fixed=0.7).report
    assert json.loads((tmp_path / "align.json").read_text()) == report
    assert (report["train_len"], report["length"], report["words"]) == (8, 32, 4)
    for name in ("p_max", "entropy"):
        found = report["strategies"][name]
        assert len(found["tau"]) == groups
        if not found["at_bound"] and by == "model":
            assert found[name] == pytest.approx(report["before"]["short"][name], abs=2e-3)
    assert report["strategies"]["log"]["tau"] == [pytest.approx(math.log(8) / math.log(32), abs=1e-4)]
    assert report["strategies"]["fixed"]["tau"] == [0.7]


@pytest.mark.parametrize("fixed", [None, 0.7])
def test_it_says_how_far_it_has_come(trained: RunFolder, tmp_path: Path, fixed: float | None):
    """Both words once, the longer 20 times for the searches and once a strategy."""
    heard: list[tuple[int, int]] = []
    say = lambda *so_far: heard.append(so_far)  # noqa: E731
    report = measured("align", trained.path, tmp_path, length=32, words=4, fixed=fixed, progress=say).report
    passes = 21 + len(report["strategies"])
    short, total = 4 * report["train_len"], 4 * (report["train_len"] + passes * 32)
    assert heard == [(short, total), *((short + 4 * 32 * (i + 1), total) for i in range(passes))]


def test_a_file_of_temperatures_is_what_evaluate_uses(trained: RunFolder, tmp_path: Path):
    report = measured("align", trained.path, tmp_path, length=32, words=4).report
    config = RunConfig.parse(trained.config_text).replaced({"evaluation.samples": 64})
    found = read(tmp_path / "temperature-p_max.json", weights_of(trained))
    result = evaluate(trained, config, [32], config.seed, temperature=found)
    assert result["measures"]["bits_per_byte"]["values"]["32"] == pytest.approx(
        report["strategies"]["p_max"]["score"]["value"], abs=1e-4
    )
    assert result["temperature"] == str(found)
    assert evaluate(trained, config, [32], config.seed)["temperature"] is None


def test_a_temperature_of_1_changes_no_score(trained: RunFolder):
    config, ones = RunConfig.parse(trained.config_text), Temperature(((1.0, 1.0),) * 2)
    without, same_as = (points_again(trained, config, [16], 0, temperature=one)[0].main for one in (None, ones))
    assert without == pytest.approx(same_as)


def test_a_run_on_a_language_is_aligned_too(tmp_path: Path):
    running.run(config("transformer", data__name="parity", objective__name="last"), tmp_path / "run")
    report = measured("align", tmp_path / "run", length=24, words=4).report
    assert report["measure"] == "accuracy"
    assert report["strategies"]["p_max"]["difference"] is None
    assert "restores it" in report["summary"]


FILES = {
    "[]": "is not a JSON object",
    "{}": "holds no temperatures",
    '{"tau": [[1.0]], "colour": "red"}': "holds no temperatures",
    '{"tau": [["hot"]]}': "holds no temperatures",
    '{"tau": [[1.0, 1.0]]}': "was made for another network",
}


@pytest.mark.parametrize(("text", "reason"), FILES.items())
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str, reason: str):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(UserError, match=reason):
        read(tmp_path / "t.json", "digest")
    with pytest.raises(UserError, match="no such file"):
        read(tmp_path / "none.json", "digest")


def test_a_file_comes_back_as_it_was(tmp_path: Path):
    one = Temperature(((0.5, 0.75),), "content", "p_max", "head", 8, 64, "digest")
    write(tmp_path / "t.json", one)
    assert read(tmp_path / "t.json", "digest") == one


def test_models_without_a_softmax_over_positions_refuse():
    model = MODELS["gru"].load()(3, 3, d_model=4)
    model.set_temperature(None)
    with pytest.raises(UserError, match="has no attention that could have a temperature"):
        model.set_temperature(torch.ones(1, 1))


def test_every_property_of_an_encoding_is_handed_on():
    inner = built("alibi")
    found = Tempered(inner, TAU)
    own = {"fixed_bias", "shared_bias", "tau", "on", "inner", "divides_bias", "of"}
    for name in vars(Encoding):
        if name.startswith("_") or name in own or callable(getattr(Encoding, name)):
            continue
        assert getattr(found, name) == getattr(inner, name) or name == "Options", name
    assert (found.fixed_bias, Tempered(inner, TAU, "content").fixed_bias) == (False, inner.fixed_bias)
