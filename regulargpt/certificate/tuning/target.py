"""The automaton that the certificate of a network in training is about: the language's, or that of its own answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from languages.automata import Dfa
from languages.convert.machines import AnyMachine, read_json, to_json
from languages.errors import UserError
from regulargpt.certificate.outcome import NOT_LEARNED
from regulargpt.certificate.search.certify import Certifier
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import LanguageData
from regulargpt.finite.from_answers import AnswerLearner, LearnedMachine
from regulargpt.models.tree.base import as_tree
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer


class TargetAutomaton:
    """The `certifier` for an automaton; None, where that is to be learned, until the network's answers have given one.

    `learned_at` is the step at which it was learned, `uncertified` why there is no certifier. Raises AutomatonError or
    UserError for a language whose monoid is too large or trivial.
    """

    def __init__(self, options: TableFineTuningOptions, config: RunConfig, words: LanguageData):
        self.options = options
        self.learner = AnswerLearner(words, config.seed) if options.automaton == "learned" else None
        self.learned: LearnedMachine | None = None
        self.learned_at: int | None = None
        self.uncertified = NOT_LEARNED
        self.certifier: Certifier | None = None
        if self.learner is None:
            C, aligned = config.model.chunk_size, config.model.aligned  # type: ignore[attr-defined]
            self.certifier = Certifier.of(words.tree_task, C, aligned)

    def find(self, trainer: Trainer) -> bool:
        """Ask the network for its answers, if there is no certifier yet; whether there is one now."""
        return self.certifier is not None or self.learn(trainer)

    def learn(self, trainer: Trainer) -> bool:
        """Ask for a machine, which the certificate is about from then on; whether the network's answers give one."""
        assert self.learner is not None, "without a learner there is a certifier from the start"
        if (learned := self.learner.learned(trainer.model)) is None:
            self.uncertified = NOT_LEARNED
        else:
            model = as_tree(trainer.model)
            try:
                self.certifier = Certifier.of_machine(learned.machine, model.chunk_size, model.aligned)
            except UserError as error:
                # A network that errs on few words may have come to far more states than it needs.
                self.uncertified = str(error)
            else:
                self.learned, self.learned_at, trainer.words.trains_on_errors = learned, trainer.step_count, False
                return True
        # Words go on.
        if 0 < self.options.membership_queries_from <= trainer.step_count:
            self.learner.query_language()
        # The words drawn at random hardly show the network that it has these wrong.
        trainer.words.wrong, trainer.words.trains_on_errors = self.learner.wrong, bool(self.learner.wrong)
        return False

    @property
    def awaited(self) -> str:
        """What a certificate waits for while there is no certifier."""
        why = "no automaton yet" if self.uncertified == NOT_LEARNED else self.uncertified.partition(";")[0]
        queried = 0 if self.learner is None else self.learner.queried
        return f"{why}; {queried:,} membership queries" if queried else why

    def summary(self) -> dict[str, Any]:
        """Of a learned automaton, when it was learned and what it took."""
        if self.learner is None:
            return {}
        states = None if self.learned is None else self.learned.machine.n_states
        classes = None if self.learned is None else self.learned.classes
        found = {"learned_at": self.learned_at, "states": states, "classes": classes}
        return found | {"labels_used": self.learner.labels_used}

    def state(self) -> dict[str, Any]:
        """What there is of a learned automaton."""
        if self.learner is None:
            return {}
        learned = self.learned
        machine, classes = (None, 0) if learned is None else (to_json(learned.machine), learned.classes)
        found = {"machine": machine, "classes": classes, "learned_at": self.learned_at}
        return found | {"uncertified": self.uncertified} | self.learner.state()

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """What there was."""
        if self.learner is None:
            return
        self.learner.load(state)
        self.learned_at, self.uncertified = state["learned_at"], state["uncertified"]
        if (machine := saved_machine(state)) is not None:
            tree = as_tree(model)
            self.learned = LearnedMachine(machine, state["classes"])
            self.certifier = Certifier.of_machine(machine, tree.chunk_size, tree.aligned)


def saved_machine(state: Mapping[str, Any]) -> AnyMachine | None:
    """The machine that was learned, as a checkpoint has it."""
    if state["machine"] is None:
        return None
    machine = read_json(state["machine"])
    assert not isinstance(machine, Dfa), "as it was saved"
    return machine
