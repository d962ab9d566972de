"""Methods of a test on longer texts, each against its authors' code, that of transformers, or its published formula."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from languages.errors import UserError
from regulargpt.cli.commands.evaluate import several
from regulargpt.config.schema import RunConfig
from regulargpt.encodings import build
from regulargpt.encodings.added import Added
from regulargpt.encodings.base import Encoding, Positions, consecutive
from regulargpt.encodings.options import RotaryOptions
from regulargpt.encodings.regrouped import regrouped
from regulargpt.encodings.rotary import Rotary
from regulargpt.encodings.tempered import Tempered
from regulargpt.evaluation.bias import Bias
from regulargpt.evaluation.by_length import Point
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.transformer import Transformer, attention
from regulargpt.models.transformer.piece import Piece
from regulargpt.options.views import Full, SelfExtend, Sinks, View, Within, parse
from regulargpt.text.decoders.model import DecoderOnly
from regulargpt.text.evaluation.methods import METHODS, misfit, settings_on
from regulargpt.text.measurements.method_scores import BITS
from regulargpt.text.measurements.method_tables import is_apart, sentence

LENGTH, WIDTH, BASE = 24, 8, 100.0
# Attention of one head on the q and k below, by the authors' own functions: their grouped angles and masks
# (datamllab/LongLM at cdbbb06, legacy_patch_before_4_38/llama_self_extend_patch.py); and token by token by their cache
# and shifted positions (mit-han-lab/streaming-llm at 2e50426, start_size 2, recent_size 5 and the query's own).
OF_SELF_EXTEND = {
    23: [0.023302, 0.047731, 0.074535, 0.072298, 0.020826, 0.008757, 0.021345, 0.050698, 0.08756, 0.023045, 0.015595,
         0.019323, 0.060697, 0.092917, 0.064352, 0.042635, 0.028154, 0.036733, 0.006329, 0.005435, 0.055961, 0.068675,
         0.02275, 0.050346],
    10: [0.30113, 0.056422, 0.016626, 0.03516, 0.118261, 0.04231, 0.047226, 0.149716, 0.058339, 0.036089, 0.13872],
}  # fmt: skip
OF_STREAMING = {
    23: [0.14538, 0.288155, *[0.0] * 16, 0.017113, 0.014696, 0.151316, 0.185693, 0.061515, 0.136132],
    8: [0.066921, 0.024878, 0.0, 0.048023, 0.439822, 0.233004, 0.041545, 0.065892, 0.079914],
}


def angles(kind: str, options: Mapping[str, Any], more: Mapping[str, Any], length: int = 512) -> None:
    """The angles and the factor of a word of so many symbols are those of transformers, after training on 128."""
    given = {"rope_type": kind, "rope_theta": BASE, **more}
    sizes = {"hidden_size": WIDTH, "num_attention_heads": 1, "head_dim": WIDTH}
    config = LlamaConfig(**sizes, max_position_embeddings=128, rope_parameters=given)
    theta, scale = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)
    encoding = Rotary(d_model=WIDTH, n_heads=1, base=BASE, train_len=128, **options).eval()
    last = torch.tensor([length - 1.0], dtype=torch.float64)
    found, factor = encoding.scaled(Positions(last, last))
    torch.testing.assert_close(found, theta.double(), rtol=1e-5, atol=0)
    assert factor == pytest.approx(scale, rel=1e-6)
    assert length <= 128 or not torch.allclose(found, encoding.theta(BASE, found))


def scaled(kind: str, name: str, **more: Any) -> Callable[[], None]:
    """A scaling of the registry, for 4 times the length, against transformers."""

    def check() -> None:
        changes = METHODS[name].settings(128, 512)
        angles(kind, {key.removeprefix("encoding."): value for key, value in changes.items()}, more)

    return check


FACTORS = {"short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 5.0, 9.0]}


def longrope() -> None:
    """In short words and in long ones, and its factor as Phi-3 has it: sqrt(1 + ln 4 / ln 128)."""
    for length in (100, 128, 129, 500):
        options = {"scaling": "longrope", **FACTORS, "attention_factor": math.sqrt(1 + math.log(4) / math.log(128))}
        angles("longrope", options, {**FACTORS, "factor": 4.0, "original_max_position_embeddings": 128}, length)


def ntk() -> None:
    """bloc97: base * f^(D / (D - 2)), by hand; the slowest pair is interpolated by f, the fastest not at all."""
    encoding = Rotary(d_model=WIDTH, n_heads=1, base=BASE, scaling="ntk", factor=4.0, train_len=128).eval()
    theta, factor = encoding.scaled(consecutive(torch.zeros(512, WIDTH), torch.zeros(512, WIDTH)))
    expected = [(BASE * 4 ** (8 / 6)) ** (-2 * i / 8) for i in range(4)]
    assert theta.tolist() == pytest.approx(expected)
    assert (factor, theta[0]) == (1.0, 1.0)
    assert float(theta[-1]) == pytest.approx(BASE ** (-6 / 8) / 4)


def log_n() -> None:
    """Qwen's list: [math.log(i, seq_length) if i > seq_length else 1 for i in range(1, 32768)]."""
    q, k = inputs()
    expected = torch.tensor([math.log(i, 10) if i > 10 else 1 for i in range(1, LENGTH + 1)], dtype=torch.float64)
    plain, sharp = (rotary(train_len=10, log_n=on) for on in (False, True))
    at = consecutive(q, k)
    torch.testing.assert_close(sharp.rotate(q, k, at)[0], plain.rotate(q, k, at)[0] * expected[:, None])
    torch.testing.assert_close(sharp.rotate(q, k, at)[1], plain.rotate(q, k, at)[1])
    assert torch.equal(sharp.train().rotate(q, k, at)[0], plain.rotate(q, k, at)[0])


def golden(view: View, rows: Mapping[int, list[float]]) -> Callable[[], None]:
    """The rows of attention under a view, to the six digits that were printed."""

    def check() -> None:
        found = pattern(regrouped(rotary(), view))
        for m, row in rows.items():
            assert found[m, : len(row)].tolist() == pytest.approx(row, abs=1e-6)
            assert found[m, len(row) :].abs().max() == 0 if len(row) < LENGTH else True

    return check


def hides(text: str, rule: Callable[[int, int], bool]) -> Callable[[], None]:
    """A view shows what its definition says, pair by pair, and changes no logit."""

    def check() -> None:
        q, k = inputs()
        encoding, view = rotary(), parse(text, 8)
        q, k = encoding.rotate(q, k, at := consecutive(q, k))
        hidden = Piece(q, k, encoding, at, view).hidden
        for m in range(LENGTH):
            assert [n for n in range(LENGTH) if not hidden[m, n]] == [n for n in range(m + 1) if rule(m, n)]
        assert regrouped(encoding, view) is encoding

    return check


def alignment() -> None:
    """Algorithm 1 of the thesis: at a temperature attention is softmax(logits / tau), in every layer and head."""
    encoding = Tempered(rotary(), torch.tensor([[0.5]], dtype=torch.float64))
    q, k = inputs()
    turned = rotary().rotate(q, k, at := consecutive(q, k))
    whole = Piece(*turned, rotary(), at, Full())
    torch.testing.assert_close(pattern(encoding), (whole.logits(None) / 0.5).softmax(-1)[0, 0])


def kerple() -> None:
    """Eq. 3.4 of the thesis beside the rotation: softmax(logits - r1 ln(1 + r2 x)); 0 before training."""
    q, k = inputs()
    turned = rotary().rotate(q, k, at := consecutive(q, k))
    bias = -0.7 * torch.log(1 + 0.3 * at.distances.abs())
    expected = (Piece(*turned, rotary(), at, Full()).logits(None) + bias).softmax(-1)[0, 0]
    numbers = {"r1": [[0.7]], "r2": [[0.3]]}
    torch.testing.assert_close(pattern(Added(rotary(), "kerple_log", numbers).double()), expected, atol=1e-6, rtol=1e-6)
    start = Added(rotary(), "kerple_log", Bias.start("kerple_log", 1, 1).numbers)
    assert torch.equal(pattern(start), pattern(rotary()))


GOLDEN: dict[str, Callable[[], None]] = {
    "trained": hides("full", lambda m, n: True),
    "interpolation": scaled("linear", "interpolation", factor=4.0),
    "ntk": ntk,
    "dynamic_ntk": scaled("dynamic", "dynamic_ntk", factor=1.0),
    "yarn": scaled("yarn", "yarn", factor=4.0, original_max_position_embeddings=128),
    "llama3": scaled("llama3", "llama3", factor=4.0, original_max_position_embeddings=128, low_freq_factor=1.0,
                     high_freq_factor=4.0),
    "longrope": longrope,
    "log_n": log_n,
    # As masking_utils.sliding_window_overlay of transformers, and section 3.3 of Sun et al. 2023.
    "sliding": hides("sliding:5", lambda m, n: n > m - 5),
    "bca": hides("bca", lambda m, n: m // 4 - n // 4 <= 1),
    "sinks": golden(Sinks(2, 6), OF_STREAMING),
    "self-extend": golden(SelfExtend(3, 7), OF_SELF_EXTEND),
    "alignment": alignment,
    "kerple": kerple,
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_as_its_source_has_it(name: str):
    GOLDEN[name]()


def inputs() -> tuple[Tensor, Tensor]:
    n = torch.arange(LENGTH * WIDTH, dtype=torch.float64).view(1, 1, LENGTH, WIDTH)
    return (1.7 * n).sin() * 1.5, (0.9 * n + 1).cos() * 1.5


def rotary(**options: Any) -> Rotary:
    return Rotary(d_model=WIDTH, n_heads=1, base=BASE, layout="halves", **options).eval()


def pattern(encoding: Encoding) -> Tensor:
    """What one head attends to."""
    q, k = inputs()
    q, k = encoding.rotate(q, k, at := consecutive(q, k))
    whole = Piece(q, k, encoding, at, Full())
    return whole.pattern(whole.bias())[0, 0]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_asked_on_the_command_line_is_what_is_set(name: str):
    """For 4 times the training length, where a factor is one number."""
    method, config = METHODS[name], RunConfig().replaced({"model.name": "decoder-only"})
    flag, _, value = method.options.partition(" ")
    settings = several(config, [value] if flag == "--set" else [])
    changes = {f"model.{key}": value for key, value in method.settings(128, 512).items()}
    if name != "longrope":  # its factors come from a config.json
        assert config.reading(dict(setting.split("=") for setting in settings)) == config.replaced(changes)
    view = method.attention(128, 512)
    assert parse(view, 128) is not None
    assert (flag == "--attention") == (view != "full")
    assert (not method.options) == (name == "trained")


@pytest.mark.parametrize("own", ["interpolation", "dynamic_ntk", "yarn", "llama3", "longrope"])
def test_a_scaling_that_was_there_in_training_goes_on_or_stays(own: str):
    """Of one factor for all lengths, as its own kind, from its own factor at the training length; no other is set."""
    encoding = RotaryOptions("rotary", scaling=own, factor=4.0, in_training=True, train_len=32)  # type: ignore[arg-type]
    others = {
        name: misfit(encoding, name, 128) for name in METHODS if "encoding.scaling" in METHODS[name].settings(1, 1)
    }
    on = {own} - {"dynamic_ntk", "longrope"}
    reason = f"its positions are scaled already ({own}, factor 4); another scaling would undo that"
    assert others == {name: None if name in on else reason for name in others}
    for name in on:
        found = [settings_on(encoding, name, 128, T) for T in (64, 128, 256, 300)]
        assert [changes["encoding.factor"] for changes in found] == [4, 4, 8, 9.375]
    assert misfit(encoding, "log_n", 128) == "it would count from 32 symbols, as the scaled positions do, not from 128"
    assert misfit(encoding, "log_n", 32) is misfit(encoding, "sinks", 128) is None
    alone = "its positions are scaled already (yarn, factor 4), and its attention_factor is for that factor alone"
    assert misfit(replace(encoding, attention_factor=0.8), "yarn", 128) == (alone if own == "yarn" else others["yarn"])


def test_no_distance_occurs_that_training_has_not_shown():
    """Of self-extend as it is set for a length, and of sinks; both reach the end of the training length."""
    for train_len, length in [(64, 100), (64, 1024), (128, 512), (512, 8192)]:
        for name, most in (("self-extend", train_len), ("sinks", train_len)):
            encoding: Any = regrouped(rotary(), parse(METHODS[name].attention(train_len, length), train_len))
            n = torch.arange(length, dtype=torch.float64)
            at = Positions(n[-1:], n)
            distances = torch.where(encoding.is_near(at), at.distances, encoding.moved(at).distances)
            hidden = encoding.hidden(at)
            seen = distances if hidden is None else distances[~hidden]
            assert train_len / 2 < seen.max() < most


SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 2, "d_ff": 24, "n_layers": 2}
VIEWS = ["sinks:2:6", "self-extend:3:7", "bca", "sliding:5"]


def decoder(**options: Any) -> DecoderOnly:
    return DecoderOnly(20, 20, **(SMALL | options), generator=torch.Generator().manual_seed(1)).eval()


def words(batch: int, length: int) -> Tensor:
    return torch.randint(20, (batch, length), generator=torch.Generator().manual_seed(2))


@torch.no_grad()
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("encoding", ["rotary", "alibi", "t5"])
def test_pieces_caches_and_the_past_alone(view: str, encoding: str, monkeypatch: pytest.MonkeyPatch):
    """In pieces as at once, symbol by symbol as at once; no later symbol is read, and words that fit are as trained."""
    model, read = decoder(encoding=encoding, n_kv_heads=1), words(2, 40)
    short = model(read[:, :5], readout="all")
    plain = model(read, readout="all")
    model.set_attention(view, train_len=8)
    whole = model(read, readout="all")
    assert not torch.allclose(whole, plain, atol=1e-3)
    torch.testing.assert_close(model(read[:, :5], readout="all"), short)
    for name in ("CPU_AT_ONCE", "MIN_QUERIES", "MOST_AT_ONCE"):
        monkeypatch.setattr(attention, name, 3)
    torch.testing.assert_close(model(read, readout="all"), whole, atol=1e-5, rtol=1e-4)
    reader = model.decoder()
    for some in read.split([17, 1, 22], 1):
        logits = reader.feed(some)
    torch.testing.assert_close(logits, whole[:, -1], atol=1e-5, rtol=1e-4)
    other = torch.cat([read[:, :30], 19 - read[:, 30:]], 1)
    torch.testing.assert_close(model(other, readout="all")[:, :30], whole[:, :30], atol=1e-5, rtol=1e-4)
    model.set_attention("full", train_len=8)
    torch.testing.assert_close(model(read, readout="all"), plain, atol=1e-5, rtol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("view", VIEWS[:2])
def test_a_temperature_and_a_view_go_together_in_any_order(view: str):
    tau, read, found = torch.full((2, 2), 0.7), words(1, 30), []
    for order in ("view tau", "tau view", "other tau view"):
        model = decoder()
        for step in order.split():
            if step == "tau":
                model.set_temperature(tau)
            else:
                model.set_attention(view if step == "view" else "sinks:1:3", train_len=8)
        found.append(model(read))
    plain = decoder()
    plain.set_attention(view, train_len=8)
    assert all(torch.equal(one, other) for one, other in pairwise(found))
    assert not torch.allclose(found[0], plain(read), atol=1e-4)


SHARPENED = [RotaryOptions("rotary", log_n=True, train_len=8), "log_n:inner=rotary,train_len=8"]
VISIBLE: dict[str, Callable[[int, int], bool]] = {
    "full": lambda m, n: True,
    "sliding:12": lambda m, n: m - n < 12,
    "bca": lambda m, n: m // 4 - n // 4 <= 1,
    "sinks:3:9": lambda m, n: m - n < 9 or n < 3,
    "self-extend:3:7": lambda m, n: True,
}


@torch.no_grad()
@pytest.mark.parametrize("view", ["sliding:8", "sliding:3", "bca", "sinks:2:6", "sinks:1:2"])
@pytest.mark.parametrize("encoding", SHARPENED)
def test_log_n_changes_nothing_where_no_query_sees_more_than_in_training(view: str, encoding: Any):
    found, read = [], words(2, 40)
    for each in (encoding, "rotary"):
        model = decoder(encoding=each)
        model.set_attention(view, train_len=8)
        found.append(model(read, readout="all"))
    assert torch.equal(*found)


@pytest.mark.parametrize("window", [0, 5, 11])
@pytest.mark.parametrize("view", VISIBLE)
def test_how_many_keys_a_query_sees_is_counted_pair_by_pair(view: str, window: int):
    """Also within the window of a network, which may hide sinks."""
    shown = parse(view, 8)
    found = (Within(shown, window) if window else shown).shown(torch.arange(40.0))
    rule = VISIBLE[view]
    seen = [sum(rule(m, n) and (not window or m - n < window) for n in range(m + 1)) for m in range(40)]
    assert found.tolist() == seen


@torch.no_grad()
@pytest.mark.parametrize("view", VISIBLE)
@pytest.mark.parametrize("encoding", [*SHARPENED, "ssmax:inner=rotary"])
def test_log_n_in_pieces_and_caches(view: str, encoding: Any, monkeypatch: pytest.MonkeyPatch):
    model, read = decoder(encoding=encoding), words(2, 40)
    model.set_attention(view, train_len=8)
    whole, (_, cache) = model(read, readout="all"), run_with_cache(model, read, readout="all")
    pattern = cache["blocks.0.attn.hook_pattern"]
    for name in ("CPU_AT_ONCE", "MIN_QUERIES", "MOST_AT_ONCE"):
        monkeypatch.setattr(attention, name, 3)
    torch.testing.assert_close(model(read, readout="all"), whole, atol=1e-5, rtol=1e-4)
    reader = model.decoder()
    for some in read.split([17, 1, 22], 1):
        logits = reader.feed(some)
    torch.testing.assert_close(logits, whole[:, -1], atol=1e-5, rtol=1e-4)
    if encoding in SHARPENED:  # near keys and far ones alike: the plain logits times one number a query
        plain = decoder(encoding="rotary")
        plain.set_attention(view, train_len=8)
        seen = [sum(VISIBLE[view](m, n) for n in range(m + 1)) for m in range(40)]
        tau = torch.tensor([max(1.0, math.log(n) / math.log(8)) for n in seen])[:, None]
        powers = run_with_cache(plain, read, readout="all")[1]["blocks.0.attn.hook_pattern"] ** tau
        torch.testing.assert_close(pattern, powers / powers.sum(-1, keepdim=True), atol=1e-5, rtol=1e-4)


def test_sinks_move_a_bias_as_they_move_angles():
    """ALiBi by hand: a sink is as far as in a cache of 2 sinks and 6 others."""
    alibi = build("alibi", d_model=WIDTH, n_heads=1)
    q, k = (torch.zeros(1, 1, LENGTH, WIDTH) for _ in range(2))
    bias = regrouped(alibi, Sinks(2, 6)).bias(q, k, consecutive(q, k))
    assert bias is not None
    slope = 2.0**-8
    row = bias[0, 0, -1]
    assert row[:2].tolist() == pytest.approx([-7 * slope, -6 * slope])
    assert row[18:].tolist() == pytest.approx([-d * slope for d in (5, 4, 3, 2, 1, 0)])
    assert row[2:18].isneginf().all()


def test_what_a_method_cannot_do_is_refused():
    with pytest.raises(UserError, match="angles depend on the word's length; give encoding"):
        decoder(encoding=RotaryOptions("rotary", scaling="dynamic_ntk")).set_attention("sinks:2:6", 8)
    with pytest.raises(UserError, match="positions in the embeddings cannot stand elsewhere for some keys"):
        decoder(encoding="learned").set_attention("self-extend:2:4", 8)
    for text in ("sinks:0:4", "sinks:4", "self-extend:2", "self-extend:2:0", "sinks"):
        with pytest.raises(UserError, match="choose full, bca, or a window of W symbols"):
            parse(text, 8)
    both_ways = Transformer(2, 2, d_model=8, n_heads=2, d_ff=8, n_layers=1, causal=False, encoding="rotary")
    with pytest.raises(UserError, match="needs a causal model"):
        both_ways.set_attention("sinks:2:6", 8)


def test_the_best_is_named_alone_only_where_pairs_tell_it_from_the_second():
    """By a t-test of the differences: 0.01, 0.03, 0.01, 0.03 are apart from 0; -0.3, 0.1, 0.3, -0.02 are not."""
    nats = {
        "trained": np.array([2.0, 3.0, 4.0, 5.0]),
        "yarn": np.array([1.01, 2.03, 3.01, 4.03]),
        "bca": np.array([1.0, 2.0, 3.0, 4.0]),
        "sinks": np.array([0.71, 2.13, 3.31, 4.01]),
    }
    points = {name: {64: Point(64, 4, {}, {}, of_words={"nll": of})} for name, of in nats.items()}

    def said(*names: str) -> str:
        found = {name: points[name] for name in ("trained", *names)}
        values = {
            name: {"to_trained": {"64": [float(np.exp((nats[name] - nats["trained"]).mean())), 0.2, 0.9]}}
            for name in found
        }
        return sentence(values, "64", apart=is_apart(found, 64, BITS)).partition(":")[0]

    assert said("yarn", "bca") == "at 64 symbols, bca is best"
    assert said("yarn", "sinks") == "at 64 symbols, yarn and sinks are best, and not told apart"
    assert said("sinks") == "at 64 symbols, sinks is best"
