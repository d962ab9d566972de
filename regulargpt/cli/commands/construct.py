"""`regulargpt construct LANGUAGE --out DIR`."""

from __future__ import annotations

from pathlib import Path

import click

from regulargpt.cli.flags import field_options, fields_of
from regulargpt.cli.output import printed
from regulargpt.cli.types import PATH, WholeRange


@click.command()
@click.argument("language")
@click.option("--out", required=True, type=PATH, help="Run folder.")
@click.option("--chunk-size", type=WholeRange(2, 1024), default=2, show_default=True, help="Chunk size C.")
@click.option("--representation", help="matrix or one-hot; along brackets one-hot.  [default: the smaller one]")
@field_options("--test-len", "--extra-lengths", "--samples", "--seed", "--device", "--threads")
@printed
def command(
    language: str, out: Path, chunk_size: int, representation: str | None, as_json: bool, **fields: str | None
) -> int:
    """Write weights that compute a language exactly, without training (Lemma 6.1), and test them.

    The test is short unless said otherwise: lengths 41 to 100, and 10,000 or, for large weights and
    along brackets, 1000.
    """
    from regulargpt.cli.configure import texts
    from regulargpt.config.validation import validate
    from regulargpt.construct.configuration import configuration

    config = configuration(language, chunk_size, representation).reading(texts(fields_of(fields), ()))
    validate(config)

    from regulargpt.cli.running import supervised
    from regulargpt.runs import run

    return supervised(lambda watch: run.run(config, out, watch), config, out, as_json)
