"""The options of table fine-tuning. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from languages.registry import WITHOUT_MACHINE, has_brackets, level_of, no_known_machine
from regulargpt.options import option
from regulargpt.training.proof_options import STEPS, AutomatonOptions

if TYPE_CHECKING:
    from regulargpt.models.options import ModelOptions
    from regulargpt.objectives.options import ObjectiveOptions

# The networks that have certificates: search and checker have code of their own for each.
CHECKED = ("regulargpt", "ldru")


@dataclass(frozen=True)
class TableFineTuningOptions(AutomatonOptions):
    """The certificate is tried every `every` steps. A cooldown that ends without it is undone, and training goes on.

    When it holds, the network is trained for at most `steps` steps on its own table at the rate `lr`, `windows`
    windows a step, disturbed by noise of up to `noise` times the RMS of the states, its Jacobian at the prototypes
    drawn to 0 by `contraction`; then training ends. Once at most the share `max_error_share` of the true table's
    windows is wrong, that table is mended, for 1000 steps since windows last came in, more for a large table, and
    `steps` at most. If the certificate does not hold then, it is mended once more, or words are trained on again.

    If states of a certified network still drift then, it settles: it is trained on errors of its own in place of noise,
    for at most `settling` steps. Should it lose the certificate, what was before comes back.

    With `automaton = learned` nothing of the language's automaton is used. The machine is then learned from the
    network's own answers to words of the training lengths (finite/from_answers.py); until it is right on the
    words that it is held against, there is no attempt at a certificate. The true table is that machine's. If there is
    none by step `membership_queries_from`, the language is queried on words of L*'s, and the network is trained
    on words near those that it got wrong.
    """

    steps: int = option(
        1000,
        "Most steps of table fine-tuning.",
        least=0,
        why=STEPS,
        needs="every",
    )
    settling: int = option(
        0,
        "Most steps by which a certified network settles, if its states drift after `steps`; 0: it does not.",
        least=0,
        why=f"{STEPS}, 0 for none",
        needs="steps",
    )
    windows: int = option(
        512, "Windows of the table a step.", least=1, most=1_048_576, why="give a number of windows", needs="steps"
    )
    lr: float = option(
        2e-3, "Learning rate.", least=0, most=1_000_000, why="a learning rate is not negative", needs="steps"
    )
    noise: float = option(
        0.5,
        "Noise on the prototypes, in units of their RMS.",
        least=0,
        most=1_000_000,
        why="give a share of the states' RMS",
        needs="steps",
    )
    contraction: float = option(
        0.3, "Weight of the Jacobian's norm.", least=0, most=1_000_000, why="a weight is not negative", needs="steps"
    )
    max_error_share: float = option(
        0.0,
        "Training on the true table begins once at most this share of it is wrong; 0: none of it.",
        least=0,
        most=1,
        why="give a share of the table, 0 to begin when none of it is wrong",
        needs="steps",
    )

    def refuse(self, model: ModelOptions, objective: ObjectiveOptions, language: str) -> str | None:
        """The certificate is about one map that answers words."""
        reason = objective.no_map_of_words() or model.why_no_certificate()
        if reason is None and model.name not in CHECKED:
            return f"{model.name} is no network that the checker knows, which are {', '.join(CHECKED)}"
        if reason is None and level_of(language) in WITHOUT_MACHINE:
            return no_known_machine(language)
        if reason is None and not model.follows_brackets and (level := level_of(language)) != "regular":
            remedy = "set model.tree = 'nested'" if has_brackets(language) else "choose --model stack-rnn"
            return f"a flat tree has no finite table of {language}, a {level} language; {remedy}"
        return reason
