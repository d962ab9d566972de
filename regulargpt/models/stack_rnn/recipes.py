"""What stack-rnn takes of the recipes: `RECIPES[recipe][language]`; `BRACKETED` stands for all languages with brackets.

"*" stands for every language. Never imports torch.
"""

from __future__ import annotations

from regulargpt.models.recipes import BETA2, BRACKETED, Recipes

# Few units: they learn as well, and have fewer states. Solved is who still answers with certain actions and signs.
# Decay makes units forget what no answer needs: without it Stack Manipulation has thousands of states, with it 200.
HARDENED = {
    "model.d_model": 32,
    "model.hardening": 1.0,
    "model.hardening_loss": 0.02,
    "training.optimiser": "adamw",
    "training.weight_decay": 0.3,
    "training.lr": 3e-3,
    "training.warmup": 0,
    "training.solved_loss": 0.01,
    "training.cooldown": 600,
    **BETA2,
}
# One answer a word teaches slowly: short words first. Where the loss is to be as low as for rows of answers before the
# network hardens, it waits in vain: tanh holds what signs have to learn anew.
BRACKETS = {
    "model.hardening_loss": 0.1,
    "training.solved_loss": 0.02,
    "training.cooldown": 1000,
    "training.curriculum": (10, 20),
    "training.stage_loss": 0.1,
}
# Deletang et al. 2023, appendix: one stack of cells of 8 numbers, all actions in superposition, in tests, too.
PUBLISHED = {
    "model.controller": "elman-relu",
    "model.d_model": 256,
    "model.actions": "learned",
    "model.tests": "superposition",
}
LEARNED = {"*": HARDENED, BRACKETED: BRACKETS}
RECIPES: Recipes = {"answers": LEARNED, "words": LEARNED, "paper": {"*": PUBLISHED}}
