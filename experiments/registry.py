"""The experiments by name: one line for each."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from experiments.experiment import SCALES, Experiment, Scale
from languages.errors import UserError, nearest, one_of

EXPERIMENTS = {
    "table-6.1": "experiments.table_6_1",
    "table-6.2": "experiments.table_6_2",
    "figure-6.3": "experiments.figure_6_3",
    "figure-6.4a": "experiments.figure_6_4a",
    "section-6.4.3": "experiments.section_6_4_3",
    "ablations": "experiments.ablations",
    "encodings-languages": "experiments.encodings_languages",
    "answers": "experiments.answers",
    "chains": "experiments.chains",
    "rivals": "experiments.rivals",
    "further-languages": "experiments.further_languages",
    "ldru-2026": "experiments.ldru_2026",
    "deletang-2023": "experiments.deletang",
    "hierarchy": "experiments.hierarchy",
    "flare-2025": "experiments.flare",
    "nested": "experiments.nested.table",
    "nested-random": "experiments.nested.random_machines",
    "alignment-languages": "regulargpt.text.experiments.alignment_languages",
    "figure-2.7": "regulargpt.text.experiments.figure_2_7",
    "figure-3.2": "regulargpt.text.experiments.figure_3_2",
    **{f"figure-3.{n}": f"regulargpt.text.experiments.figure_3_{n}" for n in (5, 6, 7)},
    **{f"figure-4.{n}": f"regulargpt.text.experiments.figure_4_{n}" for n in (4, 5, 6, 7, 11)},
    **{f"figure-5.{n}": f"regulargpt.text.experiments.figure_5_{n}" for n in (1, 3, 4)},
    "table-3.3": "regulargpt.text.experiments.table_3_3",
    "table-3.5": "regulargpt.text.experiments.table_3_5",
    "table-3.6": "regulargpt.text.experiments.table_3_6",
    "table-3.9": "regulargpt.text.experiments.table_3_9",
    "table-4.1": "regulargpt.text.experiments.table_4_1",
    "table-4.2": "regulargpt.text.experiments.table_4_2",
    "table-4.3": "regulargpt.text.experiments.table_4_3",
    "table-4.4": "regulargpt.text.experiments.table_4_4",
    "table-4.5": "regulargpt.text.experiments.table_4_5",
    "table-5.1": "regulargpt.text.experiments.table_5_1",
    "table-5.3": "regulargpt.text.experiments.table_5_3",
    "table-5.4": "regulargpt.text.experiments.table_5_4",
    "table-5.5": "regulargpt.text.experiments.table_5_5",
    "table-5.6": "regulargpt.text.experiments.table_5_6",
    "table-5.7": "regulargpt.text.experiments.table_5_7",
    "table-5.9": "regulargpt.text.experiments.table_5_9",
    "table-5.10": "regulargpt.text.experiments.table_5_10",
    "table-5.11": "regulargpt.text.experiments.table_5_11",
    "table-6.3": "regulargpt.text.experiments.table_6_3",
    "table-6.4": "regulargpt.text.experiments.table_6_4",
    "long-training": "regulargpt.text.experiments.long_training",
    "lex-table-2": "regulargpt.text.experiments.lex_table_2",
    "lex-table-3": "regulargpt.text.experiments.lex_table_3",
    "lex-table-4": "regulargpt.text.experiments.lex_table_4",
    "lex-table-5": "regulargpt.text.experiments.lex_table_5",
}


# Those that a checkpoint on disk can be asked, and the module behind `reproduce NAME --model`.
OF_CHECKPOINTS = {"table-5.4": "regulargpt.text.experiments.checkpoint.command"}


def experiment(name: str) -> Experiment:
    """The experiment of this name; UserError with the nearest name for another.

    >>> experiment("table-6.2").title
    'Parity with other probabilities of a one'
    >>> experiment("table-6.22")
    Traceback (most recent call last):
    languages.errors.UserError: unknown experiment 'table-6.22'; did you mean 'table-6.2'?
    """
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment '{name}';{nearest(name, EXPERIMENTS) or ' choose ' + one_of(EXPERIMENTS)}")
    return import_module(EXPERIMENTS[name]).EXPERIMENT


def recorded_as(folder: str) -> tuple[Experiment, Scale]:
    """The experiment and the scale of a folder of results: a second record of an experiment has a number.

    >>> recorded_as("encodings-languages-2-cpu")[0].name, recorded_as("ldru-2026-cpu")[0].name
    ('encodings-languages', 'ldru-2026')
    """
    name, _, scale = folder.rpartition("-")
    if name not in EXPERIMENTS:
        name = name.rpartition("-")[0]
    if scale not in SCALES:
        raise UserError(f"{folder}: a folder of results is named after an experiment and its scale, as table-6.1-cpu")
    return experiment(name), scale


def of_checkpoints(name: str) -> ModuleType:
    """What a checkpoint is asked in an experiment; UserError for an experiment that trains networks of its own alone.

    >>> of_checkpoints("table-6.2")
    Traceback (most recent call last):
    languages.errors.UserError: --model: table-6.2 is of networks that it trains; only 'table-5.4' takes a checkpoint
    """
    if name not in OF_CHECKPOINTS:
        known = experiment(name).name
        raise UserError(
            f"--model: {known} is of networks that it trains; only {one_of(OF_CHECKPOINTS)} takes a checkpoint"
        )
    return import_module(OF_CHECKPOINTS[name])
