"""T5 checkpoints of `transformers` against that library: logits, buckets, greedy answers; and what is refused."""

import copy
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.cli import call
from regulargpt.encodings.t5 import T5
from regulargpt.measurements.measuring import measured
from regulargpt.text.encoder_decoder import EncoderDecoder
from regulargpt.text.encoder_decoder.checkpoint import Pretrained
from regulargpt.text.measurements.alignment import checkpoint
from regulargpt.text.measurements.alignment.checkpoint import CONTINUED, ContinuationTest
from regulargpt.text.pretrained import digest
from tests.regulargpt.checkpoint_folders import copied, quiet, refused, taken_apart
from tests.regulargpt.pretend_gpu import numbers, pretended

SMALL = {"vocab_size": 60, "d_model": 24, "d_kv": 6, "d_ff": 40, "num_layers": 2, "num_decoder_layers": 3,
         "num_heads": 5, "decoder_start_token_id": 0}  # fmt: skip
# As the published config.json of each says it; the numbers are smaller.
SHAPES: dict[str, dict[str, Any]] = {
    "t5": {"feed_forward_proj": "relu"},
    "flan-t5": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 2},
    "codet5": {"feed_forward_proj": "relu", "bos_token_id": 1, "eos_token_id": 2, "d_kv": 8, "num_heads": 3,
               "num_decoder_layers": 2},
    "gelu": {"feed_forward_proj": "gelu", "layer_norm_epsilon": 1e-3, "relative_attention_num_buckets": 16,
             "relative_attention_max_distance": 50},
}  # fmt: skip


def theirs(shape: str) -> Any:
    """A random network of that library, whose norms and biases are not those that every new one has."""
    library = quiet()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = library.T5ForConditionalGeneration(library.T5Config(**(SMALL | SHAPES[shape]))).eval()
        if shape == "flan-t5":
            model.lm_head.weight = nn.Parameter(torch.randn(60, 24) / 5)
        for name, parameter in model.named_parameters():
            if "layer_norm" in name:
                nn.init.uniform_(parameter, 0.5, 1.5)
            if "relative_attention_bias" in name:
                nn.init.normal_(parameter)
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path]]:
    """Each network, and its folder."""
    found = {}
    for shape in SHAPES:
        model, folder = theirs(shape), tmp_path_factory.mktemp(shape)
        model.save_pretrained(folder)
        found[shape] = (model, folder)
    return found


def load(place: str | Path) -> EncoderDecoder:
    return Pretrained.load(place).model.requires_grad_(False)


def changed(folder: Path, name: str, **values: Any) -> None:
    """Change a JSON file of a checkpoint."""
    known = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
    (folder / name).write_text(json.dumps(known | values))


def tokens(batch: int, length: int, seed: int = 0) -> Tensor:
    """None of them a special one, which that library would hide."""
    return torch.randint(3, 60, (batch, length), generator=torch.Generator().manual_seed(seed))


def logits_of(model: Any, source: Tensor, target: Tensor) -> Tensor:
    with torch.no_grad():
        return model(input_ids=source, attention_mask=torch.ones_like(source), decoder_input_ids=target).logits


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_are_those_of_transformers(saved: dict, shape: str):
    model, folder = saved[shape]
    ours = load(f"hf:{folder}")
    for source, target in ((1, 1), (13, 7), (200, 150), (300, 2)):
        read, answered = tokens(2, source), tokens(2, target, seed=1)
        expected = logits_of(model, read, answered)
        assert expected.std() > 0.05
        torch.testing.assert_close(ours.answers(torch.cat([read, answered], 1), target), expected, atol=1e-5, rtol=1e-5)


def exact_norm(self: Any, x: Tensor) -> Tensor:
    """RMSNorm in the precision of x; theirs takes the mean in float32 always."""
    return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon)


@pytest.mark.parametrize("shape", SHAPES)
def test_in_double_precision_they_are_equal_to_twelve_digits(saved: dict, shape: str, monkeypatch: pytest.MonkeyPatch):
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    monkeypatch.setattr(T5LayerNorm, "forward", exact_norm)
    model, folder = saved[shape]
    read, answered = tokens(2, 150), tokens(2, 140, seed=1)
    expected = logits_of(copy.deepcopy(model).double(), read, answered)
    found = load(folder).double().answers(torch.cat([read, answered], 1), 140)
    assert torch.allclose(found, expected, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (32, 64), (16, 50), (64, 256), (8, 20)])
@pytest.mark.parametrize("causal", [True, False])
def test_buckets_are_those_of_transformers(buckets: int, farthest: int, causal: bool):
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(0 if causal else -20_000, 20_001)
    encoding = T5(d_model=4, n_heads=1, buckets=buckets, max_distance=farthest, causal=causal)
    found = encoding.bucket(distances[None].double())[0]
    expected = T5Attention._relative_position_bucket(-distances, not causal, buckets, farthest)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_greedy_answers_are_those_of_transformers_token_by_token(saved: dict, shape: str):
    model, folder = saved[shape]
    ours, lengths = Pretrained.load(folder), set()
    for seed in range(8):
        read = tokens(1, 5 + 13 * seed, seed)
        # Their cache has no place for a decoder deeper than the encoder.
        how = {"max_new_tokens": 20, "do_sample": False, "use_cache": shape in ("flan-t5", "codet5")}
        made = model.generate(read, attention_mask=torch.ones_like(read), **how)
        answer, ends = made[0, 1:].tolist(), [model.generation_config.eos_token_id]
        answer = answer[: answer.index(ends[0])] if ends[0] in answer else answer
        assert ours.answer(read[0].tolist(), most=20) == answer
        lengths.add(len(answer))
    assert (ours.start, ours.ends) == (0, tuple(ends))
    assert max(lengths) == 20
    assert len(ours.answer(read[0].tolist(), most=3)) <= 3


def test_an_answer_ends_where_it_should(saved: dict):
    ours = Pretrained.load(saved["t5"][1])
    source = tokens(1, 9)[0].tolist()
    whole = ours.answer(source, most=8)
    other = Pretrained(ours.folder, ours.model, ours.start, (59, whole[3]))
    assert other.answer(source, most=8) == whole[: whole.index(whole[3])]
    assert ours.answer(source, most=0) == []
    for bad in ([], [60], [-1]):
        with pytest.raises(UserError, match="a source has at least 1 symbol, each 0 to 59"):
            ours.answer(bad)


def test_weights_in_several_files_and_in_half_precision(saved: dict, tmp_path: Path):
    model, folder = saved["flan-t5"]
    model.save_pretrained(tmp_path / "parts", max_shard_size="20KB")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 2
    whole, parts = load(folder).state_dict(), load(tmp_path / "parts").state_dict()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert digest(folder) != digest(tmp_path / "parts")
    half = copied(folder, tmp_path / "half")
    tensors = load_file(half / "model.safetensors")
    save_file({name: tensor.bfloat16() for name, tensor in tensors.items()}, half / "model.safetensors")
    rough = load(half).state_dict()
    assert all(torch.equal(rough[name], whole[name].bfloat16().float()) for name in whole)
    unclear = "does not say which file has which tensor"
    for weights, reason in (
        ({"shared.weight": "../model.safetensors"}, unclear),
        ({"shared.weight": "pytorch_model.bin"}, unclear),
        ([], unclear),
        ({"shared.weight": "none.safetensors"}, "none.safetensors is missing; model.safetensors.index.json names it"),
    ):
        changed(tmp_path / "parts", "model.safetensors.index.json", weight_map=weights)
        refused(load, tmp_path / "parts", reason)


def test_older_files_have_copies_and_say_less(saved: dict, tmp_path: Path):
    _, folder = saved["t5"]
    old = copied(folder, tmp_path / "old")
    weights, config = load_file(old / "model.safetensors"), json.loads((old / "config.json").read_text())
    for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"):
        weights[name] = weights["shared.weight"].clone()
    weights["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = torch.zeros(32, 5)
    save_file(weights, old / "model.safetensors")
    kept = {"model_type", "eos_token_id", *SMALL} & config.keys()
    (old / "config.json").write_text(json.dumps({name: config[name] for name in kept}))
    (old / "generation_config.json").unlink()
    read = tokens(1, 9)
    assert torch.equal(load(old)(read), load(folder)(read))
    # A readout of its own that is scaled all the same: the weights have the scale.
    weights["lm_head.weight"] = weights["shared.weight"] * 2
    save_file(weights, old / "model.safetensors")
    assert torch.allclose(load(old)(read), 2 * load(folder)(read), rtol=1e-4)


def test_mt5_is_read_as_t5(saved: dict, tmp_path: Path):
    folder = copied(saved["flan-t5"][1], tmp_path / "mt5")
    changed(folder, "config.json", model_type="mt5")
    assert torch.equal(load(folder)(tokens(1, 9)), load(saved["flan-t5"][1])(tokens(1, 9)))


def test_without_transformers_the_extra_is_named(saved: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    refused(load, saved["t5"][1], re.escape("a T5 checkpoint needs transformers; pip install 'regulargpt-testbed[hf]'"))


def test_nothing_of_transformers_is_printed_and_its_settings_stay(saved: dict, capfd: pytest.CaptureFixture):
    log = quiet().logging
    log.enable_progress_bar()
    before = log.get_verbosity()
    load(saved["flan-t5"][1])
    assert capfd.readouterr() == ("", "")
    assert (log.get_verbosity(), log.is_progress_bar_enabled()) == (before, True)
    log.disable_progress_bar()


CONFIGS: list[tuple[dict[str, Any], str]] = [
    ({"model_type": "umt5"}, "model_type = 'umt5'; only 't5', 'mt5' can be read"),
    ({"model_type": None}, "model_type = None; only"),
    ({"feed_forward_proj": "silu"}, "the FFN has 'silu'; only 'relu', 'gelu', 'gelu_new' can be read"),
    ({"feed_forward_proj": ["relu"]}, "transformers cannot read it .*feed_forward_proj.*; give a whole T5"),
    ({"d_model": 0}, "transformers cannot read it "),
    ({"d_model": True}, "transformers cannot read it .*'d_model' expected int, got bool"),
    ({"d_kv": 10**30}, "transformers cannot read it "),
    ({"num_layers": 3}, "has no tensor encoder.block.2.layer.0.SelfAttention.k.weight; is it a whole T5"),
    ({"num_layers": 1}, "no T5 has a tensor encoder.block.1.layer.0.SelfAttention.k.weight; its config.json is of"),
    ({"d_ff": 41}, r"DenseReluDense.wi.weight has the shape \(40, 24\); config.json says \(41, 24\)"),
    ({"vocab_size": 61}, r"shared.weight has the shape \(60, 24\); config.json says \(61, 24\)"),
    ({"feed_forward_proj": "gated-gelu"}, "has no tensor decoder.block.0.layer.2.DenseReluDense.wi_0.weight"),
    ({"relative_attention_num_buckets": 34}, r"attention_bias.weight has the shape \(32, 5\); config.json says"),
    ({"relative_attention_max_distance": 16}, "32 buckets up to the distance 16; more distances than half of them are"),
    ({"dropout_rate": 1.5}, "transformers cannot read it .*got 1.5"),
    ({"layer_norm_epsilon": "small"}, "transformers cannot read it .*'layer_norm_epsilon' expected float, got str"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "reason"), CONFIGS)
def test_configs_that_are_refused(saved: dict, tmp_path: Path, changes: dict, reason: str):
    folder = copied(saved["t5"][1], tmp_path / "wrong")
    config = json.loads((folder / "config.json").read_text())
    for derived in ("dense_act_fn", "is_gated_act"):  # older files have feed_forward_proj alone
        del config[derived]
    (folder / "config.json").write_text(json.dumps(config | changes))
    refused(load, folder, reason)


SPECIAL = [
    ({"decoder_start_token_id": 60}, "decoder_start_token_id = 60; a token is 0 to 59"),
    ({"decoder_start_token_id": [1, 2]}, "decoder_start_token_id has several tokens; an answer begins with one"),
    ({"eos_token_id": [1, "end"]}, "eos_token_id = 'end'; a token is 0 to 59"),
    ({"eos_token_id": True}, "eos_token_id = True; a token is 0 to 59"),
]


@pytest.mark.parametrize(("changes", "reason"), SPECIAL)
def test_special_tokens_that_are_refused(saved: dict, tmp_path: Path, changes: dict, reason: str):
    folder = copied(saved["t5"][1], tmp_path / "wrong")
    changed(folder, "generation_config.json", **changes)
    refused(load, folder, reason)


def test_several_ends_are_read(saved: dict, tmp_path: Path):
    folder = copied(saved["t5"][1], tmp_path / "ends")
    changed(folder, "generation_config.json", eos_token_id=[1, 7], decoder_start_token_id=5)
    found = Pretrained.load(folder)
    assert (found.start, found.ends) == (5, (1, 7))


def damaged(folder: Path) -> Iterator[str]:
    """Ways to spoil a folder, one after the other, and what is said of each."""
    weights = folder / "model.safetensors"
    whole, tensors = weights.read_bytes(), load_file(weights)
    for content in (whole[: len(whole) // 2], b"", b"\xff" * 64, whole[:8] + b"x" + whole[9:]):
        weights.write_bytes(content)
        yield "transformers cannot read it .*; give a whole T5"
    save_file({**tensors, "encoder.embed_tokens.weight": torch.zeros(60, 24)}, weights)
    yield "encoder.embed_tokens.weight differs from shared.weight; only shared ones can be read"
    save_file({**tensors, "classifier.weight": torch.zeros(2)}, weights)
    yield "no T5 has a tensor classifier.weight; its config.json is of another"
    save_file({name: tensor for name, tensor in tensors.items() if name.startswith(("shared", "encoder"))}, weights)
    yield "has no tensor decoder.block.0.layer.0.SelfAttention.k.weight; is it a whole"
    yield from taken_apart(folder, "T5")


def test_damaged_folders_are_refused_in_one_line(saved: dict, tmp_path: Path):
    for reason in damaged(folder := copied(saved["t5"][1], tmp_path / "t5")):
        refused(load, folder, reason)


@pytest.fixture
def with_tokenizer(saved: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tokenizer that ends a text as T5's does; what is tokenized by it lies beside it."""
    monkeypatch.setenv("LANGUAGES_CACHE", str(tmp_path / "cache"))
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *"abcdefghijklmnop"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    folder = copied(saved["t5"][1], tmp_path / "with-tokenizer")
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def test_a_text_is_answered_by_the_tokenizer_beside_the_weights(with_tokenizer: Path):
    found = Pretrained.load(with_tokenizer)
    assert found.encode("a b z") == [3, 4, 2, 1]
    assert found.decode([3, 1, 4, 0]) == "a b"
    assert len(found.answer(found.encode("a b c"), most=4)) <= 4
    library = quiet().PreTrainedTokenizerFast(tokenizer_file=str(with_tokenizer / "tokenizer.json"))
    assert library("p o n a").input_ids == found.encode("p o n a")


def test_a_tokenizer_that_does_not_fit_is_refused(with_tokenizer: Path):
    content = json.loads((with_tokenizer / "tokenizer.json").read_text())
    content["model"]["vocab"]["q"] = 60
    (with_tokenizer / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"tokenizer.json has 61 tokens, and the network knows 60"):
        Pretrained.load(with_tokenizer).encode("a")
    (with_tokenizer / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=re.escape("AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)")):
        Pretrained.load(with_tokenizer).encode("a")


# Alignment of a checkpoint.


def aligned(folder: Path, tmp_path: Path, **options: Any) -> dict[str, Any]:
    text = tmp_path / "text.txt"
    text.write_text(" ".join("abcdefghijklmnop"[n % 16] for n in np.random.default_rng(0).integers(0, 99, 3000)))
    options = {"text": str(text), "train_len": 16, "length": 64, "words": 3} | options
    return measured("align", f"hf:{folder}", **options).report


def test_a_checkpoint_is_aligned_on_a_text(with_tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    heard: list[np.ndarray] = []
    inner = checkpoint.drawn
    monkeypatch.setattr(checkpoint, "drawn", lambda *arguments: heard.append(found := inner(*arguments)) or found)
    report = aligned(with_tokenizer, tmp_path, out=tmp_path / "out", fixed=0.7, by="layer")
    assert (report["train_len"], report["length"], report["words"]) == (16, 64, 3)
    assert (report["model"], report["measure"]) == ("with-tokenizer", "perplexity")
    # The encoder is heard on exactly the tokens of the text, and the decoder's start.
    assert [words.shape for words in heard] == [(3, 17), (3, 65)]
    assert all((words[:, -1] == 0).all() for words in heard)
    short, long = report["before"]["short"], report["before"]["long"]
    assert short["p_max"] > long["p_max"]
    assert short["entropy"] < long["entropy"]
    assert list(report["strategies"]) == ["p_max", "entropy", "log", "fixed"]
    assert report["strategies"]["log"]["tau"] == [pytest.approx(np.log(16) / np.log(64), abs=1e-6)]
    assert abs(report["strategies"]["p_max"]["p_max"] - short["p_max"]) < 0.02
    assert report["score"]["low"] <= report["score"]["value"] <= report["score"]["high"]
    assert report["strategies"]["fixed"]["difference"]["value"] != 0
    written = json.loads((tmp_path / "out" / "temperature-p_max.json").read_text())
    assert written["weights"] == Pretrained.load(with_tokenizer).digest
    assert (written["train_len"], written["length"], len(written["tau"])) == (16, 64, 2)
    assert (tmp_path / "out" / "align.png").is_file()


def test_a_t5_is_aligned_on_another_device(with_tokenizer: Path, tmp_path: Path):
    here = aligned(with_tokenizer, tmp_path, out=tmp_path / "here")
    with pretended():
        there = aligned(with_tokenizer, tmp_path, out=tmp_path / "there")
    assert numbers(there) == pytest.approx(numbers(here), abs=1e-5, rel=1e-5)


def test_the_score_is_the_loss_that_transformers_gives(saved: dict, with_tokenizer: Path):
    model, segments = saved["t5"][0], tokens(3, 20 + CONTINUED)
    point = ContinuationTest(Pretrained.load(with_tokenizer), segments.numpy()).point(None)
    losses = []
    with torch.no_grad():
        for word in segments.split(1):
            read, target = word[:, :20], word[:, 20:]
            losses.append(model(input_ids=read, attention_mask=torch.ones(1, 20), labels=target).loss.item())
    assert point.of_words["nll"] == pytest.approx(losses, abs=1e-5)
    assert point.main == pytest.approx(np.exp(np.mean(losses)), rel=1e-5)
    assert (point.length, point.samples) == (20, 3)


def test_what_cannot_be_aligned_is_refused_before_anything_is_written(with_tokenizer: Path, tmp_path: Path):
    cases = [
        ({"length": 16}, "--length 16: choose one above --train-len 16, and at most 32,768"),
        ({"length": 40_000}, "--length 40000: choose one above"),
        ({"length": 2000, "words": 600}, "at most 1,048,576 symbols; choose fewer --words"),
        ({"length": 2800}, "the training part has .* symbols, 2,800 are needed; give a longer text"),
        ({"length": 500}, "the test part has .* symbols, 532 are needed; give a longer text"),
    ]
    for options, reason in cases:
        with pytest.raises(UserError, match=reason):
            aligned(with_tokenizer, tmp_path, out=tmp_path / "out", **options)
    (with_tokenizer / "tokenizer.json").unlink()
    with pytest.raises(UserError, match=r"has no tokenizer.json"):
        aligned(with_tokenizer, tmp_path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command(with_tokenizer: Path, tmp_path: Path, capfd: pytest.CaptureFixture):
    text = tmp_path / "text.txt"
    text.write_text("a b c d e " * 400)
    place, options = f"hf:{with_tokenizer}", ["--length", "32", "--train-len", "16", "--words", "2", "--out"]
    assert call(["align", place, "--text", str(text), *options, str(tmp_path / "out")]) == 0
    said = capfd.readouterr().out
    assert re.search(r"none, at 16 +1 ", said)
    assert re.search(r"strategy +temperature +P_max +H \(nats\) +perplexity", said)
    for arguments, reason in (
        ([place], "needs a text; name a file or folder of yours, or text:code, with --text"),
        (["missing", "--text", str(text)], "a run has its own; leave it out, or give a checkpoint as hf:PATH"),
        (["missing", "--train-len", "8"], "--train-len 8: a run has its own"),
        ([f"{place}-none", "--text", str(text)], "no such folder; a checkpoint is read from disk"),
    ):
        assert call(["align", *arguments]) == 2
        assert reason in capfd.readouterr().err
