"""Testing a finished run again, at any lengths: what `regulargpt evaluate` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import languages
from languages.errors import UserError
from regulargpt.ablations import too_long
from regulargpt.batches import is_tested
from regulargpt.config import RunConfig
from regulargpt.evaluation import accuracy_by_length, score
from regulargpt.objectives import objective
from regulargpt.run import UNWATCHED, Watch, load_reader, prepare
from regulargpt.storage.folder import RunFolder
from regulargpt.validation import validate


def evaluate(
    folder: RunFolder, config: RunConfig, lengths: Sequence[int], seed: int, watch: Watch = UNWATCHED
) -> dict[str, Any]:
    """Accuracy of a finished run at these lengths, on the words that `seed` gives; `watch` is told each of them.

    Raises UserError if the config cannot be tested, the language has no word of any of the lengths, or it has other
    symbols or answers than the model was trained on.
    """
    task = languages.get(config.task.language)
    validate(config, task)
    record = folder.load_model_config()
    if list(task.alphabet) != record["alphabet"] or list(task.output_names) != record["output_names"]:
        raise UserError(f"{task.name} has other symbols or answers than the run in {folder.path} was trained on")
    if not any(is_tested(task, config.evaluation, length) for length in lengths):
        raise UserError(task.describe_length(lengths[0]))
    if (reason := too_long(config.model, max(lengths))) is not None:
        raise UserError(f"length {max(lengths)}: {reason}")
    goal = objective(task, config)
    if goal.n_outputs != record["n_outputs"]:
        asked, trained = config.task.supervision, record["supervision"]
        raise UserError(f"task.supervision = '{asked}': the run was trained on '{trained}'; test it on that")
    device = prepare(config)
    points = accuracy_by_length(
        load_reader(folder).to(device),
        task,
        goal,
        lengths,
        config=config.evaluation,
        seed=seed,
        device=device,
        on_test=watch.on_test,
        on_point=watch.on_point,
    )
    scored = config.scored if config.protocol else lengths
    return {
        "run_dir": str(folder.path),
        "language": config.task.language,
        "protocol": config.protocol,
        "seed": seed,
        **dataclasses.asdict(score(points, scored)),
        "scored": [str(p.length) for p in points if p.length in scored],
        "accuracy": {str(p.length): 100 * p.accuracy for p in points},
        "interval": {str(p.length): [100 * bound for bound in p.interval] for p in points},
        "samples": {str(p.length): p.samples for p in points},
        "no_words_of_length": [length for length in lengths if not is_tested(task, config.evaluation, length)],
    }
