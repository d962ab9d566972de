"""The automaton that the certificate of a network in training is about: the language's, or that of its own answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from languages.automata import Dfa
from languages.convert.machines import AnyMachine, read_json, to_json
from languages.errors import UserError
from regulargpt.certificate.outcome import NOT_LEARNED
from regulargpt.data.language import LanguageData
from regulargpt.finite.from_answers import AnswerLearner, LearnedMachine
from regulargpt.training.proof_options import AutomatonOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer


Goal = TypeVar("Goal")


class TargetAutomaton(Generic[Goal]):
    """The `goal` that an automaton gives; None, where it is to be learned, until the network's answers have given one.

    `goal_of` makes it of a learned machine, or of the language's for None; `learned_at` is the step at which it was
    learned, `uncertified` why there is no goal. Raises what `goal_of` raises: AutomatonError or UserError for a
    language that is too large or trivial.
    """

    def __init__(
        self, options: AutomatonOptions, seed: int, words: LanguageData, goal_of: Callable[[AnyMachine | None], Goal]
    ):
        self.options, self.goal_of = options, goal_of
        self.learner = AnswerLearner(words, seed) if options.automaton == "learned" else None
        self.learned: LearnedMachine | None = None
        self.learned_at: int | None = None
        self.uncertified = NOT_LEARNED
        self.goal = goal_of(None) if self.learner is None else None

    def seek(self, trainer: Trainer) -> Goal | None:
        """The goal; where there is none yet the network is asked for its answers, and trained on those it has wrong."""
        if self.goal is None and self.learner is not None:
            self.learn(self.learner, trainer)
        return self.goal

    def learn(self, learner: AnswerLearner, trainer: Trainer) -> None:
        """Ask for a machine, which the certificate is about from then on, if the network's answers give one."""
        if (learned := learner.learned(trainer.model)) is None:
            self.uncertified = NOT_LEARNED
        else:
            try:
                self.goal = self.goal_of(learned.machine)
            except UserError as error:
                # A network that errs on few words may have come to far more states than it needs.
                self.uncertified = str(error)
            else:
                self.learned, self.learned_at, trainer.words.trains_on_errors = learned, trainer.step_count, False
                return
        # Words go on.
        if 0 < self.options.membership_queries_from <= trainer.step_count:
            learner.query_language()
        # The words drawn at random hardly show the network that it has these wrong.
        trainer.words.wrong, trainer.words.trains_on_errors = learner.wrong, bool(learner.wrong)

    def needed(self) -> Goal:
        """The goal of a training towards it. Raises UserError where there is none, as in a damaged checkpoint."""
        if self.goal is None:
            raise UserError("the checkpoint trains towards an automaton that it does not have; run anew")
        return self.goal

    @property
    def awaited(self) -> str:
        """What a certificate waits for while there is no goal."""
        why = "no automaton yet" if self.uncertified == NOT_LEARNED else self.uncertified.partition(";")[0]
        queried = 0 if self.learner is None else self.learner.queried
        return f"{why}; {queried:,} membership queries" if queried else why

    def summary(self) -> dict[str, Any]:
        """Of a learned automaton, when it was learned and what it took."""
        if self.learner is None:
            return {}
        states = None if self.learned is None else self.learned.machine.n_states
        classes = None if self.learned is None else self.learned.classes
        summary = {"learned_at": self.learned_at, "states": states, "classes": classes}
        return summary | {"labels_used": self.learner.labels_used}

    def state(self) -> dict[str, Any]:
        """What there is of a learned automaton."""
        if self.learner is None:
            return {}
        learned = self.learned
        machine, classes = (None, 0) if learned is None else (to_json(learned.machine), learned.classes)
        state = {"machine": machine, "classes": classes, "learned_at": self.learned_at}
        return state | {"uncertified": self.uncertified} | self.learner.state()

    def load(self, state: Mapping[str, Any]) -> None:
        """What there was."""
        if self.learner is None:
            return
        self.learner.load(state)
        self.learned_at, self.uncertified = state["learned_at"], state["uncertified"]
        if (machine := saved_machine(state)) is not None:
            self.learned, self.goal = LearnedMachine(machine, state["classes"]), self.goal_of(machine)


def saved_machine(state: Mapping[str, Any]) -> AnyMachine | None:
    """The machine that was learned, as a checkpoint has it."""
    if state["machine"] is None:
        return None
    machine = read_json(state["machine"])
    assert not isinstance(machine, Dfa), "as it was saved"
    return machine
