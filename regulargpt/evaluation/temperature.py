"""A temperature of a model: in a file, which `align` writes and `evaluate --temperature FILE` reads, or for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from jaxtyping import Float
from numpy import ndarray

from languages.errors import UserError
from regulargpt.storage import atomic, manifest
from regulargpt.storage.folder import WEIGHTS, RunFolder

if TYPE_CHECKING:
    from regulargpt.models.base import Model


class OfWeights(Protocol):
    """What belongs to one network, by the digest of its weights."""

    @property
    def weights(self) -> str: ...


Found = TypeVar("Found", bound=OfWeights)


@dataclass(frozen=True)
class Temperature:
    """One number for each layer and head, what they are `on` (all or content), and where they come from.

    `weights` is the digest of the weights that they were found for.
    """

    tau: tuple[tuple[float, ...], ...]
    on: str = "all"
    strategy: str = "fixed"
    by: str = "model"
    train_len: int = 0
    length: int = 0
    weights: str = ""

    def __str__(self) -> str:
        return shown([value for layer in self.tau for value in layer])

    def set_on(self, model: Model) -> None:
        """Divide a model's attention by it from now on; the `UserError` of `set_temperature` for what does not fit."""
        import torch

        model.set_temperature(torch.tensor(self.tau), self.on)


@contextmanager
def at_temperature(model: Model, tau: Float[ndarray, "n_layers n_heads"] | None, on: str = "all") -> Iterator[None]:
    """Divide a model's attention by tau while this lasts; None leaves it as trained. Afterwards it has none."""
    import torch

    from regulargpt.models.base import device_of

    model.set_temperature(None if tau is None else torch.from_numpy(tau).to(device_of(model)), on)
    try:
        yield
    finally:
        model.set_temperature(None)


def shown(tau: Sequence[float]) -> str:
    """Temperatures in a word: the number, or from where to where.

    >>> shown([0.8, 0.8]), shown([0.5, 1.25])
    ('0.8', '0.5 to 1.25')
    """
    low, high = min(tau), max(tau)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def write(path: Path, temperature: Temperature) -> None:
    atomic.write_json(path, asdict(temperature))


def temperature_of(values: Mapping[str, Any]) -> Temperature:
    """That whose fields these are, as `asdict` gives them; KeyError or TypeError for others."""
    return Temperature(**{**values, "tau": tuple(tuple(map(number, layer)) for layer in values["tau"])})


def read(path: Path, weights: str) -> Temperature:
    """The temperature in a file, for the network with these weights; the refusals of `read_for`."""
    return read_for(path, weights, temperature_of, "temperatures", "align")


def read_for(path: Path, weights: str, made: Callable[[Any], Found], noun: str, verb: str) -> Found:
    """What is in a file that a verb wrote for the network with these weights, as it is `made` of its values.

    Raises UserError if there is no such file, it holds something else (a KeyError, TypeError or AttributeError), or it
    was made for another network.
    """
    place, written = atomic.shown(path), f"`regulargpt {verb} RUN`"
    if not path.is_file():
        raise UserError(f"{place}: no such file; {written} writes one")
    try:
        content = made(atomic.parse_json(atomic.read_bytes(path), path))
    except (KeyError, TypeError, AttributeError):
        raise UserError(f"{place} holds no {noun}; {written} writes such a file") from None
    if content.weights != weights:
        raise UserError(f"{place} was made for another network; run `regulargpt {verb}` on this one")
    return content


def weights_of(folder: RunFolder) -> str:
    return manifest.digest(folder.final_bytes(WEIGHTS))


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)
