"""From a decoder of `transformers` to a `DecoderOnly` with the same weights, so with the same logits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.text.decoders.families import options
from regulargpt.text.decoders.model import DecoderOnly
from regulargpt.text.decoders.options import DecoderOnlyOptions


@dataclass(frozen=True)
class Names:
    """Where the tensors of a family are: of the whole network, and of the blocks under `layers`.

    Several tensors are rows of ours, in turn. `transposed` says that linear maps are written (in, out), as
    in GPT-2; `by_head` that the rows of `qkv` are those of the first head's query, key and value, then the next head's.
    """

    outside: Mapping[str, str]
    layers: str
    inside: Mapping[str, tuple[str, ...]]
    transposed: bool = False
    by_head: bool = False
    readout: str = "lm_head"


LLAMA = Names(
    {"embedding": "model.embed_tokens", "ln_final": "model.norm"},
    "model.layers",
    {
        "ln1": ("input_layernorm",),
        "attn.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        "attn.out": ("self_attn.o_proj",),
        "attn.norm_q": ("self_attn.q_norm",),
        "attn.norm_k": ("self_attn.k_norm",),
        "ln2": ("post_attention_layernorm",),
        "mlp.ff_gate": ("mlp.gate_proj",),
        "mlp.ff_in": ("mlp.up_proj",),
        "mlp.ff_out": ("mlp.down_proj",),
    },
)
GPT2 = Names(
    {"embedding": "transformer.wte", "encoding": "transformer.wpe", "ln_final": "transformer.ln_f"},
    "transformer.h",
    {
        "ln1": ("ln_1",),
        "attn.qkv": ("attn.c_attn",),
        "attn.out": ("attn.c_proj",),
        "ln2": ("ln_2",),
        "mlp.ff_in": ("mlp.c_fc",),
        "mlp.ff_out": ("mlp.c_proj",),
    },
    transposed=True,
)
NEOX = Names(
    {"embedding": "gpt_neox.embed_in", "ln_final": "gpt_neox.final_layer_norm"},
    "gpt_neox.layers",
    {
        "ln1": ("input_layernorm",),
        "attn.qkv": ("attention.query_key_value",),
        "attn.out": ("attention.dense",),
        "ln2": ("post_attention_layernorm",),
        "mlp.ff_in": ("mlp.dense_h_to_4h",),
        "mlp.ff_out": ("mlp.dense_4h_to_h",),
    },
    by_head=True,
)
NAMES = {"gpt2": GPT2, "gpt_neox": NEOX, **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3"), LLAMA)}
NAME = re.compile(r"(?:blocks\.(\d+)\.)?(.+)\.(weight|bias)")


@torch.no_grad()
def converted(theirs: Any) -> DecoderOnly:
    """The network with the weights of a `...ForCausalLM`, for evaluation; that network has none afterwards.

    What the file has in float32 stays mapped, and is read where it is used.

    Raises UserError for what ours has not.
    """
    chosen = options(theirs.config)
    if chosen.tied != (theirs.get_output_embeddings().weight is theirs.get_input_embeddings().weight):
        raise UserError(f"tie_word_embeddings = {chosen.tied}, and the weights say otherwise; save it again")
    weights, names = dict(theirs.state_dict()), NAMES[theirs.config.model_type]
    # Let go one by one below: both networks would not fit where one does.
    for parameter in theirs.parameters():
        parameter.data = parameter.data.new_empty(0)
    sizes = theirs.config.vocab_size, theirs.config.vocab_size
    with torch.device("meta"):  # nothing is drawn
        ours = DecoderOnly(*sizes, **chosen.arguments())
    tensors = {name: taken(name, weights, names, chosen) for name in ours.state_dict()}
    ours.load_state_dict(tensors, assign=True)
    return ours.requires_grad_(True).eval()


def taken(name: str, weights: dict[str, Tensor], names: Names, chosen: DecoderOnlyOptions) -> Tensor:
    """The value of a parameter of ours; `weights` has its tensors no longer.

    >>> weights = {f"model.layers.1.self_attn.{part}_proj.weight": torch.ones(2, 3) for part in "qkv"}
    >>> taken("blocks.1.attn.qkv.weight", weights, LLAMA, DecoderOnlyOptions("decoder-only")).shape
    torch.Size([6, 3])
    """
    tensors = [weights.pop(place) for place in places(name, names)]
    value = tensors[0] if len(tensors) == 1 else torch.cat(tensors)
    if names.transposed and name.startswith("blocks.") and value.dim() == 2:
        value = value.mT.contiguous()
    if names.by_head and "qkv" in name:
        heads = value.unflatten(0, (chosen.n_heads, 3, chosen.head_width))  # (n_heads, 3, d_head, *d_model)
        value = heads.transpose(0, 1).flatten(0, 2)  # (3 * n_heads * d_head, *d_model)
    return value


def places(name: str, names: Names) -> list[str]:
    """The tensors of a family that make a parameter of ours.

    >>> places("blocks.1.attn.qkv.bias", NEOX), places("readout.weight", GPT2)
    (['gpt_neox.layers.1.attention.query_key_value.bias'], ['lm_head.weight'])
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise KeyError(name)
    layer, part, kind = match.groups()
    if layer is None:
        return [f"{names.readout if part == 'readout' else names.outside[part]}.{kind}"]
    return [f"{names.layers}.{layer}.{inside}.{kind}" for inside in names.inside[part]]
