"""From a T5 checkpoint on disk to an `EncoderDecoder`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch

from languages.errors import UserError, shown
from regulargpt.models.transformer.encoder_decoder.checkpoint.config import Config, folder_of, read_config
from regulargpt.models.transformer.encoder_decoder.checkpoint.names import (
    COPIES,
    EMBEDDING,
    READOUT,
    UNUSED,
    Named,
    named,
)
from regulargpt.models.transformer.encoder_decoder.checkpoint.stored import Stored, opened
from regulargpt.models.transformer.encoder_decoder.model import EncoderDecoder


def load(place: str | Path) -> EncoderDecoder:
    """The network of a T5 checkpoint in a folder, which may be written `hf:PATH`, in float32 and for evaluation.

    Every tensor is accounted for, and has the shape that config.json says, before anything large is made.

    Raises UserError for no such folder, another architecture, weights that are a pickle, and tensors that are missing,
    unknown, of another shape, or damaged.
    """
    folder = folder_of(place)
    return network(folder, read_config(folder))


def network(folder: Path, config: Config) -> EncoderDecoder:
    """The network of a config, with the weights of its folder."""
    with opened(folder) as stored:
        tied = is_tied(stored, config)
        parameters = list(named(config, tied))
        refuse(stored, parameters)
        vocabulary = config.sizes["vocab_size"]
        model = EncoderDecoder(vocabulary, vocabulary, **config.options(tied))
        fill(model, stored, parameters)
    if not tied and config.scales_readout:
        with torch.no_grad():
            model.readout.get_parameter("weight").mul_(config.sizes["d_model"] ** -0.5)
    return model.eval()


def is_tied(stored: Stored, config: Config) -> bool:
    """Whether the readout is the embedding: the file has none, or the same numbers again."""
    if READOUT not in stored:
        return True
    require(stored, Named("", (EMBEDDING, READOUT), (config.sizes["vocab_size"], config.sizes["d_model"])))
    return torch.equal(stored.read(READOUT), stored.read(EMBEDDING))


def refuse(stored: Stored, parameters: Iterable[Named]) -> None:
    """UserError for the first tensor that is missing, of another shape, or unknown."""
    known = {EMBEDDING, READOUT, *COPIES, *UNUSED}
    for parameter in parameters:
        require(stored, parameter)
        known.update(parameter.parts)
    if unknown := sorted(set(stored.place) - known):
        raise UserError(f"{shown(stored.folder)}: no T5 has a tensor {unknown[0]:.80}; its config.json is of another")
    for name in COPIES:
        if name in stored and not torch.equal(stored.read(name), stored.read(EMBEDDING)):
            raise UserError(f"{shown(stored.folder)}: {name} differs from {EMBEDDING}; only shared ones can be read")


def require(stored: Stored, parameter: Named) -> None:
    """UserError for a tensor that is missing or of another shape."""
    for name in parameter.parts:
        if name not in stored:
            raise UserError(f"{shown(stored.folder)} has no tensor {name}; is it a whole T5, encoder and decoder?")
        if (found := stored.shape(name)) != parameter.shape:
            wanted = parameter.shape
            raise UserError(f"{shown(stored.folder)}: {name} has the shape {found}; config.json says {wanted}")


@torch.no_grad()
def fill(model: EncoderDecoder, stored: Stored, parameters: Iterable[Named]) -> None:
    """The weights, one tensor at a time, so that no more than one is there twice."""
    ours = dict(model.named_parameters())
    for parameter in parameters:
        rows = ours.pop(parameter.name).chunk(len(parameter.parts))
        for some, name in zip(rows, parameter.parts, strict=True):
            some.copy_(stored.read(name))
    assert not ours, f"{sorted(ours)} have no tensor"
