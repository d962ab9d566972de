"""What no part can say of itself: a config held against its task, its protocol and this machine. No torch here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from languages.errors import UserError, one_of
from regulargpt import data
from regulargpt.config.protocols import protocol
from regulargpt.config.recipes import CONSTRUCTED, RECIPES, unknown_recipe
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.options import ConfigError, views
from regulargpt.options.lengths import LONGEST_WORD

if TYPE_CHECKING:
    from languages.tasks import AnyTask

DEVICES = ("auto", "cpu", "cuda")


def validate(config: RunConfig, task: AnyTask | None = None, lengths: Sequence[int] = ()) -> Data:
    """The data of a config that can be run; raises ConfigError for the first reason why it cannot, before any work.

    `task` is that of the language, if it is known already: some automata take seconds to build. A network that is
    there already is tested again at these `lengths` alone: those of its config say nothing.

    >>> validate(RunConfig().replaced({"evaluation.test_len": 3}))
    Traceback (most recent call last):
    regulargpt.options.ConfigError: evaluation.test_len = 3; test words are longer than data.train_len = 40
    """
    words = data.build(config.data, task)
    for problem in _problems(config, words, lengths):
        raise ConfigError(problem)
    return words


def _problems(config: RunConfig, words: Data, lengths: Sequence[int]) -> Iterator[str]:
    if config.device not in DEVICES:
        yield f"device = {config.device!r}; choose {one_of(DEVICES)}"
    if config.recipe not in RECIPES and config.recipe not in CONSTRUCTED:
        yield unknown_recipe(config.recipe)
    yield from _protocol(config)
    yield from _steps(config)
    if (reason := config.model.contradiction()) is not None:
        yield reason
    if config.model.follows_brackets and not words.has_brackets:
        yield f"model.tree = 'nested': {words.name} has no brackets to follow; choose 'flat'"
    yield from _lengths(config, words) if not lengths else _tested_again(config, words, lengths)
    if (reason := refuse_attention(config)) is not None:
        yield reason
    for reason in config.objective.refuse(words, config.model):
        yield f"objective.name = '{config.objective.name}': {reason}"
    # Here and not in the midst of training: the tables of a large automaton may not fit into memory.
    _prepare_near_misses(config, words)
    for phase in config.phases:
        reason = phase.refuse(config.model, config.objective, config.data.name) if phase.is_on else None
        if reason is not None:
            yield f"phases.{phase.name}: {reason}; leave it out, as the recipe words does"
    if config.tensorboard and find_spec("tensorboard") is None:
        yield "tensorboard = true needs the extra: pip install 'regulargpt-testbed[tracking]'"


def _protocol(config: RunConfig) -> Iterator[str]:
    if config.protocol:
        if config.protocol != protocol(config.protocol).id:
            version = protocol(config.protocol).id
            yield f"protocol = '{config.protocol}': a config names the version, protocol = '{version}'"
        yield from protocol(config.protocol).problems(config)
    for name in config.evaluation.extra_protocols:
        if name != protocol(name).id:
            yield f"evaluation.extra_protocols = '{name}': a config names the version, '{protocol(name).id}'"
        other = protocol(name).test_of(config)
        words = data.build(other.data)
        if not any(map(words.is_tested, other.tested)):
            yield f"evaluation.extra_protocols = '{name}': {words.describe_length(other.tested[0])}; leave it out"


def _steps(config: RunConfig) -> Iterator[str]:
    steps = config.training.steps
    if config.recipe in CONSTRUCTED and steps:
        yield f"training.steps = {steps}; recipe '{config.recipe}' trains nothing, set it to 0"
    for observer in config.observers if config.recipe in CONSTRUCTED else ():
        yield f"observers.{observer.name}: recipe '{config.recipe}' trains nothing to look at; leave it out"
    if config.recipe not in CONSTRUCTED and not steps:
        yield "training.steps = 0; training has at least 1 step"


def _lengths(config: RunConfig, words: Data) -> Iterator[str]:
    train_from, train_len, test_len = config.data.shortest, config.data.train_len, config.test_len
    is_known = bool(config.protocol) and protocol(config.protocol).of_training_lengths
    first = 1 if is_known else config.data.first_tested
    test_from = config.evaluation.test_from or config.data.first_tested
    if train_len < config.model.shortest:
        yield f"data.train_len = {train_len} is too short for {config.model.label}; at least {config.model.shortest}"
    if test_from < first:
        yield f"evaluation.test_from = {test_from}; {_longer(config)} data.train_len = {train_len}"
    if test_len < first:
        yield f"evaluation.test_len = {test_len}; {_longer(config)} data.train_len = {train_len}"
    if test_len < test_from:
        yield f"evaluation.test_len = {test_len} is shorter than evaluation.test_from = {test_from}"
    if not _has_words(words, range(train_from, train_len + 1)):
        yield f"data.train_len = {train_len}: {words.describe_length(train_len)}"
    if not any(words.is_tested(length) for length in config.scored):
        yield f"evaluation.test_len = {test_len}: {words.describe_length(config.scored[-1])}"
    yield from _asked_for(config, words)
    for length in config.evaluation.extra_lengths:
        if not 1 <= length <= LONGEST_WORD:
            yield f"evaluation.extra_lengths = {length}; a length is 1 to {LONGEST_WORD}"
    for length in config.training.curriculum:
        if not _has_words(words, range(train_from, min(length, train_len) + 1)):
            yield f"training.curriculum = {length}: {words.describe_length(length)}"
    if (reason := config.network.too_short(train_len)) is not None:
        yield f"data.train_len = {train_len}: {reason}"
    longest = [("data.train_len", train_len), ("evaluation.test_len", test_len)]
    for key, length in [*longest, *(("evaluation.extra_lengths", extra) for extra in config.evaluation.extra_lengths)]:
        if (reason := config.network.too_long(length)) is not None:
            yield f"{key} = {length}: {reason}"


def _tested_again(config: RunConfig, words: Data, lengths: Sequence[int]) -> Iterator[str]:
    if not any(words.is_tested(length) for length in lengths):
        yield words.describe_length(lengths[0])
    if (reason := config.network.too_long(max(lengths))) is not None:
        yield f"length {max(lengths)}: {reason}"


def refuse_attention(config: RunConfig) -> str | None:
    """Why the model cannot be looked at under `evaluation.attention`; None if it can.

    >>> refuse_attention(RunConfig().replaced({"evaluation.attention": "bca"}))
    "evaluation.attention = 'bca': regulargpt has no attention that could be restricted"
    """
    attention = config.evaluation.attention
    if attention != "full" and (reason := config.model.why_no_views()) is not None:
        return f"evaluation.attention = '{attention}': {reason}"
    try:
        views.parse(attention, config.data.train_len)
    except UserError as error:
        return f"evaluation.{error}"
    return None


def _asked_for(config: RunConfig, words: Data) -> Iterator[str]:
    """Lengths by a factor are few, and none may be missing that somebody requested: a text is long enough or not.

    Of a language, whose words may all have an even length, those are left out that it lacks.
    """
    evaluation = config.evaluation
    if evaluation.factor > 1:
        longest = [("test_len", config.scored[-1])] if evaluation.test_len and config.scored else []
        for key, length in [*longest, *(("extra_lengths", extra) for extra in evaluation.extra_lengths)]:
            if not words.is_tested(length):
                yield f"evaluation.{key} = {length}: {words.describe_length(length)}"


def _longer(config: RunConfig) -> str:
    """What is said of a test that is too short."""
    new = config.data.first_tested > config.data.train_len
    return "test words are longer than" if new else "test segments are no shorter than"


def _has_words(words: Data, lengths: Iterable[int]) -> bool:
    """Whether the language has words of any of these lengths."""
    return any(words.has_length(length) for length in lengths)


def _prepare_near_misses(config: RunConfig, words: Data) -> None:
    """Raise SamplingError for an automaton that is too large for those that are trained on or tested."""
    words.prepare(config.data.train_len, config.test_len)
    for name in config.evaluation.extra_protocols:
        other = protocol(name).test_of(config)
        data.build(other.data).prepare(0, other.test_len)
