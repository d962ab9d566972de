"""`regulargpt`: one file a verb, imported when it is called, so that help and refusals are instant."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from languages.errors import UserError, nearest
from regulargpt.exits import FAILED, REFUSED, STOPPED

VERBS = {
    "list": "List the languages, models, encodings, recipes, protocols or experiments.",
    "show": "Show a language: its automaton, its monoid, sample words.",
    "sample": "Draw labelled words of a language.",
    "run": "Train a model on short words and test it on long ones.",
    "construct": "Write weights that compute a language exactly, without training.",
    "sweep": "Train many configs on all cores; a rerun does what is missing.",
    "resume": "Go on with an interrupted run, exactly where it stopped.",
    "evaluate": "Test a trained model at any lengths.",
    "shortcuts": "Say what trivial rules score on a model's test words.",
    "verify": "Find the transitions in a model's hidden states, and certify it for every length.",
    "check": "Check a certificate from its files alone, by independent code.",
    "extract": "Extract the automaton that a trained network implements.",
    "receptive-field": "Measure how far back a trained model's prediction depends on the word.",
    "results": "Gather runs into a table, with statistics over seeds and curves by length.",
    "reproduce": "Run everything behind a published table or figure; write a page with both.",
    "report": "Write a page that shows what a network learned.",
    "bench": "Measure speed and memory, side by side in one process.",
}


class Verbs(click.Group):
    """Finds a verb in the file of its name, hyphens as underscores."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order in which a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command behind a verb."""
        if cmd_name not in VERBS:
            raise click.UsageError(
                f"unknown command '{cmd_name}';{nearest(cmd_name, VERBS) or ' see regulargpt --help'}"
            )
        return import_module(f"regulargpt.cli.{cmd_name.replace('-', '_')}_").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their lines, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="regulargpt-testbed", prog_name="regulargpt")
def group() -> None:
    """What can neural networks learn of formal languages?

    Start with `regulargpt run parity --train-len 40`.
    """


def main(arguments: list[str] | None = None) -> None:
    """The program: one line on stderr and exit code 2 for a user's mistake, never a traceback."""
    sys.exit(call(arguments))


def call(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        result = group.main(arguments, prog_name="regulargpt", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else str(error))
        return REFUSED
    except click.ClickException as error:
        return refuse(error.format_message())
    except UserError as error:
        return refuse(str(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return STOPPED
    except MemoryError:
        click.echo("error: out of memory; choose shorter lengths, fewer words or a smaller model", err=True)
        return FAILED
    except BrokenPipeError:
        # The reader of the output has gone: there is nobody left to tell.
        sys.stderr.close()
        return FAILED


def refuse(message: str) -> int:
    """Say what is wrong, in one line."""
    click.echo("error: " + " ".join(message.split()), err=True)
    return REFUSED
