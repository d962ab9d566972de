"""What stack-rnn takes of the recipes: `RECIPES[recipe][language]`, "*" for every language. Never imports torch."""

from __future__ import annotations

from regulargpt.models.recipes import BETA2, Recipes

# Few units: they learn as well, and have fewer states. Solved is who still answers with certain actions and signs.
HARDENED = {
    "model.d_model": 32,
    "model.hardening": 1.0,
    "model.hardening_loss": 0.02,
    "training.optimiser": "adam",
    "training.lr": 3e-3,
    "training.warmup": 0,
    "training.solved_loss": 0.01,
    "training.cooldown": 600,
    **BETA2,
}
RECIPES: Recipes = {"answers": {"*": HARDENED}, "words": {"*": HARDENED}}
