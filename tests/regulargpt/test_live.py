"""The networks as the page computes them, in a real browser: every logit is torch's, for every model and encoding."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from regulargpt import models
from regulargpt.classroom.document import document
from regulargpt.classroom.live.network import LiveNetwork, not_computed, parts
from regulargpt.classroom.live.twins import WEIGHTS, bundle, twin
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.models.base import Model
from regulargpt.options import hints
from tests.regulargpt.browser import Browser

SYMBOLS, OUTPUTS, WORDS, LONGEST = 3, 4, 80, 40
DIRECTION = (1, -1, 0)  # a call, a return, an internal symbol
SIZES = {"d_model": 8, "n_heads": 2, "d_ff": 12}
POST = {"norm": "post", "activation": "relu", "state_norm": False, "attention_bias": False}
TREES: list[dict[str, Any]] = [
    *(
        {"name": "regulargpt", "gates": gates, **SIZES, **more}
        for gates in (False, True)
        for more in (
            {"chunk_size": 2},
            {"chunk_size": 3, **POST},
            {"chunk_size": 2, "thickness": 2},
            {"chunk_size": 5, "distinct_levels": 2, "embedding_scale": 2.0},
            {"chunk_size": 2, "levels": 3, "norm": "post"},
            {"chunk_size": 3, "levels": 6, "activation": "relu"},
        )
    ),
    {"name": "regulargpt", **SIZES, "chunk_size": 3, "pad": "masked"},
    {"name": "regulargpt", **SIZES, "chunk_size": 2, "attention": "full"},
    {"name": "regulargpt", **SIZES, "chunk_size": 3, "attention": "full", "pad": "masked", "thickness": 2},
    *({"name": "ldru", "d_model": 8, "operator": operator} for operator in ("mlp", "gated-sum", "sum", "linear")),
]
# Along brackets: with two symbols in a window a pair is two nodes, with more one; pads behind it, or none.
NESTED: list[dict[str, Any]] = [
    {"name": "regulargpt", "tree": "nested", **SIZES, "chunk_size": 2, "gates": True},
    {"name": "regulargpt", "tree": "nested", **SIZES, "chunk_size": 3, **POST},
    {"name": "regulargpt", "tree": "nested", **SIZES, "chunk_size": 5},
    {"name": "ldru", "tree": "nested", "d_model": 8},
]  # fmt: skip
RECURRENT: list[dict[str, Any]] = [
    {"name": name, "d_model": 8, "n_layers": layers}
    for name in ("rnn", "lstm", "gru", "linear-rnn")
    for layers in (1, 2)
] + [{"name": "rnn", "d_model": 8, "activation": "tanh"}]
TRANSFORMER = {"name": "transformer", **SIZES, "n_layers": 2}
# What encodings have beside their defaults: every option that changes what is computed.
VARIANTS: list[dict[str, Any]] = [
    {"name": "rotary", "layout": "halves", "fraction": 0.5},
    *({"name": "rotary", "scaling": scaling} for scaling in ("interpolation", "ntk", "dynamic_ntk", "yarn")),
    {"name": "rotary", "scaling": "dynamic_ntk", "factor": 3.0},
    {"name": "rotary", "scaling": "yarn", "beta_fast": 9.0, "beta_slow": 2.0, "attention_factor": 1.5, "base": 50.0},
    {"name": "rotary", "scaling": "llama3", "base": 50.0, "low_freq_factor": 0.5, "train_len": 16},
    {
        "name": "rotary",
        "scaling": "longrope",
        "short_factor": [1.0, 1.5],
        "long_factor": [2.0, 3.5],
        "train_len": 6,
        "attention_factor": 1.2,
    },
    {"name": "rotary", "log_n": True, "train_len": 3},
    {"name": "xpos", "zeta": "scalar", "rotate": False, "scale_base": 20.0},
    {"name": "alibi", "slopes": "press", "shift": 1.0},
    {"name": "alibi", "slopes": "equal", "bias_dtype": "bfloat16"},
    {"name": "t5", "max_distance": 30, "scale": "mesh", "buckets": 8, "bias_dtype": "bfloat16"},
    {"name": "sandwich", "d_bar": 10, "first_index": 1},
    {"name": "sandwich_smooth", "fit": "nearest"},
    {"name": "transformer_xl", "clamp": 7},
    {"name": "window", "width": 5},
    {"name": "cope", "p_max": 4},
    {"name": "learned", "train_len": 16, "beyond": "clamp"},
    {"name": "ssmax", "inner": {"name": "rotary"}},
    {"name": "log_n", "inner": {"name": "kerple_log"}},
    {"name": "log_n", "inner": {"name": "forgetting"}},
]


def encoded() -> Iterator[dict[str, Any]]:
    """A Transformer for each encoding, causal and not where it may be; in one of them post-LN."""
    scripted = [name for name, row in ENCODINGS.items() if twin(row.place)]
    for given in [*({"name": name} for name in scripted), *VARIANTS]:
        asks = "train_len" in hints(ENCODINGS[given["name"]].options)
        encoding = ({"train_len": LONGEST if given["name"] == "learned" else 16} if asks else {}) | given
        yield TRANSFORMER | {"encoding": encoding, "activation": "relu"}
        if not ENCODINGS.options(encoding, "encoding").not_bidirectional():
            yield TRANSFORMER | {"encoding": encoding, "causal": False, "norm": "post", "scale_embedding": False}


OTHERS: list[dict[str, Any]] = [
    TRANSFORMER | {"random_positions": LONGEST, "encoding": {"name": "alibi"}},
    TRANSFORMER | {"random_positions": 2048, "encoding": {"name": "rotary"}},
    {"name": "encoder-decoder", **SIZES, "n_layers": 2},
    {"name": "encoder-decoder", **SIZES, "gated": True, "activation": "gelu_tanh", "d_head": 6, "decoder_layers": 2},
    {"name": "encoder-decoder", **SIZES, "scale_logits": True, "encoding": {"name": "sandwich"}},
    {"name": "encoder-decoder", **SIZES, "tied": True, "encoding": {"name": "rotary"}},
    TRANSFORMER | {"tied": True},
    {"name": "regulargpt", **SIZES, "tied": True},
]
# Of stacks every controller, soft and hard, learned and visible; of tapes several.
STACKS: list[dict[str, Any]] = [
    *({"name": "stack-rnn", "d_model": 8, "controller": name} for name in ("binary", "elman-relu", "tanh", "lstm")),
    {"name": "stack-rnn", "d_model": 8, "controller": "tanh", "tests": "superposition", "empty": -1, "stacks": 2},
    {"name": "stack-rnn", "d_model": 8, "stack_width": 3, "stacks": 2, "push": "sigmoid", "empty": -1},
    {"name": "stack-rnn", "d_model": 8, "actions": "visible", "controller": "lstm"},
    {"name": "tape-rnn", "d_model": 8, "tapes": 2, "tape_width": 3},
]
CASES = [*TREES, *NESTED, *RECURRENT, *STACKS, *encoded(), *OTHERS]


def named(options: dict[str, Any]) -> str:
    """A case in the name of a test: what it has beside its sizes."""
    values = [f"{k}={v}" for k, v in options.items() if k not in (*SIZES, "name", "encoding")]
    encoding = options.get("encoding", {})
    return " ".join([options["name"], *values, *(f"{v}" if k == "name" else f"{k}={v}" for k, v in encoding.items())])


def network(options: dict[str, Any]) -> tuple[Model, LiveNetwork]:
    """A network with random weights, none of them 0 or 1 as they are drawn; and the same for the page."""
    chosen, generator = MODELS.options(options, "model"), torch.Generator().manual_seed(3)
    outputs = SYMBOLS if options.get("tied") else OUTPUTS
    direction = DIRECTION if chosen.follows_brackets else None
    model = models.build(chosen, SYMBOLS, outputs, generator, direction).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=generator))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    assert not_computed(chosen, weights) is None
    return model, LiveNetwork(chosen, SYMBOLS, outputs, weights, direction=direction)


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory) -> Iterator[Browser]:
    """A page with all scripts and no network."""
    path = tmp_path_factory.mktemp("live") / "page.html"
    twins = {found.file: found for options in CASES for _, found in parts(MODELS.options(options, "model")) if found}
    scripts = {"scripts": ("word.js", "live.js"), "modules": bundle([WEIGHTS, *twins.values()])}
    path.write_text(document(title="", heading="", skip=("", ""), body="", data={}, styles=(), **scripts))
    tab.fresh()
    tab.open(path)
    yield tab
    tab.assert_silent()


def computed(page: Browser, network: LiveNetwork, words: list[list[int]]) -> list[torch.Tensor]:
    """The logits of the words as the page computes them, in one call."""
    given = json.dumps({**network.data(), "output_names": []})
    found = page.evaluate(f"((live) => {json.dumps(words)}.map((word) => live.logits(word)))(new Live({given}))")
    return [torch.tensor(logits, dtype=torch.float64) for logits in found]


@pytest.mark.parametrize("options", CASES, ids=named)
@torch.no_grad()
def test_every_logit_of_every_word_is_torchs(page: Browser, options: dict[str, Any]):
    model, shown = network(options)
    generator = torch.Generator().manual_seed(7)
    lengths = [1 + i % LONGEST for i in range(WORDS)]
    words = [torch.randint(0, SYMBOLS, (length,), generator=generator) for length in lengths]
    found = computed(page, shown, [word.tolist() for word in words])
    batches = {length: torch.stack(words[length - 1 :: LONGEST]) for length in range(1, LONGEST + 1)}
    ours = {length: torch.stack(found[length - 1 :: LONGEST]) for length in batches}
    single = {length: model(batch) for length, batch in batches.items()}
    model.double()
    double = {length: model(batch) for length, batch in batches.items()}
    spread = torch.cat([logits.std(0) for logits in double.values()])
    assert spread.max() > 0.01, "a network that answers alike to all words shows nothing"
    for length in batches:
        # As people run it, and in float64, where nothing but the order of sums may differ.
        torch.testing.assert_close(ours[length], single[length].double(), rtol=0, atol=1e-4)
        torch.testing.assert_close(ours[length], double[length], rtol=1e-9, atol=1e-9)
