"""A run, complete and resolved: what config.toml holds. Every part owns its options; here they are nested."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from languages.errors import nearest, one_of
from languages.kept import Kept
from regulargpt.data.options import FURTHEST, DataOptions, UniformOptions
from regulargpt.models.options import ModelOptions
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.objectives.options import LastOptions, ObjectiveOptions
from regulargpt.options import (
    ConfigError,
    Options,
    as_mapping,
    defaults,
    from_mapping,
    hints,
    option,
    read,
    registries,
    section,
    shown,
    unknown,
    views,
)
from regulargpt.options.lengths import scored_lengths
from regulargpt.options.presets import leaves
from regulargpt.options.registry import PATH, Registry, registry
from regulargpt.storage import toml
from regulargpt.training.observers import ObserverOptions
from regulargpt.training.options import PhaseOptions

SHARE = "it is a share, 0 to below 1"
RATE = "a learning rate is not negative"
STEPS = "give a number of steps"
LOSS = "a loss is not negative"


@dataclass(frozen=True)
class TrainingOptions(Options):
    """Training on words: fresh ones every step, `lengths_per_step` lengths a step, uniform over 1..the stage's.

    Two conditions look at the running loss (a mean over about `1 / (1 - loss_memory)` steps): `curriculum` lists the
    longest length of each stage, the next one begins when it is below `stage_loss`; the run is solved when the last
    stage and the model's full noise are reached and it is below `solved_loss`: then the learning rate falls to 0 within
    `cooldown` steps and training ends. `solved_loss = 0` trains for all `steps`.
    """

    steps: int = option(20_000, "Most training steps.", least=0, why="give a number of steps", flag="--steps")
    batch_size: int = option(
        128, "Words a step.", least=1, most=1_048_576, why="a batch has at least 1 word", flag="--batch-size"
    )
    lengths_per_step: int = option(
        1, "Lengths a step.", least=1, most=1_048_576, why="a step has words of at least 1 length"
    )
    optimiser: Literal["adam", "amsgrad", "adamw"] = option("adamw", "The optimiser.")
    lr: float = option(1e-3, "Learning rate.", least=0, most=1_000_000, why=RATE, flag="--lr")
    beta1: float = option(0.9, "Decay of the mean of the gradients.", least=0, below=1, why=SHARE)
    beta2: float = option(0.98, "Decay of the mean of their squares.", least=0, below=1, why=SHARE)
    weight_decay: float = option(0.0, "Weight decay.", least=0, most=1_000_000, why="a weight decay is not negative")
    clip: float = option(1.0, "Largest norm of the gradient.", least=0, why="a norm is not negative")
    warmup: int = option(100, "Steps in which the learning rate rises.", least=0, why=STEPS)
    schedule: Literal["constant", "cosine"] = option("constant", "The learning rate after the warm-up.")
    loss_memory: float = option(0.98, "Decay of the running loss.", least=0, below=1, why=SHARE)
    curriculum: tuple[int, ...] = option((), "Longest length of each stage before the last.")
    stage_loss: float = option(0.0, "A stage ends below this running loss.", least=0, why=LOSS, needs="curriculum")
    solved_loss: float = option(0.0, "Solved below this running loss; 0: never.", least=0, why=LOSS)
    cooldown: int = option(0, "Steps from solved to the end.", least=0, why=STEPS)
    log_every: int = option(100, "Steps between rows of metrics.jsonl.", least=1, why=STEPS)
    checkpoint_every: int = option(1000, "Steps between checkpoints.", least=1, why=STEPS)

    def problems(self) -> typing.Iterator[str]:
        """What the options say together."""
        if self.batch_size % self.lengths_per_step:
            yield (
                f"batch_size = {self.batch_size} cannot be shared among "
                f"training.lengths_per_step = {self.lengths_per_step} lengths; make it a multiple"
            )
        if self.curriculum and self.stage_loss <= 0:
            yield "curriculum needs training.stage_loss > 0, the running loss at which the next stage begins"
        if list(self.curriculum) != sorted(self.curriculum):
            yield f"curriculum = {list(self.curriculum)}; its lengths must increase"


@dataclass(frozen=True)
class EvaluationOptions(Options):
    """Where the model is tested, with how many fresh words a length. How the words are drawn is said by the data."""

    test_from: int = option(
        0,
        "Shortest scored word; 0: one symbol more than the training words, or a text's training length.",
        least=0,
        why="give a length, 0 for the first after the training words'",
    )
    test_len: int = option(
        500,
        "Longest scored word; 0: 16 times the training length.",
        least=0,
        most=1_000_000,
        why="give a length, 0 for 16 times the training length",
        flag="--test-len",
    )
    stride: int = option(
        0,
        "Every so many-th length is scored; 0: every length, of a network that is proven a few.",
        least=0,
        why="give 1 for every length, 2 for every second one, 0 for a few where a network is proven",
    )
    factor: int = option(
        1,
        "Each scored length is so many times the one before; 1: all by the stride.",
        least=1,
        most=1000,
        why="give 2 for doubled lengths, 1 for none",
    )
    attention: str = option(
        "full",
        "What a position of a Transformer sees in the test: full, bca, sliding:W, sinks:S:W, self-extend:G:W.",
        flag="--attention",
    )
    extra_lengths: tuple[int, ...] = option(
        (), "Lengths that are tested too, and do not count for the score.", flag="--extra-lengths"
    )
    samples: int = option(
        64, "Test words a length.", least=1, most=1_000_000, why="a test has at least 1 word", flag="--samples"
    )
    symbols: int = option(
        4_194_304,
        "Symbols a length: of very long words there are fewer, but at least 4.",
        least=1,
        why="a test has at least 1 symbol",
    )
    falsify: int = option(
        150_000,
        "Words that are tried at the end, in search of wrong ones; no more than a test at all lengths has. 0: none.",
        least=0,
        why="give a number of words, 0 for none",
    )
    extra_protocols: tuple[str, ...] = option((), "Protocols under which the trained model is tested too.")

    def problems(self) -> typing.Iterator[str]:
        """A view that there is not, and two ways at once from each length to the next."""
        if (reason := views.refuse(self.attention)) is not None:
            yield reason
        if self.factor > 1 and self.stride > 1:
            yield f"factor = {self.factor} and evaluation.stride = {self.stride} exclude each other; leave one out"


@dataclass(frozen=True)
class RunConfig(Options):
    """One run. Equal configs on the same machine and thread count give equal weights, bit for bit.

    `protocol`, if any, names the preset that fixes how words are drawn and scored (config/protocols.py).

    >>> config = RunConfig()
    >>> RunConfig.parse(config.render()) == config
    True
    >>> RunConfig.parse("[model]\\nname = 'regulargpt'\\nchunk_sise = 3")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: unknown key 'model.chunk_sise'; did you mean 'chunk_size'?
    """

    recipe: str = option("answers", "The recipe that the options come from.")
    protocol: str = option("", "The protocol that fixes words and scoring; empty for none.")
    seed: int = option(
        0, "Seed of weights and words.", least=0, most=2**63 - 1, why="seeds are whole numbers from 0", flag="--seed"
    )
    device: str = option("auto", "auto, cpu or cuda.", flag="--device")
    threads: int = option(1, "CPU threads.", least=1, most=1024, why="at least one thread works", flag="--threads")
    compile: bool = option(False, "Compile the model with torch.compile.")
    tensorboard: bool = option(False, "Log to RUN/tensorboard too (extra: tracking).")
    data: DataOptions = section("regulargpt.data:SOURCES", UniformOptions("parity"), "The language.")
    objective: ObjectiveOptions = section(
        "regulargpt.objectives:OBJECTIVES", LastOptions("last"), "last, prefixes or next.", "--supervision"
    )
    model: ModelOptions = section("regulargpt.models:MODELS", RegularGPTOptions("regulargpt"), "The model.")
    training: TrainingOptions = field(default_factory=TrainingOptions)
    phases: tuple[PhaseOptions, ...] = section("regulargpt.config.phases:PHASES", (), "Phases beside the words.")
    observers: tuple[ObserverOptions, ...] = section(
        "regulargpt.training.observers:OBSERVERS", (), "What is kept of the training on its way."
    )
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)

    @property
    def test_len(self) -> int:
        """The longest scored length."""
        return self.evaluation.test_len or FURTHEST * self.data.train_len

    @property
    def scored(self) -> Sequence[int]:
        """The lengths that make the score.

        >>> RunConfig().scored
        range(41, 501)
        >>> RunConfig().replaced({"evaluation.factor": 2, "evaluation.test_from": 50}).scored
        (50, 100, 200, 400)
        """
        first = self.evaluation.test_from or self.data.first_tested
        return scored_lengths(first, self.test_len, self.evaluation.stride or 1, self.evaluation.factor)

    @property
    def network(self) -> ModelOptions:
        """The model's options, with those that it takes from the rest of the config."""
        return _taken(self.model, flat(self))

    @property
    def tested(self) -> list[int]:
        """All lengths at which it is tested, if the language has words of them."""
        return sorted({*self.scored, *self.evaluation.extra_lengths})

    @classmethod
    def parse(cls, text: str, name: str = "config.toml", kept: Mapping[str, Path] = {}) -> RunConfig:
        """The config behind TOML text; ConfigError naming the key for a key, type or value that is not right.

        `kept` are the files that a run keeps, by the option of `data` that names each: they are read instead.
        """
        sections = toml.parse(text, name)
        own = sections.get("data")
        if isinstance(own, dict):
            own |= {key: Kept(own[key], file) for key, file in kept.items() if isinstance(own.get(key), str)}
        return from_mapping(cls, sections)

    def render(self) -> str:
        """As TOML, complete."""
        return toml.render(as_mapping(self))

    def replaced(self, values: Mapping[str, Any]) -> RunConfig:
        """With some options changed, named by dotted keys: {"training.lr": 3e-4}.

        Where a name changes ("model.name", or "model" as it is written on the command line), the new part keeps those
        options of the old one that it has too and that were not at the old one's defaults. A phase that is named and
        was not there is there then.

        >>> RunConfig().replaced({"model.chunk_size": 3, "seed": 1}).model.label
        'regulargpt-C3'
        >>> RunConfig().replaced({"model": "lstm:d_model=8"}).render().split("[model]")[1].split("\\n")[1:4]
        ['name = "lstm"', 'd_model = 8', 'n_layers = 1']
        """
        return Draft(self).put(values).config()

    def reading(self, texts: Mapping[str, str]) -> RunConfig:
        """With some options changed, each written as on the command line."""
        return Draft(self).read(texts).config()


class Draft:
    """A config in the making: options are set by dotted keys, later over earlier ones; it is made once, at the end.

    >>> draft = Draft().put({"model.name": "lstm", "training.lr": 0.1}).read({"training.lr": "0.2"})
    >>> draft.flat["training.lr"], draft.part("model").label
    (0.2, 'lstm')
    """

    def __init__(self, config: RunConfig | None = None):
        self.nested = as_mapping(RunConfig() if config is None else config)

    @property
    def flat(self) -> dict[str, Any]:
        """All options by dotted keys."""
        return dict(leaves(self.nested))

    def put(self, values: Mapping[str, Any]) -> Draft:
        """Set values, parts before their options."""
        for key in sorted(values, key=parts_first):
            _put(self.nested, key, values[key])
        return self

    def put_present(self, values: Mapping[str, Any]) -> Draft:
        """Set those values that the parts have an option for, and those of phases."""
        self.put({key: value for key, value in values.items() if key.endswith(".name")})
        known = self.flat
        return self.put({key: value for key, value in values.items() if key in known or key.startswith("phases.")})

    def read(self, texts: Mapping[str, str]) -> Draft:
        """Set values that are written as on the command line."""
        # The type of an option depends on the part that is chosen: `slopes` is there once `alibi` is.
        for key in sorted(texts, key=parts_first):
            kind = _type(self.nested, key)
            _put(self.nested, key, texts[key] if kind is None else read(key, kind, texts[key]))
        return self

    def part(self, name: str) -> Any:
        """The options of a part that is chosen, such as `model`."""
        return registry(registries(RunConfig)[name]).options(self.nested[name], name)

    def config(self) -> RunConfig:
        """The whole config, checked."""
        return from_mapping(RunConfig, self.nested)


def _taken(options: Any, values: Mapping[str, Any]) -> Any:
    """Options in which each that is 0 and takes another key's value has it."""
    changes: dict[str, Any] = {}
    for known in dataclasses.fields(options):
        value, other = getattr(options, known.name), known.metadata.get("takes")
        if isinstance(value, Options):
            changes[known.name] = _taken(value, values)
        elif other and not value:
            changes[known.name] = values[other]
    return dataclasses.replace(options, **changes)


SECTIONS = ("data", "objective", "model", "training", "phases", "observers", "evaluation")


def parts_first(key: str) -> tuple[int, bool]:
    """Parts are chosen before their options are set."""
    return key.count("."), not key.endswith(".name")


def _put(nested: dict[str, Any], key: str, value: Any) -> None:
    """Set one key of the nesting of mappings that a RunConfig is."""
    here, owner, name = _find(nested, key)
    if name not in registries(owner):
        here[name] = value
        return
    parts = registry(registries(owner)[name])
    written = parts.written(value, key) if isinstance(value, str) else value
    if not isinstance(written, Mapping) or not isinstance(written.get("name"), str):
        raise ConfigError(f"{key} = {value!r}; give a name")
    fresh, before = defaults(parts[written["name"]].options), here[name]
    # Another part has defaults of its own: what nobody chose for the old one says nothing about the new one.
    usual = {} if written["name"] == before["name"] else defaults(parts[before["name"]].options)
    kept = {key: value for key, value in before.items() if key in fresh and value != usual.get(key)}
    here[name] = {**fresh, **kept, **written}


def _find(
    nested: dict[str, Any],
    key: str,
    path: str = "",
    owner: type[Options] = RunConfig,
    explain: Callable[[str], str] | None = None,
) -> tuple[dict[str, Any], type[Options], str]:
    """Where a dotted key is: the mapping that holds it, the options that this mapping is of, its name there.

    A part and its name are one place. A phase that is named and was not there is there then. `explain` says of a key
    why a part does not have it.
    """
    name, dot, rest = key.partition(".")
    here, kind, place = f"{path}{name}", hints(owner).get(name), registries(owner).get(name)
    if kind is None:
        raise ConfigError(_unknown(f"{path}{key}", here, hints(owner)) if explain is None else explain(here))
    if place and typing.get_origin(kind) is tuple:
        return _find_phase(nested, rest, f"{here}.", registry(place))
    if not dot and _is_section(kind) and not place:
        raise ConfigError(is_section(here, kind))
    if not dot or (place and rest == "name"):
        return nested, owner, name
    if place:
        parts, part = registry(place), nested[name]["name"]
        return _find(nested[name], rest, f"{here}.", parts[part].options, partial(parts.unknown, part))
    if _is_section(kind):
        return _find(nested[name], rest, f"{here}.", kind)
    raise ConfigError(f"unknown key '{path}{key}'; {here} is one value")


def _find_phase(
    nested: dict[str, Any], key: str, path: str, parts: Registry
) -> tuple[dict[str, Any], type[Options], str]:
    """The same for one of several parts, each in a section under its name, in which an import path has dots."""
    part = first_part(key)
    rest = key[len(part) + 1 :]
    if not part:
        raise ConfigError(is_section(f"{path}{next(iter(parts))}", parts[next(iter(parts))].options))
    options = parts[part].options
    if rest in ("", "name"):
        raise ConfigError(is_section(f"{path}{part}", options))
    phases = nested.setdefault(path.rstrip("."), {})
    return _find(
        phases.setdefault(part, defaults(options)), rest, f"{path}{part}.", options, partial(parts.unknown, part)
    )


def first_part(key: str) -> str:
    """The part that a key of several parts begins with.

    >>> first_part("table_fine_tuning.steps"), first_part("my_lab.phases:Longer.steps")
    ('table_fine_tuning', 'my_lab.phases:Longer')
    """
    written = PATH.match(key)
    return written[0] if written else key.partition(".")[0]


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Options)


def is_section(key: str, owner: type[Options]) -> str:
    """What is said of a section that is set as if it were a value."""
    example = next((name for name in hints(owner) if name != "name"), "KEY")
    return f"'{key}' is a section; set one of its keys, as in {key}.{example}"


def _unknown(key: str, here: str, known: Mapping[str, Any]) -> str:
    """What is said of a key that there is not: the same name in another section helps most."""
    if key != here and "." not in here:
        return f"unknown section '{here}';{nearest(here, SECTIONS) or ' known: ' + ', '.join(SECTIONS)}"
    elsewhere = [other for other in keys(RunConfig()) if other.endswith(f".{key.rpartition('.')[2]}")]
    return f"unknown key '{key}'; did you mean '{elsewhere[0]}'?" if elsewhere else unknown(key, known)


def keys(config: RunConfig) -> list[str]:
    """All dotted keys of a config, in the order of config.toml.

    >>> [key for key in keys(RunConfig()) if key.startswith("data")]
    ['data.name', 'data.train_len', 'data.train_from']
    """
    return list(flat(config))


def flat(config: Options | Mapping[str, Any]) -> dict[str, Any]:
    """The config by dotted keys, or what its TOML holds.

    >>> flat(RunConfig())["model.chunk_size"]
    2
    """
    return dict(leaves(config if isinstance(config, Mapping) else as_mapping(config)))


def value_of(config: RunConfig, key: str) -> Any:
    """The value of a dotted key; None if this config has no such key.

    >>> value_of(RunConfig(), "model.chunk_size"), value_of(RunConfig(), "model.encoding.name")
    (2, None)
    """
    return flat(config).get(key)


# What people call the parts, where that is not the name of their section.
CALLED = {"supervision": "objective"}


def key_of(known: Collection[str], name: str) -> str:
    """The dotted key that a name stands for: itself, or the shortest of the `known` keys of a config that ends in it.

    Raises ConfigError where there is none, or several are as short.

    >>> config = RunConfig().replaced({"data.name": "dyck-2"})
    >>> [key_of(keys(config), name) for name in ("chunk_size", "near_misses", "data.test.near_misses")]
    ['model.chunk_size', 'data.near_misses', 'data.test.near_misses']
    """
    sections = {key.rpartition(".")[0] for key in known if key.endswith(".name")}
    if name in known or name in sections or "." in name:
        return name
    ends = [key for key in (*known, *sections) if key.endswith(f".{name}")]
    if not ends and name in CALLED:
        return CALLED[name]
    shortest = [key for key in ends if key.count(".") == min(end.count(".") for end in ends)]
    if len(shortest) == 1:
        return shortest[0]
    if shortest:
        raise ConfigError(f"'{name}' may be {one_of(shortest)}; write one of them")
    raise ConfigError(unknown(name, [key.rpartition(".")[2] for key in known]))


def type_of(config: RunConfig, key: str) -> Any:
    """The type of a dotted key in this config, None for a part, which is taken as it is written.

    Raises ConfigError if there is no such key.
    """
    return _type(as_mapping(config), key)


def _type(nested: dict[str, Any], key: str) -> Any:
    _, owner, name = _find(nested, key)
    return None if name in registries(owner) else hints(owner)[name]


def is_off(value: Any) -> bool:
    """Whether an option that others need is 0, off, empty or none.

    >>> is_off("none"), is_off(0.1)
    (True, False)
    """
    return not value or value == "none"


def network_of_test(config: RunConfig, keys: Iterable[str]) -> dict[str, Any]:
    """What a test sets otherwise in the network itself, as the scaling of rotary positions: by keys within `model`.

    `config` has the values of the test, and `keys` are all that were set. Raises ConfigError for one of the training.

    >>> config = RunConfig().replaced({"model.name": "transformer", "model.encoding": "rotary:scaling=yarn"})
    >>> network_of_test(config, ["evaluation.samples", "model.encoding.scaling"])
    {'encoding.scaling': 'yarn'}
    """
    for key in keys:
        if key == "data.train_len":  # a test would take it for the length of the training
            raise ConfigError(f"{key}: the run was trained at its own length; --lengths says at which it is tested")
        if not (key.startswith(("data.", "objective.", "evaluation.")) or _option(config, key)[1].get("at_test")):
            raise ConfigError(f"{key}: a trained run can be tested under other data, objective or evaluation only")
    return {key.removeprefix("model."): value_of(config, key) for key in keys if key.startswith("model.")}


def why_unused(config: RunConfig, key: str) -> str | None:
    """What in this config makes an option change nothing; None if it changes something, or is not there.

    >>> why_unused(RunConfig(), "model.noise_loss"), why_unused(RunConfig(), "model.state_noise")
    ('with model.state_noise = 0.0', None)
    """
    here, metadata = _option(config, key)
    needed = metadata.get("needs")
    if not needed:
        return None
    other = ".".join([*key.split(".")[:-1], needed])
    return why_unused(config, other) or (f"with {other} = {shown(here[needed])}" if is_off(here[needed]) else None)


def _option(config: RunConfig, key: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The section that holds a key, and what its field says of it beside the type; nothing of an unknown key."""
    try:
        here, owner, name = _find(as_mapping(config), key)
    except ConfigError:
        return {}, {}
    return here, next(f.metadata for f in dataclasses.fields(owner) if f.name == name)
