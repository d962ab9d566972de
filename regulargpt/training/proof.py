"""Which phase ends in a proof of a model's networks, and why there can be none. Never imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from regulargpt.training.chain_fine_tuning import ChainFineTuningOptions
from regulargpt.training.proof_options import ProofOptions
from regulargpt.training.stack_proof import StackProofOptions
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

if TYPE_CHECKING:
    from regulargpt.models.options import ModelOptions
    from regulargpt.objectives.options import ObjectiveOptions

PROOFS: Mapping[str, type[ProofOptions]] = {
    "table_fine_tuning": TableFineTuningOptions,
    "stack_proof": StackProofOptions,
    "chain_fine_tuning": ChainFineTuningOptions,
}
"""The phases that end in a proof."""

EVERY = tuple(f"phases.{name}.every" for name in PROOFS)
"""The keys of the steps between two attempts at a proof."""


def proof_phase(model: ModelOptions) -> str:
    """The phase that ends in a proof of such networks, if any does.

    >>> from regulargpt.models import MODELS
    >>> proof_phase(MODELS.options("ldru", "model"))
    'table_fine_tuning'
    """
    if model.carries_state:
        return "chain_fine_tuning"
    return "stack_proof" if model.has_stacks else "table_fine_tuning"


def no_certificate(model: ModelOptions, objective: ObjectiveOptions, language: str) -> str | None:
    """Why there can be no certificate for such a run; None if there can.

    >>> from regulargpt.config.schema import RunConfig
    >>> config = RunConfig().replaced({"model.name": "transformer"})
    >>> no_certificate(config.model, config.objective, "parity")
    'transformer does not use one map at every level of a tree'
    >>> no_certificate(RunConfig().model, config.objective, "brackets-2")
    "a flat tree has no finite table of brackets-2, a context-free language; set model.tree = 'nested'"
    """
    phase = proof_phase(model)
    return PROOFS[phase](phase).refuse(model, objective, language)
