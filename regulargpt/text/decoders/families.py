"""How each family of decoders writes its config: as the options of `DecoderOnly`. Never imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from languages.errors import UserError, one_of
from regulargpt.encodings.options import EncodingOptions, TableOptions
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.decoders.rope import rotary

NAME = "decoder-only"
# As `transformers` calls them, and we.
ACTIVATIONS = {
    **{name: name for name in ("relu", "gelu", "silu")},
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast"), "gelu_tanh"),
}
Given = Mapping[str, Any]


def options(config: Any) -> DecoderOnlyOptions:
    """The options of the network that a config describes.

    Raises UserError for what ours has not, and for sizes that do not go together.
    """
    given = FAMILIES[config.model_type](config)
    tied = bool(config.tie_word_embeddings)
    return DecoderOnlyOptions(NAME, **sizes(config), **given, tied=tied)


def sizes(config: Any) -> dict[str, Any]:
    """What all families have, under the names that the library gives all of them."""
    return {"d_model": config.hidden_size, "n_heads": config.num_attention_heads, "n_layers": config.num_hidden_layers}


def trained_length(config: Any) -> int:
    """The longest text that it was trained on; the config says no more than the most positions."""
    return config.max_position_embeddings


def gpt2(config: Any) -> Given:
    """Learned positions, LayerNorm, biases everywhere (Radford et al. 2019)."""
    for name, usual in (("scale_attn_weights", True), ("scale_attn_by_inverse_layer_idx", False)):
        if getattr(config, name) is not usual:
            raise UserError(f"{name} = {getattr(config, name)}; only {usual} can be read")
    if config.add_cross_attention:
        raise UserError("it attends to another text; only decoders alone can be read")
    return {
        "d_ff": config.n_inner or 4 * config.n_embd,
        "norm": "layer",
        "norm_epsilon": config.layer_norm_epsilon,
        "activation": activation(config.activation_function),
        "encoding": TableOptions("learned", train_len=config.n_positions),
        **{"gated": False, "qkv_bias": True, "out_bias": True, "mlp_bias": True},
    }


def neox(config: Any) -> Given:
    """Rotary on a part of a head, attention and FFN side by side (Black et al. 2022; Biderman et al. 2023)."""
    return {
        "d_ff": config.intermediate_size,
        "norm": "layer",
        "norm_epsilon": config.layer_norm_eps,
        "activation": activation(config.hidden_act),
        "parallel": config.use_parallel_residual,
        "encoding": positions(config),
        **{"qkv_bias": config.attention_bias, "out_bias": config.attention_bias},
        **{"gated": False, "mlp_bias": True},
    }


def llama(config: Any) -> Given:
    """RMSNorm, a gated FFN, fewer keys than queries (Touvron et al. 2023)."""
    return {
        "d_ff": config.intermediate_size,
        "n_kv_heads": config.num_key_value_heads,
        "d_head": getattr(config, "head_dim", None) or 0,
        "norm_epsilon": config.rms_norm_eps,
        "activation": activation(config.hidden_act),
        "encoding": positions(config),
        **dict.fromkeys(("qkv_bias", "out_bias"), bool(getattr(config, "attention_bias", False))),
        "mlp_bias": bool(getattr(config, "mlp_bias", False)),
    }


def mistral(config: Any) -> Given:
    """Llama with a window in every layer (Jiang et al. 2023)."""
    return {**llama(config), "window": config.sliding_window or 0}


def qwen2(config: Any) -> Given:
    """Llama with biases of queries, keys and values, and perhaps a window in the later layers (Yang et al. 2024)."""
    return {**llama(config), "qkv_bias": True, **windows(config)}


def qwen3(config: Any) -> Given:
    """Llama with norms of queries and keys (Yang et al. 2025)."""
    return {**llama(config), "qk_norm": True, **windows(config)}


FAMILIES: dict[str, Callable[[Any], Given]] = {
    "gpt2": gpt2,
    "gpt_neox": neox,
    "llama": llama,
    "mistral": mistral,
    "qwen2": qwen2,
    "qwen3": qwen3,
}


def activation(name: Any) -> str:
    """Our name of an activation; UserError for another name."""
    if name not in ACTIVATIONS:
        raise UserError(f"the FFN has {name!r:.40}; only {one_of(ACTIVATIONS)} can be read")
    return ACTIVATIONS[name]


def positions(config: Any) -> EncodingOptions:
    """The rotary positions that a config describes."""
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return rotary(config.rope_parameters, config.max_position_embeddings, width)


def windows(config: Any) -> Given:
    """The window of the later layers; UserError where layers with and without a bias alternate."""
    kinds = list(config.layer_types)
    first = kinds.index("sliding_attention") if "sliding_attention" in kinds else len(kinds)
    if kinds != ["full_attention"] * first + ["sliding_attention"] * (len(kinds) - first):
        raise UserError("layer_types change more than once; only a window from some layer on can be read")
    return {"window": config.sliding_window, "window_from": first} if first < len(kinds) else {}
