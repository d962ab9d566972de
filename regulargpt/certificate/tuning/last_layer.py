"""The last linear layer of a tree's map, solved for a table by least squares.

What lies below the layer is left as it is. Its output goes straight into the state norm, so which output would bring a
window's state to its prototype is known, and the layer that comes nearest to that over all windows is the solution of
linear equations. It takes less than a second where hundreds of steps on the same table bring less.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regulargpt.certificate.tuning.fine_tuning import TrainingTable, apply_map
from regulargpt.models.tree.base import Tree

# Beside each window of prototypes stand so many of states near them, by noise of at most this share of the prototypes'
# RMS: or the layer would tell prototypes apart by what is largest in it, and stretch what moves them.
NEAR, NOISE = 4, 0.02
# A share of the mean square of the inputs, added to each: directions in which nothing lies stay as they are.
RIDGE = 1e-6
# The state norm is taken as linear, so once more from where the first solution ended.
ROUNDS = 2
# So many windows: of a larger table some are drawn, far more than a layer has inputs. With eight times as many, Modular
# Arithmetic took as many steps to its proof, and 1.5 times the time.
MOST_WINDOWS = 1 << 12
# The inputs (n, k) of the layer, and by how much (n, d_model) its outputs should be others.
Rows = tuple[Float[Tensor, "n k"], Float[Tensor, "n d_model"]]


@torch.no_grad()
def solve_last_layer(model: Tree, table: TrainingTable, seed: int) -> bool:
    """Change the weights of the model's last layer so that windows come nearest to their prototypes; whether it could.

    It cannot where the map does not end with a linear layer and the state norm. The model and the table are on one
    device; the result is a function of them and the seed.
    """
    layer = model.last_layer
    if layer is None:
        return False
    generator = torch.Generator(table.windows.device).manual_seed(seed)
    for done in range(ROUNDS):
        k = layer.in_features
        gram = torch.zeros(k + 1, k + 1, dtype=torch.float64, device=table.windows.device)
        moved = torch.zeros(k + 1, layer.out_features, dtype=torch.float64, device=table.windows.device)
        for inputs, change in missing(model, layer, table, generator):
            x = torch.cat([inputs, torch.ones_like(inputs[:, :1])], 1).double()  # (n, k + 1), the last for the bias
            gram += x.T @ x
            moved += x.T @ change.double()
        gram.diagonal().add_(RIDGE * gram.diagonal().mean())
        solution = torch.linalg.solve(gram, moved).to(layer.weight.dtype)  # (k + 1, d_model)
        if not solution.isfinite().all():
            return done > 0  # a gain of 0 moves nothing
        layer.weight += solution[:-1].T
        layer.bias += solution[-1]
    return True


def missing(model: Tree, layer: nn.Linear, table: TrainingTable, generator: torch.Generator) -> Iterator[Rows]:
    """All windows of symbols and of prototypes, or `MOST_WINDOWS` of them, and some of states near these."""
    inputs: list[Tensor] = []
    sums: list[Tensor] = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, given: inputs.append(given[0])),
        model.state_norm.register_forward_pre_hook(lambda _, given: sums.append(given[0])),
    ]

    def rows(states: Tensor, prototypes: Tensor) -> Rows:
        # A model may send many windows through in pieces, and symbols through the state norm before them.
        rows = torch.cat(inputs), change_of(model.state_norm, torch.cat(sums)[-len(states) :], prototypes - states)
        inputs.clear()
        sums.clear()
        return rows

    try:
        leaves = model.merge(model.leaves(), table.leaf_windows)
        yield rows(leaves, table.prototypes[table.leaf_images])
        every = torch.arange(len(table.windows), device=table.windows.device)
        numbers = every if len(every) <= MOST_WINDOWS else table.draw(MOST_WINDOWS, generator)
        windows, images = table.windows[numbers], table.images[numbers]
        for level in (0.0, *[NOISE] * NEAR):
            children = table.children(model, numbers) + table.noise(windows, generator, level)
            yield rows(apply_map(model, children, windows), table.prototypes[images])
    finally:
        for hook in hooks:
            hook.remove()


def change_of(
    norm: nn.Module, sums: Float[Tensor, "n d_model"], error: Float[Tensor, "n d_model"]
) -> Float[Tensor, "n d_model"]:
    """By how much what the state norm is given has to change for what it gives to change by `error`, to first order.

    LayerNorm gives (x - mean) / s * gain + bias. A change of its states lies along the sphere on which they lie; the
    same change times s, before the gain, brings it.
    """
    if not isinstance(norm, nn.LayerNorm):
        return error
    spread = (sums.var(1, unbiased=False, keepdim=True) + norm.eps).sqrt()  # (n, 1)
    return spread * error / norm.weight
