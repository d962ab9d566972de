"""`regulargpt extract DIR --out dfa.json`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError, one_of
from languages.registry import WITHOUT_MACHINE, level_of, no_known_machine
from regulargpt.cli.output import CountBar, emit, printed, say, table
from regulargpt.cli.types import PATH, FiniteRange, NewFileType, WholeRange
from regulargpt.extraction import LONGEST, SECONDS
from regulargpt.training.proof import no_certificate

if TYPE_CHECKING:
    from languages.automata import MooreMachine
    from languages.automata.pushdown import PushdownTransducer
    from languages.convert.machines import AnyMachine
    from regulargpt.config.schema import RunConfig
    from regulargpt.runs.opened import OpenedRun

DEFAULT = "extracted.json"
ENDINGS = (".json", ".dot")
RECURRENT = ("rnn", "lstm", "gru")
OTHERS = {"linear-rnn": "its answer depends on more than its state"}
OUTSIDE = "derive the class from regulargpt.models.recurrent.Stepwise and give `step`, which moves the state on"
ASK = "; or ask for its answers, with --from answers"
OF_ROWS = "; extract from a run of supervision 'last'"


@click.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=NewFileType(DEFAULT), help=f"A .json or .dot file.  [default: FOLDER/{DEFAULT}]")
@click.option(
    "--from",
    "source",
    type=click.Choice(["states", "answers"]),
    help="What of the network is looked at.  [default: its states, if they are enough to build a machine from]",
)
@click.option(
    "--codebook",
    type=click.Choice(["blind", "classes"]),
    help="Prototypes from the states alone, or from the task's transitions.  [default: blind]",
)
@click.option(
    "--longest",
    type=WholeRange(1, LONGEST),
    help="Symbols of the longest words that the network is to answer.  [default: the training length]",
)
@click.option(
    "--seconds",
    type=FiniteRange(min=0),
    help=f"Most seconds of answers; 0: no end.  [default: {SECONDS}]",
)
@printed
def command(
    folder: Path,
    out: Path | None,
    source: str | None,
    codebook: str | None,
    longest: int | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Extract the automaton that a trained network implements, and compare it with the task's."""
    from regulargpt.cli import FAILED
    from regulargpt.runs.opened import open_run
    from regulargpt.storage.folder import RunFolder

    if out is not None:
        check_out(out)
    run = open_run(RunFolder.open(folder), on=("words",), reads=False)
    config = run.config
    result: dict[str, Any] = {"run_dir": str(folder), "language": config.data.name, "model": config.model.title}
    for_answers = {"--longest": longest, "--seconds": seconds}
    result["from"] = source = chosen(
        config, source, codebook, [name for name, value in for_answers.items() if value is not None]
    )

    from regulargpt.extraction.sentences import rows
    from regulargpt.storage.atomic import write_text

    if source == "answers":
        machine, said = of_answers(run, longest, SECONDS if seconds is None else seconds or inf)
        result |= said
    elif config.model.has_stacks:
        from regulargpt.extraction.stack import extract_stack

        result |= extract_stack(run.folder, config)
        machine = result.pop("machine")
    else:
        from regulargpt.extraction.run import described, extract

        codebook = codebook or "blind"
        task, extraction = extract(run.folder, config, codebook)
        machine = extraction.learned.machine
        result |= {"language": task.name, "codebook": codebook, **described(task, extraction)}
    place = None if machine is None else out or folder / DEFAULT
    if machine is not None and place is not None:
        write_text(place, rendered(machine, place.suffix))
    result["out"] = None if place is None else str(place)
    emit(result) if as_json else say(table(rows(result)))
    return 0 if machine is not None else FAILED


def of_answers(run: OpenedRun, longest: int | None, seconds: float) -> tuple[AnyMachine | None, dict[str, Any]]:
    """The machine of the network's answers, and what is said of it; a bar shows how many there may still be."""
    from regulargpt.extraction.black_box import extract_answers

    with closing(CountBar("answers")) as progress:
        return extract_answers(run, longest, seconds, progress)


def check_out(out: Path) -> None:
    """Refuse a file that cannot be written, or would replace another."""
    if out.suffix not in ENDINGS:
        raise UserError(f"--out {out}: a machine is written as .json or .dot; choose one of these endings")
    if out.exists():
        raise UserError(f"{out} exists; choose another --out")


def chosen(config: RunConfig, source: str | None, codebook: str | None, for_answers: Sequence[str]) -> str:
    """What to look at: the states where a machine is built from them, and no option says otherwise; else the answers.

    Refuses what cannot be, and options of the other.
    """
    reason = no_states(config, codebook)
    by_itself = "answers" if for_answers or (reason is not None and codebook is None) else "states"
    source = source or by_itself
    if source == "answers" and codebook is not None:
        raise UserError(f"--codebook {codebook} is for --from states: of the answers there are no prototypes; drop it")
    if source == "states" and for_answers:
        raise UserError(f"{for_answers[0]} is for --from answers, which asks the network about words; drop it")
    if source == "answers" and config.objective.reading is None:
        raise UserError(f"{config.data.name} has a row of answers to a word, and --from answers asks for one{OF_ROWS}")
    if source == "states" and reason is not None:
        raise UserError(reason)
    return source


def no_states(config: RunConfig, codebook: str | None) -> str | None:
    """Why no machine is built from a run's states; None if one may be."""
    if config.model.has_stacks:
        if codebook == "classes":
            return f"--codebook {codebook}: the states of a stack network are exact; choose --codebook blind"
        reason = no_certificate(config.model, config.objective, config.data.name)
        return None if reason is None else f"nothing to extract: {reason}{ASK}"
    model, stepwise = config.model.name, is_stepwise(config.model.name)
    if stepwise and codebook == "classes":
        return f"--codebook {codebook} is for weight-shared trees, not for '{model}'; choose --codebook blind"
    if level_of(config.data.name) in WITHOUT_MACHINE:
        return f"{no_known_machine(config.data.name)}{ASK}"
    if level_of(config.data.name) != "regular" and not config.model.follows_brackets:
        of = f"{model} does not follow the brackets of {config.data.name}: there is no finite machine in its states"
        return f"{of}; give a run with model.tree = 'nested'{ASK}"
    if not stepwise and (reason := config.model.why_no_certificate()) is not None:
        return f"nothing to extract{no_machine(model, reason)}{ASK}"
    if config.objective.reading != "largest":
        return f"the run answers with the symbols that may follow; extract from one of supervision 'last'{ASK}"
    return None


def is_stepwise(model: str) -> bool:
    """Whether a model's state is one vector that each symbol moves; a class from outside says so by its base.

    >>> is_stepwise("gru"), is_stepwise("linear-rnn")
    (True, False)
    """
    from regulargpt.models import MODELS

    if model in MODELS:
        return model in RECURRENT
    from regulargpt.models.recurrent import Stepwise  # torch, which a class from outside has imported

    return issubclass(MODELS[model].load(), Stepwise)


def no_machine(model: str, reason: str) -> str:
    """Why, and which models have a machine: of one of these, its options are at fault."""
    from regulargpt.models import MODELS

    known = [name for name in MODELS if name in RECURRENT or MODELS.options(name, "model").why_no_certificate() is None]
    if model in known:
        return f": {reason}"
    if model not in MODELS:
        return f" from a run of '{model}': {OUTSIDE}; docs/your-own.md shows how"
    return f" from a run of '{model}': {OTHERS.get(model, 'it carries no state')}; give one of {one_of(known)}"


def rendered(machine: MooreMachine | PushdownTransducer, ending: str) -> str:
    """The file's text."""
    from languages.automata import MooreMachine
    from languages.convert import dot, pushdown
    from languages.convert.machines import to_json
    from regulargpt.finite.nonempty import as_dfa

    if not isinstance(machine, MooreMachine):
        return pushdown.to_dot(machine) if ending == ".dot" else to_json(machine)
    automaton = as_dfa(machine)
    return dot.to_dot(automaton) if ending == ".dot" else to_json(automaton)
