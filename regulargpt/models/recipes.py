"""What the baselines take of the recipes: `[recipe][language]`, "*" for every language. Never imports torch.

Their sizes and rates are those of section 6.4 and of the code behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Recipes = Mapping[str, Mapping[str, Mapping[str, Any]]]
BETA2 = {"training.beta2": 0.999}
BRACKETED = "( )"  # in place of a language, and the name of none: every language with brackets


def recurrent(lr: float, **answers: Any) -> Recipes:
    """A recurrent network of 256 units; where it is to be proven of 32, with the model's options `answers`.

    >>> recurrent(1e-3)["words"]["*"]["training.lr"], recurrent(1e-3, activation="tanh")["answers"]
    (0.001, {'*': {'model.d_model': 32, 'model.activation': 'tanh'}})
    """
    width = {"*": {"model.d_model": 256}}
    small = {"model.d_model": 32, **{f"model.{key}": value for key, value in answers.items()}}
    of_words = {"model.d_model": 256, "training.lr": lr, **BETA2}
    return {"answers": {"*": small}, "words": {"*": of_words}, "paper": width, "gpt2": width}


# PD-SSM with one layer, which is enough for any automaton of at most as many states as it has numbers. Its P are those
# of the symbols, so that a step takes a fifth of one of two layers. In `paper` all is of Terzić et al. 2025.
ONE_LAYER = {"model.d_model": 32, "model.n_layers": 1, "model.gate_bias": 3.0}
PD_SSM: Recipes = {
    "answers": {"*": ONE_LAYER},
    "words": {"*": {**ONE_LAYER, "training.lr": 5e-3, **BETA2}},
    "paper": {"*": {"model.d_model": 128, "model.dictionary": 8, "training.lr": 2e-3, "training.weight_decay": 1e-2}},
    "gpt2": {"*": {"model.d_model": 128}},
}
ENCODER = {
    "model.n_layers": 5,
    "model.n_heads": 8,
    "model.norm": "post",
    "model.activation": "relu",
    "model.dropout": 0.1,
    "model.encoding.name": "transformer_xl",
    "model.causal": False,
}
TRANSFORMER: Recipes = {
    "words": {"*": {**ENCODER, "training.lr": 3e-4, **BETA2}},
    "paper": {"*": ENCODER},
    "gpt2": {"*": ENCODER},
    "text": {
        "*": {
            "model.d_model": 128,
            "model.d_ff": 512,
            "model.n_heads": 4,
            "model.tied": True,
            "model.n_layers": 2,
            "model.encoding.name": "kerple_log",
        }
    },
    "retrieval": {"*": {"model.n_layers": 2, "model.encoding.name": "t5"}},
}
# One block of four heads without positions, as Fan et al. 2025 have it; a pass adds no weights.
LOOPED: Recipes = {"words": {"*": {"training.lr": 1e-3, **BETA2}}}
# The optimiser, the batch and the L2 norm of Pert et al. 2026.
PERT2026 = {
    "training.optimiser": "amsgrad",
    "training.batch_size": 256,
    "training.beta2": 0.999,
    "training.weight_decay": 1e-3,
}
LDRU: Recipes = {"words": {"*": PERT2026}}
# The size of Deletang et al. 2023; no other is known to do well on few steps.
TAPE_RNN: Recipes = {"paper": {"*": {"model.d_model": 256}}}
# A recurrence that no symbol changes: small where it is to be proven.
S4D: Recipes = {
    "answers": {"*": {"model.d_model": 32, "model.d_state": 16, "model.n_layers": 1}},
    "words": {"*": {"training.lr": 1e-3}},
}
