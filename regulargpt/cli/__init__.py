"""`regulargpt`: one file a verb, imported when it is called, so that help and refusals are instant."""

from __future__ import annotations

import gc
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from languages.errors import Notice, UserError, nearest, shown
from regulargpt.cli.output import say
from regulargpt.cli.streams import Unwritable, guarded, reason
from regulargpt.cli.types import PathType, PlaceType
from regulargpt.measurements import MEASUREMENTS
from regulargpt.options.registry import PATH, Row, brought, placed, wings
from regulargpt.runs.exits import BROKEN_PIPE, FAILED, REFUSED, STOPPED, is_out_of_memory
from regulargpt.storage.atomic import StorageError

OWN = {
    "list": "List the languages, texts, retrieval tasks, models, ..., or the options of one of them.",
    "show": "Show a language: its automaton, its monoid, sample words; a text; a retrieval task.",
    "sample": "Draw labelled words of a language, segments of a text, or documents with questions.",
    "run": "Train a model on short words and test it on long ones.",
    "construct": "Write weights that compute a language exactly, without training.",
    "sweep": "Train many configs on all cores; a rerun does what is missing.",
    "resume": "Go on with an interrupted run, exactly where it stopped.",
    "evaluate": "Test a trained model at any lengths.",
    "shortcuts": "Say what trivial rules score on a model's test words.",
    "verify": "Cluster a run's hidden states, and certify it for every length.",
    "falsify": "Look for words that a run's network answers wrongly.",
    "judge": "Give a verdict on a network of your own, trained elsewhere.",
    "check": "Check a certificate from its files alone, by independent code.",
    "extract": "Extract the automaton that a trained network implements.",
    "receptive-field": "Measure how far back a trained model's prediction depends on the word.",
    "results": "Gather runs into a table, with statistics over seeds and curves by length.",
    "reproduce": "Run everything behind a published table or figure; write a page with both.",
}
RUN = "runs/parity-gated-regulargpt-C2-seed0"
RUN_ON_TEXT = "runs/text-code-transformer-seed0"
EXAMPLES = {
    "list": ("languages", "models regulargpt"),
    "show": ("'regex:(ab)*' --dot", "text:code"),
    "sample": ("dyck-2 --length 20 --near-misses 0.5 --text", "text:code --length 200 --count 2"),
    "run": ("parity --train-len 40", "dyck-4 --model transformer --encoding rotary --seed 1"),
    "construct": ("parity --out constructed", "cyclic-5 --chunk-size 3 --out constructed-5"),
    "sweep": ("parity tomita-3 --model regulargpt,lstm --seed 0-2", "dyck-2 --lr 1e-4,3e-4 --dry-run"),
    "resume": (RUN, f"{RUN} --json"),
    "evaluate": (f"{RUN} --lengths 100,1000", f"{RUN} --protocol hard"),
    "shortcuts": ("parity", "dyck-2 --protocol hard"),
    "verify": (RUN, f"{RUN} --words 100"),
    "falsify": (RUN, f"{RUN} --words 100000"),
    "judge": (
        "my_net:Net --weights net.pt --language parity",
        "my_net:Net --weights net.pt --language tomita-3 --json",
    ),
    "check": (RUN, f"{RUN} --language parity"),
    "extract": (RUN, f"{RUN} --out parity.dot"),
    "receptive-field": (RUN, f"{RUN_ON_TEXT} --attention bca"),
    "results": ("runs --measure accuracy", "runs --where model=regulargpt --format latex"),
    "reproduce": ("table-6.1 --scale smoke", "figure-6.4a --dry-run"),
}
"""What is written behind each verb of the core in the two examples that end its help."""
GROUP = "regulargpt.verbs"
"""The entry points of the wings' verbs: each a `Row`, whose place is that of a command."""


def examples(verb: str) -> list[str]:
    """The examples of a verb, as typed.

    >>> examples("demo")
    ['regulargpt demo', "regulargpt demo 'regex:(a|b)*abb' --out abb.html"]
    """
    written = EXAMPLES[verb] if verb in EXAMPLES else of_wing(verb).examples
    return [f"regulargpt {verb} {rest}".rstrip() for rest in written]


def of_wing(verb: str) -> Row:
    """What a wing says of a verb that it brings, or of a measurement that it does."""
    return brought(GROUP if verb in wings(GROUP) else MEASUREMENTS.group, verb)


@cache
def brought_verbs() -> dict[str, Row]:
    """The verbs that wings bring, and the measurements that they do."""
    return {name: of_wing(name) for group in (GROUP, MEASUREMENTS.group) for name in wings(group)}


@cache
def verbs() -> dict[str, str]:
    """The verbs with a line on each, in the order in which a newcomer meets them.

    >>> list(verbs())[-1]
    'demo'
    """
    more = brought_verbs()
    return {name: OWN[name] if name in OWN else more[name].summary for name in placed(OWN, more)}


def epilog(verb: str) -> str:
    """The examples below a verb's help, whose lines stay lines."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in examples(verb))])


def measurement(verb: str) -> click.Command:
    """The command of a measurement, also of one outside; UsageError for a verb that is none."""
    from regulargpt.cli import measuring

    if not (verb in MEASUREMENTS or PATH.fullmatch(verb) or verb in MEASUREMENTS.offered()):
        raise click.UsageError(f"unknown command '{verb}';{nearest(verb, verbs()) or ' see regulargpt --help'}")
    command = measuring.verb(verb)
    command.epilog = epilog(verb) if verb in EXAMPLES or verb in wings(MEASUREMENTS.group) else None
    return command


class Verbs(click.Group):
    """Finds a verb in the file of its name, hyphens as underscores."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order in which a newcomer meets them."""
        return list(verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command behind a verb."""
        if cmd_name in OWN and cmd_name not in MEASUREMENTS:
            command = import_module(f"regulargpt.cli.commands.{cmd_name.replace('-', '_')}").command
        elif cmd_name in wings(GROUP):
            command = brought(GROUP, cmd_name).load()
        else:
            return measurement(cmd_name)
        command.epilog = epilog(cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb and its arguments; UsageError for an option with two values, of which click would take the last."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            parser = command.make_parser(click.Context(command, parent=ctx, info_name=name))
            parser.allow_interspersed_args = True
            values, _, order = parser.parse_args(list(rest))
            refuse_checkpoint(name or "", command, values)
            for option, times in Counter(order).items():
                # A flag may stand there twice; --gates and --no-gates may not.
                takes_one = isinstance(option, click.Option) and (option.secondary_opts or not option.is_flag)
                if times > 1 and takes_one and not option.multiple:
                    raise click.UsageError(f"{option.opts[0]} is given {times} times; give it once")
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(verbs().items()))


def takes_checkpoints(command: click.Command | None) -> bool:
    """Whether a verb can be given hf:PATH."""
    return command is not None and any(isinstance(place.type, PlaceType) for place in command.params)


def refuse_checkpoint(verb: str, command: click.Command, values: Mapping[str, Any]) -> None:
    """UserError for the folder of a checkpoint as an argument of a verb that takes none."""
    from regulargpt.runs.places import is_folder, prefix_of

    for place, kind in written_places(command, values):
        # A bare word may be the name of a language, too.
        prefix = prefix_of(place) if isinstance(kind, PathType) or os.sep in place else ""
        if prefix and takes_checkpoints(command):
            raise UserError(f"{place} is a checkpoint that others trained; did you mean {prefix}{place}?")
        if (prefix or is_folder(place)) and not takes_checkpoints(command):
            every = Verbs()
            commands = {other: every.get_command(click.Context(every), other) for other in verbs()}
            takes = [other for other, each in commands.items() if each is not None and takes_checkpoints(each)]
            said = f"{', '.join(takes[:-1])} and {takes[-1]}"
            raise UserError(f"{place} is a checkpoint that others trained, which {verb} does not take; {said} do")


def written_places(command: click.Command, values: Mapping[str, Any]) -> Iterator[tuple[str, click.ParamType]]:
    """What is written for the arguments of a verb, each with what it may be."""
    for param in command.params:
        given = values.get(param.name or "") if isinstance(param, click.Argument) else None
        for place in given if isinstance(given, list | tuple) else [given]:
            if isinstance(place, str):
                yield place, param.type


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="regulargpt-testbed", prog_name="regulargpt")
def group() -> None:
    """What can neural networks learn of formal languages?

    Start with `regulargpt run parity --train-len 40`.
    """


def main(arguments: list[str] | None = None) -> None:
    """The program: one line on stderr and exit code 2 for a user's mistake, never a traceback."""
    with guarded():
        code = call(arguments)
    sys.exit(code)


def call(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    # torch brings objects by the million, which stay: to look through them as often as usual takes .1 s of a run.
    gc.set_threshold(100_000, 50, 100)
    with notices():
        return guided(arguments)


@contextmanager
def notices() -> Iterator[None]:
    """While the block runs, each `Notice` is one line on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", Notice)
        former = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, Notice):
                say(f"warning: {one_line(str(message))}", err=True)
            else:
                former(message, category, *more)

        warnings.showwarning = show
        yield


def guided(arguments: list[str] | None) -> int:
    """The exit code; what goes wrong in one line."""
    try:
        return answer(sys.argv[1:] if arguments is None else arguments)
    except click.ClickException as error:
        return refuse(explained(error))
    except StorageError as error:
        return fail(str(error)) if error.is_failure else refuse(str(error))
    except UserError as error:
        return refuse(str(error))
    except (click.Abort, KeyboardInterrupt):
        say("stopped", err=True)
        return STOPPED
    except Unwritable as error:
        # The reader of a pipe has gone: there is nobody left to tell.
        return BROKEN_PIPE if error.is_pipe else fail(f"{error}; send the output elsewhere")
    except OSError as error:
        place = shown(Path(str(error.filename))) if error.filename else "the system"
        return fail(f"{place}: {reason(error)}")
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return fail("out of memory; choose shorter lengths, fewer words or a smaller model")


def explained(error: click.ClickException) -> str:
    """What went wrong; which of some choices a word is like, and what an option that is missing says."""
    text, param = error.format_message(), error.param if isinstance(error, click.BadParameter) else None
    if isinstance(error, click.MissingParameter) and isinstance(param, click.Option) and param.help:
        return f"{text.rstrip('.')}: {one_line(param.help)}"
    if isinstance(error, click.NoSuchOption) and (hint := option_of(error)):
        return f"{text.rstrip('.')}; {hint}"
    match = re.match("'(.*)' is not one of", error.message)
    # Three letters are like many others.
    if match and len(match[1]) > 3 and param and isinstance(param.type, click.Choice):
        close = nearest(match[1], map(str, param.type.choices))
        return f"{text.rstrip('.')};{close}" if close else text
    return text


LETTERS = {"c": "--chunk-size", "t": "--length", "layers": "--n-layers", "heads": "--n-heads", "learning-rate": "--lr"}
"""Options by the letters of the papers, and by longer names."""


def option_of(error: click.NoSuchOption) -> str:
    """What to write for an option that others call so; empty where the verb has none such."""
    right = LETTERS.get(error.option_name.strip("-").lower().replace("_", "-"))
    options = error.ctx.command.params if error.ctx else ()
    return f"write {right}" if any(right in param.opts for param in options) else ""


def answer(arguments: list[str]) -> int:
    """What the verb returns, or 0; without arguments the help."""
    refuse_bytes(arguments)
    try:
        result = group.main(arguments, prog_name="regulargpt", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error))
        return REFUSED
    return result if isinstance(result, int) else 0


def refuse_bytes(arguments: Iterable[str]) -> None:
    """Raise UserError for an argument that is no text: no file that a run writes could name it."""
    for argument in arguments:
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in argument):
            raise UserError(f"the argument {argument!a} is not UTF-8 text; write or rename it so")


def fail(message: str) -> int:
    """Say what went wrong, in one line."""
    say(f"error: {one_line(message)}", err=True)
    return FAILED


def refuse(message: str) -> int:
    """Say what is wrong, in one line."""
    say(f"error: {one_line(message)}", err=True)
    return REFUSED


LONGEST_WORD = 400


def one_line(message: str) -> str:
    """The message on one line, what is too long to read cut in the middle.

    >>> one_line("seed =\\n" + 5000 * "9")[:12], len(one_line(5000 * "9"))
    ('seed = 99999', 226)
    """
    return re.sub(rf"\S{{{LONGEST_WORD},}}", shortened, " ".join(message.split()))


def shortened(word: re.Match[str]) -> str:
    """Both ends of a long word, and how long it is."""
    text, end = word[0], LONGEST_WORD // 4
    return f"{text[:end]}... ({len(text):,} characters) ...{text[-end:]}"
