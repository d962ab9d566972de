"""Table fine-tuning: the proof of a tree in training. Try the certificate, train on its table, give up or end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from languages.convert.machines import AnyMachine
from regulargpt.certificate.outcome import Outcome, Progress, outcome_of, refused
from regulargpt.certificate.proof_phase import Closed, Open, ProofPhase, Seeking, Tuning, Weights, is_last, kept
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.towards_automaton import Files, TowardsAutomaton
from regulargpt.certificate.tuning.fine_tuning import CertificationAttempt, TrainingTable
from regulargpt.certificate.tuning.stability import MOST_DRIFT, TIGHT, StabilityCheck, is_time
from regulargpt.certificate.tuning.state import MENDED, STAGES, Certified, Mending, Settling, Stage, is_large
from regulargpt.certificate.tuning.table_tuner import TableTuner
from regulargpt.certificate.unquantised import Searched, search_in_training
from regulargpt.config.schema import RunConfig
from regulargpt.data.language import LanguageData
from regulargpt.finite.levels import TooManyWindows
from regulargpt.models.tree.base import as_tree
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


@dataclass(frozen=True)
class TableTuning(Tuning):
    """The training on a table of a certifier's: the table, the stage that it is in, and the weights to go back to.

    Of a certified network, how far its states drift and what a search for balls came to, when that was asked last.
    """

    certifier: Certifier
    tuner: TableTuner
    stage: Stage
    before: Weights
    options: TableFineTuningOptions
    drift: float | None = None
    searched: Searched | None = None

    def optimiser(self, trainer: Trainer) -> torch.optim.Optimizer:
        """The table's."""
        return self.tuner.optimiser

    def lr(self, trainer: Trainer) -> float:
        """Rising, then constant and falling to 0; of a certified network so again and again, but for the rise."""
        step = trainer.step_count
        warm = min(1.0, (step + 1 - self.stage.since) / WARMUP)
        # In a large table there are more prototypes to be told apart, each in less room.
        fine = min(1.0, self.options.windows / self.tuner.windows_a_step(self.options))
        return fine * warm * self.options.lr * self.stage.left(step, self.options)

    def backward(self, trainer: Trainer) -> tuple[float, Mapping[str, float]]:
        """Gradients of the loss on the table; the share of windows that come near their prototype, settling's reach."""
        model, left = as_tree(trainer.model), self.stage.left(trainer.step_count, self.options)
        contraction = max(self.options.contraction, TIGHT) if self.is_steady else self.options.contraction
        # Without dropout: the map that is certified has none.
        loss, near = self.tuner.loss(model.eval(), self.options, contraction, left)
        loss.backward()
        return loss.item(), {"near": near, **({} if self.tuner.own is None else {"reach": self.tuner.own.reach})}

    def last_step(self, trainer: Trainer) -> int:
        """The end of the fine-tuning once the certificate holds."""
        is_certified = isinstance(self.stage, Certified)
        return self.stage.end(self.options) if is_certified else super().last_step(trainer)

    def awaited(self, trainer: Trainer, tried: str) -> list[str]:
        """A proof, and how far the network is."""
        stage, order = self.stage, self.tuner.stages
        if isinstance(stage, Certified):
            if self.is_steady and not isinstance(stage, Settling):
                return [f"{HOLDS}; waits for a proof without prototypes"]
            drift = "" if self.drift is None else f" {self.drift:.2f},"
            return [f"{HOLDS}; drift{drift} aim {MOST_DRIFT:g}"]
        done = trainer.step_count - stage.counted_from
        fine_tuning = f"table fine-tuning {done:,} of {stage.steps(self.options):,}"
        if order is not None and not order.is_whole:
            fine_tuning += f" on {order.n_windows:,} of {order.ends[-1]:,} windows"
        return [f"waits for a proof ({tried})", fine_tuning]

    @property
    def is_steady(self) -> bool:
        """Whether states of a certified network once did not drift, since the stage began."""
        return isinstance(self.stage, Certified) and self.stage.steady_since is not None

    @property
    def is_to_settle(self) -> bool:
        """Whether states of a certified network drift after its steps on noise."""
        begins = isinstance(self.stage, Certified) and not isinstance(self.stage, Settling)
        return begins and self.options.settling > 0 and self.drift is not None and self.drift >= MOST_DRIFT

    @property
    def known(self) -> TrainingTable | None:
        """The table that an attempt begins with: that of a certified network, unless its prototypes move."""
        return self.tuner.table if isinstance(self.stage, Certified) and self.tuner.free is None else None


Now = Seeking | TableTuning | Closed[TableTuning]


class Trees(TowardsAutomaton[TableTuning, Certifier]):
    """The certificate is requested every `every` steps and at an end.

    It may hold: then the network is trained on its own table, and training ends. It may miss little: then the true
    table says what is to be mended, and what was there before is kept, in case that brings nothing. Raises
    AutomatonError or UserError for a language whose monoid is too large or trivial.

    Where the automaton is `learned` there is no certifier until the network's own answers have given a machine.
    """

    def __init__(self, options: TableFineTuningOptions, config: RunConfig, data: LanguageData):
        self.model, self.task = config.model, data.tree_task
        self.missed: float | None = None
        super().__init__(options, config, data)

    def goal_of(self, machine: AnyMachine | None) -> Certifier:
        """What the networks of this chunk size have to compute."""
        C, aligned = self.model.chunk_size, self.model.aligned  # type: ignore[attr-defined]
        if machine is None:
            return Certifier.for_task(self.task, C, aligned)
        return Certifier.of_machine(machine, C, aligned)

    def seek(self, now: Seeking, trainer: Trainer) -> Now:
        """Ask for the certificate, if it is time, and begin where it holds or misses little."""
        if not self.is_due(trainer) or (certifier := self.sought.seek(trainer)) is None:
            return now
        tried = self.attempt(certifier, now, trainer)
        may_begin = tried.certain or (self.options.steps and not is_last(trainer))
        return self.begun(certifier, now, tried, tried.table(), trainer) if tried.table and may_begin else now

    def tune(self, now: TableTuning, trainer: Trainer) -> Now:
        """Look at a certified network; let windows in; where its steps are over, ask for the certificate again.

        By the network's own prototypes, which lie where its states are; at the end by those it was trained at.
        """
        checked = self.checked(now, trainer)
        if isinstance(checked, Closed):
            return checked
        now = self.let_in(checked, trainer) if trainer.step_count % OPEN_EVERY == 0 else checked
        ends = trainer.step_count >= now.stage.end(self.options)
        # A certified network was asked just now.
        is_time = ends and self.may_begin(trainer) if isinstance(now.stage, Certified) else self.is_due(trainer, ends)
        return self.answered(now, self.attempt(now.certifier, now, trainer), ends, trainer) if is_time else now

    def may_begin(self, trainer: Trainer) -> bool:
        """Whether training has come far enough: where a table is mended once none of it is missed, to the last stage
        of words."""
        return trainer.words.in_last_stage or self.options.max_error_share > 0

    def is_due(self, trainer: Trainer, ends: bool = False) -> bool:
        """Whether the certificate is to be tried now: every so many steps and at an end."""
        step = trainer.step_count
        return self.may_begin(trainer) and (
            step % self.options.every == 0 or step == trainer.config.training.steps or ends
        )

    def attempt(self, certifier: Certifier, now: Seeking | TableTuning, trainer: Trainer) -> CertificationAttempt:
        """Try the certificate, with the prototypes that were learned, if any were; note what it missed."""
        model, options = as_tree(trainer.model), self.options
        # Half as much of the table may be missed after a fine-tuning was given up.
        allowed = options.max_error_share * 0.5**now.given_up if options.steps else 0.0
        known, learned = (None, None) if isinstance(now, Seeking) else (now.known, now.tuner.learned(model))
        tried = certifier.attempt(model, known, allowed, learned)
        # Also where nothing else follows: words near the wrong word are trained on after the next cooldown.
        trainer.words.wrong, self.missed = [] if tried.wrong is None else [tried.wrong], tried.missed
        return tried

    def answered(self, now: TableTuning, tried: CertificationAttempt, ends: bool, trainer: Trainer) -> Now:
        """Go on as an attempt says."""
        stage, at_end = now.stage, is_last(trainer)
        if tried.certain:
            if isinstance(stage, Certified) and not now.is_to_settle:
                return now  # training ends
        elif isinstance(stage, Settling) or (at_end and isinstance(stage, Certified)):
            # The certificate is requested again only where its training ends.
            return self.taken_back(now, stage, trainer)
        elif not at_end and not ends:
            return now
        elif at_end or tried.missed > MENDED * stage.missed:
            return self.given_up(now, trainer)
        if tried.table is None:
            return self.given_up(now, trainer)
        return self.begun(now.certifier, now, tried, tried.table(), trainer)

    def begun(
        self,
        certifier: Certifier,
        now: Seeking | TableTuning,
        tried: CertificationAttempt,
        table: TrainingTable,
        trainer: Trainer,
    ) -> TableTuning:
        """Trained on the table that was found, from here on."""
        model, step, table = as_tree(trainer.model), trainer.step_count, table.to(trainer.device)
        settles = isinstance(now, TableTuning) and tried.certain and now.is_to_settle
        # Hundreds of prototypes leave each other no room for the noise from which states come back.
        mends = not tried.certain or (not settles and is_large(len(table.windows), self.options))
        tuner = TableTuner(model, table, mends=mends, settles=settles)
        stage = stage_of(now, tried, step, len(table.windows))
        if isinstance(now, Seeking):
            then = TableTuning(certifier, tuner, stage, kept(model), self.options, given_up=now.given_up)
        else:
            # Should it lose the certificate on its own table, that is what to go back to.
            then = replace(now, tuner=tuner, stage=stage, before=kept(model) if tried.certain else now.before)
        if not tried.certain:
            return self.let_in(then, trainer)
        tuner.whole()
        return then

    def let_in(self, now: TableTuning, trainer: Trainer) -> TableTuning:
        """More windows of a table that is mended, if few of those before are missed."""
        stage, step = now.stage, trainer.step_count
        if not isinstance(stage, Mending) or not now.tuner.let_in(as_tree(trainer.model), trainer.config.seed + step):
            return now
        return replace(now, stage=replace(stage, opened_at=step))

    def checked(self, now: TableTuning, trainer: Trainer) -> TableTuning | Closed[TableTuning]:
        """Check a certified network for drift, if it is time: it may need no more."""
        stage, step, tuner, certifier = now.stage, trainer.step_count, now.tuner, now.certifier
        if not isinstance(stage, Certified) or not is_time(tuner, stage, step, self.options):
            return now
        model = as_tree(trainer.model)

        def holds() -> bool:
            return certifier.attempt(model, now.known, 0.0, tuner.learned(model)).certain

        def search() -> Searched | None:
            return search_in_training(certifier, model, as_mapping(trainer.config.model), tuner.table.prototypes)

        seed = trainer.config.seed
        check = StabilityCheck(model, tuner, stage, self.options, step, seed, holds, search, now.searched)
        stage, needs_no_more = check.run()
        then = replace(now, stage=stage, drift=check.drift, searched=check.searched)
        return Closed(then, step) if needs_no_more else then

    def given_up(self, now: TableTuning, trainer: Trainer) -> Seeking:
        """Words again, with the weights from before a fine-tuning that brought no certificate, or lost it."""
        trainer.model.load_state_dict(now.before)
        return Seeking(given_up=now.given_up + 1)

    def taken_back(self, now: TableTuning, stage: Certified, trainer: Trainer) -> Closed[TableTuning]:
        """The certified network, and its prototypes, from before a training that lost the certificate, and the end."""
        trainer.model.load_state_dict(now.before)
        tuner = TableTuner(as_tree(trainer.model), now.tuner.table, mends=False, settles=False)
        return Closed(replace(now, tuner=tuner, stage=replace(stage, taken_back=True)), trainer.step_count)

    def tried(self) -> str:
        """How much of the table the last attempt missed, if any."""
        if self.sought.goal is None or self.missed is None:
            return super().tried()
        return f"{100 * self.missed:.1f} % missed"

    def facts(self, now: Now) -> dict[str, Any]:
        """When it began, and when the certificate held first."""
        last = now.last if isinstance(now, Closed) else now
        stage = last.stage if isinstance(last, TableTuning) else None
        certified = stage.certified_at if isinstance(stage, Certified) else None
        began = None if stage is None else stage.began_at
        facts = {"began_at": began, "certified_at": certified, "proven_unquantised": None}
        if isinstance(stage, Settling):
            facts |= {"settling_since": stage.settling_since, "taken_back": stage.taken_back}
        return facts

    def saved(self, now: TableTuning) -> dict[str, Any]:
        """Its stage, its table, and what there was before."""
        standing = {"stage": type(now.stage).__name__, **dataclasses.asdict(now.stage)}
        return {"standing": standing, "before": now.before, **now.tuner.state()}

    def loaded(self, saved: Mapping[str, Any], given_up: int, model: nn.Module) -> TableTuning:
        """As it was saved."""
        fields = dict(saved["standing"])
        stage = STAGES[fields.pop("stage")](**fields)
        tuner = TableTuner.load(saved, as_tree(model), next(model.parameters()).device)
        certifier = self.sought.needed()
        return TableTuning(certifier, tuner, stage, saved["before"], self.options, given_up=given_up)

    def certificate(self, goal: Certifier, now: Open, model: nn.Module, files: Files, on_check: Progress) -> Outcome:
        """By the prototypes that it was trained at, if any."""
        tree, weights, network = as_tree(model), files["weights"], files["network"]
        known, searched = (now.tuner.prototypes(tree), now.searched) if isinstance(now, TableTuning) else (None, None)
        try:
            quantised = goal.certify(tree, known)
        except TooManyWindows as error:
            return refused(weights, {"reason": str(error)})
        return outcome_of(goal, self.task, tree, quantised, weights, network, on_check, self.sought.learned, searched)


def stage_of(now: Seeking | TableTuning, tried: CertificationAttempt, step: int, windows: int) -> Stage:
    """The stage that begins with an attempt, on a table of so many windows."""
    if not tried.certain:
        return Mending(step, tried.missed, windows, step)
    if isinstance(now, Seeking):
        return Certified(step, tried.missed, windows, step)
    began = now.stage.began_at
    if isinstance(now.stage, Certified):  # else it would not begin anew
        return Settling(began, tried.missed, windows, now.stage.certified_at, settling_since=step)
    return Certified(began, tried.missed, windows, step)


class TableFineTuning(ProofPhase[TableTuning]):
    """The proof of a tree."""

    name, strategy_of = "table_fine_tuning", Trees
