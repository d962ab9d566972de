"""Trainers in the middle of a table fine-tuning, whose certificate is what a test says, and tables for them."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

import languages
from regulargpt.certificate.proof_phase import Closed
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable
from regulargpt.certificate.tuning.phase import TableFineTuning, TableTuning, Trees
from regulargpt.certificate.tuning.state import Stage
from regulargpt.certificate.tuning.table_tuner import TableTuner
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.construct.weights import constructed
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.base import Tree
from regulargpt.storage.folder import RunFolder
from regulargpt.training.trainer import Trainer
from tests.regulargpt.small import COMMON, trainer_of

ON_PARITY = {
    **COMMON,
    "data.name": "parity",
    "objective.name": "last",
    "model.n_heads": 2,
    "model.d_model": 4,
    "model.state_noise": 0.1,
}
PHASE = "phases.table_fine_tuning."


def exact_model(spec: str, C: int = 2) -> tuple[RegularGPT, Certifier]:
    """The constructed network of a language."""
    task, settings = languages.get(spec), configuration(spec, chunk_size=C)
    model = constructed(settings.model, task, settings.recipe.removeprefix("constructed-"))
    return model.eval(), Certifier.for_task(task, C)


def table_for(model: Tree, certifier: Certifier) -> TrainingTable:
    """The table that a network is trained on, however much of it the network misses."""
    made = certifier.attempt(model, allowed=1.0).table
    assert made is not None
    return made()


def table_of(spec: str, C: int = 2) -> tuple[RegularGPT, TrainingTable]:
    """The constructed network of a language, which is certified, and its table."""
    model, certifier = exact_model(spec, C)
    attempt = certifier.attempt(model)
    assert attempt.certain
    assert attempt.wrong is None
    assert attempt.table is not None
    return model, attempt.table()


def config_of(fields: dict[str, Any] | None = None, **of_phase: Any) -> RunConfig:
    """A RegularGPT on Parity, small enough for the table of `table_of`; options of the phase by their short names."""
    phase = {"every": 5, "windows": 6} | of_phase
    return RunConfig().replaced(ON_PARITY | {PHASE + name: value for name, value in phase.items()} | (fields or {}))


def phase_of(trainer: Trainer) -> TableFineTuning:
    """The only further phase."""
    (phase,) = trainer.further
    assert isinstance(phase, TableFineTuning)
    return phase


def strategy_of(trainer: Trainer) -> Trees:
    """What it goes by."""
    strategy = phase_of(trainer).strategy
    assert isinstance(strategy, Trees)
    return strategy


def tuning_of(trainer: Trainer) -> TableTuning | None:
    """The training on a table, or that with which it was closed; None while there is none."""
    last = phase_of(trainer).last
    return last if isinstance(last, TableTuning) else None


def tuner_of(trainer: Trainer) -> TableTuner:
    """The table that is trained on."""
    tuning = tuning_of(trainer)
    assert tuning is not None
    return tuning.tuner


def standing_of(trainer: Trainer) -> tuple[int, Stage | None, int | None]:
    """How many were given up, the stage, and where it was closed."""
    found, tuning = phase_of(trainer), tuning_of(trainer)
    stage = None if tuning is None else tuning.stage
    return found.last.given_up, stage, found.now.at if isinstance(found.now, Closed) else None


def stage_of(trainer: Trainer) -> Any:
    """The stage of its training on a table; one that never began where there is none."""
    tuning = tuning_of(trainer)
    return SimpleNamespace(began_at=None, certified_at=None) if tuning is None else tuning.stage


def in_fine_tuning(
    ends: int, missed: dict[int, float] | None = None, certain_from: int = 1000, **of_phase: int
) -> tuple[Trainer, list]:
    """A trainer whose certificate is asked every 5 steps; `missed` at each of them, and what it was asked with."""
    fields = {"training.steps": ends, "training.curriculum": (4,), "training.stage_loss": 1e-9}
    usual = {"steps": 10, "windows": 512, "max_error_share": 0.5}
    trainer, asked = trainer_of(config_of(fields, **usual | of_phase)), []
    _, table = table_of("parity")

    def attempt(model: object, known: TrainingTable | None, allowed: float, learned: object) -> CertificationAttempt:
        step = trainer.step_count
        asked.append((step, known is not None, allowed))
        share = (missed or {}).get(step, 0.0)
        return CertificationAttempt(step >= certain_from, (lambda: table) if share <= allowed else None, (1,), share)

    certifies(trainer, attempt)
    strategy_of(trainer).let_in = lambda now, trainer: now
    return trainer, asked


def certifies(trainer: Trainer, attempt: Callable[..., CertificationAttempt]) -> None:
    """From here on the certificate is what this says."""
    vars(strategy_of(trainer).sought.needed())["attempt"] = attempt


def train(trainer: Trainer, to: int = 10**9) -> Trainer:
    """Train up to a step, or to the end."""
    while not trainer.finished and trainer.step_count < to:
        trainer.step()
    return trainer


def stopped(make: Callable[[], Trainer], at: int, folder: Path) -> tuple[Trainer, Trainer]:
    """A trainer that stopped at a step, and another that has loaded what it saved."""
    first, second = train(make(), at), make()
    run = RunFolder.create(folder, first.config.render(), {})
    first.save(run)
    assert second.load(run) == ()
    return first, second


def weights(trainer: Trainer) -> list[Tensor]:
    """What they are now."""
    return [tensor.clone() for tensor in trainer.model.state_dict().values()]


def same(some: list[Tensor], others: list[Tensor]) -> bool:
    """Whether weights are equal, bit for bit."""
    return all(map(torch.equal, some, others))
