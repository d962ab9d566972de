"""RegularGPT with one thing taken away (section 6.2): what its switches exclude. Never imports torch."""

from __future__ import annotations

from collections.abc import Iterator

from regulargpt.config import ModelConfig, RunConfig

# Longer words are refused where attention holds a number for each pair of positions.
MOST_PAIRED = 4096


def problems(config: RunConfig) -> Iterator[str]:
    """What cannot be run, each with the remedy.

    >>> list(problems(RunConfig().replaced({"model.levels": 2, "model.distinct_levels": 3})))
    ['model.distinct_levels = 3: with model.levels = 2 the last are never used; set it to at most 2']
    """
    model = config.model
    if model.name != "regulargpt":
        return
    if 0 < model.levels < model.distinct_levels:
        yield (
            f"model.distinct_levels = {model.distinct_levels}: with model.levels = {model.levels} the last are never "
            f"used; set it to at most {model.levels}"
        )
    if config.task.supervision == "nodes" and (reason := not_the_tree(model)) is not None:
        yield f"task.supervision = 'nodes': {reason}"
    lengths = [("task.train_len", config.task.train_len), ("evaluation.test_len", config.evaluation.test_len)]
    for key, length in [*lengths, *(("evaluation.beyond", length) for length in config.evaluation.beyond)]:
        if (reason := too_long(model, length)) is not None:
            yield f"{key} = {length}: {reason}"


def too_long(model: ModelConfig, length: int) -> str | None:
    """Why words of this length are too long for the model; None if they are not.

    >>> too_long(ModelConfig(attention="full"), 10_000)
    "at most 4,096 with model.attention = 'full'; choose a shorter length"
    """
    if model.name != "regulargpt" or model.attention != "full" or length <= MOST_PAIRED:
        return None
    return f"at most {MOST_PAIRED:,} with model.attention = 'full'; choose a shorter length"


def not_one_map(model: ModelConfig) -> str | None:
    """Why the levels of a RegularGPT are not one and the same map, at every length; None if they are.

    >>> not_one_map(ModelConfig()), not_one_map(ModelConfig(levels=5))
    (None, 'model.levels = 5 fixes the depth; needed is 0, a depth that grows with the word')
    """
    if model.thickness > 1 or model.distinct_levels > 1:
        return "only one weight-shared layer, thickness = 1 and distinct_levels = 1, is one map"
    return not_the_tree(model)


def not_the_tree(model: ModelConfig) -> str | None:
    """Why a node is not one map of C children or pads, in a tree as deep as its word is long; None if it is.

    >>> not_the_tree(ModelConfig(attention="full"))
    "model.attention = 'full' makes a state depend on every earlier one; needed is 'dilated'"
    """
    if model.levels:
        return f"model.levels = {model.levels} fixes the depth; needed is 0, a depth that grows with the word"
    if model.pad != "learned":
        return f"model.pad = '{model.pad}' composes fewer than C states where the word begins; needed is 'learned'"
    if model.attention != "dilated":
        return f"model.attention = '{model.attention}' makes a state depend on every earlier one; needed is 'dilated'"
    return None
