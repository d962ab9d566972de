"""Every hyper-parameter of a run, complete and resolved: what config.toml holds."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from languages.errors import UserError, nearest
from regulargpt.storage import toml

Config = TypeVar("Config")


class ConfigError(UserError):
    """A configuration that cannot be run: the message names the field."""


@dataclass(frozen=True)
class TaskConfig:
    """What is learned, from words of which lengths, and how much of the machine's answers is shown.

    supervision: "last" the answer to the word; "every" the answer to every prefix; "next" the set of legal next
    symbols after every prefix; "nodes" the answer to the word and to the sub-word under every node of the tree.

    Training words have `train_from` to `train_len` symbols. Of a balanced task a share `members` of them are members,
    and of the others a share `near_misses` are members with 1 to `edits` symbols substituted or, a share `exchanges` of
    these, with two symbols exchanged. With `output_token` a word ends in a further symbol that stands for nothing, and
    the answer is read there.
    """

    language: str = "parity"
    train_from: int = 1
    train_len: int = 40
    supervision: Literal["last", "every", "next", "nodes"] = "last"
    members: float = 0.5
    near_misses: float = 0.0
    edits: int = 1
    exchanges: float = 0.0
    output_token: bool = False


@dataclass(frozen=True)
class ModelConfig:
    """The model. A field that a model does not have is ignored by it and left at its default.

    The last four take one thing away from regulargpt: weight sharing (`distinct_levels` > 1), the adaptive depth
    (`levels` > 0 for words of all lengths), the learned pad, the sliding-dilated mask.
    """

    name: str = "regulargpt"
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 1
    norm: Literal["pre", "post"] = "pre"
    activation: Literal["relu", "gelu"] = "gelu"
    dropout: float = 0.0
    causal: bool = True
    encoding: str = "none"
    chunk_size: int = 2
    thickness: int = 1
    attention_bias: bool = True
    embedding_std: float = 1.0
    embedding_scale: float = 1.0
    state_norm: bool = True
    distinct_levels: int = 1
    levels: int = 0
    pad: Literal["learned", "masked"] = "learned"
    attention: Literal["dilated", "full"] = "dilated"


@dataclass(frozen=True)
class TrainingConfig:
    """How it is trained: fresh words every step, `lengths_per_step` lengths a step, uniform over 1..the stage's.

    Three conditions look at the running loss (a mean over about `1 / (1 - loss_memory)` steps):
    `curriculum` lists the longest length of each stage, the next one begins when it is below `stage_below`;
    `state_noise` is raised from 0 while it is below `noise_below`; the run is solved when the last stage and the
    full noise are reached and it is below `solved_below`: then the learning rate falls to 0 within `cooldown` steps
    and training ends. `solved_below = 0` trains for all `steps`.

    With the supervision "nodes": `node_weight` weighs the answers at the nodes, `compositions` random windows of nodes
    are composed a step, and `alignment` draws nodes of the same transition together.

    With `certify_every` > 0 the certificate is tried every so many steps. A cooldown that ends without it is undone,
    and training goes on. When it holds, the network is trained for `anchor_steps` on its own table at the rate
    `anchor_lr`, `anchor_windows` windows a step, disturbed by noise of up to `anchor_noise` times the RMS of the
    states, its Jacobian at the prototypes drawn to 0 by `anchor_contraction`; then training ends. With
    `anchor_missed` > 0 it is trained so on the true table as soon as no more than that share of its windows is missed,
    and if the certificate does not hold after 1000 steps of that, once more or again on words.
    """

    steps: int = 20_000
    batch_size: int = 128
    lengths_per_step: int = 1
    optimiser: Literal["adam", "adamw"] = "adamw"
    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.98
    weight_decay: float = 0.0
    clip: float = 1.0
    warmup: int = 100
    schedule: Literal["constant", "cosine"] = "constant"
    loss_memory: float = 0.98
    node_weight: float = 1.0
    compositions: int = 0
    alignment: float = 0.0
    state_noise: float = 0.0
    noise_below: float = 0.0
    noise_growth: float = 1.01
    curriculum: tuple[int, ...] = ()
    stage_below: float = 0.0
    solved_below: float = 0.0
    cooldown: int = 0
    certify_every: int = 0
    anchor_steps: int = 0
    anchor_windows: int = 512
    anchor_lr: float = 2e-3
    anchor_noise: float = 0.5
    anchor_contraction: float = 0.3
    anchor_missed: float = 0.0
    log_every: int = 100
    checkpoint_every: int = 1000


@dataclass(frozen=True)
class EvaluationConfig:
    """Where it is tested: `samples` fresh words a length at test_from..test_len, and at the lengths `beyond`.

    `test_from = 0` stands for the first length after the training words'. Of that range every `stride`-th length is
    tested. At very long lengths fewer words are drawn: at most `symbols` symbols a length, but never less than 32
    words. `members`, `near_misses`, `edits` and `exchanges` are of the test words, as those of `task` are of the
    training words. With `both_classes` the lengths that have members only, or non-members only, are left out.
    The trained model is also tested under the protocols `also`.
    """

    test_from: int = 0
    test_len: int = 500
    stride: int = 1
    beyond: tuple[int, ...] = ()
    samples: int = 512
    symbols: int = 33_554_432
    members: float = 0.5
    near_misses: float = 0.0
    edits: int = 1
    exchanges: float = 0.0
    both_classes: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunConfig:
    """One run. Equal configs on the same machine and thread count give equal weights, bit for bit.

    `protocol`, if there is one, names the preset that fixes how words are drawn and scored (`regulargpt.protocols`).

    >>> config = RunConfig()
    >>> RunConfig.parse(config.render()) == config
    True
    >>> RunConfig.parse("[model]\\nchunk_sise = 3")
    Traceback (most recent call last):
    regulargpt.config.ConfigError: unknown key 'model.chunk_sise'; did you mean 'chunk_size'?
    """

    recipe: str = "robust"
    protocol: str = ""
    seed: int = 0
    device: str = "auto"
    threads: int = 1
    compile: bool = False
    tensorboard: bool = False
    task: TaskConfig = field(default_factory=TaskConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    @property
    def scored(self) -> range:
        """The lengths that make the score.

        >>> RunConfig().scored
        range(41, 501)
        """
        first = self.evaluation.test_from or self.task.train_len + 1
        return range(first, self.evaluation.test_len + 1, self.evaluation.stride)

    @classmethod
    def parse(cls, text: str, name: str = "config.toml") -> RunConfig:
        """The config behind TOML text; ConfigError naming the field for a key, type or value that is not right."""
        return from_mapping(cls, toml.parse(text, name))

    def render(self) -> str:
        """As TOML, complete."""
        return toml.render(dataclasses.asdict(self))

    def replaced(self, values: Mapping[str, Any]) -> RunConfig:
        """With some fields changed, named by dotted keys: {"training.lr": 3e-4}.

        >>> RunConfig().replaced({"model.chunk_size": 3, "seed": 1}).model.chunk_size
        3
        """
        nested = dataclasses.asdict(self)
        for key, value in values.items():
            section, _, name = key.rpartition(".")
            target = nested.get(section) if section else nested
            if not isinstance(target, dict):
                raise ConfigError(f"unknown section '{section}';{_known(section, SECTIONS)}")
            if not section and name in SECTIONS:
                raise ConfigError(f"'{name}' is a section; set one of its keys, as in {name}.{_fields(name)[0]}")
            target[name] = value
        return from_mapping(RunConfig, nested)


SECTIONS = {"task": TaskConfig, "model": ModelConfig, "training": TrainingConfig, "evaluation": EvaluationConfig}


def keys() -> list[str]:
    """All dotted keys, in the order of config.toml."""
    top = [f.name for f in dataclasses.fields(RunConfig) if f.name not in SECTIONS]
    return top + [f"{section}.{name}" for section in SECTIONS for name in _fields(section)]


def value_of(config: RunConfig, key: str) -> Any:
    """The value of a dotted key.

    >>> value_of(RunConfig(), "model.chunk_size")
    2
    """
    section, _, name = key.rpartition(".")
    return getattr(getattr(config, section) if section else config, name)


def type_of(key: str) -> Any:
    """The type of the field with this dotted key; ConfigError if there is none."""
    section, _, name = key.rpartition(".")
    if section and section not in SECTIONS:
        raise ConfigError(f"unknown section '{section}';{_known(section, SECTIONS)}")
    if key in SECTIONS:
        field = next(other for other in keys() if other.startswith(f"{key}."))
        raise ConfigError(f"'{key}' is a section; name one of its fields, as in {field}")
    owner = SECTIONS[section] if section else RunConfig
    hints = typing.get_type_hints(owner)
    if name not in hints:
        everywhere = [k for k in keys() if k.rpartition(".")[2] == name]
        hint = f" did you mean '{everywhere[0]}'?" if everywhere else _known(name, hints)
        raise ConfigError(f"unknown key '{key}';{hint}")
    return hints[name]


def from_mapping(owner: type[Config], values: Mapping[str, Any], path: str = "") -> Config:
    """The dataclass from a mapping, strictly: no unknown keys, no wrong types, no conversion but int to float."""
    hints = typing.get_type_hints(owner)
    for name in values:
        if name not in hints:
            raise ConfigError(f"unknown key '{path}{name}';{_known(name, hints)}")
    checked = {name: check(f"{path}{name}", hints[name], value) for name, value in values.items()}
    return owner(**checked)


def check(key: str, kind: Any, value: Any) -> Any:
    """The value as the field wants it; ConfigError naming the field and what it takes."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{key} = {value!r}: {key} is a section; write [{key}]")
        return from_mapping(kind, value, f"{key}.")
    if typing.get_origin(kind) is Literal:
        allowed = typing.get_args(kind)
        if value not in allowed:
            raise ConfigError(f"{key} = {value!r}; choose one of {', '.join(allowed)}")
        return value
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        if not isinstance(value, list | tuple):
            raise ConfigError(f"{key} = {value!r}; give a list of {item.__name__}s")
        return tuple(check(key, item, v) for v in value)
    if kind is float and type(value) is int and abs(value) < 2**1023:
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"{key} = {value!r}; give {NOUNS[kind]}")
    return value


NOUNS: dict[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def read_value(key: str, text: str) -> Any:
    """The value of a field written on the command line: `3e-4`, `true`, `8,16,40`.

    >>> read_value("training.lr", "3e-4"), read_value("training.curriculum", "8,16")
    (0.0003, (8, 16))
    >>> read_value("training.steps", "many")
    Traceback (most recent call last):
    regulargpt.config.ConfigError: training.steps = 'many'; give a whole number
    """
    return _read(key, type_of(key), text)


def _read(key: str, kind: Any, text: str) -> Any:
    if typing.get_origin(kind) is tuple:
        return tuple(_read(key, typing.get_args(kind)[0], part) for part in text.split(",") if part)
    if kind is bool:
        return check(key, kind, {"true": True, "false": False}.get(text, text))
    if isinstance(kind, type) and kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise ConfigError(f"{key} = {text!r}; give {NOUNS[kind]}") from None
    return check(key, kind, text)


def _fields(section: str) -> list[str]:
    return [f.name for f in dataclasses.fields(SECTIONS[section])]


def _known(name: str, known: Any) -> str:
    return nearest(name, known) or f" known: {', '.join(known)}"


MOST_LENGTHS = 1_000_000
LONGEST_WORD = 100_000_000


def read_lengths(text: str) -> tuple[int, ...]:
    """Lengths as people write them: "41-500,1000,10000".

    >>> read_lengths("3-5,10")
    (3, 4, 5, 10)
    >>> read_lengths("5-3")
    Traceback (most recent call last):
    regulargpt.config.ConfigError: lengths '5-3': '5-3' is not a length or an increasing range; write 41-500,1000
    """
    lengths: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first, last = _length(low), _length(high if dash else low)
        if not 1 <= first <= last:
            raise ConfigError(
                f"lengths {text!r}: {part.strip()!r} is not a length or an increasing range; write 41-500,1000"
            )
        if len(lengths) + last - first >= MOST_LENGTHS:
            raise ConfigError(f"lengths {text!r}: at most {MOST_LENGTHS:,} at once; name single long ones, as in 10000")
        if last > LONGEST_WORD:
            raise ConfigError(f"lengths {text!r}: a word has at most {LONGEST_WORD:,} symbols")
        lengths += range(first, last + 1)
    return tuple(sorted(set(lengths)))


def _length(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
