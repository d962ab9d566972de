"""Windows of states that move in balls: how far from its prototype the image of each window can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from regulargpt.certificate.search.affine_forms import AffineForm, DeviationBound, Lengths, Source, spectral_norm
from regulargpt.certificate.search.expansion import Step
from regulargpt.finite.float64_network import Float64Network

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The maps of this many bytes of windows are held at once.
BATCH_BYTES = 1 << 27


@dataclass
class WindowBatch:
    """Some windows: the maps that lead to their images, and the steps that bound the sources on the way."""

    windows: Ints
    steps: dict[Source, Step]
    deviation: DeviationBound
    residual: Floats

    @classmethod
    def parts(cls, form: AffineForm, targets: Floats, C: int) -> tuple[DeviationBound, Floats]:
        """How far the images can be from their centres, and how far these are from the targets."""
        return DeviationBound.from_form(form, C, spectral_norm), np.sqrt(np.square(form.centre - targets).sum(1))

    def lengths(self, radii: Floats) -> Lengths:
        """How long the sources are (n,), for radii (1 + K,) of the rows' balls."""
        # In the order of the network: the length of each source follows from those before it.
        lengths: Lengths = {}
        for name, step in self.steps.items():
            lengths[name] = step(radii[self.windows], lengths)
        return lengths

    def bound(self, radii: Floats) -> Floats:
        """At most this far from the prototypes (n,)."""
        return self.residual + self.deviation(radii[self.windows], self.lengths(radii))


class ImageBounds(ABC):
    """Node windows and, for radii of the balls under them, how far from their prototypes the images can be."""

    # The checker takes 0.02 s (RegularGPT) to 0.03 s (gates) for a window of width 64: more than this are not tried.
    MAX_ENTRIES: ClassVar[int] = 4096

    def __init__(self, network: Float64Network, prototypes: Floats, windows: Ints, images: Ints):
        self.network, self.windows, self.images = network, windows, images
        self.rows = network.rows(prototypes)
        self.residuals = np.zeros(len(windows))
        self.batches: list[tuple[Ints, WindowBatch]] = []
        for alike in self.groups():
            step = max(1, BATCH_BYTES // self.bytes_of_window())
            for at in (alike[i : i + step] for i in range(0, len(alike), step)):
                batch = self.batch(windows[at], prototypes[images[at] - 1])
                self.batches.append((at, batch))
                self.residuals[at] = batch.residual

    @abstractmethod
    def bytes_of_window(self) -> int:
        """About what the maps of a window take."""

    @abstractmethod
    def batch(self, windows: Ints, targets: Floats) -> WindowBatch:
        """Expand the network about the centres of the balls, over windows of `rows`."""

    def groups(self) -> list[Ints]:
        """The windows that go through the same maps."""
        return [np.arange(len(self.windows))]

    def bound(self, radii: Floats) -> Floats:
        """At most this far (n,), for balls of these radii (K,); infinite where the radii are beyond all measure."""
        radii = np.concatenate([[0.0], radii, np.zeros(len(self.network.beside))])  # row 0 and symbols do not move
        far = np.zeros(len(self.windows))
        with np.errstate(over="ignore", invalid="ignore"):
            for at, batch in self.batches:
                far[at] = batch.bound(radii)
        return np.nan_to_num(far, nan=np.inf, posinf=np.inf)

    def gains(self) -> Floats:
        """By how much (n,) equal small radii are stretched: the norms of the Jacobians over all children."""
        gains = np.zeros(len(self.windows))
        for at, batch in self.batches:
            moves = (batch.windows > 0) & (batch.windows < len(self.rows) - len(self.network.beside))
            gains[at] = batch.deviation.first_order(moves.astype(float))
        return gains
