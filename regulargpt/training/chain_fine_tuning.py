"""The options of the proof of a recurrent network. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from languages.registry import WITHOUT_MACHINE, level_of, no_known_machine
from regulargpt.options import option
from regulargpt.training.proof_options import STEPS, AutomatonOptions

if TYPE_CHECKING:
    from regulargpt.models.options import ModelOptions
    from regulargpt.objectives.options import ObjectiveOptions

# The networks that have certificates: search and checker have code of their own for each.
CHECKED = (
    *("rnn", "lstm", "gru", "linear-rnn"),
    *("delta", "mamba", "mamba2", "gla", "rwkv7", "mlstm", "slstm", "pd-ssm", "s4d"),
)


@dataclass(frozen=True)
class ChainFineTuningOptions(AutomatonOptions):
    """The network's automaton is tried every `every` steps. Once there is one, the network is trained to be it.

    It has a point for each state of the automaton and the last symbol. Network and points move together, at the rate
    `lr`: each symbol has to move each point to that of the state which the automaton is in then. That is first so for
    disturbed points, then for all of a box of `radius` round each point, by bounds on all that is in it. Gates that
    only hold are drawn open by the weight `gates`. Training ends once every box goes into the next, which proves the
    network at every length. After `steps` steps it ends if the network is proven with its states replaced by the
    points, and right on short words without; else words are trained on again, with the weights from before.

    With `automaton = learned` nothing of the language's automaton is used: it is learned from the network's own answers
    to words of the training lengths (finite/from_answers.py). If there is none by step `membership_queries_from`, the
    language is queried on words of L*'s, and the network is trained on words near those that it got wrong.
    """

    steps: int = option(3000, "Most steps of fine-tuning at a time.", least=0, why=STEPS, needs="every")
    lr: float = option(
        1e-2, "Learning rate.", least=0, most=1_000_000, why="a learning rate is not negative", needs="steps"
    )
    radius: float = option(
        0.2,
        "Radius of the boxes that are trained on.",
        least=0.001,
        most=1,
        why="states of a recurrent network lie between -1 and 1",
        needs="steps",
    )
    gates: float = option(
        0.3,
        "Weight by which gates that only hold are drawn open.",
        least=0,
        most=1_000_000,
        why="a weight is not negative",
        needs="steps",
    )

    def refuse(self, model: ModelOptions, objective: ObjectiveOptions, language: str) -> str | None:
        """The proof is about a network that carries a state, and a finite automaton."""
        if not model.carries_state:
            return f"{model.name} carries no state of fixed size along the word"
        if model.name not in CHECKED:
            return f"{model.name} is no network that the checker knows, which are {', '.join(CHECKED)}"
        return no_automaton(objective, language)


def no_automaton(objective: ObjectiveOptions, language: str) -> str | None:
    """Why what is asked of the network is no answer of a finite automaton; None if it is."""
    # A state is read at every symbol: asked at the end or everywhere, the answers are to the same words.
    is_read = objective.answers_prefixes and objective.reading == "largest"
    if not is_read and (reason := objective.no_map_of_words()) is not None:
        return reason
    if (level := level_of(language)) in WITHOUT_MACHINE:
        return no_known_machine(language)
    if level != "regular":
        return f"a state of fixed size holds no {level} language such as {language}; choose --model stack-rnn"
    return None
