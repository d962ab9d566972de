"""From a T5 of `transformers` to an `EncoderDecoder` with the same weights, so with the same logits."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor

from languages.errors import UserError, one_of
from regulargpt.encodings.options import T5Options
from regulargpt.text.encoder_decoder.model import EncoderDecoder

# T5 1.1 says gelu and means its approximation, which the library calls gelu_new.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh"}
SHARED, READOUT = "shared.weight", "lm_head.weight"
# Of each parameter of ours their tensors, whose rows it has one after the other. `ffn` is 1 in the encoder and 2 in the
# decoder; of a gated FFN wi_0 is activated, and wi_1 is not.
OUTSIDE = {
    "embedding": [SHARED],
    "readout": [READOUT],
    "encoding": ["{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"],
    "ln_final": ["{side}.final_layer_norm.weight"],
}
IN_BLOCK = {
    "ln1": ["layer.0.layer_norm"],
    "attn.qkv": ["layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"],
    "attn.out": ["layer.0.SelfAttention.o"],
    "ln_cross": ["layer.1.layer_norm"],
    "cross_attn.qkv": ["layer.1.EncDecAttention.q", "layer.1.EncDecAttention.k", "layer.1.EncDecAttention.v"],
    "cross_attn.out": ["layer.1.EncDecAttention.o"],
    "ln2": ["layer.{ffn}.layer_norm"],
    "mlp.ff_gate": ["layer.{ffn}.DenseReluDense.wi_0"],
    "mlp.ff_in": ["layer.{ffn}.DenseReluDense.{wi}"],
    "mlp.ff_out": ["layer.{ffn}.DenseReluDense.wo"],
}
NAME = re.compile(r"(?:(encoder|decoder)_stack\.)?(?:blocks\.(\d+)\.)?(.+)\.weight")


@torch.no_grad()
def converted(theirs: Any) -> EncoderDecoder:
    """The network with the weights of a `T5ForConditionalGeneration`, for evaluation.

    Raises UserError for an activation or buckets that ours has not, and for two embeddings that differ.
    """
    config, weights = theirs.config, theirs.state_dict()
    for side in ("encoder", "decoder"):
        if not torch.equal(weights[copy := f"{side}.embed_tokens.weight"], weights[SHARED]):
            raise UserError(f"{copy} differs from {SHARED}; only shared ones can be read")
    tied = torch.equal(weights[READOUT], weights[SHARED])
    ours = EncoderDecoder(config.vocab_size, config.vocab_size, **options(config, tied))
    for name, parameter in ours.named_parameters():
        parameter.copy_(tensor(name, weights, config.is_gated_act))
    if not tied and config.scale_decoder_outputs:
        ours.readout.get_parameter("weight").mul_(config.d_model**-0.5)
    return ours.eval()


def options(config: Any, tied: bool) -> dict[str, Any]:
    """What `EncoderDecoder` is given by name."""
    if config.dense_act_fn not in ACTIVATIONS:
        raise UserError(f"the FFN has {config.dense_act_fn!r:.40}; only {one_of(ACTIVATIONS)} can be read")
    buckets, farthest = config.relative_attention_num_buckets, config.relative_attention_max_distance
    if farthest <= buckets // 2:
        raise UserError(f"{buckets} buckets up to the distance {farthest}; more distances than half of them are needed")
    return {
        "d_model": config.d_model,
        "n_heads": config.num_heads,
        "d_head": config.d_kv,
        "d_ff": config.d_ff,
        "n_layers": config.num_layers,
        "decoder_layers": config.num_decoder_layers,
        "activation": ACTIVATIONS[config.dense_act_fn],
        "gated": config.is_gated_act,
        "dropout": config.dropout_rate,
        "encoding": T5Options("t5", buckets=buckets, max_distance=farthest, scale="mesh", drawn="mesh"),
        "tied": tied,
        "scale_readout": config.scale_decoder_outputs,
        "norm_epsilon": config.layer_norm_epsilon,
    }


def tensor(name: str, weights: dict[str, Tensor], gated: bool) -> Tensor:
    """The value of a parameter of ours.

    >>> weights = {f"encoder.block.1.layer.0.SelfAttention.{part}.weight": torch.ones(2, 3) for part in "qkv"}
    >>> tensor("encoder_stack.blocks.1.attn.qkv.weight", weights, gated=False).shape
    torch.Size([6, 3])
    """
    match = NAME.fullmatch(name)
    assert match is not None, name
    side, layer, part = match.groups()
    wanted = OUTSIDE[part] if layer is None else [f"{side}.block.{layer}.{at}.weight" for at in IN_BLOCK[part]]
    places = {"side": side, "ffn": 2 if side == "decoder" else 1, "wi": "wi_1" if gated else "wi"}
    return torch.cat([weights[at.format_map(places)] for at in wanted])


def special_tokens(theirs: Any) -> tuple[int, tuple[int, ...]]:
    """The token that the decoder reads first, and those that end an answer. UserError for a number that is no token."""
    answers, config = theirs.generation_config, theirs.config
    start = config.pad_token_id if answers.decoder_start_token_id is None else answers.decoder_start_token_id
    ends = answers.eos_token_id if isinstance(answers.eos_token_id, list) else [answers.eos_token_id]
    if isinstance(start, list):
        raise UserError("decoder_start_token_id has several tokens; an answer begins with one")
    for name, token in [("decoder_start_token_id", start), *(("eos_token_id", end) for end in ends)]:
        if type(token) is not int or not 0 <= token < config.vocab_size:
            raise UserError(f"{name} = {token!r:.40}; a token is 0 to {config.vocab_size - 1:,}")
    return start, tuple(ends)
