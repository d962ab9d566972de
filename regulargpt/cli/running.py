"""A run as the terminal shows it: progress on stderr, the result on stdout, exit codes for what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.certificate.sentences import ruled_out
from regulargpt.cli import FAILED, STOPPED
from regulargpt.cli.bars import Bars
from regulargpt.cli.output import conclude, table
from regulargpt.config.recipes import of_brackets
from regulargpt.config.schema import RunConfig, flat
from regulargpt.falsification.sentences import sentence
from regulargpt.objectives.measures import denominator, measure
from regulargpt.plots import name_of
from regulargpt.runs.run import Watch
from regulargpt.runs.verdict import verdict_line
from regulargpt.tables import number, percent
from regulargpt.training.given import Given, given, phrase
from regulargpt.training.trainer import Diverged, Interrupted


def announcement(config: RunConfig, folder: Path) -> str:
    """What is done and where, and by which phase training is given more than the answers to its batches."""
    had = given(flat(config))
    recipe = f"recipe {config.recipe}" + ("" if had is None else f" with {had.phase}")
    return f"{config.data.name}: {config.model.title}{of_brackets(config)}, {recipe}, into {folder}"


def supervised(work: Callable[[Watch], dict[str, Any]], config: RunConfig, folder: Path, as_json: bool) -> int:
    """Do the work, print its summary; the exit code."""
    summary = finished(work, config, folder, as_json)
    if isinstance(summary, int):
        return summary
    had = given(flat(config), summary.get("phases"))
    drawn = map_of_states(folder) if summary.get("proven") else []
    conclude(summary, lambda: text(summary, had, drawn), folder, as_json)
    return 0


def map_of_states(folder: Path) -> list[tuple[str, str]]:
    """Draw the states of a proven network beside the automaton, as `verify` does, unless it has; where the map is.

    Whatever comes in between, the run has ended and its result is told.
    """
    from regulargpt.measurements.measuring import draw_map

    place = folder / "verify"
    try:
        if not place.exists():
            draw_map(folder)
    except UserError as error:  # there are no longer words, say: the proof stands
        return [("map", f"none: {error}")]
    except (Exception, KeyboardInterrupt) as error:
        return [("map", f"none: {type(error).__name__} while it was drawn; `regulargpt verify {folder}` draws it")]
    return [("map", f"{place}/pca.png")] if (place / "pca.png").is_file() else []


def finished(
    work: Callable[[Watch], dict[str, Any]], config: RunConfig, folder: Path, as_json: bool
) -> dict[str, Any] | int:
    """Do the work and show how far it is; its summary, or the exit code where it was stopped or failed."""
    bars = Bars(None if as_json else announcement(config, folder))
    try:
        return work(bars.watch)
    except Interrupted as stopped:
        bars.close()
        click.echo(f"{stopped}; `regulargpt resume {folder}` goes on from there", err=True)
        return STOPPED
    except Diverged as diverged:
        bars.close()
        click.echo(f"error: {diverged}; the state before it is kept in {folder}", err=True)
        return FAILED
    finally:
        bars.close()


def time_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """How long the test took, and the decision on the certificate if one was asked for."""
    parts = {"testing": "test_seconds", "certifying": "certify_seconds", "falsifying": "falsify_seconds"}
    return [(name, f"{summary[key]:.1f} s") for name, key in parts.items() if key in summary]


def proof_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """By which automaton a run was certified, if that was learned, and where the proof lies.

    >>> phases = {"table_fine_tuning": {"learned_at": 100, "states": 2}}
    >>> proof_rows({"proven": False, "run_dir": "r", "language": "parity", "phases": phases})
    [('automaton', "2 states, learned from the network's answers at step 100")]
    >>> proof_rows({"proven": True, "run_dir": "r"})
    [('certificate', 'r/certificate.json')]
    >>> stuck = {"why": "it came to 0.37 of 1, and not 0.05 farther in 5,000 steps"}
    >>> proof_rows({"proven": False, "run_dir": "r", "phases": {"stack_proof": {"stuck": stuck}}})
    [('stopped', 'it came to 0.37 of 1, and not 0.05 farther in 5,000 steps')]
    """
    phases, rows = summary.get("phases", {}), []
    if not summary.get("proven") and (stuck := phases.get("stack_proof", {}).get("stuck")):
        rows.append(("stopped", stuck["why"]))
    learned = phases.get("table_fine_tuning", phases.get("chain_fine_tuning", {}))
    if learned.get("learned_at") is not None:
        automaton = f"{learned['states']} states, learned from the network's answers at step {learned['learned_at']:,}"
        rows += [
            ("automaton", automaton),
            *(("ruled out", others) for others in ruled_out(learned, summary["language"])),
        ]
    if summary.get("proven") or learned.get("proven_unquantised") is not None:
        rows.append(("certificate", f"{summary['run_dir']}/certificate.json"))
    return rows


def as_it_is_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What the search for wrong words came to, of the network as it is; nothing where the verdict says just that.

    >>> falsified = {"wrong": [], "families": [], "tried": {"short": 58_936}, "all_up_to": 0, "late": True}
    >>> phases = {"table_fine_tuning": {"proven_unquantised": False}}
    >>> as_it_is_rows({"proven": True, "phases": phases, "falsified": falsified})
    [('as it is', 'neither proven nor wrong: 58,936 words tried, none wrong; the time was over before all was tried')]
    """
    falsified = summary.get("falsified")
    if falsified is None or sentence(falsified) == verdict_line(summary):
        return []
    late = "; the time was over before all was tried" * falsified.get("late", False)
    return [("as it is", sentence(falsified) + late)]


def extra_lengths(result: dict[str, Any]) -> list[tuple[str, str]]:
    """The lengths beyond the scored ones, and what was measured there."""
    unit, values = measure(result["measure"]).unit, result["measures"][result["measure"]]["values"]
    longer = sorted((int(T), value) for T, value in values.items() if int(T) > result["test_len"])
    return [(f"{T:,}", f"{number(value, unit)} {unit} of {result['samples'][str(T)]} words") for T, value in longer]


def protocol_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What the run scores under further protocols."""
    rows = []
    for name, result in summary.get("extra_protocols", {}).items():
        unit = measure(result["measure"]).unit
        rows.append((f"{name}, {result['test_from']}..{result['test_len']}", f"{number(result['score'], unit)} {unit}"))
        rows += [(f"{name}, {T}", value) for T, value in extra_lengths(result)]
    return rows


def guessed(of: Mapping[str, Any]) -> str:
    """What guessing has of a measure; nothing where that means nothing.

    >>> guessed({"majority": 75.0, "chance": 50.0}), guessed({"majority": None, "chance": None})
    ('75.00 % (chance 50.00 %)', '')
    """
    return "" if of["majority"] is None else f"{percent(of['majority'])} % (chance {percent(of['chance'])} %)"


def guess_row(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What guessing scores, where that means something."""
    return [("always one answer", guess)] if (guess := guessed(summary)) else []


def other_measures(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each measure beside that of the score: its mean, its worst, and what guessing has of it.

    >>> of = {"score": 60.0, "worst": 50.0, "majority": 55.0, "chance": 50.0}
    >>> list(other_measures({"measure": "accuracy", "scores": {"accuracy": {}, "words": of}}))
    [('words', '60.00 %, worst 50.00 %; always one answer 55.00 % (chance 50.00 %)')]
    """
    for name, of in result.get("scores", {}).items():
        if name != result["measure"]:
            unit = measure(name).unit
            mean, worst = (f"{number(of[key], unit)} {unit}".rstrip() for key in ("score", "worst"))
            yield name, f"{mean}, worst {worst}" + (f"; always one answer {guess}" if (guess := guessed(of)) else "")


def text(summary: dict[str, Any], had: Given | None = None, drawn: Sequence[tuple[str, str]] = ()) -> str:
    """The short table at the end of a run; `had` is what training was given beside the answers to its batches.

    `drawn` are the rows of further pictures.
    """
    unit, scored = measure(summary["measure"]).unit, f"{summary['test_from']}..{summary['test_len']}"
    size = f"{summary['parameters']:,} parameters"
    if "extrapolation" in summary:
        return text_of_text(summary, size)
    rows = [
        ("training", f"{summary['steps']} steps, {summary['train_seconds']:.1f} s, {size}")
        if summary["steps"]
        else ("weights", f"{summary['recipe']}, {size}"),
        *([] if had is None else [("also given", phrase([had]))]),
        *time_rows(summary),
        (f"{summary['measure']} {scored}", f"{number(summary['score'], unit)} {unit}"),
        ("worst length", f"{number(summary['worst'], unit)} {unit}"),
        ("first below 99 %", str(summary["first_below_99"] or "none")),
        ("first below 90 %", str(summary["first_below_90"] or "none")),
        *((f"length {T}", value) for T, value in extra_lengths(summary)),
        *protocol_rows(summary),
        *guess_row(summary),
        *((f"{name} {scored}", value) for name, value in other_measures(summary)),
        *proof_rows(summary),
        *as_it_is_rows(summary),
        ("run folder", summary["run_dir"]),
        ("picture", f"{summary['run_dir']}/{name_of(summary)}"),
        *drawn,
        ("verdict", verdict_line(summary)),
    ]
    return table(rows)


def text_of_text(summary: dict[str, Any], size: str) -> str:
    """The end of a run on a text: what it cost, every length, whether it extrapolates."""
    trained = f"{summary['steps']} steps, {summary['symbols_trained']:,} symbols, {summary['train_seconds']:.1f} s"
    if "symbols_per_second" in summary:
        trained += f" ({summary['symbols_per_second']:,.0f} a second)"
    rows = [
        ("training", f"{trained}, {size}"),
        *time_rows(summary),
        ("scoring", scoring(summary)),
        ("run folder", summary["run_dir"]),
        ("picture", f"{summary['run_dir']}/{name_of(summary)}"),
    ]
    return "\n".join([table(rows), "", *text_lengths(summary)])


def scoring(result: dict[str, Any]) -> str:
    """The protocol of a test on a text, and what a position sees."""
    counts = sorted(set(result["samples"].values()))
    segments = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    seen = "" if result["attention"] == "full" else f", attention {result['attention']}"
    return f"{result['scoring']}, {segments} segments{seen}{sharpened(result)}"


def sharpened(result: dict[str, Any]) -> str:
    """The temperature of a test, and the options of the network that it changed; nothing without them.

    >>> sharpened({"temperature": "0.6", "changes": {"encoding.scaling": "yarn"}}), sharpened({})
    (', temperature 0.6, encoding.scaling = yarn', '')
    """
    temperature = {"temperature": result["temperature"]} if result.get("temperature") else {}
    changes = {f"{key} =": value for key, value in result.get("changes", {}).items()}
    return "".join(f", {name} {value}" for name, value in (temperature | changes).items())


def text_lengths(result: dict[str, Any]) -> list[str]:
    """Every length with its measures and its ratio to the training length, and the sentence that they make."""
    measures, extrapolation = result["measures"], result["extrapolation"]
    bits, perplexity = measures["bits_per_byte"], measures["perplexity"]["values"]
    ratios = {} if extrapolation is None else extrapolation["ratios"]
    columns = {f"to {denominator(extrapolation)}": ratios} if ratios else {}
    if "to_trained" in result:
        columns["to the network as trained, at this length"] = result["to_trained"]
    rows = []
    for length, value in bits["values"].items():
        low, high = bits["intervals"][length]
        beside = ("x {:.3f} ({:.3f}-{:.3f})".format(*of[length]) if length in of else "" for of in columns.values())
        rows.append((f"{int(length):,}", f"{value:.3f} ({low:.3f}-{high:.3f})", f"{perplexity[length]:.2f}", *beside))
    lines = [table(rows, ("length", "bits per byte", "perplexity", *columns))]
    if missing := result.get("no_words_of_length"):
        lines.append(f"no segments of {listed(missing)} symbols: the test part is too short")
    return lines if extrapolation is None else [*lines, "", extrapolation["sentence"]]


def listed(lengths: Sequence[int]) -> str:
    """Lengths in words.

    >>> listed([1000, 2000])
    '1,000, 2,000'
    """
    return ", ".join(f"{length:,}" for length in lengths)
