"""Tiny random decoders of transformers, one of each kind that can be read, and what their config.json may say."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.regulargpt.checkpoint_folders import quiet

VOCABULARY, TRAINED = 50, 64
SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
         "max_position_embeddings": TRAINED}  # fmt: skip
SPECIAL = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 1}
OF_GPT2 = {"n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": TRAINED}
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": {"model_type": "gpt2", **OF_GPT2},
    "gpt2-untied": {"model_type": "gpt2", **OF_GPT2, "n_inner": 20, "activation_function": "relu",
                    "tie_word_embeddings": False, "layer_norm_epsilon": 1e-3},
    "pythia": {"model_type": "gpt_neox", **SIZES, "rotary_pct": 0.34},
    "neox": {"model_type": "gpt_neox", **SIZES, "rotary_pct": 1.0, "use_parallel_residual": False,
             "attention_bias": False, "tie_word_embeddings": True, "hidden_act": "gelu_fast"},
    "llama": {"model_type": "llama", **SIZES, "num_key_value_heads": 2},
    "llama-biases": {"model_type": "llama", **SIZES, "attention_bias": True, "mlp_bias": True, "head_dim": 10,
                     "tie_word_embeddings": True, "rope_theta": 500.0, "hidden_act": "gelu_pytorch_tanh"},
    "mistral": {"model_type": "mistral", **SIZES, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 7},
    "mistral-full": {"model_type": "mistral", **SIZES, "num_key_value_heads": 4, "sliding_window": None},
    "qwen2": {"model_type": "qwen2", **SIZES, "num_key_value_heads": 1, "tie_word_embeddings": True},
    "qwen2-window": {"model_type": "qwen2", **SIZES, "num_key_value_heads": 2, "use_sliding_window": True,
                     "sliding_window": 5, "max_window_layers": 1},
    "qwen3": {"model_type": "qwen3", **SIZES, "num_key_value_heads": 2, "head_dim": 10},
}  # fmt: skip
PAIRS = 3  # of a head of 6
ROPES: dict[str, dict[str, Any]] = {
    "linear": {"rope_type": "linear", "factor": 3.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
    "yarn-slow": {"rope_type": "yarn", "factor": 2.5, "original_max_position_embeddings": 40, "beta_fast": 6.0,
                  "beta_slow": 0.7, "attention_factor": 0.8},
    "yarn-mscale": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 20, "mscale": 1.2,
                    "mscale_all_dim": 0.6},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 32, "low_freq_factor": 0.5,
               "high_freq_factor": 3.0},
    "longrope": {"rope_type": "longrope", "original_max_position_embeddings": 16, "short_factor": [1.0, 1.3, 1.5],
                 "long_factor": [1.2, 2.0, 5.5]},
    "longrope-factor": {"rope_type": "longrope", "original_max_position_embeddings": 16, "factor": 2.0,
                        "short_factor": [1.0] * PAIRS, "long_factor": [3.0] * PAIRS},
}  # fmt: skip


def network(given: dict[str, Any], seed: int = 0) -> Any:
    """A random network of that library, whose norms and biases are not those that every new one has."""
    library = quiet()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = library.AutoModelForCausalLM.from_config(library.AutoConfig.for_model(**(SPECIAL | given))).eval()
        for name, parameter in model.named_parameters():
            is_norm = "norm" in name or "ln_" in name
            nn.init.normal_(parameter, 1.0 if is_norm and name.endswith("weight") else 0.0, 0.25)
    return model


def made(folder: Path, kind: str, **more: Any) -> Any:
    """A network of a kind in a folder, and the network."""
    model = network(KINDS[kind] | more)
    model.save_pretrained(folder)
    return model


def byte_tokenizer() -> Any:
    """Letters and a space as tokens, and what is anything else; of 1 byte each."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = {word: number for number, word in enumerate(["<s>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyzĠĊ.,"])}
    tokenizer = Tokenizer(models.BPE(words, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return tokenizer
