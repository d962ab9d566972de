"""What no type can say about a config: checked against the task before anything is written. Never imports torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from languages.errors import nearest, one_of
from regulargpt import ablations
from regulargpt.batches import is_tested
from regulargpt.config import (
    LONGEST_WORD,
    ConfigError,
    EvaluationConfig,
    ModelConfig,
    RunConfig,
    TaskConfig,
    keys,
    value_of,
)
from regulargpt.protocols import protocol, task_of
from regulargpt.recipes import CONSTRUCTED

if TYPE_CHECKING:
    from languages.task import Task

DEVICES = ("auto", "cpu", "cuda")


def validate(config: RunConfig, task: Task) -> None:
    """Raise ConfigError for the first thing that cannot be run.

    >>> import languages
    >>> validate(RunConfig().replaced({"model.chunk_size": 1}), languages.get("parity"))
    Traceback (most recent call last):
    regulargpt.config.ConfigError: model.chunk_size = 1; a chunk has at least 2 symbols
    """
    for problem in _problems(config, task):
        raise ConfigError(problem)


def _problems(config: RunConfig, task: Task) -> Iterator[str]:
    yield from _names(config)
    yield from _protocol(config, task)
    yield from _bounds(config)
    yield from _model(config)
    yield from _lengths(config, task)
    yield from _supervision(config, task)
    _near_misses(config, task)
    yield from ablations.problems(config)
    yield from _schedule(config)
    if config.tensorboard and find_spec("tensorboard") is None:
        yield "tensorboard = true needs the extra: pip install 'regulargpt-testbed[tracking]'"


def _names(config: RunConfig) -> Iterator[str]:
    from regulargpt.encodings import ENCODINGS
    from regulargpt.models import MODELS

    if config.model.name not in MODELS:
        yield f"unknown model '{config.model.name}';{nearest(config.model.name, MODELS) or ' choose ' + one_of(MODELS)}"
    encoding = config.model.encoding
    if encoding not in ENCODINGS:
        yield f"unknown encoding '{encoding}';{nearest(encoding, ENCODINGS) or ' choose ' + one_of(ENCODINGS)}"
    if config.device not in DEVICES:
        yield f"device = {config.device!r}; choose {one_of(DEVICES)}"


def _protocol(config: RunConfig, task: Task) -> Iterator[str]:
    if config.protocol:
        if config.protocol != protocol(config.protocol).id:
            version = protocol(config.protocol).id
            yield f"protocol = '{config.protocol}': a config names the version, protocol = '{version}'"
        yield from protocol(config.protocol).problems(config, task)
    for name in config.evaluation.also:
        if name != protocol(name).id:
            yield f"evaluation.also = '{name}': a config names the version, '{protocol(name).id}'"
        protocol(name).test_of(config)


# The smallest value a field may have, and what it means.
AT_LEAST: dict[str, tuple[float, str]] = {
    "seed": (0, "seeds are whole numbers from 0"),
    "threads": (1, "at least one thread works"),
    "task.train_len": (1, "a word has at least 1 symbol"),
    "task.train_from": (1, "a word has at least 1 symbol"),
    "task.edits": (1, "a near miss has at least 1 edit"),
    "evaluation.edits": (1, "a near miss has at least 1 edit"),
    "evaluation.test_from": (0, "give a length, 0 for the first after the training words'"),
    "evaluation.stride": (1, "give 1 for every length, 2 for every second one"),
    "model.chunk_size": (2, "a chunk has at least 2 symbols"),
    "model.thickness": (1, "a level has at least 1 layer"),
    "model.distinct_levels": (1, "1 shares the weights across depth, more are levels with weights of their own"),
    "model.levels": (0, "0 is a depth that grows with the word, more is the depth for every word"),
    "model.d_model": (1, "a state has at least 1 number"),
    "model.n_heads": (1, "attention has at least 1 head"),
    "model.d_ff": (1, "the FFN has at least 1 unit"),
    "model.n_layers": (1, "a model has at least 1 layer"),
    "model.dropout": (0, "it is a share, 0 to below 1"),
    "training.steps": (1, "training has at least 1 step"),
    "training.batch_size": (1, "a batch has at least 1 word"),
    "training.lengths_per_step": (1, "a step has words of at least 1 length"),
    "training.lr": (0, "a learning rate is not negative"),
    "training.weight_decay": (0, "a weight decay is not negative"),
    "training.clip": (0, "a norm is not negative"),
    "training.warmup": (0, "give a number of steps"),
    "training.cooldown": (0, "give a number of steps"),
    "training.certify_every": (0, "give a number of steps, 0 for never"),
    "training.anchor_steps": (0, "give a number of steps"),
    "training.anchor_windows": (1, "give a number of windows"),
    "training.anchor_lr": (0, "a learning rate is not negative"),
    "training.anchor_contraction": (0, "a weight is not negative"),
    "training.anchor_noise": (0, "give a share of the states' RMS"),
    "training.anchor_missed": (0, "give a share of the table, 0 for its own table when it is certified"),
    "training.node_weight": (0, "a weight is not negative"),
    "training.compositions": (0, "give a number of windows"),
    "training.alignment": (0, "a weight is not negative"),
    "training.state_noise": (0, "give a share of the states' RMS"),
    "training.noise_below": (0, "a loss is not negative"),
    "training.noise_growth": (1, "the noise is multiplied by it as it grows: give 1 or more"),
    "training.stage_below": (0, "a loss is not negative"),
    "training.solved_below": (0, "a loss is not negative"),
    "training.log_every": (1, "give a number of steps"),
    "training.checkpoint_every": (1, "give a number of steps"),
    "evaluation.samples": (1, "a test has at least 1 word"),
    "evaluation.symbols": (1, "a test has at least 1 symbol"),
}
BELOW: dict[str, tuple[float, str]] = {
    "model.dropout": (1, "it is a share, 0 to below 1"),
    "training.beta1": (1, "it is a share, 0 to below 1"),
    "training.beta2": (1, "it is a share, 0 to below 1"),
    "training.loss_memory": (1, "it is a share, 0 to below 1"),
}


# The largest value: far above what anybody wants.
AT_MOST: dict[str, int] = {
    "seed": 2**63 - 1,
    "threads": 1024,
    "task.train_len": 1_000_000,
    "task.edits": 1000,
    "evaluation.edits": 1000,
    "model.chunk_size": 1024,
    "model.thickness": 1024,
    "model.distinct_levels": 1024,
    "model.levels": 1024,
    "model.d_model": 65_536,
    "model.d_ff": 1_048_576,
    "model.n_layers": 1024,
    "model.n_heads": 65_536,
    "training.batch_size": 1_048_576,
    "training.lengths_per_step": 1_048_576,
    "training.compositions": 1_048_576,
    "training.anchor_windows": 1_048_576,
    "training.anchor_missed": 1,
    **dict.fromkeys(("model.embedding_std", "model.embedding_scale", "training.lr", "training.anchor_lr"), 1_000_000),
    **dict.fromkeys(("training.weight_decay", "training.node_weight", "training.alignment"), 1_000_000),
    **dict.fromkeys(("training.state_noise", "training.noise_growth", "training.anchor_noise"), 1_000_000),
    "training.anchor_contraction": 1_000_000,
    "evaluation.test_len": 1_000_000,
    "evaluation.samples": 1_000_000,
}
# A number this close to 0 is none to the network: all its embeddings would be equal.
SMALLEST_EMBEDDING = 1e-6
MOST_PARAMETERS = 1_000_000_000
SHARES = tuple(
    f"{section}.{name}" for section in ("task", "evaluation") for name in ("members", "near_misses", "exchanges")
)


def _bounds(config: RunConfig) -> Iterator[str]:
    for key in keys():
        value = value_of(config, key)
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{key} = {value}; it is a finite number"
    for key, (low, why) in AT_LEAST.items():
        if key == "training.steps" and config.recipe in CONSTRUCTED:
            continue
        if not value_of(config, key) >= low:
            yield f"{key} = {value_of(config, key)}; {why}"
    for key, most in AT_MOST.items():
        if value_of(config, key) > most:
            yield f"{key} = {value_of(config, key)}; at most {most}"
    for key, (high, why) in BELOW.items():
        if not 0 <= value_of(config, key) < high:
            yield f"{key} = {value_of(config, key)}; {why}"
    for key in SHARES:
        if not 0 <= value_of(config, key) <= 1:
            yield f"{key} = {value_of(config, key)}; it is a share, 0 to 1"


def _model(config: RunConfig) -> Iterator[str]:
    model = config.model
    is_tree = model.name == "regulargpt"
    for key in ("embedding_std", "embedding_scale") if is_tree else ():
        if not (value := getattr(model, key)) >= SMALLEST_EMBEDDING:
            yield f"model.{key} = {value}; at least {SMALLEST_EMBEDDING:g}: with 0 all symbols look the same"
    if model.name in ("regulargpt", "transformer") and model.d_model % model.n_heads:
        yield f"model.d_model = {model.d_model} is not a multiple of model.n_heads = {model.n_heads}"
    if model.name == "transformer" and model.encoding == "rotary" and model.d_model // model.n_heads % 2:
        width = model.d_model // model.n_heads
        yield f"model.encoding = 'rotary' turns pairs: model.d_model / model.n_heads = {width} must be even"
    if (n := parameters(model)) > MOST_PARAMETERS:
        fields = ("d_model", "d_ff", *(("thickness", "distinct_levels") if is_tree else ("n_layers",)))
        given = ", ".join(f"model.{name} = {getattr(model, name)}" for name in fields)
        yield f"{given} make about {n:,} parameters; at most {MOST_PARAMETERS:,}"
    if model.name != "transformer" and model.encoding != "none":
        yield f"model.encoding = '{model.encoding}' is for the transformer; '{model.name}' has none"


def parameters(model: ModelConfig) -> int:
    """About how many weights the model has, or a few times fewer: those of its blocks.

    >>> parameters(ModelConfig()), parameters(ModelConfig(d_model=65_536))
    (49152, 17213423616)
    """
    layers = model.thickness * model.distinct_levels if model.name == "regulargpt" else model.n_layers
    return layers * model.d_model * (4 * model.d_model + 2 * model.d_ff)


def _lengths(config: RunConfig, task: Task) -> Iterator[str]:
    train_len, test_len = config.task.train_len, config.evaluation.test_len
    if config.model.name == "regulargpt" and train_len < config.model.chunk_size:
        yield f"task.train_len = {train_len} is shorter than one chunk (model.chunk_size = {config.model.chunk_size})"
    train_from, test_from = config.task.train_from, config.scored.start
    if train_from > train_len:
        yield f"task.train_from = {train_from} is longer than task.train_len = {train_len}"
    if test_from <= train_len:
        yield f"evaluation.test_from = {test_from}; test words are longer than task.train_len = {train_len}"
    if test_len <= train_len:
        yield f"evaluation.test_len = {test_len}; test words are longer than task.train_len = {train_len}"
    if test_len < test_from:
        yield f"evaluation.test_len = {test_len} is shorter than evaluation.test_from = {test_from}"
    if not has_words(task, range(train_from, train_len + 1)):
        yield f"task.train_len = {train_len}: {task.describe_length(train_len)}"
    if not any(is_tested(task, config.evaluation, length) for length in config.scored):
        yield f"evaluation.test_len = {test_len}: {task.describe_length(config.scored[-1])}"
    for length in config.evaluation.beyond:
        if not 1 <= length <= LONGEST_WORD:
            yield f"evaluation.beyond = {length}; a length is 1 to {LONGEST_WORD}"
    for length in config.training.curriculum:
        if not has_words(task, range(train_from, min(length, train_len) + 1)):
            yield f"training.curriculum = {length}: {task.describe_length(length)}"


def has_words(task: Task, lengths: Iterable[int]) -> bool:
    """Whether the task has words of any of these lengths."""
    return any(task.has_length(length) for length in lengths)


def _supervision(config: RunConfig, task: Task) -> Iterator[str]:
    supervision, model = config.task.supervision, config.model
    if supervision == "nodes" and model.name != "regulargpt":
        yield f"task.supervision = 'nodes' needs the tree of regulargpt; for '{model.name}' choose 'last' or 'every'"
    if supervision == "nodes" and model.thickness > 1:
        yield f"task.supervision = 'nodes' needs model.thickness = 1, not {model.thickness}: sub-words would overlap"
    if supervision in ("every", "next") and model.name == "transformer" and not model.causal:
        yield f"task.supervision = '{supervision}' asks at every position: set model.causal = true"
    if supervision == "next" and not task.is_classification:
        answers = one_of(task.output_names, 5)
        yield f"task.supervision = 'next' needs members; {task.name} answers {answers}: choose 'every'"
    for key in ("task.near_misses", "evaluation.near_misses"):
        if value_of(config, key) and task.sampling != "balanced":
            yield f"{key} = {value_of(config, key)}: {task.name} has no non-members, set it to 0"
    for key in ("task.members", "evaluation.members"):
        if value_of(config, key) != 0.5 and task.sampling != "balanced":
            yield f"{key} = {value_of(config, key)}: {task.name} has no members, leave it at 0.5"
    if config.task.output_token and supervision != "last":
        yield f"task.output_token = true asks for one answer; with task.supervision = '{supervision}' set it to false"


def _near_misses(config: RunConfig, task: Task) -> None:
    """Raise SamplingError for an automaton that is too large for those that are trained on or tested."""
    _prepare(task, config.task, config.task.train_len)
    _prepare(task, config.evaluation, config.evaluation.test_len)
    for name in config.evaluation.also:
        other = protocol(name).test_of(config)
        _prepare(task_of(other), other.evaluation, other.evaluation.test_len)


def _prepare(task: Task, drawn: TaskConfig | EvaluationConfig, longest: int) -> None:
    if drawn.near_misses and task.sampling == "balanced":
        task.prepare_near_misses(longest, drawn.edits, drawn.exchanges)


def _schedule(config: RunConfig) -> Iterator[str]:
    training = config.training
    if config.recipe in CONSTRUCTED and training.steps != 0:
        yield f"training.steps = {training.steps}; recipe '{config.recipe}' trains nothing, set it to 0"
    if training.batch_size % training.lengths_per_step:
        yield (
            f"training.batch_size = {training.batch_size} cannot be shared among "
            f"training.lengths_per_step = {training.lengths_per_step} lengths; make it a multiple"
        )
    if training.curriculum and training.stage_below <= 0:
        yield "training.curriculum needs training.stage_below > 0, the running loss at which the next stage begins"
    if training.certify_every and (reason := no_certificate_for(config)) is not None:
        yield f"training.certify_every = {training.certify_every}: {reason}"
    if list(training.curriculum) != sorted(training.curriculum):
        yield f"training.curriculum = {list(training.curriculum)}; its lengths must increase"


def no_certificate_for(config: RunConfig) -> str | None:
    """Why there can be no certificate for this kind of run; None if there can."""
    if config.model.name != "regulargpt":
        return f"the levels of {config.model.name} are not one map on finitely many states"
    if config.task.supervision not in ("last", "nodes"):
        return f"the run answers {config.task.supervision!r}, not the word at its end"
    if config.task.output_token:
        return "the run reads its answer at an output token, which is no symbol of the language"
    return ablations.not_one_map(config.model)
