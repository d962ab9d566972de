"""h_t = P_t (d_t h_{t-1}) + b_t: P_t has one 1 in each column, or row, where the largest entry of a matrix is.

Forward, a symbol costs a gather or a scatter of N numbers. The gradient goes straight through the choice, as if P_t
were softmax(M_t) of M_t = sum_k s_tk M_k. Written down, that is an N x N object for each symbol of each word. Here it
is made for each distinct M_t, and of many for a few at a time: without a convolution, a first layer has one a symbol
of the alphabet.

The axis along which a 1 is chosen is `to`, the other `at`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

AT_ONCE = 1 << 19
"""Entries of the matrices that are made at once: few enough for the caches of a CPU."""


class Recurrence(torch.autograd.Function):
    """The states after each symbol, of the weights s, the dictionary M (K, N, N), d, b and the state before.

    `rows` says that P has one 1 in each row, h_i = d_i h_{j(i)}, not in each column; `bank` that s chooses one matrix.

    >>> s, M = torch.ones(1, 2, 1), torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> d = torch.full((1, 2, 2), 0.5 + 0j)
    >>> Recurrence.apply(s, M, d, 0 * d, torch.tensor([[1 + 0j, 0]]), False, False)[0]
    tensor([[0.0000+0.j, 0.5000+0.j],
            [0.2500+0.j, 0.0000+0.j]])
    """

    @staticmethod
    def forward(
        ctx: Any,
        s: Float[Tensor, "batch length K"],
        M: Float[Tensor, "K N N"],
        d: Complex[Tensor, "batch length N"],
        b: Complex[Tensor, "batch length N"],
        h: Complex[Tensor, "batch N"],
        rows: bool,
        bank: bool,
    ) -> Complex[Tensor, "batch length N"]:
        kinds, which = groups(s.flatten(0, 1), bank)  # (kinds, K), (batch * length,)
        index = chosen(kinds, M.mT if rows else M)[which].unflatten(0, s.shape[:2])  # (batch, length, N)
        states, after = [], h
        for t in range(s.shape[1]):
            after = moved(after, index[:, t], d[:, t], rows) + b[:, t]
            states.append(after)
        all_states = torch.stack(states, 1)  # (batch, length, N)
        ctx.rows, ctx.bank = rows, bank
        ctx.save_for_backward(s, M, d, h, all_states, index, kinds, which)
        return all_states

    @staticmethod
    def backward(ctx: Any, *slopes: Complex[Tensor, "batch length N"]) -> tuple[Tensor | None, ...]:
        s, M, d, h, all_states, index, kinds, which = ctx.saved_tensors
        before, g, all_g = torch.cat([h[:, None], all_states[:, :-1]], 1), torch.zeros_like(h), []
        for t in reversed(range(s.shape[1])):
            g = g + slopes[0][:, t]
            all_g.append(g)
            # The transpose of a matrix with one 1 a column has one a row.
            g = moved(g, index[:, t], d[:, t].conj(), not ctx.rows)
        y = torch.stack(all_g[::-1], 1)  # (batch, length, N)
        if ctx.rows:
            of_d, at, to = y * before.gather(2, index).conj(), y * d.conj(), before
        else:
            of_d, at, to = y.gather(2, index) * before.conj(), d * before, y
        at, to = (torch.view_as_real(part).flatten(0, 1).mT for part in (at, to))  # (batch * length, 2, N)
        turned, alike = M.mT if ctx.rows else M, None if len(kinds) == len(which) and not ctx.bank else (kinds, which)
        of_s, of_m = straight_through(s.flatten(0, 1), turned, at, to, alike, ctx.bank)
        return of_s.view_as(s), of_m.mT if ctx.rows else of_m, of_d, y, g, None, None


def moved(
    h: Complex[Tensor, "batch N"], index: Int[Tensor, "batch N"], d: Complex[Tensor, "batch N"], rows: bool
) -> Complex[Tensor, "batch N"]:
    """P (d h) where P has its 1s in these rows, of each column; `rows`: d (P h), in these columns, of each row.

    Each is the transpose of the other, so that each is the way back of the other.

    >>> h, index = torch.tensor([[1 + 0j, 2j]]), torch.tensor([[1, 1]])
    >>> moved(h, index, torch.ones_like(h), False), moved(h, index, torch.ones_like(h), True)
    (tensor([[0.+0.j, 1.+2.j]]), tensor([[0.+2.j, 0.+2.j]]))
    """
    return d * h.gather(1, index) if rows else torch.zeros_like(h).scatter_add_(1, index, d * h)


def groups(s: Float[Tensor, "rows K"], bank: bool) -> tuple[Float[Tensor, "kinds K"], Int[Tensor, "rows"]]:
    """The distinct mixtures, and which of them each row has; of a bank its matrices, and which one each row chooses."""
    if bank:
        return torch.eye(s.shape[1], dtype=s.dtype, device=s.device), s.argmax(1)
    kinds, which = torch.unique(s, dim=0, return_inverse=True)
    return (kinds, which) if 8 * len(kinds) <= len(s) else (s, torch.arange(len(s), device=s.device))


def mixtures(kinds: Float[Tensor, "kinds K"], M: Float[Tensor, "K to at"]) -> Iterator[Float[Tensor, "some to at"]]:
    """sum_k s_k M_k, of a few at a time."""
    for some in kinds.split(max(1, AT_ONCE // M[0].numel())):
        yield (some @ M.flatten(1)).unflatten(1, M.shape[1:])  # (some, to, at)


def chosen(kinds: Float[Tensor, "kinds K"], M: Float[Tensor, "K to at"]) -> Int[Tensor, "kinds at"]:
    """Where the largest entry along `to` is; of equal ones the first."""
    last = M.shape[1] - 1
    back = torch.arange(last, -1, -1, dtype=M.dtype, device=M.device)[:, None]  # (to, 1)
    # Five times as fast as argmax, which is not vectorised.
    routes = [last - (back * (mix == mix.amax(1, keepdim=True))).amax(1) for mix in mixtures(kinds, M)]
    return torch.cat(routes).long()


def straight_through(
    s: Float[Tensor, "rows K"],
    M: Float[Tensor, "K to at"],
    at: Float[Tensor, "rows 2 N"],
    to: Float[Tensor, "rows 2 N"],
    alike: tuple[Float[Tensor, "kinds K"], Int[Tensor, "rows"]] | None,
    bank: bool,
) -> tuple[Float[Tensor, "rows K"], Float[Tensor, "K to at"]]:
    """The gradients of s and M, where that of an entry of a row's P is to_i at_j, summed over both parts.

    `alike` are the groups of rows with one P, if there are such. A softmax's Jacobian J is symmetric,
    <J G, M_k> = <G, J M_k>, so that the rows of a group need no G of their own.
    """
    if alike is None:
        return of_each(s, M, at, to)
    of_s, of_m, (kinds, which) = torch.zeros_like(s), torch.zeros_like(M), alike
    for number, (mix, kind) in enumerate(zip(torch.cat([*mixtures(kinds, M)]), kinds, strict=True)):
        mine, p = which == number, mix.softmax(0)
        here, there = at[mine].flatten(0, 1), to[mine].flatten(0, 1)  # (2 * rows, N)
        of_m += kind[:, None, None] * jacobian(p, there.mT @ here)
        if not bank:
            of_s[mine] = ((there @ jacobian(p, M)) * here).sum(2).unflatten(1, (-1, 2)).sum(2).mT  # (rows, K)
    if bank:  # straight through the choice: as if each matrix had its share
        of_s = torch.stack([(at * to[..., index]).sum((1, 2)) for index in chosen(kinds, M)], 1)  # (rows, K)
    return of_s, of_m


def of_each(
    s: Float[Tensor, "rows K"],
    M: Float[Tensor, "K to at"],
    at: Float[Tensor, "rows 2 N"],
    to: Float[Tensor, "rows 2 N"],
) -> tuple[Float[Tensor, "rows K"], Float[Tensor, "K to at"]]:
    """The same where each row has a mixture of its own."""
    of_s, of_m, begin = [], torch.zeros_like(M), 0
    for mix in mixtures(s, M):
        some = slice(begin, begin := begin + len(mix))
        slope = jacobian(mix.softmax(1), to[some].mT @ at[some]).flatten(1)  # (some, to * at)
        of_s.append(slope @ M.flatten(1).mT)
        of_m += (s[some].mT @ slope).view_as(M)  # (K, to, at)
    return torch.cat(of_s), of_m


def jacobian(p: Float[Tensor, "*some to at"], G: Float[Tensor, "*some to at"]) -> Float[Tensor, "*some to at"]:
    """That of the softmax p along `to`, times G."""
    return p * (G - (p * G).sum(-2, keepdim=True))
