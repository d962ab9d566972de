"""`regulargpt evaluate DIR --lengths 41-500,1000,10000` or `--protocol hard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.cli.output import as_json, emit, percent, table


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--lengths", help="Lengths and ranges, as in 41-500,1000,10000.  [default: 41-500]")
@click.option("--protocol", "preset", help="Test as this protocol does; `regulargpt list protocols`.")
@click.option("--samples", type=click.IntRange(min=1), default=512, show_default=True, help="Words a length.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the test words.  [default: the run's]")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Test under another task.* or evaluation.*."
)
@as_json
def command(
    folder: Path,
    lengths: str | None,
    preset: str | None,
    samples: int,
    seed: int | None,
    device: str,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Test a trained model at any lengths, on fresh words of the run's language."""
    from regulargpt.cli.configure import texts
    from regulargpt.config import RunConfig, read_lengths
    from regulargpt.protocols import protocol
    from regulargpt.storage.folder import RunFolder

    if preset is not None and (lengths is not None or settings):
        raise UserError("--protocol says at which lengths and on which words; leave out --lengths and --set")
    wanted = read_lengths(lengths or "41-500")
    run_folder = RunFolder.open(folder)
    set_here = texts({}, settings)
    for key in set_here:
        if not key.startswith(("task.", "evaluation.")):
            raise UserError(f"--set {key}: a trained run can be tested under another task.* or evaluation.* only")
    # TensorBoard and compilation are of the training; they need nothing here.
    changes = {"evaluation.samples": samples, "device": device, "tensorboard": False, "compile": False}
    config = RunConfig.parse(run_folder.config_text).replaced(changes)
    if preset is not None:
        config = protocol(preset).test_of(config)
        wanted = tuple(sorted({*config.scored, *config.evaluation.beyond}))
    else:
        config = config.replaced({"protocol": "", **set_here})
    run_folder.load_summary()

    from regulargpt.evaluate import evaluate

    result = evaluate(run_folder, config, wanted, config.seed if seed is None else seed)
    emit(result) if as_json else click.echo(text(result))


def text(result: dict[str, Any]) -> str:
    """Every length if they are few, else the summary and the lengths that are not perfect."""
    accuracy, interval = result["accuracy"], result["interval"]
    shown = accuracy if len(accuracy) <= 20 else {T: a for T, a in accuracy.items() if a < 100}
    rows = [
        (T, percent(a), "-".join(percent(b) for b in interval[T]), str(result["samples"][T])) for T, a in shown.items()
    ][:20]
    lines = [table(rows, ("length", "accuracy", "95 % interval", "words"))] if rows else []
    if len(shown) > len(rows):
        lines.append(f"and {len(shown) - len(rows)} more lengths below 100 %")
    lines.append(
        f"{len(accuracy)} lengths: mean {percent(result['score'])} %, worst {percent(result['min_accuracy'])} %, "
        f"always one answer {percent(result['majority'])} %"
    )
    return "\n".join(lines)
