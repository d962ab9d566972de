"""What mamba takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import Recipes

# The factors of a step start near 1 and have to come near -1: shortest words first teach that in a minute.
SMALL = {
    "model.d_model": 32,
    "model.n_layers": 1,
    "model.conv": 0,
    "model.range": "signed",
    "training.curriculum": (5, 10, 20),
    "training.stage_loss": 0.1,
}
WORDS = {"training.lr": 1e-3}
RECIPES: Recipes = {"answers": {"*": SMALL}, "words": {"*": WORDS}, "paper": {"*": {}}, "gpt2": {"*": {}}}
