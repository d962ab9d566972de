"""What mamba takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import Recipes

SMALL = {"model.d_model": 32, "model.n_layers": 1, "model.conv": 0, "model.range": "signed", "training.lr": 3e-3}
WORDS = {"training.lr": 1e-3}
RECIPES: Recipes = {"answers": {"*": SMALL}, "words": {"*": WORDS}, "paper": {"*": {}}, "gpt2": {"*": {}}}
