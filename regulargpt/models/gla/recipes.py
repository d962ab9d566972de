"""What gla takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import BETA2, Recipes, recurrent

LR = 3e-3
RECIPES: Recipes = {
    **recurrent(LR, n_heads=2, n_layers=2),
    "words": {"*": {"training.lr": LR, **BETA2}},
}
