"""A Representation as the weights of a RegularGPT: heads that pick one offset each, an FFN that composes."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from languages.context_free.nested import NestedTask
from languages.tasks import TreeTask
from regulargpt import models
from regulargpt.construct.plan import machine_of, representations
from regulargpt.construct.representation import Representation
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.block import TreeBlock, WindowAttention
from regulargpt.models.regulargpt.options import RegularGPTOptions

# A path reads C numbers; its sum is C if it is active and at most C - 1 if not. Its two units rise from 0 to 1 between
# these distances below C and are flat outside, so that an error in what they read is not passed on.
RISES, SETTLES = 0.75, 0.25


def constructed(config: RegularGPTOptions, task: TreeTask, representation: str) -> RegularGPT:
    """The RegularGPT that answers as the task's machine does, for every word.

    `config` is that of `plan.model_config`, from which the sizes come.

    >>> import languages
    >>> from regulargpt.construct.plan import model_config
    >>> task = languages.get("parity")
    >>> model = constructed(model_config(task, 2, "matrix"), task, "matrix")
    >>> model(torch.tensor([[0, 1, 1, 1]])).tolist() == [[-1.0, 1.0]]
    True
    """
    direction = task.visibly.direction.tolist() if isinstance(task, NestedTask) else None
    model = models.build(config, task.n_symbols, task.n_outputs, torch.Generator().manual_seed(0), direction)
    assert isinstance(model, RegularGPT)
    machine = machine_of(task)
    fill(model, representations(machine)[representation].make(machine, config.chunk_size))
    return model


@torch.no_grad()
def fill(model: RegularGPT, matrices: Representation) -> None:
    """Set all weights of a post-LN ReLU model of d_model = C size and C heads.

    The state's numbers are the first `size` of d_model, slot 0; the rest of a state is zero.
    """
    size = matrices.size
    for parameter in model.parameters():
        parameter.zero_()
    model.embedding.weight[:, :size] = torch.from_numpy(matrices.symbols)
    model.pad[0, :size] = torch.from_numpy(matrices.identity)
    assert isinstance(model.readout, nn.Linear)
    model.readout.weight[:, :size] = torch.from_numpy(matrices.readout)
    block = model.blocks[0]
    assert isinstance(block, TreeBlock)
    fill_attention(block.attn, size)
    fill_ffn(block, matrices)
    undo(block.ln1, matrices.ones / size)
    undo(block.ln2, matrices.ones / (matrices.chunk_size * size))


def fill_attention(attn: WindowAttention, size: int) -> None:
    """Head j sees offset j alone (section 6.6.2) and copies slot 0 of that child into slot j.

    Head 0 has nothing to write: its child is the node itself, which the residual leaves in slot 0.
    """
    C = attn.n_heads
    attn.r.copy_(torch.zeros(C, C).masked_fill_(~torch.eye(C, dtype=torch.bool), -torch.inf))
    attn.value.weight[:, :size] = torch.eye(size).repeat(C, 1)  # (C * size, size): slot 0 of the child, once a head
    attn.out.weight.copy_(torch.eye(C * size))
    attn.out.weight[:size] = 0.0  # slot 0


def fill_ffn(block: TreeBlock, matrices: Representation) -> None:
    """Two units a path, whose difference is 1 if it is active and 0 if not; a unit a number, which removes it.

    x - ReLU(x + 1) + 1 = 0 takes the children out of the residual, and the composition takes their place. All kinks
    are far from the numbers that occur: about them the block is affine, and constant.
    """
    C, paths, width = matrices.chunk_size, len(matrices.writes), matrices.chunk_size * matrices.size
    path, number = torch.arange(paths), torch.arange(width)
    steep = 1.0 / (RISES - SETTLES)
    columns = torch.from_numpy(
        matrices.reads + matrices.size * np.arange(C)
    )  # (paths, C): slot j is the child at offset j
    rising = block.ff_in.weight[:paths].scatter_(1, columns, steep)
    block.ff_in.weight[paths : 2 * paths] = rising  # the second unit reads the same, and rises later
    block.ff_in.bias[:paths] = -steep * (C - RISES)
    block.ff_in.bias[paths : 2 * paths] = -steep * (C - SETTLES)
    writes = torch.from_numpy(matrices.writes)
    block.ff_out.weight[writes, path] = 1.0
    block.ff_out.weight[writes, paths + path] = -1.0
    block.ff_in.weight[2 * paths + number, number] = 1.0
    block.ff_in.bias[2 * paths :] = 1.0
    block.ff_out.weight[number, 2 * paths + number] = -1.0
    block.ff_out.bias.fill_(1.0)


def undo(norm: nn.LayerNorm, share: float) -> None:
    """Gain and bias with which LayerNorm is the identity on all vectors of zeros and this share of ones.

    Their mean is the share p and their variance p (1 - p), whichever numbers are the ones.

    >>> norm = nn.LayerNorm(4)
    >>> with torch.no_grad():
    ...     undo(norm, 0.25)
    >>> torch.allclose(norm(torch.eye(4)), torch.eye(4), atol=1e-6)
    True
    """
    norm.weight.fill_(math.sqrt(share * (1.0 - share) + norm.eps))
    norm.bias.fill_(share)
