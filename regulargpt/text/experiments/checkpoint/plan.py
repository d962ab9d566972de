"""What a checkpoint is asked: which tasks, how large, how often, and with which temperatures. Never imports torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from experiments.experiment import Scale
from experiments.published import published
from languages.errors import UserError, nearest, one_of
from languages.randomness import rng
from regulargpt.text.corpora.retrieval.prompts import PROMPTS, Prompt, of_tokens

TABLE, TEMPERATURES = "table-5.4", "table-5.9"
TRAIN_LEN = 512
"""Tokens that T5 was trained on."""
NONE = "none"
STRATEGIES = {NONE: "as trained", "p_max": "P_max", "entropy": "entropy", "log": "log"}
# Published shapes: d_model, layers of the encoder, d_ff, heads.
SHAPES = {(1024, 24, 2816, 16): "large", (2048, 24, 5120, 32): "xl", (4096, 24, 10_240, 64): "xxl"}
TITLES = {"large": "Flan-T5-Large", "xl": "Flan-T5-XL", "xxl": "Flan-T5-XXL"}
# Prompts of a column, and prompts of each length that attention is measured on.
SAMPLES: Mapping[Scale, int] = {"smoke": 2, "cpu": 20, "full": 100}
ALIGNED: Mapping[Scale, int] = {"smoke": 2, "cpu": 4, "full": 8}
# Longer than the training length, and short enough to be read in a moment.
SMOKE = {"topic": (2,), "line": (40,), "passkey": (3000,)}


def published_sizes() -> dict[str, tuple[int, ...]]:
    """The sizes of each task in the published table, which are its columns.

    >>> published_sizes()["topic"]
    (5, 10, 15, 20, 25)
    """
    columns = [name.split("/") for name in published(TABLE).columns if "/" in name]
    return {task: tuple(int(size) for name, size in columns if name == task) for task in PROMPTS}


@dataclass(frozen=True)
class ColumnPlan:
    """The columns that are requested, `samples` prompts each, and how many prompts temperatures are found on."""

    scale: Scale
    sizes: Mapping[str, tuple[int, ...]]
    samples: int
    aligned: int
    seed: int = 0

    @property
    def columns(self) -> list[tuple[str, int]]:
        """Task and size of each column."""
        return [(task, size) for task, sizes in self.sizes.items() for size in sizes]

    def prompts(self, task: str, size: int) -> list[Prompt]:
        """The prompts of a column, the same for every strategy."""
        name = f"{task}/{size} asked"
        return [PROMPTS[task].prompt(rng(self.seed, name, at), size) for at in range(self.samples)]

    def long(self, task: str, size: int) -> list[str]:
        """Others of the same size, which temperatures are found on: nothing is fitted to what is asked."""
        name = f"{task}/{size} aligned"
        return [PROMPTS[task].prompt(rng(self.seed, name, at), size).text for at in range(self.aligned)]

    def short(self, task: str, count: Callable[[str], int]) -> list[str]:
        """Prompts as long as can be with at most the tokens of the training length."""
        name = f"{task} aligned"

        def drawn(at: int) -> str:
            return of_tokens(PROMPTS[task], count, TRAIN_LEN, lambda: rng(self.seed, name, at)).text

        return [drawn(at) for at in range(self.aligned)]


def plan(scale: Scale, tasks: Sequence[str] = (), samples: int | None = None) -> ColumnPlan:
    """The plan of a scale, of all tasks or of those named; UserError for another task.

    >>> plan("cpu", ["line"]).columns[:2], plan("cpu").samples
    ([('line', 200), ('line', 300)], 20)
    >>> plan("cpu", ["lines"])
    Traceback (most recent call last):
    languages.errors.UserError: table-5.4 of a checkpoint has no task 'lines'; did you mean 'line'?
    """
    for task in tasks:
        if task not in PROMPTS:
            hint = nearest(task, PROMPTS) or f" {one_of(PROMPTS)}"
            raise UserError(f"{TABLE} of a checkpoint has no task '{task}';{hint}")
    sizes = SMOKE if scale == "smoke" else published_sizes()
    chosen = {task: sizes[task] for task in PROMPTS if not tasks or task in tasks}
    return ColumnPlan(scale, chosen, SAMPLES[scale] if samples is None else samples, ALIGNED[scale])


def published_as(sizes: Mapping[str, int]) -> str:
    """Which published model has these sizes, by the names of config.json; "" if none has.

    >>> published_as({"d_model": 2048, "num_layers": 24, "d_ff": 5120, "num_heads": 32})
    'xl'
    """
    return SHAPES.get((sizes["d_model"], sizes["num_layers"], sizes["d_ff"], sizes["num_heads"]), "")


def row_of(strategy: str) -> str:
    """How the published tables call a strategy, behind the size of the model.

    >>> row_of("none"), row_of("p_max")
    ('t5', 't5+p_max')
    """
    return "t5" if strategy == NONE else f"t5+{strategy}"


def published_value(table: str, model: str, strategy: str, column: str) -> float | None:
    """A published value of a model; None for what was not published.

    >>> published_value("table-5.4", "xl", "p_max", "line/680"), published_value("table-5.4", "", "p_max", "line/680")
    (62.0, None)
    """
    printed = published(table)
    # The temperatures of the rule that knows lengths alone have one row for all models.
    shared = table == TEMPERATURES and strategy == "log"
    row = row_of(strategy) if shared and model else f"{model}/{row_of(strategy)}"
    value = printed.value(row, column, printed.statistics[0])
    return float(value) if isinstance(value, int | float) else None
