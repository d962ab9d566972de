"""What rwkv7 takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import BETA2, Recipes, recurrent

LR = 3e-3
RECIPES: Recipes = {
    **recurrent(LR, n_heads=2, n_layers=1, range="signed"),
    "words": {"*": {"training.lr": LR, **BETA2}},
}
