"""The encoder-decoder against attention written out pair by pair, its limits, and what the rest asks of it."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.encodings.base import Positions
from regulargpt.evaluation.temperature import read, weights_of
from regulargpt.measurements.layers import state_points
from regulargpt.measurements.measuring import measured
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.transformer.attention import MultiHead
from regulargpt.options import ConfigError
from regulargpt.runs.device import prepare
from regulargpt.runs.load import load_reader
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.encoder_decoder import EncoderDecoder
from regulargpt.text.encoder_decoder.options import EncoderDecoderOptions
from regulargpt.text.encoder_decoder.stack import BlockStack
from regulargpt.text.measurements.alignment.statistics import average_logits, sharpness
from tests.regulargpt.attending import SYMBOLS, options_of, words
from tests.regulargpt.cases import BIDIRECTIONAL, assert_equal, slopes
from tests.regulargpt.small import COMMON, trainer_of


def built(encoding: str = "t5", **options) -> EncoderDecoder:
    """Two blocks and three, heads of another width than d_model / n_heads, in float64."""
    sizes = {"d_model": 16, "n_heads": 3, "d_head": 4, "d_ff": 20, "n_layers": 2, "decoder_layers": 3}
    sizes["encoding"] = options_of(encoding, 64)
    model = EncoderDecoder(SYMBOLS, SYMBOLS, **(sizes | options), generator=torch.Generator().manual_seed(3))
    return model.double().eval()


def rms_norm(x: Tensor, weight: Tensor, epsilon: float = 1e-6) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * weight


def attended(attn: MultiHead, x: Tensor, keys: Tensor, encoding, layer: int, causal: bool, divisor: float) -> Tensor:
    """All pairs at once: x (batch, queries, d) attends to keys (batch, keys, d); without an encoding to all alike."""
    w_q, w_k, w_v = attn.qkv.weight.chunk(3)
    q, k, v = (
        (y @ w.T).unflatten(-1, (attn.n_heads, -1)).transpose(1, 2) for y, w in ((x, w_q), (keys, w_k), (keys, w_v))
    )
    # What the encodings are told was divided by sqrt(d_head) is not, where the convention is T5's.
    q = q * (math.sqrt(q.shape[-1]) / divisor)
    m, n = (torch.arange(y.shape[1], dtype=torch.float64) for y in (x, keys))
    if encoding is None:
        logits = q @ k.mT / math.sqrt(q.shape[-1])
    else:
        at = Positions(m, n, layer, encoding.prepare(x, layer))
        q, k = encoding.rotate(q, k, at)
        logits = encoding.score(q @ k.mT / math.sqrt(q.shape[-1]), q, k, at)
        bias = encoding.bias(q, k, at)
        logits = logits if bias is None else logits + bias
    if causal:
        logits = logits.masked_fill(n > m[:, None], -math.inf)
    return (logits.softmax(-1) @ v).transpose(1, 2).flatten(-2) @ attn.out.weight.T


def stacked(stack: BlockStack, x: Tensor, memory: Tensor | None, f, divisor: float) -> Tensor:
    x = stack.encoding.embed(x, torch.arange(x.shape[1], dtype=torch.float64))
    for layer, block in enumerate(stack.blocks):
        h = rms_norm(x, block.ln1.weight)
        x = x + attended(block.attn, h, h, stack.encoding, layer, memory is not None, divisor)
        if memory is not None:
            h = rms_norm(x, block.ln_cross.weight)
            x = x + attended(block.cross_attn, h, memory, None, layer, False, divisor)
        h = rms_norm(x, block.ln2.weight)
        gate = block.mlp.ff_gate
        units = f(h @ block.mlp.ff_in.weight.T) if gate is None else f(h @ gate.weight.T) * block.mlp.ff_in(h)
        x = x + units @ block.mlp.ff_out.weight.T
    return rms_norm(x, stack.ln_final.weight)


def reference(model: EncoderDecoder, text: Tensor, count: int, f=torch.relu, divisor: float = 1.0) -> Tensor:
    """The logits at the last `count` positions."""
    x = model.embedding.weight[text]
    memory = stacked(model.encoder_stack, x[:, :-count], None, f, divisor)
    return model.readout(stacked(model.decoder_stack, x[:, -count:], memory, f, divisor))


@pytest.mark.parametrize("encoding", BIDIRECTIONAL)
@pytest.mark.parametrize("count", [1, 4, 11])
def test_answers_and_gradients_are_those_of_attention_written_out(encoding: str, count: int):
    model, text = built(encoding).train(), words(2, 12)
    logits = model.answers(text, count)
    assert logits.shape == (2, count, SYMBOLS)
    assert_equal(slopes(model, logits), slopes(model, reference(model, text, count)), 1e-9)
    assert_equal([model(text)], [model.answers(text, 1)[:, 0]], 1e-12)


@pytest.mark.parametrize(
    ("options", "f", "divisor"),
    [
        ({"activation": "gelu"}, F.gelu, 1.0),
        ({"activation": "gelu_tanh", "gated": True}, lambda x: F.gelu(x, approximate="tanh"), 1.0),
        ({"scale_logits": True, "gated": True}, torch.relu, 2.0),  # sqrt(4)
        ({"d_head": 0, "n_heads": 4, "scale_logits": True}, torch.relu, 2.0),
    ],
)
def test_every_convention_of_t5_is_an_option(options: dict, f, divisor: float):
    model, text = built(**options), words(2, 9)
    assert torch.allclose(model.answers(text, 3), reference(model, text, 3, f, divisor), atol=1e-10)


def test_a_tied_readout_is_scaled_or_not():
    text = words(2, 9)
    scaled, plain = (built(tied=True, scale_readout=on).answers(text, 3) for on in (True, False))
    assert torch.allclose(scaled * 4, plain, atol=1e-12)  # sqrt(16)
    assert not [name for name in built(tied=True).state_dict() if name.startswith("readout")]
    assert torch.allclose(plain, reference(built(tied=True, scale_readout=False), text, 3), atol=1e-10)


def test_what_the_encoder_reads_counts_everywhere_and_what_the_decoder_reads_only_behind_it():
    model, text = built(), words(1, 9)
    before = model.answers(text, 4)
    for position in range(9):
        changed = text.clone()
        changed[0, position] = (changed[0, position] + 1) % SYMBOLS
        same = (model.answers(changed, 4) - before).abs().amax(-1)[0] < 1e-12
        assert same.tolist() == [position > 5 + i - (position < 5) * 9 and position >= 5 for i in range(4)]


def test_of_a_word_of_one_symbol_the_encoder_reads_nothing():
    model = built().train()
    text = words(3, 1)
    with_nothing = model(text)
    for stack in (model.encoder_stack, *(block.cross_attn for block in model.decoder_stack.blocks)):
        for p in stack.parameters():
            torch.nn.init.normal_(p, generator=torch.Generator().manual_seed(1))
    assert torch.equal(model(text), with_nothing)
    with_nothing.sum().backward()
    assert model.encoder_stack.blocks[0].attn.qkv.weight.grad is None
    assert torch.equal(model.answers(text, 1)[:, 0], with_nothing)


def test_weights_start_as_in_mesh_tensorflow():
    model = EncoderDecoder(500, 2, d_model=64, n_heads=4, d_head=25, d_ff=400, generator=torch.Generator())
    attn, mlp = model.encoder_stack.blocks[0].attn, model.encoder_stack.blocks[0].mlp
    q, k, v = attn.qkv.weight.chunk(3)
    found = [q, k, v, attn.out.weight, mlp.ff_in.weight, mlp.ff_out.weight, model.embedding.weight]
    wanted = [1 / (8 * 5), 1 / 8, 1 / 8, 1 / 10, 1 / 8, 1 / 20, 1.0]
    for weight, std in zip(found, wanted, strict=True):
        assert weight.std().item() == pytest.approx(std, rel=0.03)
    assert model.encoder_stack.encoding.weight.std().item() == pytest.approx(1 / 8, rel=0.2)
    assert not [name for name in model.state_dict() if name.endswith("bias")]
    encoder, decoder = (stack.encoding.weight for stack in (model.encoder_stack, model.decoder_stack))
    assert not torch.equal(encoder, decoder)


def test_a_temperature_sharpens_the_encoder_alone():
    model, text = built(), words(2, 12)
    names = ["encoder_stack.blocks.0.attn.hook_pattern", "decoder_stack.blocks.0.attn.hook_pattern"]

    def patterns() -> list[Tensor]:
        _, cache = run_with_cache(model, text, names_filter=names)
        return [cache[name] for name in names]

    before, logits = patterns(), model(text)
    model.set_temperature(torch.tensor([[0.5, 0.5, 1.0], [1.0, 1.0, 1.0]], dtype=torch.float64))
    after = patterns()
    assert (after[0][:, :2].amax(-1) > before[0][:, :2].amax(-1)).all()
    assert torch.allclose(after[0][:, 2], before[0][:, 2], atol=1e-12)
    assert torch.equal(after[1], before[1])
    assert not torch.allclose(model(text), logits, atol=1e-9)
    model.set_temperature(None)
    assert torch.equal(model(text), logits)
    with pytest.raises(UserError, match="the model has 2 x 3 heads; there are 3 x 3 temperatures"):
        model.set_temperature(torch.ones(3, 3))


def test_the_shapes_that_hooks_hear():
    _, cache = run_with_cache(built(gated=True), words(2, 9))
    shapes = {
        "hook_embed": (2, 9, 16),
        "encoder_stack.blocks.1.attn.hook_pattern": (2, 3, 8, 8),
        "decoder_stack.blocks.2.cross_attn.hook_pattern": (2, 3, 1, 8),
        "decoder_stack.blocks.0.cross_attn.hook_k": (2, 8, 3, 4),
    }
    assert {name: tuple(cache[name].shape) for name in shapes} == shapes
    cross = cache["decoder_stack.blocks.2.cross_attn.hook_pattern"].sum(-1)
    assert torch.allclose(cross, torch.ones(2, 3, 1, dtype=torch.float64))


def test_parameters_of_both_encodings_have_a_rate_of_their_own_and_are_projected():
    model = built("kerple_log")
    rest, apart = model.parameter_groups()
    assert len(apart["params"]) == 4
    assert len(rest["params"]) == len(list(model.parameters())) - 4
    with torch.no_grad():
        for p in apart["params"]:
            p.fill_(-1)
        model.project()
    assert all(bool((p > 0).all()) for p in apart["params"])
    assert len(built("alibi").parameter_groups()) == 1


def test_what_is_refused_of_the_model():
    model, text = built(), words(2, 5)
    with pytest.raises(UserError, match=r"does not answer at every position, .*; ask for readout='last', or for"):
        model(text, readout="all")
    for count in (0, 6):
        with pytest.raises(UserError, match=f"count = {count}; words of length 5 have 1 to 5 positions"):
            model.answers(text, count)
    with pytest.raises(UserError, match="grow without bound"):
        built("xpos")
    with pytest.raises(UserError, match="no attention that could be restricted"):
        model.set_attention("sliding:4", 40)
    with pytest.raises(UserError, match="EncoderDecoder has no state of each prefix"):
        state_points(model)


REFUSED = [
    ({"objective.name": "prefixes"}, "objective.name = 'prefixes': it asks at every position: the encoder has seen "
     "what comes after it; choose 'last', or model.name = 'transformer'"),
    ({"model.encoding.name": "cope"}, "model.encoding.name = 'cope' counts back from the query; choose another, "
     "as 't5'"),
    ({"model.tied": True}, "objective.name = 'last': it asks about words: model.tied = true answers with symbols"),
    ({"evaluation.attention": "bca"}, "evaluation.attention = 'bca': encoder-decoder has no attention that could be "
     "restricted"),
    ({"model.encoding": "t5:max_distance=500"}, "data.train_len = 40: its longest distance is 38, and the last bucket "
     "begins at 404; set model.encoding.max_distance to at most 40"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_configs_that_are_refused(changes: dict, message: str):
    with pytest.raises(ConfigError) as refused:
        validate(RunConfig().replaced({"model.name": "encoder-decoder"}).replaced(changes))
    assert str(refused.value) == message


UNBUILT = [
    ({"d_model": 6}, r"^d_model = 6 is not a multiple of model.n_heads = 4; or set model.d_head$"),
    ({"d_head": 3, "encoding": options_of("rotary", 40)}, r"'rotary' turns pairs: model\.d_head = 3 must be even"),
    ({"d_model": 8192, "n_layers": 16, "d_ff": 65536}, r"make about .* parameters; at most 1,000,000,000"),
]


@pytest.mark.parametrize(("options", "message"), UNBUILT)
def test_options_that_are_refused(options: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        EncoderDecoderOptions("encoder-decoder", **options)


def test_the_parameters_are_counted_as_they_are():
    EncoderDecoderOptions("encoder-decoder", d_model=6, d_head=2)
    sizes = {"d_model": 24, "n_heads": 5, "d_head": 4, "d_ff": 60, "n_layers": 3, "decoder_layers": 2, "gated": True}
    options = EncoderDecoderOptions("encoder-decoder", **sizes)
    blocks = EncoderDecoder(2, 2, **sizes)
    matrices = [p for name, p in blocks.named_parameters() if ".blocks." in name and p.dim() == 2]
    assert options.parameters() == sum(p.numel() for p in matrices)


def test_its_sharpness_is_that_of_the_encoders_patterns():
    model, text = built(n_layers=3), words(4, 10)
    with torch.no_grad():
        _, cache = run_with_cache(model, text)
    p = torch.stack([cache[f"encoder_stack.blocks.{layer}.attn.hook_pattern"] for layer in range(3)])
    found = sharpness(model, text.numpy())
    assert np.allclose(found.p_max, p.amax(-1).mean((1, 3)), atol=1e-12)
    assert np.allclose(found.entropy, torch.special.entr(p).sum(-1).mean((1, 3)), atol=1e-12)
    assert len(average_logits(model, text.numpy()).values) == 9
    with pytest.raises(UserError, match="words of length 1 leave nothing to attend to; choose longer ones"):
        sharpness(model, text[:, :1].numpy())


def test_a_run_is_aligned_and_tested_with_what_was_found(tmp_path: Path):
    changes = {"model.name": "encoder-decoder", **COMMON, "model.n_heads": 2, "model.n_layers": 2, "training.steps": 2}
    run(RunConfig().replaced(changes), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    report = measured("align", folder.path, length=24, words=4, by="head").report
    assert len(report["strategies"]["p_max"]["tau"]) == 4
    assert report["before"]["long"]["entropy"] > report["before"]["short"]["entropy"]
    found = read(tmp_path / "run" / "align" / "temperature-p_max.json", weights_of(folder))
    model = load_reader(folder)
    model.set_temperature(torch.tensor(found.tau))
    assert model.encoder_stack.encoding.tau.shape == (2, 2)


def test_it_learns():
    changes = {"model.name": "encoder-decoder", "data.name": "parity", **COMMON, "data.train_len": 4}
    config = RunConfig().replaced(changes | {"model.d_model": 32, "model.n_heads": 4, "training.lr": 1e-3})
    config = config.replaced({"training.batch_size": 64, "training.warmup": 0, "training.steps": 300})
    prepare(config)
    trainer = trainer_of(config)
    for _ in range(300):
        trainer.step()
    losses = [loss for loss, _ in trainer.since_log]
    assert sum(losses[-100:]) / 100 < 0.2
