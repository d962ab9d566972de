"""Networks that carry a state, side by side: width 64, two layers, words of 40 symbols, 128 a batch; and long words.

A step of training is forward, backward and AdamW. A chunked form stands against its loop in a network of one mixer
without an MLP, and by itself. Memory is that of the answer at the end of one word, which is read in pieces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

from experiments.bench.memory import peaks
from experiments.bench.subjects import random_words
from experiments.bench.timing import BenchRow, Effort, in_turn, quartiles, ratio
from regulargpt.models import MODELS, build
from regulargpt.models.base import Model
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.models.mixing.options import MixingOptions
from regulargpt.options import hints

D_MODEL, LENGTH, BATCH = 64, 40, 128
VARIANTS = {
    "decay": ("head", "retention"),
    "gate": ("true",),
    "householders": ("2", "4"),
    "version": ("3",),
    "variant": ("bank",),
}
"""Options that make another recurrence of a network of mixers, and their values beside the default."""
BESIDE = ("regulargpt", "ldru", "transformer", "transformer:encoding=path", "looped")
WANTED = {"delta": 1.4, "gla": 2.0}
EFFORT = {"smoke": Effort(1, 0, 0), "full": Effort(7, 8)}
LENGTHS = {"smoke": (256, 512), "full": (65_536, 1_000_000)}
MEASURED = {"smoke": 1, "full": None}
"""Of how many networks memory is measured: of all, if it is None."""


def carrying() -> list[str]:
    """All networks that carry a state as they come, each with its variants behind it.

    >>> [written for written in carrying() if written.startswith("gla")]
    ['gla', 'gla:decay=head', 'gla:decay=retention']
    """
    names = []
    for name in MODELS:
        options = MODELS.options(name, "model")
        own = hints(type(options)) if isinstance(options, MixingOptions) else ()
        variants = (f"{name}:{key}={value}" for key in own for value in VARIANTS.get(key, ()))
        names += [name, *variants] if options.carries_state else []
    return names


def title(written: str) -> str:
    return written if written in BESIDE else MODELS.options(written, "model").title


def network(written: str, **changes: Any) -> Model:
    """Of that width and these changes, where it has such options; for two symbols and two answers."""
    options = MODELS.options(written, "model")
    sizes = {name: value for name, value in ({"d_model": D_MODEL} | changes).items() if name in hints(type(options))}
    return build(dataclasses.replace(options, **sizes), 2, 2, torch.Generator().manual_seed(0))


def training(model: Model) -> Callable[[], None]:
    """One step."""
    words, optimiser = random_words(BATCH, LENGTH), torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    labels = words.sum(1) % 2

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        F.cross_entropy(model(words), labels).backward()
        optimiser.step()

    return step


def steps(scale: str) -> Iterator[BenchRow]:
    """Steps of training a second of every network that carries a state, and of some beside them."""
    models = {written: network(written, n_layers=2) for written in (*carrying(), *BESIDE)}
    seconds = in_turn({written: training(model) for written, model in models.items()}, EFFORT[scale])
    for written, each in seconds.items():
        low, median, high = quartiles([1 / s for s in each])
        parameters = sum(p.numel() for p in models[written].parameters())
        yield BenchRow(f"{parameters:,} parameters", title(written), median, "steps a second", low, high)


def chunks(scale: str) -> Iterator[BenchRow]:
    """Each faster form of a recurrence over its loop: one layer, and the recurrence without what stands round it."""
    for written in (each for each in carrying() if isinstance(MODELS.options(each, "model"), MixingOptions)):
        for what, step in (("one layer", layer), ("recurrence", recurrence)):
            if variants := forms(written, step):
                fast, loop = variants
                wanted = WANTED.get(written) if step is recurrence else None
                yield ratio(what, in_turn(variants, EFFORT[scale]), fast, loop, wanted)


Step = Callable[[], None]


def forms(written: str, step: Callable[[Model, Mixer], Step]) -> dict[str, Step]:
    """A step of a mixer by its own form and by its loop; nothing where they are the same."""
    steps = {}
    for name in (title(written), "its loop"):
        model = network(written, n_layers=1, mlp="none")
        (mixer,) = (part for part in model.modules() if isinstance(part, Mixer))
        if type(mixer).along is Mixer.along:
            return {}
        if steps:
            mixer.along = mixer.loop
        steps[name] = step(model, mixer)
    return steps


def layer(model: Model, mixer: Mixer) -> Step:
    """Forward and backward of the answers at all positions."""
    words = random_words(BATCH, LENGTH)
    return lambda: model(words, readout="all").square().mean().backward()


def recurrence(model: Model, mixer: Mixer) -> Step:
    """Forward and backward of what the states answer, from what the symbols bring."""
    own, brought = mixer.along, []
    mixer.along = lambda inputs, state: brought.append((inputs, state)) or own(inputs, state)
    model(random_words(BATCH, LENGTH))
    ((inputs, state),) = brought
    inputs = tuple(part.detach().requires_grad_() for part in inputs)
    return lambda: own(inputs, state)[0].abs().mean().backward()


def memory(scale: str) -> Iterator[BenchRow]:
    """Peak memory of a word, short and long, in a process of its own."""
    for written in carrying()[: MEASURED[scale]]:
        for length, size in zip(LENGTHS[scale], peaks(__name__, [written], LENGTHS[scale]), strict=True):
            beside = size - length * random_words(1, 1).itemsize
            yield BenchRow(f"T = {length:,}, beside the word", title(written), beside / 2**20, "MiB")


def working(*written: str) -> Callable[[int], None]:
    """What the process does: each network answers one word of a length."""
    models = [network(each, n_layers=2).eval() for each in written]

    @torch.inference_mode()
    def work(length: int) -> None:
        for model in models:
            model(random_words(1, length))

    return work
