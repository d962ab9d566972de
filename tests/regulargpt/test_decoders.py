"""Decoders of `transformers` against that library: logits of every family and rope setting; and what is refused."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from languages.errors import UserError
from regulargpt.encodings.options import EncodingOptions, RotaryOptions
from regulargpt.encodings.rotary import Rotary, rotate
from regulargpt.models import MODELS
from regulargpt.models.transformer import attention
from regulargpt.options.views import Bca, Full, Sliding, Within
from regulargpt.text.decoders import model as decoder_only
from regulargpt.text.decoders.checkpoint import DecoderCheckpoint
from regulargpt.text.decoders.model import DecoderOnly
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.decoders.to_transformers import save
from regulargpt.text.objectives.language_model import LanguageModel
from tests.regulargpt.checkpoint_folders import copied, quiet, refused, taken_apart
from tests.regulargpt.tiny_decoders import KINDS, ROPES, TRAINED, VOCABULARY, made, network

# Their angles are float32, and ours float64: at position 150 they differ by 1e-5.
CLOSE = {"atol": 4e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path]]:
    """Each network, and its folder."""
    found = {}
    for kind in KINDS:
        folder = tmp_path_factory.mktemp(kind)
        found[kind] = (made(folder, kind), folder)
    return found


def load(place: str | Path) -> DecoderOnly:
    return DecoderCheckpoint.open(place).load().requires_grad_(False)


def tokens(batch: int, length: int, seed: int = 0) -> Tensor:
    return torch.randint(VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def logits_of(model: Any, words: Tensor) -> Tensor:
    """Of a fresh copy: what it remembers of longer words changes the angles of dynamic scalings."""
    with torch.no_grad():
        return copy.deepcopy(model)(input_ids=words).logits


def assert_equal(ours: DecoderOnly, theirs: Any, lengths: tuple[int, ...], **close: float) -> None:
    for length in lengths:
        words = tokens(3, length, seed=length)
        expected = logits_of(theirs, words)
        assert expected.std() > 0.3
        torch.testing.assert_close(ours(words, readout="all"), expected, **(close or CLOSE))


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_transformers(saved: dict, kind: str):
    """In batches without padding, of one token, and, where there are angles for it, beyond the trained length."""
    model, folder = saved[kind]
    beyond = () if kind.startswith("gpt2") else (150,)
    assert_equal(load(f"hf:{folder}"), model, (1, 13, TRAINED, *beyond))


@pytest.mark.parametrize("rope", ROPES)
def test_rope_settings_of_a_config_are_those_of_transformers(rope: str, tmp_path: Path):
    """Below and above the length that they were made for: a fault in either branch, or in the factor, shows here."""
    model = made(tmp_path, "llama", rope_parameters={"rope_theta": 100.0, **ROPES[rope]})
    ours = load(tmp_path)
    assert_equal(ours, model, (3, 16, 17, 65, 150), atol=1e-4, rtol=1e-5)
    plain = network(KINDS["llama"] | {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}})
    words = tokens(1, 150)
    assert not torch.allclose(logits_of(plain, words), ours(words, readout="all"), atol=1e-2)


OLDER = {"yarn": {"type": "yarn"}, "llama3": {}, "linear": {"type": "linear"}, "longrope": {"type": "longrope"}}


@pytest.mark.parametrize("rope", OLDER)
def test_older_configs_say_it_beside_the_base(rope: str, tmp_path: Path):
    """rope_theta and rope_scaling, whose kind was once called type, as in the files of Llama 3.1 and Qwen2."""
    model = network(KINDS["llama"] | {"rope_parameters": {"rope_theta": 100.0, **ROPES[rope]}})
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    scaling = {key: value for key, value in config.pop("rope_parameters").items() if key != "rope_theta"}
    kind = {"rope_type": scaling.pop("rope_type")} if not OLDER[rope] else OLDER[rope]
    older = {"rope_theta": 100.0, "rope_scaling": {**kind, **{key: scaling[key] for key in scaling if key != "type"}}}
    (tmp_path / "config.json").write_text(json.dumps(config | older))
    assert_equal(load(tmp_path), model, (40,), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("rope", ["yarn", "dynamic"])
def test_a_part_of_a_head_is_scaled_as_in_transformers(rope: str, tmp_path: Path):
    parameters = {"rope_theta": 100.0, "partial_rotary_factor": 0.6, **ROPES[rope]}
    model = made(tmp_path, "pythia", hidden_size=40, rope_parameters=parameters)
    assert_equal(load(tmp_path), model, (16, 100))


def test_what_a_config_scales_is_scaled_in_training_too(tmp_path: Path):
    """The network "as it was trained" is computed by encodings in training mode."""
    made(tmp_path, "llama", rope_parameters={"rope_theta": 100.0, **ROPES["yarn"]})
    ours, words = load(tmp_path), tokens(1, 40)
    expected = ours(words)
    ours.encoding.train()
    assert torch.equal(ours(words), expected)


def test_one_position_further_is_not_the_same(saved: dict):
    """Pairs turned as adjacent numbers, or by twice the angle, would pass at the first position alone."""
    model, folder = saved["llama"]
    ours = load(folder)
    assert isinstance(ours.encoding, Rotary)
    ours.encoding.turn = rotate
    words = tokens(1, 12)
    assert not torch.allclose(ours(words, readout="all"), logits_of(model, words), atol=1e-3)


def test_learned_positions_end_where_the_table_does(saved: dict):
    ours = load(saved["gpt2"][1])
    with pytest.raises(UserError, match="learned positions end at length 64, not 65"):
        ours(tokens(1, 65))


@pytest.mark.parametrize("kind", ["gpt2", "pythia", "llama", "mistral", "qwen2-window", "qwen3"])
def test_cached_decoding_answers_as_a_forward_pass(saved: dict, kind: str):
    ours, words = load(saved[kind][1]), tokens(1, 30)
    decoder = ours.decoder()
    for some in words.split([11, 1, 18], 1):
        logits = decoder.feed(some)
    torch.testing.assert_close(logits, ours(words), **CLOSE)
    heads = 4 if kind in ("gpt2", "pythia") else 2
    assert decoder.bytes == 2 * 2 * heads * 30 * (ours.attentions[0].inner // 4) * 4  # k and v, layers, heads, symbols


@pytest.mark.parametrize(("kind", "attention"), [("llama", "bca"), ("mistral", "sliding:3"), ("mistral", "sliding:20"),
                                                 ("qwen2-window", "sliding:3"), ("gpt2", "sliding:9")])  # fmt: skip
def test_a_view_narrows_what_the_network_sees(saved: dict, kind: str, attention: str):
    """By theirs with a mask of our making in each layer."""
    model, folder = saved[kind]
    ours, words = load(folder), tokens(2, 40)
    ours.set_attention(attention, train_len=16)
    m, n = torch.arange(40)[:, None], torch.arange(40)[None, :]
    width = int(attention.partition(":")[2] or 0)
    view = (n >= (m // 8 - 1) * 8) if attention == "bca" else m - n < width
    own = {"mistral": [7, 7], "qwen2-window": [99, 5]}.get(kind, [99, 99])
    masks = [(n <= m) & view & (m - n < window) for window in own]
    torch.testing.assert_close(ours(words, readout="all"), masked(model, words, masks), **CLOSE)


def masked(model: Any, words: Tensor, masks: list[Tensor]) -> Tensor:
    """Theirs with these masks in its layers."""
    model = copy.deepcopy(model)
    model.config._attn_implementation = "eager"
    layers = getattr(model, model.base_model_prefix)
    for layer, mask in zip(getattr(layers, "layers", None) or layers.h, masks, strict=True):
        attention = getattr(layer, "self_attn", None) or layer.attn
        added = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)[None, None]
        forward = attention.forward

        def call(*args: Any, forward: Any = forward, added: Tensor = added, **kwargs: Any) -> Any:
            return forward(*args, **(kwargs | {"attention_mask": added}))

        attention.forward = call
    with torch.no_grad():
        return model(input_ids=words).logits


def test_a_temperature_divides_the_logits_of_attention(saved: dict):
    """Half of it is queries of twice the length: of Qwen3, norms of queries that are twice as large."""
    _, folder = saved["qwen3"]
    ours, other, words = load(folder), load(folder), tokens(1, 20)
    ours.set_temperature(torch.full((2, 4), 0.5))
    for each in other.attentions:
        each.get_parameter("norm_q.weight").mul_(2)
    torch.testing.assert_close(ours(words), other(words), **CLOSE)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_answers_are_the_last_of_all(saved: dict, kind: str, monkeypatch: pytest.MonkeyPatch):
    ours, words = load(saved[kind][1]), tokens(2, 20)
    whole = ours(words, readout="all")
    for most in (1, 3 * 2 * VOCABULARY, 1 << 30):
        monkeypatch.setattr(decoder_only, "LOGITS_AT_ONCE", most)
        for count in (1, 7, 20):
            torch.testing.assert_close(ours.answers(words, count), whole[:, -count:], **CLOSE)
    monkeypatch.setattr(decoder_only, "LOGITS_AT_ONCE", 3 * 2 * VOCABULARY)
    assert [some.shape[1] for some in ours.answered(words, 7)] == [3, 3, 1]


class Largest(TorchDispatchMode):
    """The most numbers that one operation has made."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            if isinstance(tensor, Tensor):
                self.numbers = max(self.numbers, tensor.numel())
        return made


@pytest.mark.parametrize("view", ["full", "bca", "sliding:64", "sinks:4:60", "self-extend:8:16"])
def test_memory_is_linear_in_the_length(saved: dict, view: str, monkeypatch: pytest.MonkeyPatch):
    """No pattern of all pairs, and no logits of all positions: at twice the length, not twice as much again."""
    monkeypatch.setattr(attention, "CPU_AT_ONCE", 1 << 13)
    monkeypatch.setattr(decoder_only, "LOGITS_AT_ONCE", 1 << 13)
    ours, largest = load(saved["llama"][1]), []
    ours.set_attention(view, TRAINED)
    objective = LanguageModel.__new__(LanguageModel)
    for length in (512, 1024, 2048):
        with torch.no_grad(), Largest() as most:
            objective.losses(ours, tokens(1, length + 1).numpy(), torch.device("cpu"))
        largest.append(most.numbers)
    # A piece of as few queries as there may be has 32 of 4 heads for every key; the FFN has 40 units a symbol.
    assert all(numbers <= 130 * length for numbers, length in zip(largest, (512, 1024, 2048), strict=True))


def test_weights_in_several_files_and_in_half_precision(saved: dict, tmp_path: Path):
    model, folder = saved["llama"]
    model.save_pretrained(tmp_path / "parts", max_shard_size="10KB")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 2
    whole, parts = load(folder).state_dict(), load(tmp_path / "parts").state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    half = copied(folder, tmp_path / "half")
    tensors = load_file(half / "model.safetensors")
    save_file({name: tensor.bfloat16() for name, tensor in tensors.items()}, half / "model.safetensors")
    rough = load(half).state_dict()
    assert all(torch.equal(rough[name], whole[name].bfloat16().float()) for name in whole)


def test_older_files_have_other_names_and_buffers(saved: dict, tmp_path: Path):
    """Pythia's has `embed_out` and masks, GPT-2's has no `transformer.`, Llama's has angles."""
    changes = {
        "pythia": ({"lm_head.weight": "embed_out.weight"}, {"gpt_neox.layers.0.attention.bias": torch.ones(1, 1, 4, 4),
                    "gpt_neox.layers.0.attention.rotary_emb.inv_freq": torch.ones(1)}),
        "gpt2": ({}, {"h.0.attn.bias": torch.ones(1, 1, 4, 4)}),
        "llama": ({}, {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(3)}),
    }  # fmt: skip
    for kind, (names, more) in changes.items():
        model, folder = saved[kind]
        old = copied(folder, tmp_path / kind)
        tensors = load_file(old / "model.safetensors")
        if kind == "gpt2":
            tensors = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
        save_file({names.get(name, name): tensor for name, tensor in tensors.items()} | more, old / "model.safetensors")
        assert_equal(load(old), model, (9,))


def test_options_are_those_of_the_config(saved: dict):
    options = DecoderCheckpoint.open(saved["qwen2-window"][1]).options
    assert (options.n_kv_heads, options.qkv_bias, options.out_bias, options.tied) == (2, True, False, False)
    assert (options.window, options.window_from, options.norm, options.gated) == (5, 1, "rms", True)
    built = MODELS[options.name].load()(VOCABULARY, VOCABULARY, **options.arguments())
    assert built.state_dict().keys() == load(saved["qwen2-window"][1]).state_dict().keys()


SAVED = [{}, {"tied": True, "n_kv_heads": 1, "d_head": 6, "activation": "gelu"},
         {"qkv_bias": True, "out_bias": True, "mlp_bias": True, "encoding": RotaryOptions("rotary", layout="halves",
                                                                                           base=50.0)}]  # fmt: skip


@pytest.mark.parametrize("more", SAVED)
def test_a_network_of_ours_is_written_as_a_llama(tmp_path: Path, more: dict[str, Any]):
    """With the logits of transformers, and read back as it was."""
    options = DecoderOnlyOptions("decoder-only", d_model=24, d_ff=40, n_layers=2, **more)
    ours = MODELS[options.name].load()(256, 256, **options.arguments()).eval().requires_grad_(False)
    for parameter in ours.parameters():
        parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))))
    save(tmp_path / "llama", ours, options, train_len=TRAINED)
    theirs = quiet().AutoModelForCausalLM.from_pretrained(tmp_path / "llama").eval()
    assert_equal(ours, theirs, (1, 30, 100))
    found = DecoderCheckpoint.open(tmp_path / "llama")
    assert found.options == replace(options, n_kv_heads=options.n_kv_heads or 4, d_head=options.head_width)
    assert (found.train_len, found.tokens) == (TRAINED, None)
    assert all(torch.equal(value, ours.state_dict()[name]) for name, value in found.load().state_dict().items())
    with pytest.raises(UserError, match="llama exists; choose another folder"):
        save(tmp_path / "llama", ours, options, train_len=TRAINED)


NO_LLAMA = [({"qk_norm": True}, "model.qk_norm = True"), ({"norm": "layer"}, "model.norm = 'layer'"),
            ({"activation": "gelu_tanh"}, "model.activation = 'gelu_tanh'"), ({"qkv_bias": True}, "model.qkv_bias"),
            ({"encoding": RotaryOptions("rotary")}, "model.encoding = 'rotary'"), ({"window": 3}, "model.window = 3"),
            ({"encoding": EncodingOptions("none")}, "model.encoding = 'none'")]  # fmt: skip


@pytest.mark.parametrize(("more", "reason"), NO_LLAMA)
def test_what_no_llama_has_is_not_written(tmp_path: Path, more: dict[str, Any], reason: str):
    options = DecoderOnlyOptions("decoder-only", d_model=8, **more)
    ours = MODELS[options.name].load()(9, 9, **options.arguments())
    with pytest.raises(UserError, match=reason):
        save(tmp_path / "none", ours, options, train_len=8)
    assert not (tmp_path / "none").exists()


def test_a_window_within_a_view():
    assert [Within(Full(), 3).first(m) for m in (1, 10)] == [0, 8]
    assert [Within(Bca(4), 3).first(m) for m in (3, 4, 5)] == [1, 2, 3]
    assert (Within(Full(), 3).most, Within(Sliding(2), 3).most, Within(Bca(8), 3).most) == (3, 2, 3)


CONFIGS: list[tuple[str, dict[str, Any], str]] = [
    ("llama", {"model_type": "gemma"}, "model_type = 'gemma'; only 'gpt2', 'gpt_neox', .* can be read"),
    ("llama", {"model_type": "t5"}, "model_type = 't5'; only"),
    ("llama", {"model_type": None, "auto_map": {"AutoConfig": "evil.Config"}}, "model_type = None; only"),
    ("llama", {"quantization_config": {"quant_method": "gptq", "bits": 4}}, "the weights are quantised"),
    ("llama", {"hidden_act": "tanh"}, "the FFN has 'tanh'; only 'relu', 'gelu', 'silu'"),
    ("llama", {"hidden_size": 0}, "d_model = 0; it has at least 1 number"),
    ("llama", {"hidden_size": "wide"}, "transformers cannot read it "),
    ("llama", {"num_key_value_heads": 3}, "n_kv_heads = 3 does not divide model.n_heads = 4"),
    ("llama", {"num_key_value_heads": 4}, r"k_proj.weight has the shape \(12, 24\); config.json says \(24, 24\)"),
    ("llama", {"num_hidden_layers": 3}, "has no tensor model.layers.2.input_layernorm.weight; is it a whole decoder"),
    ("llama", {"num_hidden_layers": 1}, "no decoder has a tensor model.layers.1.input_layernorm.weight; its config"),
    ("llama", {"head_dim": 7}, "transformers cannot read it .*RoPE requires an even"),
    ("llama", {"vocab_size": 51}, r"weight has the shape \(50, 24\); config.json says \(51, 24\)"),
    ("llama", {"rope_parameters": {"rope_type": "su", "rope_theta": 1e4}}, "(rope_type|transformers cannot read it)"),
    ("llama", {"rope_parameters": {"rope_theta": 1e4, **ROPES["yarn"], "truncate": False}}, "truncate = false"),
    ("llama", {"rope_parameters": {"rope_theta": 1e4, **ROPES["longrope"], "long_factor": [1.0]}},
     "encoding.long_factor has 1 numbers; scaling = 'longrope' needs 3, one a pair"),
    ("pythia", {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
     "3 of 6 entries of a head turn; they turn in pairs"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = True; only False can"),
    ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights = False; only True can be read"),
    ("gpt2", {"add_cross_attention": True}, "it attends to another text; only decoders alone can be read"),
    ("qwen2", {"layer_types": ["sliding_attention", "full_attention"], "use_sliding_window": True},
     "layer_types change more than once"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changes", "reason"), CONFIGS)
def test_configs_that_are_refused(saved: dict, tmp_path: Path, kind: str, changes: dict, reason: str):
    folder = copied(saved[kind][1], tmp_path / "wrong")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    refused(load, folder, reason)


def damaged(folder: Path) -> Iterator[str]:
    """Ways to spoil a folder, one after the other, and what is said of each."""
    weights = folder / "model.safetensors"
    # Copies: what is mapped would change with the file.
    whole, tensors = weights.read_bytes(), {name: tensor.clone() for name, tensor in load_file(weights).items()}
    for content in (whole[: len(whole) // 2], b"", b"\xff" * 64):
        weights.write_bytes(content)
        yield "transformers cannot read it .*; give a whole decoder"
    save_file({**tensors, "model.layers.0.adapter.weight": torch.zeros(2)}, weights)
    yield "no decoder has a tensor model.layers.0.adapter.weight; its config.json is of another"
    save_file({name: tensor for name, tensor in tensors.items() if "norm" not in name}, weights)
    yield "has no tensor model.layers.0.input_layernorm.weight; is it a whole decoder?"
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "another"}')
    yield "adapter_config.json is of an adapter; merge it into its network, and save that alone"
    (folder / "adapter_config.json").unlink()
    yield from taken_apart(folder, "decoder")


def test_damaged_folders_are_refused_in_one_line(saved: dict, tmp_path: Path):
    for reason in damaged(folder := copied(saved["llama"][1], tmp_path / "llama")):
        refused(load, folder, reason)


def test_no_code_of_a_folder_is_run(saved: dict, tmp_path: Path):
    folder = copied(saved["llama"][1], tmp_path / "remote")
    config = json.loads((folder / "config.json").read_text())
    mapped = {"AutoConfig": "remote.Config", "AutoModelForCausalLM": "remote.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": mapped}))
    (folder / "remote.py").write_text("raise SystemExit('run')")
    assert_equal(load(folder), saved["llama"][0], (9,))


def test_nothing_of_transformers_is_printed(saved: dict, capfd: pytest.CaptureFixture):
    quiet()
    load(saved["llama"][1])
    assert capfd.readouterr() == ("", "")
