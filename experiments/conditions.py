"""What differs in the conditions: a cell's configs against what the thesis says of its own runs, as short phrases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import languages
from experiments.phrases import distinct, listed, ordinal, span, text_of, unlike
from experiments.published import published
from regulargpt.config import RunConfig, keys, value_of
from regulargpt.recipes import resolve
from regulargpt.sweep.applies import applies

HYPER_PARAMETERS = "table-6.5"
WORDS_A_LENGTH = 512  # not in the thesis: what the original code draws
# The recipe that says what the thesis says of the model: its wording, and for baselines what the original code has.
DESCRIBED = {"regulargpt": "gpt2"}
OTHERWISE = "paper"

# Said in sentences of their own, or of no consequence for a score.
TOLD = {
    "training.steps",
    "training.lr",
    "training.solved_below",
    "training.cooldown",
    "training.certify_every",
    "training.anchor_steps",
}
SILENT = {"training.loss_memory", "training.log_every", "training.checkpoint_every"}
# Parameters of languages that the thesis does not name; those that are not here are what a column is about.
PARAMETERS = {
    "plus=true": "a constant + before each expression, as the original code has it",
    "depth=every": "members of every depth at every length",
    **{f"members={how}": "members drawn as the original code draws them" for how in ("blocks", "runs", "walk")},
}
SUPERVISION = {
    "every": "shown the answer to every prefix, not the final one only",
    "next": "shown the legal next symbols after every prefix, not the final answer",
    "nodes": "shown the answer and the transition at every node of the tree, not the final answer only",
}


def differences(configs: Sequence[RunConfig], said: Mapping[str, Any], length: int | None = None) -> tuple[str, ...]:
    """The phrases for the runs of a cell; `said` is what the publication says of the cell (`Published.conditions_of`).

    `length` is the single length that the cell shows, None for the scored range.

    >>> config = resolve("gpt2", "regulargpt", "parity", "uniform")
    >>> said = published("table-6.1").conditions_of("parity")
    >>> differences([config], said)
    ('1 seed, not 3', 'learning rate 0.0003 only, of 0.0001, 0.0003 and 0.0005')
    >>> differences([config.replaced({"seed": s, "training.lr": lr}) for s in range(3) for lr in (1e-4, 3e-4, 5e-4)], said)
    ()
    """  # noqa: E501
    if not configs:
        return ()
    reference = as_described(configs[0])
    parts = (
        lengths(configs, said, length),
        effort(configs, said),
        words(configs),
        shown(configs),
        fields(configs, reference),
    )
    return tuple(dict.fromkeys(phrase for part in parts for phrase in part))


def as_described(config: RunConfig) -> RunConfig:
    """The config that the thesis describes for this model and language."""
    model, language = config.model.name, config.task.language.partition(":")[0]
    recipe = DESCRIBED.get(model, OTHERWISE)
    return resolve(recipe, model, language, languages.get(language).sampling).replaced(
        {"model.chunk_size": config.model.chunk_size}
    )


def lengths(configs: Sequence[RunConfig], said: Mapping[str, Any], length: int | None) -> Iterator[str]:
    """Which lengths were trained on and tested."""
    if (last := said.get("task.train_len")) is not None:
        trained = (span(c.task.train_from, c.task.train_len) for c in configs)
        yield from unlike("trained on lengths {}", trained, span(1, last))
    if (last := said.get("evaluation.test_len")) is not None:
        tested = (span(length or c.scored.start, length or c.evaluation.test_len) for c in configs)
        yield from unlike("scored on lengths {}", tested, span(said["evaluation.test_from"], last))
        for stride in distinct(c.evaluation.stride for c in configs):
            if stride > 1 and length is None:
                yield f"every {ordinal(stride)} length tested, not every one"
        samples = (str(c.evaluation.samples) for c in configs)
        yield from unlike("{} test words a length", samples, str(WORDS_A_LENGTH))


def effort(configs: Sequence[RunConfig], said: Mapping[str, Any]) -> Iterator[str]:
    """How many seeds and steps, at which rates, and when it ends."""
    seeds = len({config.seed for config in configs})
    if said.get("seeds", seeds) != seeds:
        yield f"{seeds} seed{'s' * (seeds != 1)}, not {said['seeds']}"
    steps = hyper_parameter("training.steps")
    yield from unlike("at most {} training steps", (f"{c.training.steps:,}" for c in configs), f"{steps[0]:,}")
    rates, published_rates = sorted({config.training.lr for config in configs}), hyper_parameter("training.lr")
    if tuple(rates) != published_rates:
        part = "only, of" if set(rates) < set(published_rates) else "and not"
        yield f"learning rate {listed(rates)} {part} {listed(published_rates)}"
    if any(config.training.solved_below and not config.training.certify_every for config in configs):
        yield "training ends early when its loss is low, not after all steps"
    for after in distinct(config.training.anchor_steps for config in configs if config.training.certify_every):
        then = f", then {after:,} steps on its table" if after else ""
        yield f"training goes on until the certificate holds, if it does within those steps{then}"


def words(configs: Sequence[RunConfig]) -> Iterator[str]:
    """How the words are drawn."""
    for config in configs:
        yield from (PARAMETERS[p] for p in config.task.language.partition(":")[2].split(",") if p in PARAMETERS)
    if any(config.evaluation.both_classes for config in configs):
        yield "lengths without members, or without non-members, are left out"
    for where, section in (("training", [c.task for c in configs]), ("the test", [c.evaluation for c in configs])):
        for share in distinct(part.near_misses for part in section):
            if share:
                yield f"{100 * share:g} % of the non-members in {where} are near misses"
        for share in distinct(part.exchanges for part in section if part.near_misses):
            if share:
                yield f"in {100 * share:g} % of the near misses in {where} two symbols changed places"
        yield from unlike(f"{{}} members in {where}", (f"{100 * part.members:g} %" for part in section), "50 %")


def shown(configs: Sequence[RunConfig]) -> Iterator[str]:
    """What is shown in training, and how the answer is read."""
    for supervision in distinct(c.task.supervision for c in configs):
        if supervision in SUPERVISION:
            yield SUPERVISION[supervision]
    if any(c.task.output_token for c in configs):
        yield "the answer is read at an empty token after the word"


def fields(configs: Sequence[RunConfig], reference: RunConfig) -> Iterator[str]:
    """All other fields of model and training that are not as described, in one phrase a recipe."""
    for recipe in distinct(c.recipe for c in configs):
        of_recipe = [c for c in configs if c.recipe == recipe]
        found = [text for key in keys() if (text := field(key, of_recipe, reference))]
        if found:
            yield f"recipe {recipe}: " + "; ".join(found)


def field(key: str, configs: Sequence[RunConfig], reference: RunConfig) -> str:
    """How a field differs, or nothing."""
    section, _, name = key.rpartition(".")
    if section not in ("model", "training") or key in TOLD | SILENT or name in ("name", "chunk_size"):
        return ""
    values, expected = distinct(value_of(config, key) for config in configs), value_of(reference, key)
    if values == [expected]:
        return ""
    task = languages.get(configs[0].task.language)
    if not any(applies(key, config, task) for config in configs):
        return ""
    return f"{name} {listed(values)}, not {text_of(expected)}"


def hyper_parameter(row: str) -> tuple[Any, ...]:
    """A line of the table of hyper-parameters.

    >>> hyper_parameter("training.batch_size")
    (128,)
    """
    found = published(HYPER_PARAMETERS).row(row)
    assert found is not None, row
    return found.values["value"]
