"""`regulargpt show LANGUAGE`, `regulargpt show TEXT`, `regulargpt show TASK`."""

from __future__ import annotations

import click

from languages.errors import UserError
from regulargpt.cli.output import emit, printed, say
from regulargpt.cli.types import WholeRange


@click.command()
@click.argument("language")
@click.option("--dot", is_flag=True, help="Print the automaton in Graphviz's language.")
@click.option("--seed", type=WholeRange(min=0), default=0, show_default=True, help="Seed of the sample words or lines.")
@printed
def command(language: str, dot: bool, seed: int, as_json: bool) -> None:
    """Show a language: its machine, its monoid or algebra, sample words; a text: its size, its digest, a few lines; or
    a retrieval task: its symbols, its answers, a document with questions.
    """
    import languages
    from languages.automata.oracle import Oracle
    from languages.registry import WITHOUT_MACHINE, no_finite_automaton
    from languages.task import Task
    from regulargpt.cli.kinds import kind_with

    if dot and as_json:
        raise UserError("--dot and --json exclude each other; give one")
    if dot:
        from languages.convert import dot as finite
        from languages.convert import pushdown

        task = languages.find(language)
        if task.level in WITHOUT_MACHINE:
            raise no_finite_automaton(language, task.level)
        if isinstance(task.machine, Oracle):
            raise UserError(f"{language} is a {task.level} language, which has no table of moves to draw")
        text = finite.to_dot(task.machine) if isinstance(task, Task) else pushdown.to_dot(task.machine)
        click.echo(text, nl=False)
        return
    kind = kind_with(language)
    facts = kind.describe(language, seed)
    emit(facts) if as_json else say(kind.text(facts))
