"""The experiments by name: one line for each."""

from __future__ import annotations

from importlib import import_module

from experiments.experiment import Experiment
from languages.errors import UserError, nearest, one_of

EXPERIMENTS = {
    "table-6.1": "experiments.table_6_1",
    "table-6.2": "experiments.table_6_2",
    "figure-6.3": "experiments.figure_6_3",
    "figure-6.4a": "experiments.figure_6_4a",
    "section-6.4.3": "experiments.section_6_4_3",
    "ablations": "experiments.ablations",
}


def experiment(name: str) -> Experiment:
    """The experiment of this name; UserError with the nearest one for another.

    >>> experiment("table-6.2").title
    'Parity with other probabilities of a one'
    >>> experiment("table-6.3")
    Traceback (most recent call last):
    languages.errors.UserError: unknown experiment 'table-6.3'; did you mean 'table-6.2'?
    """
    if name not in EXPERIMENTS:
        raise UserError(f"unknown experiment '{name}';{nearest(name, EXPERIMENTS) or ' choose ' + one_of(EXPERIMENTS)}")
    return import_module(EXPERIMENTS[name]).EXPERIMENT
