"""Labelled symbols a second of each family of languages, and steps of training a second of each model.

Words and labels are drawn together, and the automata of a sampler are built before the clock starts. Steps are whole,
with words, loss, backward, clipping and optimiser: those of `regulargpt run parity --recipe words --model MODEL`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

import languages
from experiments.bench.timing import BenchRow, Effort, in_turn, quartiles
from languages.registry import FAMILIES
from languages.task import Task
from regulargpt import data, objectives
from regulargpt.config.recipes import resolve
from regulargpt.models import MODELS
from regulargpt.runs.run import make_model
from regulargpt.training.trainer import Trainer

LENGTH = {"smoke": 40, "full": 512}
SYMBOLS = {"smoke": 1 << 10, "full": 1 << 20}
STEPS = {"smoke": 1, "full": 10}
WANTED = {"parity": 50.0}


def samplers(scale: str) -> Iterator[BenchRow]:
    """Labelled symbols a second of the first language of each family."""
    effort = Effort(2, 0, 0) if scale == "smoke" else Effort(5, 0.3)
    for name in [*(family.names[0] for family in FAMILIES if family.names), "regex:(ab)*"]:
        task = languages.get(name)
        length = task.lengths(LENGTH[scale], LENGTH[scale] + 64)[0]
        count = max(2, SYMBOLS[scale] // length)
        each = in_turn({name: lambda task=task, T=length, n=count: label(task, T, n)}, effort)[name]
        low, median, high = quartiles([count * length / s / 1e6 for s in each])
        yield BenchRow(f"T = {length}", name, median, "million symbols a second", low, high, wanted=WANTED.get(name))


def label(task: Task, length: int, count: int) -> None:
    """Draw and label words."""
    task.labels(task.sample(languages.rng(0, "bench"), length, count))


def models(scale: str) -> Iterator[BenchRow]:
    """Steps of training a second of each model with the recipe `words`."""
    effort, steps = Effort(2, 0, 0) if scale == "smoke" else Effort(5, 8), STEPS[scale]
    trainers = {name: trainer(name) for name in MODELS}
    for name, each in in_turn({n: lambda t=t: walk(t, steps) for n, t in trainers.items()}, effort).items():
        low, median, high = quartiles([steps / s for s in each])
        parameters = sum(p.numel() for p in trainers[name].model.parameters())
        yield BenchRow(f"parity, {parameters:,} parameters", name, median, "steps a second", low, high)


def trainer(name: str) -> Trainer:
    """A new model of this name at the start of its training on parity."""
    config = resolve("words", name, "parity")
    words = data.build(config.data)
    goal, device = objectives.build(config.objective, words), torch.device("cpu")
    return Trainer(config, words, goal, make_model(config, words, goal, device), device)


def walk(trainer: Trainer, steps: int) -> None:
    """Some steps."""
    for _ in range(steps):
        trainer.step()
