"""Training a bias beside a network's own encoding, on longer segments of a text, while its weights stay as they are.

The thesis (Chi 2024, section 7.4) leaves this open: KERPLE as a fine-tuning of a network that has other positions, and
with positions interpolated, as Al-Khateeb et al. (2023) did with ALiBi. What is trained are a few numbers a head.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from languages.errors import UserError, shown
from regulargpt import objectives
from regulargpt.config.schema import RunConfig, flat
from regulargpt.encodings.added import Added
from regulargpt.evaluation import bias as files
from regulargpt.evaluation.bias import Bias
from regulargpt.models.base import Model
from regulargpt.models.layers import Readout
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened
from regulargpt.runs.run import UNWATCHED, Watch
from regulargpt.storage import toml
from regulargpt.storage.atomic import at_work
from regulargpt.storage.environment import environment
from regulargpt.storage.folder import CONFIG, RunFolder
from regulargpt.storage.signals import StopRequested
from regulargpt.training.trainer import Trainer, train

FILE = "bias.json"
LOGITS_AT_ONCE, PATTERNS_AT_ONCE = 1 << 24, 1 << 26
"""Numbers of the logits and of all attention patterns that a gradient goes through together."""


@dataclass(frozen=True)
class Lengthening:
    """What is trained: a kernel, shared by all layers or `per` layer, on segments of `length`, and for how long.

    `changes` are options of the network while it is trained and tested, by their keys within `model`.
    """

    kernel: str = "kerple_log"
    per: str = "model"
    length: int = 0
    steps: int = 300
    batch_size: int = 4
    lr: float = 0.02
    seed: int = 0
    changes: Mapping[str, Any] | None = None

    def config(self, run: Opened) -> RunConfig:
        """The config of the training; UserError for segments that the text or the network has no room for."""
        model = {f"model.{key}": value for key, value in (self.changes or {}).items()}
        training = {"steps": self.steps, "batch_size": self.batch_size, "lr": self.lr, "weight_decay": 0.0,
                    "warmup": min(20, self.steps // 10), "schedule": "cosine", "log_every": max(1, self.steps // 30),
                    "checkpoint_every": 25, "lengths_per_step": self.groups(run)}  # fmt: skip
        changes = {**model, **{f"training.{key}": value for key, value in training.items()}}
        config = run.config.replaced({**changes, "data.train_len": self.length, "seed": self.seed})
        # The training length of the network itself is that of its encoding's options.
        if (reason := run.config.replaced(model).network.too_long(self.length)) is not None:
            raise UserError(f"--length {self.length}: {reason}")
        if not run.data.has_length(self.length):
            raise UserError(f"--length {self.length}: {run.data.describe_length(self.length)}")
        return config

    def groups(self, run: Opened) -> int:
        """Into how many parts a batch goes, so that gradients fit the memory: the fewest that share it equally."""
        symbols, model = getattr(run.data, "corpus").vocabulary_size, run.config.model  # noqa: B009  # a text has one
        patterns = getattr(model, "n_layers", 1) * getattr(model, "n_heads", 1) * self.length**2
        most = max(1, min(LOGITS_AT_ONCE // (self.length * symbols), PATTERNS_AT_ONCE // patterns))
        return next(
            g for g in range(1, self.batch_size + 1) if not self.batch_size % g and self.batch_size // g <= most
        )


class Frozen(Model):
    """A network whose added bias alone is a parameter: nothing else is trained, saved or put into training mode."""

    def __init__(self, network: Any):
        super().__init__()
        self.kernels = network.encoding.kernels
        self.frozen = [network]  # in a list, so that it is no part of this module

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        return self.frozen[0](words, readout)

    def project(self) -> None:
        self.added.project()

    @property
    def added(self) -> Added:
        """The encoding with the bias."""
        return self.frozen[0].encoding


def lengthen(run: Opened, training: Lengthening, out: Path, watch: Watch = UNWATCHED) -> Bias:
    """Train a bias in the folder `out`, which gets bias.json; the same call goes on where it was stopped.

    The bias is 0 before the first step, and batches are from the training part of the text, by (seed, step).

    Raises UserError before anything is written for a network or text that cannot be used, and a folder that holds
    another training; Interrupted after Ctrl-C, with the state saved.
    """
    config = training.config(run)
    device, data = prepare(config), run.data
    network = run.network(training.changes or {}).requires_grad_(False)
    model = run.config.model
    sets = getattr(model, "n_layers", 1) if training.per == "layer" else 1
    about = {
        "changes": training.changes or {},
        "train_len": run.train_len,
        "length": training.length,
        "steps": training.steps,
    }
    begin = Bias.start(
        training.kernel, sets, getattr(model, "n_heads", 1), **about, text=data.name, weights=run.weights
    )
    begin.set_on(network)
    trained = Frozen(network.to(device))
    folder = folder_of(out, config, begin, {**environment(str(device)), **data.fingerprint()})
    with at_work(), folder.locked(), StopRequested() as stop:
        trainer = Trainer(config, data, objectives.build(config.objective, data), trained, device)
        for skipped in trainer.load(folder):
            watch.on_notice(skipped)
        train(trainer, folder, stop, time.monotonic, watch.on_step, watch.on_row)
        numbers = {name: tuple(map(tuple, table)) for name, table in trained.added.numbers.items()}
        bias = replace(begin, numbers=numbers)
        files.write(out / FILE, bias)
    return bias


def folder_of(out: Path, config: RunConfig, begin: Bias, made_with: Mapping[str, Any]) -> RunFolder:
    """The folder of a training, new or begun; UserError where it is of another training. Its test may be another.

    Its config.toml says beside the config what is trained, and on what: `run` and `resume` refuse it for that.
    """
    corpus, sets = made_with["corpus"], len(begin.numbers["r1"])
    own = {"bias": begin.kernel, "sets": sets, "weights": begin.weights, "text": corpus["sha256"]}
    text = f"{config.render()}\n{toml.render({'lengthen': own})}"
    if not (out / CONFIG).is_file():
        return RunFolder.create(out, text, made_with)
    folder = RunFolder.open(out)
    if (reason := other_training(folder.config_text, text)) is not None:
        raise UserError(f"{shown(out)} holds another training: {reason}; choose another --out")
    return folder


def other_training(there: str, here: str) -> str | None:
    """The first key in which two trainings differ, and both values; None where they are equal, whatever its test is.

    >>> other_training("[training]\\nlr = 0.1", "[training]\\nlr = 0.2\\n[evaluation]\\nsamples = 4")
    'training.lr = 0.1 there, 0.2 here'
    """
    kept, wanted = (flat(toml.parse(text)) for text in (there, here))
    different = (
        f"{key} = {kept.get(key)!r} there, {wanted.get(key)!r} here"
        for key in kept | wanted
        if not key.startswith("evaluation.") and kept.get(key) != wanted.get(key)
    )
    return next(different, None)
