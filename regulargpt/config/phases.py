"""The phases of a training beside that on words, by name. Never imports torch."""

from __future__ import annotations

from regulargpt.options.registry import Registry, Row
from regulargpt.training.chain_fine_tuning import ChainFineTuningOptions
from regulargpt.training.options import PhaseOptions
from regulargpt.training.stack_proof import StackProofOptions
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

PHASES = Registry(
    "phase",
    {
        "table_fine_tuning": Row(
            "regulargpt.certificate.tuning.phase:TableFineTuning",
            TableFineTuningOptions,
            "train until the certificate holds, then on the certificate's own table",
        ),
        "stack_proof": Row(
            "regulargpt.certificate.stack.phase:StackProof",
            StackProofOptions,
            "train a network with a stack until its product with the language's machine proves it",
        ),
        "chain_fine_tuning": Row(
            "regulargpt.certificate.chain.phase:ChainFineTuning",
            ChainFineTuningOptions,
            "train until the automaton of the answers holds, then a recurrent network until it is proven to be it",
        ),
    },
    PhaseOptions,
    "regulargpt.phases",
)
