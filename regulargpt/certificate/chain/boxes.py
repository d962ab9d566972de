"""Boxes under a step of a layer: bounds on what all that it reads and carries in a box becomes.

For a layer of a plain RNN they are exact in each coordinate. Those of GRU, LSTM and sLSTM are the better of two: the
cell's formula in intervals, and the mean-value form f(p) + J (h - p) with an interval for each entry of the Jacobian J,
where terms that cancel do so. A layer's box is the input box of the layer above it. torch differentiates all of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regulargpt.certificate.chain.intervals import TensorInterval, linear, sigmoid_slope, tanh_slope

Matrices = Float[Tensor, "sums d_model width"]


@dataclass(frozen=True)
class Slopes:
    """Intervals of a cell's derivatives over a box: of each part (h; of an LSTM c too) by each sum, (n, parts, sums,
    d_model), and by what the same unit carried of each part, (n, parts, parts, d_model)."""

    by_sum: TensorInterval
    by_carried: TensorInterval


@dataclass(frozen=True)
class Saturated:
    """Of each unit of a layer with gates: the logit of the one that holds what it carried, z of a GRU and f of an LSTM,
    and of an sLSTM that of the share that it keeps; and the sum whose tanh is its new value."""

    holding: Float[Tensor, "n d_model"]
    inner: Float[Tensor, "n d_model"]


class CellBounds:
    """One layer as sums of what it reads and carries, and a function of one unit's sums and of what it carried.

    `of_input` (sums, d_model, width) and `of_hidden` (sums, d_model, d_model) are the sums' weights, `bias`
    (sums, d_model) theirs.
    """

    exact: ClassVar = False

    def __init__(self, weights: Sequence[Tensor], d_model: int):
        w_x, w_h, b_x, b_h = (weight.unflatten(0, (-1, d_model)) for weight in weights)  # each (gates, d_model, ...)
        self.of_input, self.of_hidden, self.bias = self.sums(w_x, w_h, b_x, b_h)

    def sums(self, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> tuple[Matrices, Matrices, Tensor]:
        """One sum for each gate."""
        return w_x, w_h, b_x + b_h

    @abstractmethod
    def images(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        """The parts after the step, each (n, d_model), of sums and parts in intervals."""

    def slopes(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> Slopes:
        """The derivatives over intervals."""
        raise NotImplementedError("the images of this cell are exact")

    @staticmethod
    def saturated(sums: Sequence[Tensor], carried: Sequence[Tensor]) -> Saturated | None:
        """What of a step's sums and of what was carried, each (n, d_model), can leave no gradient in a cell with gates;
        None in one without."""
        return None

    def moved(self, x: TensorInterval, carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        """Bounds on the parts after a step from boxes (n, width) and (n, d_model)."""
        sums = self.summed(x, carried[0]).unbind(-2)
        images = self.images(sums, carried)
        if self.exact:
            return images
        at = [TensorInterval(part.centre, part.centre) for part in carried]
        there = TensorInterval(x.centre, x.centre)
        centres = self.images(self.summed(there, at[0]).unbind(-2), at)
        radii = self.reach(self.slopes(sums, carried), x, carried)
        return [
            image.meet(TensorInterval.round(centre.centre, radius))
            for image, centre, radius in zip(images, centres, radii.unbind(1), strict=True)
        ]

    def summed(self, x: TensorInterval, h: TensorInterval) -> TensorInterval:
        """The sums (n, sums, d_model) over a box."""
        both = torch.cat([self.of_input, self.of_hidden], 2).flatten(0, 1)  # (sums * d_model, width + d_model)
        box = TensorInterval(torch.cat([x.lower, h.lower], 1), torch.cat([x.upper, h.upper], 1))
        sums = linear(box, both, self.bias.flatten())
        shape = self.bias.shape
        return TensorInterval(sums.lower.unflatten(1, shape), sums.upper.unflatten(1, shape))  # (n, sums, d_model)

    def reach(
        self, slopes: Slopes, x: TensorInterval, carried: Sequence[TensorInterval]
    ) -> Float[Tensor, "n parts d_model"]:
        """How far parts can move while the states move in their box: the row sums of |J| times the radii."""
        by_sum, by_carried = slopes.by_sum, slopes.by_carried
        reach = torch.zeros_like(by_carried.lower[:, :, 0])
        for weights, box in ((self.of_input, x), (self.of_hidden, carried[0])):
            centre = torch.einsum("npgi,gij->npij", by_sum.centre, weights)
            radius = torch.einsum("npgi,gij->npij", by_sum.radius, weights.abs())
            if box is carried[0]:
                centre = centre + torch.diag_embed(by_carried.centre[:, :, 0])
                radius = radius + torch.diag_embed(by_carried.radius[:, :, 0])
            reach = reach + ((centre.abs() + radius) @ box.radius[:, None, :, None])[..., 0]
        for part in range(1, len(carried)):
            largest = by_carried.centre[:, :, part].abs() + by_carried.radius[:, :, part]
            reach = reach + largest * carried[part].radius[:, None]
        return reach


class ReluBounds(CellBounds):
    """h' = ReLU(s)."""

    exact = True

    def images(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        return [sums[0].relu()]


class TanhBounds(CellBounds):
    """h' = tanh(s)."""

    exact = True

    def images(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        return [sums[0].tanh()]


class GruBounds(CellBounds):
    """h' = (1 - z) n + z h, with n = tanh(s_x + r s_h): the sums are r, z, s_x and s_h."""

    def sums(self, w_x: Tensor, w_h: Tensor, b_x: Tensor, b_h: Tensor) -> tuple[Matrices, Matrices, Tensor]:
        of_input = torch.cat([w_x, torch.zeros_like(w_x[:1])])
        of_hidden = torch.cat([w_h[:2], torch.zeros_like(w_h[:1]), w_h[2:]])
        return of_input, of_hidden, torch.cat([b_x[:2] + b_h[:2], b_x[2:], b_h[2:]])

    def images(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        """A mean of n and h, so between the least and the largest, at an end of z."""
        s_r, s_z, s_x, s_h = sums
        n, z, (h,) = (s_x + s_r.sigmoid() * s_h).tanh(), s_z.sigmoid(), carried

        def mean(of_n: Tensor, of_h: Tensor) -> tuple[Tensor, Tensor]:
            low, high = (of_n + weight * (of_h - of_n) for weight in (z.lower, z.upper))
            return torch.minimum(low, high), torch.maximum(low, high)

        return [TensorInterval(mean(n.lower, h.lower)[0], mean(n.upper, h.upper)[1])]

    def slopes(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> Slopes:
        s_r, s_z, s_x, s_h = sums
        r, z, (h,) = s_r.sigmoid(), s_z.sigmoid(), carried
        inside = s_x + r * s_h
        by_x = (1.0 - z) * tanh_slope(inside)
        by_r, by_z = by_x * s_h * sigmoid_slope(s_r), (h - inside.tanh()) * sigmoid_slope(s_z)
        return Slopes(stacked([[by_r, by_z, by_x, by_x * r]]), stacked([[z]]))

    @staticmethod
    def saturated(sums: Sequence[Tensor], carried: Sequence[Tensor]) -> Saturated:
        s_r, s_z, s_x, s_h = sums
        return Saturated(s_z, s_x + s_r.sigmoid() * s_h)


class LstmBounds(CellBounds):
    """c' = f c + i g, h' = o tanh(c'): the sums are i, f, g and o."""

    def images(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        s_i, s_f, s_g, s_o = sums
        c = s_f.sigmoid() * carried[1] + s_i.sigmoid() * s_g.tanh()
        return [s_o.sigmoid() * c.tanh(), c]

    def slopes(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> Slopes:
        s_i, s_f, s_g, s_o = sums
        i, f, g, o, c = s_i.sigmoid(), s_f.sigmoid(), s_g.tanh(), s_o.sigmoid(), carried[1]
        after = f * c + i * g
        of_c = [g * sigmoid_slope(s_i), c * sigmoid_slope(s_f), i * tanh_slope(s_g)]
        by_c, zero = o * tanh_slope(after), TensorInterval(torch.zeros_like(f.lower), torch.zeros_like(f.lower))
        of_h = [*(by_c * slope for slope in of_c), after.tanh() * sigmoid_slope(s_o)]
        return Slopes(stacked([of_h, [*of_c, zero]]), stacked([[zero, by_c * f], [zero, f]]))

    @staticmethod
    def saturated(sums: Sequence[Tensor], carried: Sequence[Tensor]) -> Saturated:
        return Saturated(sums[1], sums[2])


class SlstmBounds(CellBounds):
    """The parts are h, a and l = log n: with t = i - log s(f) - l, a' is a mean of a and tanh(z), with the share s(t),
    l' = i - log s(t) and h' = s(o) a'; the sums are i, f, z and o."""

    def images(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> list[TensorInterval]:
        i, f, z, o = sums
        share, new, old = (i - f.log_sigmoid() - carried[2]).sigmoid(), z.tanh(), carried[1]
        ends = ((old.lower, new.lower), (old.upper, new.upper))
        corners = [[x + part * (y - x) for part in (share.lower, share.upper)] for x, y in ends]
        mean = TensorInterval(torch.minimum(*corners[0]), torch.maximum(*corners[1]))
        kept = f.log_sigmoid() + carried[2]
        log_n = TensorInterval(torch.logaddexp(kept.lower, i.lower), torch.logaddexp(kept.upper, i.upper))
        return [o.sigmoid() * mean, mean, log_n]

    def slopes(self, sums: Sequence[TensorInterval], carried: Sequence[TensorInterval]) -> Slopes:
        i, f, z, o = sums
        t = i - f.log_sigmoid() - carried[2]
        share, new, old, out = t.sigmoid(), z.tanh(), carried[1], o.sigmoid()
        kept, forgotten, zero = 1.0 - share, 1.0 - f.sigmoid(), TensorInterval(*[torch.zeros_like(t.lower)] * 2)
        mean = self.images(sums, carried)[1]
        by_t = sigmoid_slope(t) * (new - old)
        by_f, by_n = (zero - by_t) * forgotten, zero - by_t
        of_a, of_n = [by_t, by_f, share * tanh_slope(z), zero], [share, kept * forgotten, zero, zero]
        of_h = [*(out * slope for slope in of_a[:3]), mean * sigmoid_slope(o)]
        by_carried = [[zero, out * kept, out * by_n], [zero, kept, by_n], [zero, zero, kept]]
        return Slopes(stacked([of_h, of_a, of_n]), stacked(by_carried))

    @staticmethod
    def saturated(sums: Sequence[Tensor], carried: Sequence[Tensor]) -> Saturated:
        i, f, z, _ = sums
        return Saturated(F.logsigmoid(f) + carried[2] - i, z)


def stacked(rows: Sequence[Sequence[TensorInterval]]) -> TensorInterval:
    """Rows of intervals (n, d_model) as one (n, rows, columns, d_model)."""
    lower, upper = (
        torch.stack([torch.stack([getattr(each, end) for each in row], 1) for row in rows], 1)
        for end in ("lower", "upper")
    )
    return TensorInterval(lower, upper)
