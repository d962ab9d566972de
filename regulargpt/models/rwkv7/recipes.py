"""What rwkv7 takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import Recipes

SMALL = {"model.d_model": 32, "model.n_heads": 2, "model.n_layers": 1}
RECIPES: Recipes = {"answers": {"*": SMALL}, "words": {"*": {"training.lr": 1e-3}}}
