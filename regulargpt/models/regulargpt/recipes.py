"""What RegularGPT takes of the recipes: `RECIPES[recipe][language]`, "*" for every language. Never imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A constant + in front makes chunks of two (operator, digit) pairs.
PAIRS = {"data.name": "modular-arithmetic:plus=true"}
# State noise is raised as the loss allows: states that come back from it do not drift on long words.
SETTLED = {
    "model.state_norm": True,
    "model.state_noise": 0.4,
    "model.noise_loss": 0.2,
    "training.solved_loss": 0.05,
    "training.cooldown": 600,
    "evaluation.extra_lengths": (10_000, 1_000_000),
}
# The steps, learning rates and widths of the original code's run.sh.
RUN_SH: dict[str, tuple[int, float, int]] = {
    "even-pairs": (10_000, 3e-5, 256),
    "parity": (100_000, 3e-4, 64),
    "cycle-navigation": (10_000, 5e-4, 256),
    "modular-arithmetic": (1_000_000, 1e-4, 256),
    "dyck-2": (100_000, 5e-4, 64),
    "dyck-3": (100_000, 1e-4, 64),
    "dyck-4": (100_000, 1e-4, 64),
    "dyck-12": (50_000, 1e-4, 64),
    "tomita-3": (100_000, 5e-4, 64),
    "tomita-4": (100_000, 5e-4, 64),
    "tomita-5": (100_000, 1e-4, 64),
    "tomita-6": (100_000, 5e-4, 64),
}


def of_run_sh(language: str) -> dict[str, Any]:
    """The options of a language in run.sh.

    >>> of_run_sh("modular-arithmetic")["data.name"], of_run_sh("parity")["model.d_ff"]
    ('modular-arithmetic:plus=true', 256)
    """
    steps, lr, width = RUN_SH[language]
    return {
        "training.steps": steps,
        "training.lr": lr,
        "model.d_model": width,
        "model.d_ff": 4 * width,
        "model.embedding_scale": width**0.5,
        **(PAIRS if language == "modular-arithmetic" else {}),
    }


PAPER = {
    "model.gates": False,
    "model.n_heads": 8,
    "model.norm": "post",
    "model.activation": "relu",
    "model.attention_bias": False,
    "model.embedding_std": 0.02,
    "model.embedding_scale": 8.0,
    "model.state_norm": False,
}
GPT2 = {
    "model.gates": False,
    "model.d_model": 256,
    "model.n_heads": 8,
    "model.d_ff": 1024,
    "model.embedding_std": 0.02,
    "model.state_norm": False,
}
# Chunks of eight, twice: a small language model as wide as the Transformer of this recipe.
TEXT = {
    "model.d_model": 128,
    "model.d_ff": 512,
    "model.n_heads": 4,
    "model.tied": True,
    "model.chunk_size": 8,
    "model.thickness": 2,
    "model.embedding_std": 0.02,
    "model.embedding_scale": 128**0.5,
}
RECIPES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "answers": {"*": {"model.gates": True}},
    "words": {"*": SETTLED, "modular-arithmetic": PAIRS},
    "paper": {"*": PAPER, **{language: of_run_sh(language) for language in RUN_SH}},
    "gpt2": {"*": GPT2},
    "text": {"*": TEXT},
}
