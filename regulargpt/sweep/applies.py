"""Which fields of a config change something in a run: the others are no reason to run it twice."""

from __future__ import annotations

from languages.task import Task
from regulargpt.config import RunConfig
from regulargpt.models import MODELS

# Of the training, these are about the tree of RegularGPT, and those about its supervised nodes.
TREE = {
    *("training.state_noise", "training.noise_below", "training.noise_growth", "training.certify_every"),
    *("training.anchor_steps", "training.anchor_windows", "training.anchor_lr", "training.anchor_noise"),
    *("training.anchor_contraction", "training.anchor_missed"),
}
NODES = {"training.node_weight", "training.compositions", "training.alignment"}
# These are about the words that are no members.
NON_MEMBERS = {"evaluation.both_classes"} | {
    f"{section}.{name}"
    for section in ("task", "evaluation")
    for name in ("members", "near_misses", "edits", "exchanges")
}


def applies(key: str, config: RunConfig, task: Task) -> bool:
    """Whether the field with this dotted key changes something in this run.

    >>> import languages
    >>> parity, config = languages.get("parity"), RunConfig().replaced({"model.name": "lstm"})
    >>> [applies(key, config, parity) for key in ("model.d_model", "model.chunk_size", "task.edits", "seed")]
    [True, False, False, True]
    """
    section, _, name = key.rpartition(".")
    if section == "model" and name != "name" and config.model.name in MODELS:
        return name in MODELS[config.model.name].fields
    if key in TREE:
        return config.model.name == "regulargpt"
    if key in NODES:
        return config.task.supervision == "nodes"
    if key in NON_MEMBERS:
        return task.sampling == "balanced"
    return True
