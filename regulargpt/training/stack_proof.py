"""The options of the proof of a stack network. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from languages.registry import WITHOUT_MACHINE, level_of, no_known_machine
from regulargpt.options import option
from regulargpt.training.proof_options import ProofOptions

if TYPE_CHECKING:
    from regulargpt.models.options import ModelOptions
    from regulargpt.objectives.options import ObjectiveOptions


@dataclass(frozen=True)
class StackProofOptions(ProofOptions):
    """The proof is tried every `every` steps, once the network is hardened: its product with the language's machine.

    The product keeps the two stacks aligned, whose heights may differ by `lag` symbols. It ends with a proof for every
    length, with shortest wrong words, or undecided. Wrong words that the network itself answers wrongly are trained on:
    every fourth step is on words near the last `words` of them. The learning rate is the share `rate` of that before.
    Once the proof holds, training ends after `cooldown` steps at a falling rate; should they lose it, what was before
    comes back. Training also ends where hardening has come no farther in `patience` steps.
    """

    lag: int = option(
        4,
        "By how many symbols the heights of the two stacks may differ.",
        least=0,
        most=4,
        why="the proof is for stacks that differ by at most 4 symbols",
        needs="every",
    )
    pairs: int = option(
        131_072,
        "Pairs of levels and controls that an attempt in training goes through at most; the last one, up to 2^22.",
        least=1,
        most=4_194_304,
        why="the product of a network and a machine has at most 2^22 pairs",
        needs="every",
    )
    words: int = option(
        64, "Wrong words that are kept to train on.", least=0, why="give a number of words", needs="every"
    )
    rate: float = option(
        0.3,
        "Share of the learning rate that is left once the network is hardened.",
        least=0,
        most=1,
        why="it is a share, 0 to 1",
        needs="every",
    )
    cooldown: int = option(
        200,
        "Steps after the proof holds, at a falling rate.",
        least=0,
        why="give a number of steps, 0 for none",
        needs="every",
    )

    patience: int = option(
        5000,
        "Steps in which hardening has to go on by a twentieth, or training ends; 0: it may wait for ever.",
        least=0,
        why="give a number of steps, 0 for no end",
        needs="every",
    )

    def refuse(self, model: ModelOptions, objective: ObjectiveOptions, language: str) -> str | None:
        """The proof is about a network of finitely many states and a stack, and a machine with a stack."""
        if (reason := model.why_no_stack_proof()) is not None:
            return reason
        # A stack is read at every symbol: asked at the end or everywhere, the answers are to the same words.
        if not objective.answers_prefixes and (reason := objective.no_map_of_words()) is not None:
            return reason
        if objective.reading != "largest" and not objective.asks_for_rows:
            return f"the run answers '{objective.name}', which is no answer of the language's machine"
        if (level := level_of(language)) in WITHOUT_MACHINE:
            return no_known_machine(language)
        if level != "context-free":
            return f"{language} is {level}: a stack network is proven by a machine with a stack"
        return None
