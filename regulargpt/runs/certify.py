"""The certificate of a finished run: what `verify` does, and `run --certify` at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from warnings import catch_warnings

from torch import Tensor

from languages.errors import Notice, UserError
from regulargpt.certificate.chain.outcome import chain_outcome
from regulargpt.certificate.checker import Progress
from regulargpt.certificate.compared import AnyMachine, automaton_of
from regulargpt.certificate.outcome import NOT_LEARNED, Outcome, outcome_of, refused
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.stack.outcome import stack_outcome
from regulargpt.certificate.tuning.mending import saved_prototypes
from regulargpt.certificate.tuning.target import saved_machine
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.quantised import prototypes_of
from regulargpt.finite.from_answers import AnswerLearner, LearnedMachine
from regulargpt.finite.stack_product import MAX_LAG
from regulargpt.graph.export import written
from regulargpt.models.base import Model
from regulargpt.models.recurrent import Recurrent
from regulargpt.models.tree.base import Tree, as_tree
from regulargpt.runs.configured import config_of
from regulargpt.runs.falsify import known
from regulargpt.runs.load import load_model
from regulargpt.runs.opened import refuse_other_data
from regulargpt.runs.outside import mistakes, outside
from regulargpt.storage import checkpoint
from regulargpt.storage.folder import CERTIFICATE, MODEL_CONFIG, WEIGHTS, RunFolder
from regulargpt.training.chain_fine_tuning import no_automaton
from regulargpt.training.proof import no_certificate, proof_phase
from regulargpt.training.stack_proof import StackProofOptions


def certificate_report(folder: RunFolder, progress: Progress = lambda part, done, count: None) -> dict[str, Any]:
    """Try to certify a finished run; write certificate.json and automaton.json beside it if it holds.

    If not, uncertified.json says why. Raises UserError for a run that is not finished.
    """
    config = config_of(folder)
    weights, network = folder.final_bytes(WEIGHTS), folder.final_bytes(MODEL_CONFIG)
    if (reason := no_certificate(config.model, config.objective, config.data.name)) is not None:
        if no_automaton(config.objective, config.data.name) is None and outside(config):
            return write(folder, from_outside(folder, config, weights, reason, progress))
        return write(folder, refused(weights, {"reason": reason}))
    words = of_words(config.data)
    refuse_other_data(folder, words)
    if config.model.has_stacks:
        lags = [phase.lag for phase in config.phases if isinstance(phase, StackProofOptions)]
        lag = max(lags, default=MAX_LAG)
        return write(folder, stack_outcome(words.task, load_model(folder), weights, network, progress, lag))
    if config.model.carries_state:
        files = {"weights": weights, "network": network}
        return write(folder, chain_report(folder, config, words, files, progress))
    task, model = words.tree_task, as_tree(load_model(folder))
    try:
        learned = learned_machine(folder, config, model)
        if learned is None:
            certifier = Certifier.for_task(task, model.chunk_size, model.aligned)
        else:
            certifier = Certifier.of_machine(learned.machine, model.chunk_size, model.aligned)
        quantised = certifier.certify(model, known_prototypes(folder, model))
    except UserError as error:
        return write(folder, refused(weights, {"reason": str(error)}))
    return write(folder, outcome_of(certifier, task, model, quantised, weights, network, progress, learned))


def chain_report(
    folder: RunFolder, config: RunConfig, words: LanguageData, files: Mapping[str, bytes], progress: Progress
) -> Outcome:
    """What is said of a recurrent network, of the automaton that its training was about."""
    model = load_model(folder)
    try:
        learned = learned_machine(folder, config, model)
    except UserError as error:
        return refused(files["weights"], {"reason": str(error)})
    points, wrong = known_points(folder), known(folder, words).words
    return chain_outcome(model, words, config.seed, files, progress, learned, points, wrong=wrong)


def from_outside(folder: RunFolder, config: RunConfig, weights: bytes, reason: str, progress: Progress) -> Outcome:
    """What is said of a network from outside: if it is recurrent, of its graph; without one, its table is compared."""
    words = of_words(config.data)
    refuse_other_data(folder, words)
    with catch_warnings(action="ignore", category=Notice):  # `verify` has just said it, of the hidden states
        model = load_model(folder)
    if not isinstance(model, Recurrent):
        return refused(weights, {"reason": reason})
    with mistakes(config):
        files, unknown = {"weights": weights}, ""
        try:
            machine = words.finite.machine
            files["network"] = written(model, machine.alphabet, machine.output_names)
        except UserError as error:
            unknown = str(error)
        wrong = known(folder, words).words
        return chain_outcome(model, words, config.seed, files, progress, unknown=unknown, wrong=wrong)


def learned_machine(folder: RunFolder, config: RunConfig, model: Model) -> LearnedMachine | None:
    """The machine of the network's answers, for a run whose training used no other; None for other runs.

    It is that of an earlier certificate, if the network bears it out, or the automaton that the training took; where
    there is neither it is learned anew. Raises UserError if the answers give none.
    """
    phase = proof_phase(config.model)
    tuning = next((options for options in config.phases if options.name == phase), None)
    if getattr(tuning, "automaton", "known") != "learned":
        return None
    learner = AnswerLearner(of_words(config.data), config.seed)
    recalled = (learner.recalled(machine, state) for machine, state in earlier_machines(folder, model, phase))
    learned = next((machine for machine in recalled if machine is not None), None) or learner.learned(model)
    if learned is None:
        raise UserError(NOT_LEARNED)
    return learned


def earlier_machines(folder: RunFolder, model: Model, phase: str) -> Iterator[tuple[AnyMachine, Model | None]]:
    """The machine of a certificate, and that with which the training's phase ended, as far as they are there.

    With the first comes the network that has to bear it out: automaton.json is no part of the manifest.
    """
    with suppress(UserError):  # no certificate, or another file in its place
        yield automaton_of(folder), model
    # Last: a checkpoint of a large table takes far longer to read.
    last = last_phase(folder, phase)
    if last and (machine := saved_machine(last)) is not None:
        yield machine, None


def known_prototypes(folder: RunFolder, model: Tree) -> Tensor | None:
    """The prototypes of the certificate that lies there, if it is of these weights; else those of the training.

    The latter are those of the table on which it ended; where they learned, as they had come to be. They are all that a
    run has whose process was killed before its certificate was written, or whose certificate is damaged.
    """
    with suppress(UserError):
        prototypes = prototypes_of(folder)
        if prototypes.shape[1:] == model.absent.shape[1:]:
            return prototypes
    tuning = last_tuning(folder, "table_fine_tuning")
    return saved_prototypes(tuning, model) if tuning else None


def known_points(folder: RunFolder) -> Tensor | None:
    """The points of the certificate that lies there, if it is of these weights; else those of the training."""
    with suppress(UserError):
        return prototypes_of(folder)
    tuning = last_tuning(folder, "chain_fine_tuning")
    return tuning["middles"] if tuning else None


def last_tuning(folder: RunFolder, name: str) -> dict[str, Any] | None:
    """The training for the proof with which a phase ended, if it did."""
    phase = last_phase(folder, name)
    return phase["tuning"] if phase else None


def last_phase(folder: RunFolder, name: str) -> dict[str, Any] | None:
    """A phase as the last checkpoint has it; None without a checkpoint, which a finished run does not need."""
    try:
        last = checkpoint.load_latest(folder.path)
    except UserError:
        return None
    return last.state["state"]["phases"].get(name) if last else None


def write(folder: RunFolder, outcome: Outcome) -> dict[str, Any]:
    """Write the outcome's files; the report."""
    outcome.write(folder)
    place = {"file": str(folder.path / CERTIFICATE)} if outcome.report["proven"] else {}
    return {**outcome.report, **place}
