"""What mamba2 takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import Recipes

SMALL = {
    "model.d_model": 32,
    "model.n_heads": 2,
    "model.d_state": 16,
    "model.n_layers": 1,
    "model.conv": 0,
    "model.version": 3,
    "training.curriculum": (5, 10, 20),
    "training.stage_loss": 0.1,
}
WORDS = {"training.lr": 1e-3}
RECIPES: Recipes = {"answers": {"*": SMALL}, "words": {"*": WORDS}, "paper": {"*": {}}, "gpt2": {"*": {}}}
