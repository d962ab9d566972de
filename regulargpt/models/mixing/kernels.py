"""The functions of `chunks` by GPU kernels of flash-linear-attention (Yang and Zhang 2024), for `model.backend=fla`.

The package is no dependency: it is imported when a kernel is called first. It has positions before heads, gates as
logarithms and states (batch, heads, K, V), all in float32; it cuts words into chunks itself. Queries come scaled, so
its scale is 1. `chunk_delta_rule` and `chunk_gated_delta_product` refuse float32, `chunk_gated_delta_rule` does not:
it computes all of `delta`. Written for fla-core 0.6.
"""

from __future__ import annotations

from importlib import import_module

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F


def computed(
    kernel: str, state: Float[Tensor, "batch heads K V"], **parts: Float[Tensor, "batch heads length *rest"]
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """What `fla.ops` has under this name, of these parts: o at each symbol, and the state after all."""
    compute = getattr(import_module("fla.ops"), kernel)
    inputs = {name: part.transpose(1, 2) for name, part in parts.items()}  # each (batch, length, heads, ...)
    o, state = compute(**inputs, scale=1.0, initial_state=state, output_final_state=True)
    return o.transpose(1, 2), state


def additive(
    q: Float[Tensor, "batch heads length K"],
    k: Float[Tensor, "batch heads length K"],
    v: Float[Tensor, "batch heads length V"],
    log_decay: Float[Tensor, "#batch heads length"],
    state: Float[Tensor, "batch heads K V"],
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """`chunks.additive`."""
    g = log_decay.expand(q.shape[:-1])  # (batch, heads, length)
    return computed("chunk_simple_gla", state, q=q, k=k, v=v, g=g)


def gated(
    q: Float[Tensor, "batch heads length K"],
    k: Float[Tensor, "batch heads length K"],
    v: Float[Tensor, "batch heads length V"],
    log_decay: Float[Tensor, "batch heads length #K"],
    state: Float[Tensor, "batch heads K V"],
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """`chunks.gated`, whatever the decays are."""
    if log_decay.shape[-1] == 1:
        return additive(q, k, v, log_decay[..., 0], state)
    return computed("chunk_gla", state, q=q, k=k, v=v, g=log_decay)


def delta(
    q: Float[Tensor, "batch heads length K"],
    k: Float[Tensor, "batch heads length n K"],
    v: Float[Tensor, "batch heads length n V"],
    beta: Float[Tensor, "batch heads length n"],
    log_decay: Float[Tensor, "batch heads length"],
    state: Float[Tensor, "batch heads K V"],
    size: int,
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """`chunks.delta`: the n sub-steps of a symbol are symbols here, of which the first decays and the last is read."""
    n = k.shape[3]
    k, v, beta = k.flatten(2, 3), v.flatten(2, 3), beta.flatten(2, 3)  # (batch, heads, length n, ...)
    g = F.pad(log_decay[..., None], (0, n - 1)).flatten(2, 3)  # (batch, heads, length n)
    q = F.pad(q[:, :, :, None], (0, 0, n - 1, 0)).flatten(2, 3)  # (batch, heads, length n, K)
    o, state = computed("chunk_gated_delta_rule", state, q=q, k=k, v=v, g=g, beta=beta)
    return o[:, :, n - 1 :: n], state


def removing(
    q: Float[Tensor, "batch heads length K"],
    k: Float[Tensor, "batch heads length K"],
    v: Float[Tensor, "batch heads length V"],
    key: Float[Tensor, "batch heads length K"],
    removed: Float[Tensor, "batch heads length K"],
    log_decay: Float[Tensor, "batch heads length K"],
    state: Float[Tensor, "batch heads K V"],
    size: int,
) -> tuple[Float[Tensor, "batch heads length V"], Float[Tensor, "batch heads K V"]]:
    """`chunks.removing`."""
    return computed("chunk_dplr_delta_rule", state, q=q, k=k, v=v, a=-key, b=removed, gk=log_decay)
