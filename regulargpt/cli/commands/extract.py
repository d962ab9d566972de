"""`regulargpt extract DIR --out dfa.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError, one_of
from languages.registry import level_of
from regulargpt.cli.output import CountBar, emit, printed, say, table
from regulargpt.cli.types import PATH, FiniteRange
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
# A state whose nearest prototype is less than this nearer than the second may fall to the other in other arithmetic.
CLEAR = 1e-2


@click.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=PATH, help=f"A .json or .dot file.  [default: FOLDER/{DEFAULT}]")
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
    type=click.IntRange(1, LONGEST),
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
        machine = extraction.found.machine
        result |= {"language": task.name, "codebook": codebook, **described(task, extraction)}
    place = None if machine is None else out or folder / DEFAULT
    if machine is not None and place is not None:
        write_text(place, rendered(machine, place.suffix))
    result["out"] = None if place is None else str(place)
    emit(result) if as_json else say(text(result, config))
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
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: the folder {out.parent} does not exist; make it first")


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
    found = as_dfa(machine)
    return dot.to_dot(found) if ending == ".dot" else to_json(found)


def text(result: dict[str, Any], config: RunConfig) -> str:
    """For people."""
    if result["from"] == "answers":
        return answers_text(result)
    return stack_text(result) if config.model.has_stacks else states_text(result)


def answers_text(result: dict[str, Any]) -> str:
    """For people, of a network of which nothing but answers is known."""
    every = f", all of at most {result['all_up_to']} among them" if result["all_up_to"] else ""
    queries = f"{result['queries']:,} words of at most {result['longest']} symbols{every}"
    rows = [("queries", queries), ("machine", none_of(result) if result["states"] is None else machine_of(result))]
    if result["states"] is not None:
        why = result["reason"] or "the words that would tell it from others are too many or too long"
        rows += [("ruled out", line) for line in result["ruled_out"] or [f"nothing: {why}"]]
    return table([*rows, ("compared", answers_verdict(result)), *written(result)])


def none_of(result: dict[str, Any]) -> str:
    """Why there is no machine, and how near the last proposal came."""
    said, so_far = f"none: {result['reason']}", result["so_far"]
    if so_far is None:
        return said
    (unit, count), (_, share) = so_far.items()
    return f"{said}; the machine so far has {count} {unit} and gives {100 * share:.1f} % of the drawn answers"


def answers_verdict(result: dict[str, Any]) -> str:
    """Equal to the task's machine, or a shortest word that the machine, or the network, answers otherwise."""
    language, found = result["language"], result["counterexample"]
    if result["equal"]:
        return f"equal to the machine of {language}"
    if found is None:
        return f"with {language}: no query is answered wrongly"
    mine, network, true = (json.dumps(found.get(key), ensure_ascii=False) for key in ("machine", "network", "task"))
    said = f"not {language}: {found['word']} is answered"
    if "machine" not in found:
        return f"{said} {network}, right is {true}"
    replayed = "says so, too" if network == mine else f"answers {network}"
    if found["network"] is None:
        replayed = "has no answer: it is no question" if found["task"] is None else "cannot read so long a word"
    return f"{said} {mine}, right is {true}; no shorter word differs; the network itself {replayed}"


def written(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the machine is, if there is one."""
    return [] if result["out"] is None else [("written", result["out"])]


def machine_of(result: dict[str, Any]) -> str:
    """The machine's size, and how far it is the network's."""
    stack = " and a stack" if "algebra" in result else ""
    if result.get("algebra"):
        stack += f", an algebra of {result['algebra']} elements"
    size = f"{result['states']} state{'s' * (result['states'] != 1)}{stack}"
    if result["from"] == "answers":
        return f"{size}; it gives the network's answer to each of these words"
    everywhere = "at every length and every depth" if "algebra" in result else "at every length"
    proven = f"the quantised network's answer {everywhere}" if result["proven_quantised"] else result["reason"]
    return f"{size}; {proven}"


def states_text(result: dict[str, Any]) -> str:
    """For people, of a network whose states are near prototypes."""
    clusters = result["clusters"]
    source = "of the task's transitions"
    if clusters is not None:
        source = f"from the states alone: clusters {clusters['above']:.3g} apart or more"
        if not clusters["below"]:
            source = f"from the states alone: balls of radius {clusters['radius']:.3g}"
    rows = [("prototypes", f"{result['prototypes']} ({source})")]
    if result["agreement"] is not None and result["agreement"] < 1:
        rows.append(
            ("warning", f"quantised, the network keeps {100 * result['agreement']:.1f} % of its sample answers")
        )
    if result["smallest_margin"] is not None and result["smallest_margin"] < CLEAR:
        rows.append(("warning", f"a state lies between two prototypes: margin {result['smallest_margin']:.1g}"))
    rows.append(("machine", f"none: {result['reason']}" if result["states"] is None else machine_of(result)))
    return table([*rows, ("compared", verdict(result)), *written(result)])


def stack_text(result: dict[str, Any]) -> str:
    """For people, of a stack network."""
    size = "{states:,} states and {stack_symbols:,} stack symbols, merged of {network_states:,} states".format(**result)
    entries = f"{result['entries']:,} entries of the network's table"
    lag = result["lag"]
    rows = [
        ("machine", f"{size} in {entries}"),
        ("stack", f"its height differs from that of the language's machine by at most {lag}"),
        ("compared", verdict({**result, "proven_quantised": True})),
        ("written", result["out"]),
    ]
    return table(rows)


def verdict(result: dict[str, Any]) -> str:
    """Equal to the task's machine, or the shortest word that tells them apart."""
    if result["equal"] is None:
        return f"with {result['language']}: too large to decide"
    if result["equal"]:
        return f"equal to the machine of {result['language']}"
    found = result["counterexample"]
    mine, true = (json.dumps(found[key], ensure_ascii=False) for key in ("network", "task"))
    shortest = "; no shorter word differs" if result["proven_quantised"] or "algebra" not in result else ""
    return f"not {result['language']}: {found['word']} is answered {mine}, right is {true}{shortest}"
