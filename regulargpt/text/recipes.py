"""The recipes of the wing, which entry points name: of texts, and of retrieval tasks."""

from __future__ import annotations

from regulargpt.config.recipes import Fields, Recipe

# A small language model: 2.5 million bytes of training, two minutes on one core.
OF_TEXTS: Fields = {
    "objective.name": "language_model",
    "model.d_model": 256,
    "training.optimiser": "adamw",
    "training.steps": 600,
    "training.batch_size": 64,
    "training.lr": 2e-3,
    "training.beta2": 0.95,
    "training.weight_decay": 0.1,
    "training.warmup": 100,
    "training.schedule": "cosine",
    "training.log_every": 50,
    "training.checkpoint_every": 200,
    "evaluation.test_len": 0,
    "evaluation.factor": 2,
    "evaluation.samples": 128,
    "evaluation.symbols": 33_554_432,
}
# Retrieval: two minutes on one core. When a network begins to answer differs from seed to seed, so it is trained until
# it does.
OF_RETRIEVAL: Fields = {
    "objective.name": "retrieve",
    "model.d_model": 64,
    "model.d_ff": 256,
    "model.n_heads": 4,
    "training.optimiser": "adamw",
    "training.steps": 4000,
    "training.batch_size": 64,
    "training.lr": 3e-3,
    "training.beta2": 0.98,
    "training.warmup": 100,
    "training.solved_loss": 0.03,
    "training.cooldown": 200,
    "training.log_every": 50,
    "training.checkpoint_every": 200,
    "evaluation.test_len": 0,
    "evaluation.factor": 2,
    "evaluation.samples": 128,
    "evaluation.symbols": 33_554_432,
}
# With 64 symbols there are three documents, and a network stays at guessing among them.
DOCUMENTS: Fields = {"data.train_len": 96}

TEXT = Recipe(
    "a small language model over bytes: two layers, or chunks of eight twice; 600 steps with cosine decay",
    {"*": OF_TEXTS},
    is_for="text",
    after="gpt2",
)
RETRIEVAL = Recipe(
    "a small network that answers questions: two layers of width 64, until it does, or for 4000 steps",
    {"*": OF_RETRIEVAL, "retrieval:documents": DOCUMENTS},
    is_for="retrieval",
    after="text",
)
