"""What differs in the conditions: a cell's configs against what the thesis says of its own runs, as short phrases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from experiments.phrases import distinct, listed, ordinal, span, text_of, unlike
from experiments.published import published
from regulargpt.config.recipes import EVERY, resolve
from regulargpt.config.schema import RunConfig, flat, value_of, why_unused
from regulargpt.data.options import BalancedOptions, Mixture
from regulargpt.options import defaults

HYPER_PARAMETERS = "table-6.5"
# What a publication says of a recipe that is not that of Table 6.5, so that nothing of it is compared.
ITS_OWN = "its own"
STEPS, AUTOMATON = "phases.table_fine_tuning.steps", "phases.table_fine_tuning.automaton"
TABLES = {
    "known": "trained on the table of the language's automaton, too",
    "learned": "trained on the table of the automaton that its own answers give, too",
}
WORDS_A_LENGTH = 512  # not in the thesis: what the original code draws
# The recipe that says what the thesis says of the model: its wording, and for baselines what the original code has.
DESCRIBED = {"regulargpt": "gpt2"}
OTHERWISE = "paper"

SECTIONS = ("model", "training", "objective", "phases")
# Options that sentences of their own compare, and options that change no score.
COMPARED_APART = {"training.steps", "training.lr", "training.solved_loss", "training.cooldown", EVERY, STEPS}
IMMATERIAL = {"training.loss_memory", "training.log_every", "training.checkpoint_every"}
# Parameters of languages that the thesis does not name; those that are not here are what a column is about.
PARAMETERS = {
    "plus=true": "a constant + before each expression, as the original code has it",
    "depth=every": "members of every depth at every length",
    **{f"members={sampler}": "members drawn as the original code draws them" for sampler in ("blocks", "runs", "walk")},
}
SUPERVISION = {
    "prefixes": "shown the answer to every prefix, not the final one only",
    "next": "shown the legal next symbols after every prefix, not the final answer",
}


def differences(configs: Sequence[RunConfig], stated: Mapping[str, Any], length: int | None = None) -> tuple[str, ...]:
    """The phrases for the runs of a cell; `stated` is what the publication states of the cell (`Published.conditions_of`).

    `length` is the single length that the cell shows, None for the scored range.

    >>> config = resolve("gpt2", "regulargpt", "parity", preset="thesis")
    >>> stated = published("table-6.1").conditions_of("parity")
    >>> differences([config], stated)
    ('1 seed, not 3', 'learning rate 0.0003 only, of 0.0001, 0.0003 and 0.0005')
    >>> differences([config.replaced({"seed": s, "training.lr": lr}) for s in range(3) for lr in (1e-4, 3e-4, 5e-4)], stated)
    ()
    """  # noqa: E501
    if not configs:
        return ()
    if stated.get("recipe") == ITS_OWN:
        parts = lengths(configs, stated, length), seeds(configs, stated), steps(configs, stated.get("training.steps"))
        return tuple(dict.fromkeys(phrase for part in parts for phrase in part))
    reference = as_described(configs[0])
    parts = (
        lengths(configs, stated, length),
        effort(configs, stated),
        words(configs),
        supervision(configs, stated),
        fields(configs, reference),
    )
    return tuple(dict.fromkeys(phrase for part in parts for phrase in part))


def as_described(config: RunConfig) -> RunConfig:
    """The config that the thesis describes for this model and language."""
    model, language = config.model.name, config.data.name.partition(":")[0]
    recipe = DESCRIBED.get(model, OTHERWISE)
    described = resolve(recipe, model, language)
    chunk_size = value_of(config, "model.chunk_size")
    return described if chunk_size is None else described.replaced({"model.chunk_size": chunk_size})


def lengths(configs: Sequence[RunConfig], stated: Mapping[str, Any], length: int | None) -> Iterator[str]:
    """Which lengths were trained on and tested."""
    if (last := stated.get("data.train_len")) is not None:
        trained = (span(c.data.shortest, c.data.train_len) for c in configs)
        yield from unlike("trained on lengths {}", trained, span(stated.get("data.train_from", 1), last))
    if (last := stated.get("evaluation.test_len")) is not None:
        tested = (span(length or c.scored[0], length or c.test_len) for c in configs)
        yield from unlike("scored on lengths {}", tested, span(stated["evaluation.test_from"], last))
        for stride in distinct(c.evaluation.stride for c in configs):
            if stride > 1 and length is None:
                yield f"every {ordinal(stride)} length tested, not every one"
        samples = (str(c.evaluation.samples) for c in configs)
        yield from unlike("{} test words a length", samples, str(WORDS_A_LENGTH))


def seeds(configs: Sequence[RunConfig], stated: Mapping[str, Any]) -> Iterator[str]:
    """How many seeds."""
    count = len({config.seed for config in configs})
    if stated.get("seeds", count) != count:
        yield f"{count} seed{'s' * (count != 1)}, not {stated['seeds']}"


def steps(configs: Sequence[RunConfig], most: int | None) -> Iterator[str]:
    """How many steps, at most."""
    if most is not None:
        yield from unlike("at most {} training steps", (f"{c.training.steps:,}" for c in configs), f"{most:,}")


def effort(configs: Sequence[RunConfig], stated: Mapping[str, Any]) -> Iterator[str]:
    """How many seeds and steps, at which rates, and when it ends."""
    yield from seeds(configs, stated)
    yield from steps(configs, stated.get("training.steps", hyper_parameter("training.steps")[0]))
    rates, published_rates = sorted({config.training.lr for config in configs}), hyper_parameter("training.lr")
    if tuple(rates) != published_rates:
        part = "only, of" if set(rates) < set(published_rates) else "and not"
        yield f"learning rate {listed(rates)} {part} {listed(published_rates)}"
    if any(config.training.solved_loss and not value_of(config, EVERY) for config in configs):
        yield "training ends early when its loss is low, not after all steps"
    for after in distinct(value_of(config, STEPS) for config in configs if value_of(config, EVERY)):
        then = f", then {after:,} steps on its table" if after else ""
        yield f"training goes on until the certificate holds, if it does within those steps{then}"


def words(configs: Sequence[RunConfig]) -> Iterator[str]:
    """How the words are drawn."""
    for config in configs:
        yield from (PARAMETERS[p] for p in config.data.name.partition(":")[2].split(",") if p in PARAMETERS)
    if any(value_of(config, "data.test.both_classes") for config in configs):
        yield "lengths without members, or without non-members, are left out"
    balanced = [c.data if isinstance(c.data, BalancedOptions) else None for c in configs]
    training = [data.training if data else Mixture() for data in balanced]
    test = [data.test if data else Mixture() for data in balanced]
    for where, section in (("training", training), ("the test", test)):
        for share in distinct(part.near_misses for part in section):
            if share:
                yield f"{100 * share:g} % of the non-members in {where} are near misses"
        for share in distinct(part.swaps for part in section if part.near_misses):
            if share:
                yield f"in {100 * share:g} % of the near misses in {where} two symbols changed places"
        yield from unlike(f"{{}} members in {where}", (f"{100 * part.members:g} %" for part in section), "50 %")


def supervision(configs: Sequence[RunConfig], stated: Mapping[str, Any] = MappingProxyType({})) -> Iterator[str]:
    """What is shown in training, and how the answer is read."""
    for name in distinct(c.objective.name for c in configs):
        if name in SUPERVISION:
            yield SUPERVISION[name]
    token = "objective.output_token"
    if any(value_of(c, token) for c in configs) and not stated.get(token):
        yield "the answer is read at an empty token after the word"


def words_and_supervision(configs: Sequence[RunConfig]) -> tuple[str, ...]:
    """What decides whether our own cells can be compared, where no publication states conditions."""
    return tuple(dict.fromkeys([*words(configs), *supervision(configs), *tables(configs)]))


def tables(configs: Sequence[RunConfig]) -> Iterator[str]:
    """Which table is trained on besides words."""
    for automaton in distinct(value_of(config, AUTOMATON) for config in configs if value_of(config, EVERY)):
        yield TABLES[automaton]


def fields(configs: Sequence[RunConfig], reference: RunConfig) -> Iterator[str]:
    """All other options of model, training, supervision and phases that are not as described, a phrase a recipe."""
    for recipe in distinct(c.recipe for c in configs):
        of_recipe = [c for c in configs if c.recipe == recipe]
        known = dict.fromkeys(key for config in of_recipe for key in flat(config))
        found = [text for key in known if (text := field(key, of_recipe, reference))]
        if found:
            yield f"recipe {recipe}: " + "; ".join(found)


def field(key: str, configs: Sequence[RunConfig], reference: RunConfig) -> str:
    """How a field differs, or nothing."""
    section, name = key.partition(".")[0], key.rpartition(".")[2]
    if section not in SECTIONS or key in COMPARED_APART | IMMATERIAL or name in ("name", "chunk_size", "output_token"):
        return ""
    there = [config for config in configs if key in flat(config)]
    values = distinct(value_of(config, key) for config in there)
    expected = value_of(reference, key) if section in ("model", "training") else default(key, there[0])
    if values == [expected]:
        return ""
    if expected is None or all(why_unused(config, key) is not None for config in configs):
        return ""
    return f"{key.removeprefix('phases.') if section == 'phases' else name} {listed(values)}, not {text_of(expected)}"


def default(key: str, config: RunConfig) -> Any:
    """The default of an option of the supervision or of a phase: the thesis has neither."""
    phases = {phase.name: phase for phase in config.phases}
    part = config.objective if key.startswith("objective.") else phases[key.split(".")[1]]
    return defaults(type(part))[key.rpartition(".")[2]]


def hyper_parameter(row: str) -> tuple[Any, ...]:
    """A line of the table of hyper-parameters.

    >>> hyper_parameter("training.batch_size")
    (128,)
    """
    found = published(HYPER_PARAMETERS).row(row)
    assert found is not None, row
    return found.values["value"]
