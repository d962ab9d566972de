"""Which fields of a config change something in a run: the others are no reason to run it twice."""

from __future__ import annotations

from languages.task import Task
from regulargpt.config import RunConfig, value_of
from regulargpt.models import MODELS
from regulargpt.protocols import shown

# Of the training, these are about the tree of RegularGPT, and those about its supervised nodes.
TREE = {
    *("training.state_noise", "training.noise_below", "training.noise_growth", "training.certify_every"),
    *("training.anchor_steps", "training.anchor_windows", "training.anchor_lr", "training.anchor_noise"),
    *("training.anchor_contraction", "training.anchor_missed"),
}
NODES = {"training.node_weight", "training.compositions", "training.alignment"}
# These are about the words that are no members.
NON_MEMBERS = {
    f"{section}.{name}"
    for section in ("task", "evaluation")
    for name in ("members", "near_misses", "edits", "exchanges")
} | {"evaluation.both_classes"}
# Fields that say nothing while another one is at its default, which switches them off.
NEEDS = {
    "training.noise_below": "training.state_noise",
    "training.noise_growth": "training.noise_below",
    "training.anchor_steps": "training.certify_every",
    "training.anchor_windows": "training.anchor_steps",
    "training.anchor_lr": "training.anchor_steps",
    "training.anchor_noise": "training.anchor_steps",
    "training.anchor_contraction": "training.anchor_steps",
    "training.anchor_missed": "training.anchor_steps",
    "training.stage_below": "training.curriculum",
    **{
        f"{section}.{name}": f"{section}.near_misses"
        for section in ("task", "evaluation")
        for name in ("edits", "exchanges")
    },
}


def applies(key: str, config: RunConfig, task: Task) -> bool:
    """Whether the field with this dotted key changes something in this run.

    >>> import languages
    >>> parity, config = languages.get("parity"), RunConfig().replaced({"model.name": "lstm"})
    >>> [applies(key, config, parity) for key in ("model.d_model", "model.chunk_size", "task.edits", "seed")]
    [True, False, False, True]
    """
    return why_unused(key, config, task) is None


def why_unused(key: str, config: RunConfig, task: Task) -> str | None:
    """What in this run makes the field change nothing; None if it changes something.

    >>> import languages
    >>> why_unused("task.edits", RunConfig(), languages.get("parity"))
    'for parity with regulargpt'
    >>> why_unused("training.anchor_lr", RunConfig(), languages.get("parity"))
    'with training.certify_every = 0'
    """
    if not _fits(key, config, task):
        return f"for {config.task.language} with {config.model.name}"
    if (other := _switch(key, config)) is not None:
        return f"with {other} = {shown(value_of(config, other))}"
    return None


def _fits(key: str, config: RunConfig, task: Task) -> bool:
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


def _switch(key: str, config: RunConfig) -> str | None:
    """The field at its default that switches this one off."""
    other = NEEDS.get(key)
    if other is None:
        return None
    return _switch(other, config) or (None if value_of(config, other) else other)
