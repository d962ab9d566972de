"""What delta takes of the recipes. Never imports torch."""

from regulargpt.models.recipes import BETA2, Recipes

# One layer without a convolution: its state is small, and theorem and refutation speak of it. Parity takes 200 steps.
SMALL = {
    "model.d_model": 32,
    "model.n_heads": 2,
    "model.n_layers": 1,
    "model.conv": 0,
    "model.range": "signed",
}
WIDE = {"model.d_model": 256, "model.n_heads": 8}
# With range = signed parity takes 600 steps and the cooldown.
WORDS = {"training.lr": 1e-3, **BETA2}
RECIPES: Recipes = {"answers": {"*": SMALL}, "words": {"*": WORDS}, "paper": {"*": WIDE}, "gpt2": {"*": WIDE}}
