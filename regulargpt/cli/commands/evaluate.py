"""`regulargpt evaluate DIR --lengths 41-500,1000,10000` or `--protocol hard`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError, shown
from regulargpt.cli.measuring import shared
from regulargpt.cli.output import emit, printed, say, table
from regulargpt.cli.types import FILE, PLACE, NewFileType, WholeRange
from regulargpt.objectives.measures import measure
from regulargpt.tables import number

if TYPE_CHECKING:
    from regulargpt.config.schema import RunConfig
    from regulargpt.runs.opened import Opened

FEW = 20
"""Lengths that are all shown."""
# Which words are tested is said by options of this command.
SAID = {
    "evaluation.samples": "give --samples",
    **dict.fromkeys((f"evaluation.{key}" for key in ("test_from", "test_len", "stride", "factor")), "give --lengths"),
    "evaluation.extra_lengths": "give --lengths",
    "evaluation.extra_protocols": "give --protocol",
}


@click.command()
@click.argument("folder", metavar="RUN", type=PLACE)
@click.option(
    "--lengths", help="Lengths and ranges, as in 41-500,1000,10000.  [default: 41-500; of no language as trained]"
)
@click.option("--protocol", "preset", help="Test as this protocol does; `regulargpt list protocols`.")
@click.option("--samples", type=WholeRange(min=1), help="Words a length.  [default: 512; of no language 128]")
@click.option(
    "--attention", help="What a position of a Transformer sees: full, bca, sliding:W, sinks:S:W, self-extend:G:W."
)
@click.option("--temperature", type=FILE, help="File of `regulargpt align`: sharpen attention so in the test.")
@click.option("--bias", type=FILE, help="File of `regulargpt lengthen`: add its bias to what attention sees.")
@click.option(
    "--quantised",
    is_flag=True,
    help="Replace each state by the nearest prototype, or point, of RUN's certificate; `check` says if that holds.",
)
@click.option("--seed", type=WholeRange(min=0), help="Seed of the test words.  [default: the run's]")
@shared("device")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Test with other data.*, objective.* or evaluation.*; some model.encoding.* may change, too.",
)
@shared("text", "named")
@shared("train_len")
@click.option(
    "--words-out",
    type=NewFileType("words.csv"),
    help="Write the test words with the network's answers to this new CSV file.",
)
@printed
def command(
    folder: Path,
    lengths: str | None,
    preset: str | None,
    samples: int | None,
    attention: str | None,
    temperature: Path | None,
    bias: Path | None,
    quantised: bool,
    seed: int | None,
    device: str,
    settings: tuple[str, ...],
    named: str | None,
    train_len: int | None,
    words_out: Path | None,
    as_json: bool,
) -> None:
    """Test a trained model at any lengths, on words of the run's language or task, or segments of its text.

    With the run's seed, the default, they are those of the run's own test; with another one they are new.

    RUN may be hf:PATH, a folder of GPT-2, GPT-NeoX, Llama, Mistral, Qwen2 or Qwen3 on disk, and is tested on a text.
    """
    from regulargpt.cli.configure import texts
    from regulargpt.config.protocols import MANY, protocol
    from regulargpt.config.schema import network_of_test
    from regulargpt.data import is_language
    from regulargpt.evaluation.bias import read as read_bias
    from regulargpt.evaluation.temperature import read
    from regulargpt.options.lengths import read_lengths

    if preset is not None and (lengths is not None or settings):
        raise UserError("--protocol says at which lengths and on which words; leave out --lengths and --set")
    if words_out is not None:
        check_out(words_out)
    given = None if lengths is None else read_lengths(lengths)
    run = network(folder, named, train_len)
    config = run.config
    written = texts({"evaluation.attention": attention}, several(config, settings), SAID)
    # The run may have been scored on few words a length, to be quick; here the lengths are few.
    usual = MANY if is_language(config.data.name) else {}
    chosen = {} if samples is None else {"evaluation.samples": samples}
    config = config.replaced({**usual, **chosen, "device": device})
    wanted, notes = (given, []) if given else usual_lengths(run, config)
    if preset is not None:
        config = protocol(preset).test_of(config)
        wanted, notes = tuple(config.tested), []
    else:
        config = config.replaced({"protocol": ""}).reading(written)
    added = None if bias is None else read_bias(bias, run.config, run.weights)
    # It is tested with what it was trained with, where nothing else is said.
    of_bias = {} if added is None else {f"model.{key}": value for key, value in added.changes.items()}
    config = config.replaced({key: value for key, value in of_bias.items() if key not in written})
    changes = network_of_test(config, [*of_bias, *written])
    refuse_unused(config, written)
    sharper = None if temperature is None else read(temperature, run.weights)

    from regulargpt.cli.bars import Bars
    from regulargpt.runs.again import evaluate

    with closing(Bars()) as bars:
        of_words = config.seed if seed is None else seed
        result = evaluate(run, config, wanted, of_words, bars.watch, changes, sharper, quantised, words_out, added)
    if notes := [*run.notes, *notes]:
        result["notes"] = notes
    emit(result) if as_json else say(text(result))
    if words_out is not None:
        say(f"test words with their answers written to {shown(words_out)}", err=True)


def network(
    place: Path,
    named: str | None,
    train_len: int | None,
    on: tuple[str, ...] = ("words", "text", "retrieval"),
    device: str = "cpu",
) -> Opened:
    """The finished run in a folder, on one of these kinds of data, or the checkpoint at hf:PATH."""
    from regulargpt.runs.opened import open_run
    from regulargpt.runs.places import is_checkpoint, open_checkpoint, refuse_text
    from regulargpt.storage.folder import RunFolder

    if is_checkpoint(place):
        return open_checkpoint(place, named, train_len, device=device)
    refuse_text(named, train_len)
    return open_run(RunFolder.open(place), on=on, reads=False, device=device)


def usual_lengths(run: Opened, config: RunConfig) -> tuple[Sequence[int], list[str]]:
    """Those of a test where nobody names any, and what is said of lengths that are left out."""
    from languages.registry import level_of
    from regulargpt.data import is_language
    from regulargpt.options.lengths import read_lengths
    from regulargpt.runs.opened import OpenedRun

    is_endless = is_language(config.data.name) and level_of(config.data.name) != "unknown"
    if is_endless:
        return read_lengths("41-500"), []
    return (config.tested, []) if isinstance(run, OpenedRun) else run.usual_lengths()


def changed(config: RunConfig, settings: Iterable[str]) -> dict[str, Any]:
    """The options of the network behind --set; UserError for others, and one that a trained network cannot change."""
    from regulargpt.cli.configure import texts
    from regulargpt.config.schema import network_of_test

    written = texts({}, several(config, settings), {})
    for key in written:
        if not key.startswith("model."):
            raise UserError(f"--set {key}: only options of the network, as in --set scaling=interpolation,factor=4")
    config = config.replaced({"protocol": ""}).reading(written)
    changes = network_of_test(config, written)
    refuse_unused(config, written)
    return changes


def refuse_unused(config: RunConfig, written: Mapping[str, str]) -> None:
    """UserError for an option that changes nothing in this test."""
    from regulargpt.config.schema import why_unused

    for key, value in written.items():
        if (reason := why_unused(config, key)) is not None:
            raise UserError(f"{key} = {value} changes nothing {reason}; leave it out")


def several(config: RunConfig, settings: Iterable[str]) -> list[str]:
    """What stands behind each --set, one setting each with its whole key: `scaling=yarn,factor=4` are two.

    A short key is the one that ends in it; behind another one it is rather its neighbour in the same section.

    >>> from regulargpt.config.schema import RunConfig
    >>> config = RunConfig().replaced({"model": "transformer:encoding=rotary"})
    >>> several(config, ["scaling=yarn,factor=4", "evaluation.extra_lengths=64,128"])
    ['model.encoding.scaling=yarn', 'model.encoding.factor=4', 'evaluation.extra_lengths=64,128']
    """
    from regulargpt.config.schema import flat, key_of

    all_settings, known = [], [key for key in flat(config) if key not in SAID]
    for text in settings:
        section = ""
        for place, piece in enumerate(text.split(",")):
            key, equals, value = (part.strip() for part in piece.partition("="))
            # Without = it is one more of a list; behind a colon stand the options of a part.
            if place and (not equals or ":" in all_settings[-1]):
                all_settings[-1] += f",{piece}"
                continue
            if equals:
                near = f"{section}.{key}"
                key = near if near in known else key_of(known, key)
                section = key.rpartition(".")[0]
            all_settings.append(f"{key}{equals}{value}")
    return all_settings


def check_out(out: Path) -> None:
    """Refuse a file that cannot be written, or would replace another."""
    if out.suffix.lower() != ".csv":
        raise UserError(f"--words-out {shown(out)}: words are written as CSV; give a name that ends in .csv")
    if os.path.lexists(out):
        raise UserError(f"{shown(out)} exists; choose another --words-out")


def text(result: dict[str, Any]) -> str:
    """All lengths if they are few, else those that are not perfect, stand alone or lie beyond the score; a summary."""
    from regulargpt.cli.running import guessed, other_measures, scoring, sharpened, text_lengths

    if "extrapolation" in result:
        lines = [f"scoring {scoring(result)}", *text_lengths(result), *result.get("notes", []), *changes(result)]
        return "\n".join(lines)
    known, scored = measure(result["measure"]), set(result["scored"])
    values = result["measures"][known.name]["values"]
    inside, beyond = ({T: v for T, v in values.items() if (T in scored) is wanted} for wanted in (True, False))
    shown = [T for T, value in inside.items() if len(inside) <= FEW or value != known.best]
    single = alone(map(int, inside))
    rows = [row(T, result) for T in inside if T in shown[:FEW] or int(T) in single] + [row(T, result) for T in beyond]
    others = [name for name in result["measures"] if name != known.name]
    counted = "tested words" if "words" in others else "words"
    lines = [table(rows, ("length", known.name, "95 % interval", *others, counted))] if rows else []
    if more := [T for T in shown[FEW:] if int(T) not in single]:
        lines.append(f"and {len(more)} more lengths" + " below 100 %" * (known.best == 100))
    mean, worst = (f"{number(result[key], known.unit)} {known.unit}".rstrip() for key in ("score", "worst"))
    guess = f", always one answer {guess}" if (guess := guessed(result)) else ""
    lengths = f"{len(inside)} length{'s' * (len(inside) != 1)}{sharpened(result)}{replaced(result)}"
    lines.append(f"{lengths}: mean {known.name} {mean}, worst {worst}{guess}")
    lines += [f"mean {name} {value}" for name, value in other_measures(result)]
    return "\n".join([*lines, *changes(result)])


def changes(result: dict[str, Any]) -> list[str]:
    """What is said of classes from outside that have changed; nothing without them."""
    from regulargpt.runs.outside import notice

    return [notice(result["changed_classes"])] if result["changed_classes"] else []


def alone(lengths: Iterable[int]) -> set[int]:
    """The lengths that belong to no range: farther from each other length than the closest two are from one another.

    >>> alone([41, 42, 43, 1000, 1_000_000]), alone([41, 54, 67])
    ({1000, 1000000}, set())
    """
    ordered = sorted(lengths)
    steps = [b - a for a, b in pairwise(ordered)]
    far = [True, *(step > min(steps) for step in steps), True]
    return {T for T, before, after in zip(ordered, far, far[1:], strict=False) if before and after}


def replaced(result: dict[str, Any]) -> str:
    """By what the states of a quantised network are replaced; nothing of others.

    >>> replaced({"prototypes": 2}), replaced({})
    (', each state above the symbols replaced by the nearest of 2 prototypes', '')
    """
    if "points" in result:
        return f", the state after each symbol replaced by the nearest of {result['points']} points"
    count = result.get("prototypes")
    return "" if count is None else f", each state above the symbols replaced by the nearest of {count} prototypes"


def row(length: str, result: dict[str, Any]) -> tuple[str, ...]:
    """A line of the table: the measure of the score with its interval, then the others."""
    scored, unit = result["measures"][result["measure"]], measure(result["measure"]).unit
    interval = "-".join(number(end, unit) for end in scored["intervals"][length])
    others = {name: of["values"][length] for name, of in result["measures"].items() if name != result["measure"]}
    beside = (number(value, measure(name).unit) for name, value in others.items())
    return (
        f"{int(length):,}",
        number(scored["values"][length], unit),
        interval,
        *beside,
        str(result["samples"][length]),
    )
