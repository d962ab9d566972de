"""The prototypes of a run's certificate, or its points: with them the network that theorem 1 is about can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError
from regulargpt.finite.chain import chain_of
from regulargpt.finite.chain_rows import QuantisedChain, Rows
from regulargpt.models.recurrent import Recurrent
from regulargpt.models.tree.base import Tree
from regulargpt.storage.atomic import disk, parse_json, read_bytes
from regulargpt.storage.folder import CERTIFICATE, WEIGHTS, RunFolder
from regulargpt.storage.manifest import digest

if TYPE_CHECKING:
    from regulargpt.models.base import Model


def quantise(model: Model, prototypes: Float[Tensor, "K d_model"], folder: RunFolder) -> Model:
    """The network with states replaced by the nearest of the certificate's prototypes: of a tree, that of every node
    above the symbols, in the model itself; of a recurrent network, that after every symbol.

    Raises UserError for a model that has no such states.
    """
    if isinstance(model, Recurrent):
        chain = chain_of(model, folder.load_model_config()["n_symbols"])
        if prototypes.shape[1] != chain.dimension:
            raise damaged(folder)
        return QuantisedChain(Rows.compute(chain, prototypes))
    if not (isinstance(model, Tree) and prototypes.shape[1:] == model.absent.shape[1:]):
        raise damaged(folder)
    model.quantiser.prototypes = prototypes.to(model.absent.device)
    return model


def prototypes_of(folder: RunFolder) -> Float[Tensor, "K d_model"]:
    """The prototypes (K, d_model) of the run's certificate, or its points, in float64.

    Raises UserError where there is no certificate, or one of other weights. Whether it holds is for `check` to say.
    """
    path = folder.path / CERTIFICATE
    if not disk.exists(path):
        raise folder.without_certificate()
    record = parse_json(read_bytes(path), path)
    try:
        digest_there, rows = record["weights"]["sha256"], record["points" if "points" in record else "prototypes"]
        prototypes = torch.tensor(rows, dtype=torch.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise damaged(folder) from None
    if digest_there != digest(folder.final_bytes(WEIGHTS)):
        raise UserError(f"{path} is of other weights; `regulargpt verify {folder.path}` writes it anew")
    if prototypes.ndim != 2 or not len(prototypes) or not prototypes.isfinite().all():
        raise damaged(folder)
    return prototypes


def damaged(folder: RunFolder) -> UserError:
    """What is said of a certificate whose prototypes cannot be read."""
    path = folder.path
    return UserError(
        f"{path / CERTIFICATE} has no prototypes of this network; `regulargpt verify {path}` writes it anew"
    )
