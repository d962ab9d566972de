"""Everything that is not kept yet is asked: task by task, size by size, strategy by strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from regulargpt.text.corpora.retrieval.prompts import PROMPTS, Prompt
from regulargpt.text.experiments.checkpoint.answers import Answer, AnswerColumn, AnswerStore
from regulargpt.text.experiments.checkpoint.network import Aligned, AnsweringNetwork
from regulargpt.text.experiments.checkpoint.plan import STRATEGIES, ColumnPlan

# Asked between two prompts.
Stop = Callable[[], bool]


class Stopped(Exception):
    """A stop was requested; what is done is kept."""


def missing(plan: ColumnPlan, store: AnswerStore) -> dict[tuple[str, int], list[str]]:
    """The strategies that each column still lacks, columns that lack none left out."""
    known = {(task, strategy): store.columns(task, strategy) for task in plan.sizes for strategy in STRATEGIES}
    lacking = {(t, size): [s for s in STRATEGIES if size not in known[t, s]] for t, size in plan.columns}
    return {column: strategies for column, strategies in lacking.items() if strategies}


def ask(
    plan: ColumnPlan,
    network: AnsweringNetwork,
    count: Callable[[str], int],
    store: AnswerStore,
    short: Mapping[str, Sequence[str]],
    notice: Callable[[str], None],
    stop: Stop = lambda: False,
) -> None:
    """Ask for what is missing, and keep each column as soon as it is there; Stopped if `stop` says so.

    `count` counts tokens; `short` are the prompts of each task that are as long as those of training.
    """
    for (task, size), strategies in missing(plan, store).items():
        prompts = plan.prompts(task, size)
        tokens = round(sum(count(prompt.text) for prompt in prompts) / len(prompts))
        aligned = network.aligned(short[task], plan.long(task, size))
        for strategy in strategies:
            notice(f"{task}/{size}, about {tokens:,} tokens: {STRATEGIES[strategy]}")
            store.keep(task, strategy, size, answered(network, task, prompts, tokens, aligned, strategy, stop))


def answered(
    network: AnsweringNetwork,
    task: str,
    prompts: Sequence[Prompt],
    tokens: int,
    aligned: Aligned,
    strategy: str,
    stop: Stop,
) -> AnswerColumn:
    """A column with one strategy."""
    if stop():
        raise Stopped
    sharpened, answers = aligned.temperature(strategy), []
    for prompt in prompts:
        if stop():
            raise Stopped
        said = network.answer(prompt.text, sharpened.tau)
        answers.append(Answer(prompt.answer, said, PROMPTS[task].is_right(said, prompt.answer)))
    return AnswerColumn(tokens, sharpened.tau, sharpened.at_bound, tuple(answers))
