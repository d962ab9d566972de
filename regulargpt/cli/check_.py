"""`regulargpt check CERTIFICATE`."""

from __future__ import annotations

from pathlib import Path

import click

from languages.errors import UserError
from regulargpt.cli.output import as_json, emit


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@click.option("--weights", type=click.Path(path_type=Path), help="The weights.  [default: beside the certificate]")
@click.option("--network", type=click.Path(path_type=Path), help="config.json.  [default: beside the certificate]")
@click.option("--automaton", type=click.Path(path_type=Path), help="The automaton.  [default: beside the certificate]")
@as_json
def command(
    certificate: Path, weights: Path | None, network: Path | None, automaton: Path | None, as_json: bool
) -> int:
    """Check a certificate from its files alone: independent code, numpy in float64."""
    import dataclasses

    from regulargpt.certificate.check import Rejected, check
    from regulargpt.cli import FAILED

    named = {"weights": weights, "network": network, "automaton": automaton}
    path = certificate / "certificate.json" if certificate.is_dir() else certificate
    try:
        accepted = check(path, {name: file for name, file in named.items() if file is not None})
    except OSError as error:
        hint = "give a certificate that `regulargpt verify` wrote, with its files beside it"
        raise UserError(f"{error.filename or path} cannot be read ({error.strerror}); {hint}") from error
    except Rejected as rejected:
        emit({"accepted": False, "reason": str(rejected)}) if as_json else click.echo(f"rejected: {rejected}", err=True)
        return FAILED
    if as_json:
        emit({"accepted": True, **dataclasses.asdict(accepted)})
    else:
        click.echo(
            f"accepted: {accepted.claim}\n{accepted.raw_claim + chr(10) if accepted.raw_claim else ''}"
            f"{accepted.entries} entries recomputed, smallest margin {accepted.smallest_margin:.4g}, "
            f"{accepted.levels} levels until they repeat"
        )
    return 0
