"""What mlstm and slstm take of the recipes. Never imports torch."""

from __future__ import annotations

from typing import Any

from regulargpt.models.recipes import BETA2, Recipes

WIDE = {"model.d_model": 64, "model.n_layers": 2}
# Boxes are proven of one block; its norm sees the symbol that was read last beside what is carried.
SMALL = {"model.d_model": 32, "model.n_layers": 1, "model.mlp": "none"}


def xlstm(**answers: Any) -> Recipes:
    """Two blocks of 64; where it is to be proven one of 32, with the model's options `answers`."""
    small = SMALL | {f"model.{key}": value for key, value in answers.items()}
    return {
        "answers": {"*": small},
        "words": {"*": {**WIDE, "training.lr": 1e-3, **BETA2}},
        "paper": {"*": WIDE},
        "gpt2": {"*": WIDE},
    }


MLSTM, SLSTM = xlstm(), xlstm()
