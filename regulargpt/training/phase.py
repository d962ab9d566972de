"""What a training phase is: its loss, its learning rate, its state in the checkpoint, its beginning and its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch
    from torch import nn

    from regulargpt.storage.folder import RunFolder
    from regulargpt.training.trainer import Trainer


class Conclusion(Protocol):
    """What a phase can say of the trained model at the end of a run, such as a proof, and the files that say it."""

    @property
    def proven(self) -> bool:
        """Whether something is proven."""
        ...

    @property
    def proven_as_it_is(self) -> bool:
        """Whether that is of the network as it is evaluated, without replacing any state."""
        ...

    def write(self, folder: RunFolder) -> Any:
        """Write the files into the finished run's folder."""
        ...


class Observer(Protocol):
    """What looks at a training and keeps something of it; its constructor is `(options, config)`.

    It changes nothing: a run with it has the weights of a run without.
    """

    def see(self, trainer: Trainer, folder: RunFolder) -> None:
        """Training begins or goes on here, or has taken another step."""
        ...


class Steps(Protocol):
    """What takes the steps of a training."""

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """What moves the weights in the next step."""
        ...

    def lr(self, trainer: Trainer) -> float:
        """The learning rate of the next step."""
        ...

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the next step; its loss, and what is measured on the way by name."""
        ...

    def after(self, trainer: Trainer, loss: float) -> None:
        """One of these steps was taken."""
        ...


class Phase(Steps, Protocol):
    """One way of training. The trainer runs the last phase that is active; the words are always.

    After every step each phase is asked whether it begins or ends (`between`). The last phase of a run says where its
    training ends.
    """

    @property
    def name(self) -> str:
        """The phase in the config, the checkpoint and the summary."""
        ...

    @property
    def is_active(self) -> bool:
        """Whether it wants the next step."""
        ...

    def noise(self) -> float:
        """The noise of the next step, for a model that has some."""
        ...

    def between(self, trainer: Trainer) -> None:
        """A step of any phase was taken: begin, go on or end."""
        ...

    def last_step(self, trainer: Trainer) -> int:
        """The step at which training ends, as far as is known."""
        ...

    def known_end(self, trainer: Trainer) -> int | None:
        """That step, if it no longer depends on what comes; else None."""
        ...

    def awaited(self, trainer: Trainer) -> list[str]:
        """What it waits for and how near it is, in words."""
        ...

    def columns(self) -> dict[str, Any]:
        """What a row of metrics.jsonl says of it."""
        ...

    def summary(self) -> dict[str, Any]:
        """What summary.json says of it."""
        ...

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps: numbers, texts, tensors, nothing else."""
        ...

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """Go back to what `state` gave; tensors go to the model's device."""
        ...


class FurtherPhase(Phase, Protocol):
    """A phase beside the training on words; its constructor is `(options, config, data)`."""

    @property
    def timer(self) -> str:
        """What summary.json calls the seconds that its conclusion took."""
        ...

    @staticmethod
    def restore(folder: RunFolder, summary: dict[str, Any]) -> dict[str, Any]:
        """Write again what comes after the end of a run, if its process was killed between; the summary, if what it
        says of that is no longer so, as it is now.
        """
        ...

    def conclude(
        self, model: nn.Module, weights: bytes, network: bytes, on_check: Callable[[str, int, int], None]
    ) -> Conclusion:
        """What can be said of the trained model, whose files are `weights` and `network`."""
        ...
