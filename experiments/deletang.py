"""Table 2 of Delétang et al. 2023: fifteen tasks on three levels of the hierarchy, their five networks, and ours.

Theirs are by the recipe `paper` under the protocol `deletang2023`: what counts is the share of right tokens, and the
best run, chosen on the test. Ours are RegularGPT, flat and along brackets where there are some, and the stack network
of `experiments/hierarchy.py`, which is proven or refuted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiments import hierarchy
from experiments.claims import claimed
from experiments.experiment import Column, Experiment, Fields, Scale, Shows, configs
from experiments.published import published
from experiments.score_claims import solved, unsolved
from experiments.table_6_1 import RATES, SEEDS
from languages.registry import has_brackets, has_rows
from regulargpt.config.schema import RunConfig

REGULAR = ("even-pairs", "modular-arithmetic", "parity", "cycle-navigation")
CONTEXT_FREE = ("stack-manipulation", "reverse-string", "arithmetic-brackets", "equation")
CONTEXT_SENSITIVE = ("duplicate-string", "missing-duplicate-string", "odds-first", "binary-addition")
CONTEXT_SENSITIVE += ("binary-multiplication", "compute-sqrt", "bucket-sort")
NOT_REGULAR = CONTEXT_FREE + CONTEXT_SENSITIVE

PUBLISHED = {
    "rnn": "RNN",
    "lstm": "LSTM",
    "stack-rnn": "Stack-RNN",
    "tape-rnn": "Tape-RNN",
    "transformer": "Transformer",
}
TITLES = {**PUBLISHED, "flat": "RegularGPT", "nested": "RegularGPT, nested", "binary": "stack-rnn, signs"}
PROTOCOL = "deletang2023"
# The paper takes the best of ten seeds; its tapes are one or four, here 1.
FULL_SEEDS, FULL_STEPS = tuple(range(10)), 1_000_000
TOKENS = "accuracy_by_position"

# On two cores: a minute or two of one core for a run where a row of answers is requested, half of it where one answer
# is; about four hours of one core for all. Milliseconds a step there for a row: RNN 30, LSTM 25, Stack-RNN 40,
# Tape-RNN 90; Transformer 200 and RegularGPT 100 with a quarter of the batch.
CPU: Mapping[str, Fields] = {
    "rnn": {"training.steps": 3_000, "training.lr": 1e-3, "model.d_model": 64},
    "lstm": {"training.steps": 3_000, "training.lr": 3e-3, "model.d_model": 64},
    "stack-rnn": {"training.steps": 2_500, "training.lr": 3e-3, "model.d_model": 64},
    "tape-rnn": {"training.steps": 1_000, "training.lr": 3e-3, "model.d_model": 64},
    "transformer": {"training.steps": 500, "training.lr": 5e-4, "training.batch_size": 32},
    "flat": {"training.steps": 800, "training.lr": 5e-4, "training.batch_size": 32},
    "nested": {"training.steps": 1_500, "training.lr": 5e-4},
}
CPU_SOLVED: Fields = {"training.solved_loss": 1e-3, "training.cooldown": 0}
# An odd stride: arithmetic without brackets has words of odd lengths only.
CPU_TEST: Fields = {"evaluation.samples": 32, "evaluation.stride": 51}
CPU_TEST_QUADRATIC: Fields = {"evaluation.samples": 16, "evaluation.stride": 91}
SMOKE: Fields = {
    "training.steps": 10,
    "training.batch_size": 8,
    "model.d_model": 16,
    "evaluation.samples": 2,
    "evaluation.stride": 153,
}


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: `name` is the network.

    >>> [(c.data.name, c.recipe, c.protocol) for c in runs("reverse-string", "stack-rnn", "smoke")]
    [('reverse-string', 'paper', 'deletang2023-1')]
    >>> len(runs("parity", "tape-rnn", "full")), len(runs("odds-first", "nested", "cpu"))
    (30, 0)
    """
    if name == "binary":
        return hierarchy.runs(row, name, scale) if row in CONTEXT_FREE else []
    if name == "nested" and not has_brackets(row):
        return []
    model = name if name in PUBLISHED else "regulargpt"
    fields: dict[str, object] = {} if name in PUBLISHED else {"model.tree": name}
    if scale == "full":
        fields |= {"training.steps": FULL_STEPS}
        return configs(row, "paper", model, PROTOCOL, fields, FULL_SEEDS, RATES)
    if scale == "cpu":
        fields |= {**CPU[name], **CPU_SOLVED, **(CPU_TEST_QUADRATIC if name == "transformer" else CPU_TEST)}
    if scale == "smoke":
        fields |= SMOKE
    seeds = SEEDS if scale == "cpu" and name == "stack-rnn" else SEEDS[:1]
    return configs(row, "paper", model, PROTOCOL, fields, seeds)


def shows(row: str, column: Column) -> Shows:
    """What the cells show: tokens are of rows of answers; a word with one answer is a token.

    >>> shows("parity", COLUMNS[0]).measure, shows("odds-first", COLUMNS[0]).measure
    ('', 'accuracy_by_position')
    """
    return column.shows if has_rows(row) else replace(column.shows, measure="")


COLUMNS = (
    *(Column(name, TITLES[name], name, Shows(measure=TOKENS), name if name in PUBLISHED else None) for name in TITLES),
    *(Column(f"words-{name}", f"{TITLES[name]}, whole words", name) for name in TITLES),
    Column("proven-binary", f"{TITLES['binary']}, proven", "binary", Shows("proven")),
)
WITHOUT_MEMORY, FEW = ("rnn", "transformer"), "one rate of three"
COPIES = ("duplicate-string", "missing-duplicate-string", "odds-first", "binary-addition")
CLAIMS = claimed(
    {
        "Delétang et al. 2023, abstract": {
            "RNNs and Transformers fail to generalize on non-regular tasks": (
                # The rule by position has 90 on Bucket Sort: what a Transformer scores there says nothing.
                unsolved([row for row in NOT_REGULAR if row != "bucket-sort"], *WITHOUT_MEMORY),
                unsolved(["bucket-sort"], "rnn"),
                FEW,
            ),
            "LSTMs can solve regular and counter-language tasks": (solved([*REGULAR, "bucket-sort"], "lstm"), FEW),
            "only networks augmented with structured memory (such as a stack or memory tape) can successfully "
            "generalize on context-free and context-sensitive tasks": (
                solved(CONTEXT_FREE[:3], "stack-rnn", "tape-rnn"),
                solved(COPIES, "tape-rnn"),
                unsolved([*CONTEXT_FREE, *COPIES], *WITHOUT_MEMORY, "lstm"),
                FEW,
            ),
        }
    },
    published("related-deletang").steps,
)

EXPERIMENT = Experiment(
    "deletang-2023",
    "Neural Networks and the Chomsky Hierarchy, Table 2: trained to 40 symbols, scored on 41 to 500",
    (*REGULAR, *CONTEXT_FREE, *CONTEXT_SENSITIVE),
    COLUMNS,
    runs,
    published="related-deletang",
    shows=shows,
    statistics=("max", "mean"),
    claims=CLAIMS,
)
