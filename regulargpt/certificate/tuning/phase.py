"""Table fine-tuning as a phase of a training: try the certificate, train on its table, give up or end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from languages.convert.machines import AnyMachine
from regulargpt.certificate.concluding import Concluding
from regulargpt.certificate.outcome import Outcome, outcome_of, refused
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable
from regulargpt.certificate.tuning.stability import MOST_DRIFT, TIGHT, StabilityCheck, is_time
from regulargpt.certificate.tuning.state import MENDED, TuningState, is_large
from regulargpt.certificate.tuning.table_tuner import NOTHING, TableTuner
from regulargpt.certificate.tuning.target import TargetAutomaton
from regulargpt.certificate.unquantised import Searched, search_in_training
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Data
from regulargpt.data.language import LanguageData
from regulargpt.finite.levels import TooManyWindows
from regulargpt.models.tree.base import Tree, as_tree
from regulargpt.options import as_mapping
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

if TYPE_CHECKING:
    from regulargpt.training.trainer import Trainer

# Its steps begin small: the first ones of Adam are as long as the later ones, however little is left to mend.
WARMUP = 50
# While a table is mended, so often it is asked whether more of its windows may come in.
OPEN_EVERY = 20
# The search would certify the network; nothing is proven before the independent checker is asked, at the end.
HOLDS = "attempt holds"


class TableFineTuning(Concluding):
    """The phase. `tuned` is the table that it trains on, None while words are trained on.

    The certificate is asked for every `every` steps and at an end. It may hold: then the network is trained on its own
    table, and training ends. It may miss little: then the true table says what is to be mended, and what was there
    before is kept, in case that brings nothing. Raises AutomatonError or UserError for a language whose monoid is too
    large or trivial.

    Where the automaton is `learned` there is no certifier until the network's own answers have given a machine.
    """

    name, timer = "table_fine_tuning", "certify_seconds"

    def __init__(self, options: TableFineTuningOptions, config: RunConfig, data: Data):
        assert isinstance(data, LanguageData), "validation refuses what has no automaton"
        self.options, self.task = options, data.tree_task
        C, aligned = config.model.chunk_size, config.model.aligned  # type: ignore[attr-defined]

        def certifier(machine: AnyMachine | None) -> Certifier:
            if machine is None:
                return Certifier.of(data.tree_task, C, aligned)
            return Certifier.of_machine(machine, C, aligned)

        self.sought = TargetAutomaton(options, config.seed, data, certifier)
        self.drift: float | None = None
        self.searched: Searched | None = None  # for balls, when that was asked last
        self.standing = TuningState()
        self.tuned: TableTuner | None = None
        self.before: dict[str, Any] | None = None
        self.missed: float | None = None

    @property
    def is_active(self) -> bool:
        """Whether there is a table to train on."""
        return self.tuned is not None

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """The table's."""
        assert self.tuned is not None, "whoever asks has a table"
        return self.tuned.optimiser

    def lr(self, trainer: Trainer) -> float:
        """Rising, then constant and falling to 0; of a certified network so again and again, but for the rise."""
        assert self.tuned is not None, "whoever asks has a table"
        step, since = trainer.step_count, self.standing.since
        warm = 1.0 if since is None else min(1.0, (step + 1 - since) / WARMUP)
        # In a large table there are more prototypes to be told apart, each in less room.
        fine = min(1.0, self.options.windows / self.tuned.windows_a_step(self.options))
        return fine * warm * self.options.lr * self.standing.left(step, self.options)

    def noise(self) -> float:
        """None but that on the prototypes, which the table makes itself."""
        return 0.0

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the loss on the table; the share of windows that come near their prototype, settling's reach."""
        assert self.tuned is not None, "whoever asks has a table"
        model, left = as_tree(trainer.model), self.standing.left(trainer.step_count, self.options)
        contraction = self.options.contraction
        if self.standing.steady_since is not None:
            contraction = max(contraction, TIGHT)
        # Without dropout: the map that is certified has none.
        loss, near = self.tuned.loss(model.eval(), self.options, contraction, left)
        loss.backward()
        return loss.item(), {"near": near, **({} if self.tuned.own is None else {"reach": self.tuned.own.reach})}

    def after(self, trainer: Trainer, loss: float) -> None:
        """Only the step counts."""

    def between(self, trainer: Trainer) -> None:
        """Ask for the certificate, if it is time, and go on as the answer says.

        By the network's own prototypes, which lie where its states are; at the end by those it was trained at.
        """
        self.check_stability(trainer)
        if self.tuned is not None and not self.tuned.is_whole and trainer.step_count % OPEN_EVERY == 0:
            self.let_in(trainer)
        if not self.asks(trainer) or not self.sought.find(trainer):
            return
        found = self.attempt(as_tree(trainer.model), self.known, self.standing.allowed(self.options))
        # Also where nothing else follows: words near the wrong one are trained on after the next cooldown.
        trainer.words.wrong, self.missed = [] if found.wrong is None else [found.wrong], found.missed
        is_last = trainer.step_count >= trainer.config.training.steps
        if found.certain:
            if self.standing.certified_at is None or self.is_to_settle:  # else training ends
                self.train_on(found, trainer)
        elif self.tuned is None:
            if found.table is not None and self.options.steps and not is_last:
                self.keep(trainer)
                self.train_on(found, trainer)
        elif self.standing.settling_since is not None or (is_last and self.standing.certified_at is not None):
            self.take_back(trainer)  # the certificate is asked for again only where its training ends
        elif is_last or self.standing.ends(trainer.step_count, self.options):
            mended = found.table is not None and found.missed <= MENDED * self.standing.missed
            if mended and not is_last:
                self.train_on(found, trainer)
            else:
                self.give_up(trainer)

    @property
    def known(self) -> TrainingTable | None:
        """The table that an attempt begins with: that of a certified network, unless its prototypes move."""
        if self.tuned is None or self.tuned.free is not None or self.standing.certified_at is None:
            return None
        return self.tuned.table

    def attempt(self, model: Tree, known: TrainingTable | None, allowed: float) -> CertificationAttempt:
        """Try the certificate, with the prototypes that were learned, if any were."""
        assert self.sought.goal is not None, "it was found"
        learned = None if self.tuned is None else self.tuned.learned(model)
        return self.sought.goal.attempt(model, known, allowed, learned)

    def asks(self, trainer: Trainer) -> bool:
        """Whether the certificate is to be tried now: every so many steps and at an end.

        Where the table is mended only once none of it is missed, in the last stage alone.
        """
        step, ends = trainer.step_count, self.standing.ends(trainer.step_count, self.options)
        if not (trainer.words.in_last_stage or self.options.max_error_share):
            return False
        if self.standing.certified_at is not None:
            return ends and self.standing.steady_at is None  # else it was asked just now
        return step % self.options.every == 0 or step == trainer.config.training.steps or ends

    def keep(self, trainer: Trainer) -> None:
        """Remember what there was before."""
        # Copied: a state dict shares its tensors with the model, which goes on being trained.
        self.before = deepcopy(trainer.model.state_dict())

    def train_on(self, found: CertificationAttempt, trainer: Trainer) -> None:
        """The table that was found, from here on."""
        assert found.table is not None
        model, table = as_tree(trainer.model), found.table().to(trainer.device)
        settles = found.certain and self.is_to_settle
        # Hundreds of prototypes leave each other no room for the noise from which states come back.
        mends = not found.certain or (not settles and is_large(len(table.windows), self.options))
        self.tuned = TableTuner(model, table, mends=mends, settles=settles)
        self.standing = self.standing.begun(trainer.step_count, found.certain, found.missed, len(table.windows))
        if settles:
            self.standing = replace(self.standing, settling_since=trainer.step_count, steady_since=None)
        # Should it lose the certificate on its own table, that is what to go back to.
        if found.certain:
            self.tuned.whole()
            self.keep(trainer)
        else:
            self.let_in(trainer)

    @property
    def is_to_settle(self) -> bool:
        """Whether states of a certified network drift after its steps on noise."""
        begins = self.standing.certified_at is not None and self.standing.settling_since is None
        return begins and self.options.settling > 0 and self.drift is not None and self.drift >= MOST_DRIFT

    def let_in(self, trainer: Trainer) -> None:
        """More windows of a table that is mended, if few of those before are missed."""
        assert self.tuned is not None, "whoever calls has asked"
        step = trainer.step_count
        if self.tuned.let_in(as_tree(trainer.model), trainer.config.seed + step):
            self.standing = replace(self.standing, opened_at=step)

    def check_stability(self, trainer: Trainer) -> None:
        """Check a certified network for drift, if it is time: it may need no more."""
        if self.tuned is None or not is_time(self.tuned, self.standing, trainer.step_count, self.options):
            return
        model, tuned = as_tree(trainer.model), self.tuned

        def holds() -> bool:
            return self.attempt(model, self.known, 0.0).certain

        def search() -> Searched | None:
            assert self.sought.goal is not None, "it was certified"
            options = as_mapping(trainer.config.model)
            return search_in_training(self.sought.goal, model, options, tuned.table.prototypes)

        step, seed = trainer.step_count, trainer.config.seed
        check = StabilityCheck(model, tuned, self.standing, self.options, step, seed, holds, search, self.searched)
        self.standing = check.run()
        self.drift, self.searched = check.drift, check.searched

    def give_up(self, trainer: Trainer) -> None:
        """Words again, with the weights from before a fine-tuning that brought no certificate, or lost it."""
        if self.before is not None:
            trainer.model.load_state_dict(self.before)
        self.tuned = self.before = None
        self.standing = self.standing.ended()

    def take_back(self, trainer: Trainer) -> None:
        """The certified network, and its prototypes, from before a training that lost the certificate, and the end."""
        assert self.tuned is not None, "it was trained on"
        assert self.before is not None, "kept when it began"
        trainer.model.load_state_dict(self.before)
        self.tuned = TableTuner(as_tree(trainer.model), self.tuned.table, mends=False, settles=False)
        self.standing = replace(self.standing, taken_back=True)

    def last_step(self, trainer: Trainer) -> int:
        """The end of the fine-tuning once the certificate holds; before, that of all steps."""
        if self.standing.steady_at is not None:
            return self.standing.steady_at
        end = None if self.standing.certified_at is None else self.standing.end(self.options)
        return trainer.config.training.steps if end is None else end

    def known_end(self, trainer: Trainer) -> int | None:
        """Known once states no longer drift."""
        return self.standing.steady_at

    def awaited(self, trainer: Trainer) -> list[str]:
        """A proof, and what the network is doing for it."""
        tried = (
            f"tried every {self.options.every} steps" if self.missed is None else f"{100 * self.missed:.1f} % missed"
        )
        if self.sought.goal is None:
            tried = self.sought.awaited
        proof = f"waits for a proof ({tried})"
        if self.standing.since is None:
            return [proof, *trainer.words.awaited(trainer)]
        if self.standing.certified_at is not None:
            if self.standing.steady_since is not None and self.standing.settling_since is None:
                return [f"{HOLDS}; waits for a proof without prototypes"]
            drift = "" if self.drift is None else f" {self.drift:.2f},"
            return [f"{HOLDS}; drift{drift} aim {MOST_DRIFT:g}"]
        assert self.standing.counted_from is not None, "it has begun"
        done = trainer.step_count - self.standing.counted_from
        fine_tuning = f"table fine-tuning {done:,} of {self.standing.steps(self.options):,}"
        stages = None if self.tuned is None else self.tuned.stages
        if stages is None or stages.is_whole:
            return [proof, fine_tuning]
        windows = f"{stages.n_windows:,} of {stages.ends[-1]:,} windows"
        return [proof, f"{fine_tuning} on {windows}"]

    def columns(self) -> dict[str, Any]:
        """Nothing of its own."""
        return {}

    def summary(self) -> dict[str, Any]:
        """What summary.json has of this phase: steps, proof, learned automaton."""
        began, certified = self.standing.began_at, self.standing.certified_at
        found = {"began_at": began, "certified_at": certified, "proven_unquantised": self.proven_unquantised}
        if self.standing.settling_since is not None:
            found |= {"settling_since": self.standing.settling_since, "taken_back": self.standing.taken_back}
        if self.unproven is not None:
            found["unproven"] = self.unproven
        learned = self.sought.summary()
        return found | learned | ({"is_language": self.is_language} if learned else {})

    def state(self) -> dict[str, Any]:
        """Where it stands, its table, and what there was before."""
        return {
            "standing": dataclasses.asdict(self.standing),
            "before": self.before,
            **(NOTHING if self.tuned is None else self.tuned.state()),
            **self.sought.state(),
        }

    def load(self, state: Mapping[str, Any], model: nn.Module) -> None:
        """Where it stood."""
        self.before = state["before"]
        if state["table"] is not None:
            self.tuned = TableTuner.load(state, as_tree(model), next(model.parameters()).device)
        self.standing = TuningState(**state["standing"])
        self.sought.load(state)

    def outcome(self, model: nn.Module, weights: bytes, network: bytes, on_check: Callable[..., None]) -> Outcome:
        """The certificate of the trained model, or why there is none."""
        certifier = self.sought.goal
        if certifier is None:
            return refused(weights, {"reason": self.sought.uncertified})
        try:
            tree = as_tree(model)
            known = None if self.tuned is None else self.tuned.prototypes(tree)
            quantised = certifier.certify(tree, known)
        except TooManyWindows as error:
            return refused(weights, {"reason": str(error)})
        found = self.sought.learned, self.searched
        return outcome_of(certifier, self.task, tree, quantised, weights, network, on_check, *found)
