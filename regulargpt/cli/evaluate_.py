"""`regulargpt evaluate DIR --lengths 41-500,1000,10000` or `--protocol hard`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from languages.errors import UserError
from regulargpt.cli.output import emit, percent, printed, say, table
from regulargpt.cli.types import PATH

# Which words are tested is said by options of this command.
SAID = {
    "evaluation.samples": "give --samples",
    **dict.fromkeys(("evaluation.test_from", "evaluation.test_len", "evaluation.stride"), "give --lengths"),
    "evaluation.beyond": "give --lengths",
    "evaluation.also": "give --protocol",
}


@click.command()
@click.argument("folder", type=PATH)
@click.option("--lengths", help="Lengths and ranges, as in 41-500,1000,10000.  [default: 41-500]")
@click.option("--protocol", "preset", help="Test as this protocol does; `regulargpt list protocols`.")
@click.option("--samples", type=click.IntRange(min=1), default=512, show_default=True, help="Words a length.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the test words.  [default: the run's]")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Test under another task.* or evaluation.*."
)
@printed
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
    """Test a trained model at any lengths, on words of the run's language.

    With the run's seed, the default, they are those of the run's own test; with another one they are new.
    """
    from regulargpt.cli.configure import texts
    from regulargpt.config import RunConfig, read_lengths
    from regulargpt.protocols import protocol
    from regulargpt.storage.folder import RunFolder

    if preset is not None and (lengths is not None or settings):
        raise UserError("--protocol says at which lengths and on which words; leave out --lengths and --set")
    wanted = read_lengths("41-500" if lengths is None else lengths)
    run_folder = RunFolder.open(folder)
    set_here = texts({}, settings, SAID)
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

    from regulargpt.cli.bars import Bars
    from regulargpt.evaluate import evaluate

    with closing(Bars()) as bars:
        result = evaluate(run_folder, config, wanted, config.seed if seed is None else seed, bars.watch)
    emit(result) if as_json else say(text(result))


def text(result: dict[str, Any]) -> str:
    """Every length if they are few, else the summary, the lengths that are not perfect, and those beyond the score."""
    accuracy, interval, scored = result["accuracy"], result["interval"], set(result["scored"])
    beyond = {T: a for T, a in accuracy.items() if T not in scored}
    inside = {T: a for T, a in accuracy.items() if T in scored}
    shown = inside if len(inside) <= 20 else {T: a for T, a in inside.items() if a < 100}
    rows = [
        (T, percent(a), "-".join(percent(b) for b in interval[T]), str(result["samples"][T]))
        for T, a in [*list(shown.items())[:20], *beyond.items()]
    ]
    lines = [table(rows, ("length", "accuracy", "95 % interval", "words"))] if rows else []
    if len(shown) > 20:
        lines.append(f"and {len(shown) - 20} more lengths below 100 %")
    lines.append(
        f"{len(inside)} lengths: mean {percent(result['score'])} %, worst {percent(result['min_accuracy'])} %, "
        f"always one answer {percent(result['majority'])} %"
    )
    return "\n".join(lines)
