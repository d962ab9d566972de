"""What the parts of the bench measure: models, words, and one step of training or of answering."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from experiments.bench.masked import masked_state
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.model import Computation

# The most memory that one computation may be expected to take, in bytes; what would take more is left out, and said.
MEMORY_LIMIT = 4 << 30
D_MODEL = 64

Words = Int[Tensor, "batch length"]
Forward = Callable[[RegularGPT, Words], Tensor]


def parity_sized(chunk_size: int, n_symbols: int = 2) -> RegularGPT:
    """The model of the recipe for parity (d 64, 4 heads, FFN 256), with the weights of seed 0."""
    generator = torch.Generator().manual_seed(0)
    return RegularGPT(n_symbols, 2, chunk_size=chunk_size, d_model=D_MODEL, generator=generator)


def random_words(batch: int, length: int, n_symbols: int = 2, seed: int = 0) -> Words:
    """Uniform words."""
    return torch.randint(0, n_symbols, (batch, length), generator=torch.Generator().manual_seed(seed))


def last(computation: Computation) -> Forward:
    """The answer at the last position, by one of the model's own computations."""
    return lambda model, words: model(words, computation=computation)


def masked_last(model: RegularGPT, words: Words) -> Float[Tensor, "batch n_outputs"]:
    """The answer at the last position by masked SDPA."""
    return model.readout(masked_state(model, words)[:, -1])


def masked_all(model: RegularGPT, words: Words) -> Float[Tensor, "batch length n_outputs"]:
    """The answers at all positions by masked SDPA."""
    return model.readout(masked_state(model, words))


def every_all(model: RegularGPT, words: Words) -> Float[Tensor, "batch length n_outputs"]:
    """The answers at all positions by shifts."""
    return model(words, readout="all")


def training(forward: Forward, model: RegularGPT, batches: Sequence[Words]) -> Callable[[], None]:
    """A training step on each of the batches: forward, backward, AdamW; the labels are parity's."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    labels = [words % 2 if forward in (every_all, masked_all) else words.sum(1) % 2 for words in batches]

    def step() -> None:
        model.train()
        for words, right in zip(batches, labels, strict=True):
            optimiser.zero_grad(set_to_none=True)
            logits = forward(model, words).flatten(0, -2)  # (batch, n_outputs), or (batch * length, n_outputs)
            F.cross_entropy(logits, right.flatten()).backward()  # labels (batch,), or (batch * length,)
            optimiser.step()

    return step


def answering(forward: Forward, model: RegularGPT, batches: Sequence[Words]) -> Callable[[], None]:
    """An inference pass over each of the batches."""

    def answer() -> None:
        model.eval()
        with torch.no_grad():
            for words in batches:
                forward(model, words)

    return answer


def difference(forwards: Sequence[Forward], model: RegularGPT, words: Words) -> float:
    """The largest difference of outputs and of gradients between the first computation and the others, in float64."""
    exact = RegularGPT(
        model.embedding.num_embeddings, 2, chunk_size=model.chunk_size, d_model=model.embedding.embedding_dim
    ).double()
    exact.load_state_dict(model.state_dict())
    computed: list[list[Tensor]] = []
    for forward in forwards:
        exact.zero_grad(set_to_none=True)
        output = forward(exact, words)
        output.square().mean().backward()
        computed.append([output.detach(), *(p.grad for p in exact.parameters() if p.grad is not None)])
    return max(float((a - b).abs().max()) for other in computed[1:] for a, b in zip(computed[0], other, strict=True))
