"""`regulargpt sweep LANGUAGE... --model A,B --lr X,Y --seed 0-2`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from languages.errors import UserError
from regulargpt.cli.engines import choose_engine, engine_options
from regulargpt.cli.flags import certify_option, field_options, flags
from regulargpt.cli.output import printed
from regulargpt.cli.types import PATH

if TYPE_CHECKING:
    from regulargpt.runs.sweep.grid import Grid


@click.command()
@click.argument("languages", nargs=-1)
@click.option("--model", "models", multiple=True, metavar="NAMES", help="Models.  [default: regulargpt]")
@click.option(
    "--recipe", "recipes", multiple=True, metavar="NAMES", help="Recipes.  [default: what suits each language]"
)
@click.option("--protocol", "protocols", multiple=True, metavar="NAMES", help="Protocols.  [default: none]")
@field_options(several=True)
@certify_option
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUES", help="Any field: training.clip=0.5,1.")
@click.option("--out", type=PATH, help="Sweep folder.  [default: sweeps/LANGUAGES-MODELS]")
@engine_options
@printed
def command(
    languages: tuple[str, ...],
    models: tuple[str, ...],
    recipes: tuple[str, ...],
    protocols: tuple[str, ...],
    certify: bool,
    settings: tuple[str, ...],
    out: Path | None,
    retry: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Train and test every combination of the values given: each option takes several, as in --lr 1e-4,3e-4 --seed 0-2.

    An option given again adds values. A rerun does what is missing.
    """
    from regulargpt.cli.sweeping import conduct, preview
    from regulargpt.runs.sweep.grid import Grid
    from regulargpt.runs.sweep.values import all_texts

    if not languages:
        raise UserError(
            "which languages? as in `regulargpt sweep parity even-pairs`; `regulargpt list languages` lists them"
        )
    fields = {key: options.pop(key.replace(".", "__")) for key, _ in flags().values()}
    engine = choose_engine(options)
    values = all_texts(fields, settings)
    grid = Grid(
        languages, names(models) or (None,), names(recipes) or (None,), names(protocols) or (None,), values, certify
    )
    folder = out or default_folder(grid)
    if dry_run:
        return preview(grid, folder, as_json)
    return conduct(grid, folder, engine, retry, as_json)


def names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The names between the commas, each once.

    >>> names(("regulargpt,lstm", "lstm"))
    ('regulargpt', 'lstm')
    """
    from regulargpt.runs.sweep.values import part_names

    return tuple(dict.fromkeys(part.strip() for text in texts for part in part_names(text)))


def default_folder(grid: Grid) -> Path:
    """sweeps/ and what is compared.

    >>> from regulargpt.runs.sweep.grid import Grid
    >>> default_folder(Grid(("parity", "tomita-3"), ("regulargpt", "lstm"))).as_posix()
    'sweeps/parity+tomita-3-regulargpt+lstm'
    >>> default_folder(Grid(("parity", "tomita-3", "dyck-2", "cyclic-5"))).as_posix()
    'sweeps/parity-and-3-more-regulargpt'
    """
    from regulargpt.runs.sweep.names import LONGEST_NAME, plain

    several = (
        "+".join(texts) if len(texts) <= 3 else f"{texts[0]}-and-{len(texts) - 1}-more"
        for texts in (
            [plain(text)[:LONGEST_NAME] for text in dict.fromkeys(given)]
            for given in (grid.languages, grid.named_models)
        )
    )
    return Path("sweeps") / "-".join(several)
