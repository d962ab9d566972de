"""`regulargpt extract DIR --out dfa.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError, one_of
from languages.registry import level_of
from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.types import PATH
from regulargpt.training.proof import no_certificate

if TYPE_CHECKING:
    from languages.automata import MooreMachine
    from languages.automata.pushdown import PushdownTransducer
    from regulargpt.config.schema import RunConfig

DEFAULT = "extracted.json"
ENDINGS = (".json", ".dot")
RECURRENT = ("rnn", "lstm", "gru")
OTHERS = {"linear-rnn": "its answer depends on more than its state"}
OUTSIDE = "derive the class from regulargpt.models.recurrent.Stepwise and give `step`, which moves the state on"
# A state whose nearest prototype is less than this nearer than the second may fall to the other in other arithmetic.
CLEAR = 1e-2


@click.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=PATH, help=f"A .json or .dot file.  [default: FOLDER/{DEFAULT}]")
@click.option(
    "--codebook",
    type=click.Choice(["blind", "classes"]),
    default="blind",
    show_default=True,
    help="Prototypes from the states alone, or from the task's transitions.",
)
@printed
def command(folder: Path, out: Path | None, codebook: str, as_json: bool) -> int:
    """Extract the automaton that a trained network implements, and compare it with the task's."""
    from regulargpt.cli import FAILED
    from regulargpt.runs.opened import open_run
    from regulargpt.storage.folder import RunFolder

    if out is not None:
        check_out(out)
    run_folder = RunFolder.open(folder)
    config = open_run(run_folder, on=("words",), reads=False).config
    check_run(config, codebook)

    from regulargpt.storage.atomic import write_text

    place: Path | None = None
    result: dict[str, Any] = {"run_dir": str(folder), "language": config.data.name, "model": config.model.title}
    if config.model.has_stacks:
        from regulargpt.extraction.stack import extract_stack

        result |= extract_stack(run_folder, config)
        machine = result.pop("machine")
    else:
        from regulargpt.extraction.run import described, extract

        task, extraction = extract(run_folder, config, codebook)
        machine = extraction.found.machine
        result |= {"language": task.name, "codebook": codebook, **described(task, extraction)}
    if machine is not None:
        place = out or folder / DEFAULT
        write_text(place, rendered(machine, place.suffix))
    result |= {"out": None if place is None else str(place)}
    emit(result) if as_json else say(stack_text(result) if config.model.has_stacks else text(result))
    return 0 if machine is not None else FAILED


def check_out(out: Path) -> None:
    """Refuse a file that cannot be written, or would replace another."""
    if out.suffix not in ENDINGS:
        raise UserError(f"--out {out}: a machine is written as .json or .dot; choose one of these endings")
    if out.exists():
        raise UserError(f"{out} exists; choose another --out")
    if not out.parent.is_dir():
        raise UserError(f"--out {out}: the folder {out.parent} does not exist; make it first")


def check_run(config: RunConfig, codebook: str) -> None:
    """Refuse a run in which there is no machine to find."""
    if config.model.has_stacks:
        if codebook != "blind":
            raise UserError(f"--codebook {codebook}: the states of a stack network are exact; choose --codebook blind")
        if (reason := no_certificate(config.model, config.objective, config.data.name)) is not None:
            raise UserError(f"nothing to extract: {reason}")
        return
    model, stepwise = config.model.name, is_stepwise(config.model.name)
    if stepwise and codebook != "blind":
        raise UserError(f"--codebook {codebook} is for weight-shared trees, not for '{model}'; choose --codebook blind")
    if level_of(config.data.name) != "regular" and not config.model.follows_brackets:
        raise UserError(
            f"{model} does not follow the brackets of {config.data.name}: there is no finite machine in its states; "
            "give a run with model.tree = 'nested'"
        )
    if not stepwise and (reason := config.model.why_no_certificate()) is not None:
        raise UserError(f"nothing to extract{no_machine(model, reason)}")
    if config.objective.name == "next":
        raise UserError("the run answers with the symbols that may follow; extract from one of supervision 'last'")


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


def text(result: dict[str, Any]) -> str:
    """For people."""
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
    if result["states"] is None:
        rows.append(("machine", f"none: {result['reason']}"))
    else:
        everywhere = "at every length and every depth" if "algebra" in result else "at every length"
        proven = f"the quantised network's answer {everywhere}" if result["proven_quantised"] else result["reason"]
        stack = f" and a stack, an algebra of {result['algebra']} elements" if "algebra" in result else ""
        rows.append(("machine", f"{result['states']} states{stack}; {proven}"))
    rows.append(("compared", verdict(result)))
    if result["out"] is not None:
        rows.append(("written", result["out"]))
    return table(rows)


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
