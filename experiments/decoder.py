"""`python -m experiments.decoder OUT RUN`: the page of what methods of a test do to one decoder that was trained here.

    regulargpt run text:code-large --model decoder-only ... --out RUN
    regulargpt lengthen hf:PATH --text text:code-large --steps 300 --out LENGTHENED  # a bias that is learned afterwards
    regulargpt methods hf:PATH --text text:code-large --bias LENGTHENED/bias.json --words 16 --seed N --out OUT/N
    python -m experiments.decoder OUT RUN

`methods` keeps what each segment cost, in a folder a draw of segments. This pools the draws, tests claims on them in
pairs of segments, and writes OUT/page.json, OUT/page.md and OUT/losses.json. It tests and trains nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.claims import FEW_STEPS, RULE, Bound, Ratio, beats, claimed, explodes, number, rises, stays_within
from experiments.page import files
from experiments.page.record import Cell, CellLine, ItemList, Page, PagePicture, PageTable, Section, Values
from languages.errors import UserError
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation.interval import FILES
from regulargpt.objectives.measures import exp
from regulargpt.plots import Line as Curve
from regulargpt.runs.exits import REFUSED
from regulargpt.storage import atomic, metrics
from regulargpt.storage.folder import METRICS, RunFolder
from regulargpt.text.evaluation.methods import METHODS
from regulargpt.text.experiments.results import LOSSES, Losses, TextResults, rounded, write_losses
from regulargpt.text.measurements.method_cells import CELLS, content
from regulargpt.text.measurements.method_tables import TRAINED

COMMANDS = [line.strip() for line in (__doc__ or "").splitlines() if line.startswith("    ")]
"""Those above."""
NAME = "decoder"
TITLE = "A rotary decoder beyond its training length"
DRAWN = ("trained", "interpolation", "ntk", "yarn", "bca", "sinks", "self-extend", "alignment", "kerple")
CLAIMS = {
    "Press et al. 2022": {"A rotary network explodes beyond its training length.": explodes("trained")},
    "Chen et al. 2023": {
        "Interpolation alone, at factor T/L and without fine-tuning, costs perplexity.": rises(
            "interpolation", at=(2, 4, 8, 16)
        ),
        "Interpolation at factor T/L is better than none, all the same.": beats("interpolation", "trained"),
    },
    "Peng et al. 2023": {
        "Without fine-tuning YaRN beats NTK, both at factor T/L.": beats("yarn", "ntk"),
        "NTK beats interpolation, both at factor T/L (NTK's authors advise a larger one).": beats(
            "ntk", "interpolation"
        ),
    },
    "Sun et al. 2023": {"BCA flattens rotary: at most 5 % worse at any length.": stays_within("bca", 5)},
    "Xiao et al. 2024": {
        "Sinks matter: with them a window is better than without.": beats("sinks", "sliding"),
    },
    "Jin et al. 2024": {
        "Self-Extend reads on without fine-tuning: at most 5 % worse to 4 times the length.": stays_within(
            "self-extend", 5, (2, 4)
        )
    },
    "thesis, section 7.4": {
        "A temperature alone helps a rotary network at each longer length.": beats("alignment", "trained"),
        "A temperature alone mends it: perplexity is below 1.5 times that at the training length.": Bound(
            tuple(Ratio("alignment", k) for k in (2, 4, 8, 16)), "below", 1.5
        ),
        "A bias of KERPLE that is learned afterwards, 8 numbers, 300 steps, helps at each longer length.": beats(
            "kerple", "trained"
        ),
        "With it, after 300 steps, perplexity stays below 1.5 times that at the training length.": Bound(
            tuple(Ratio("kerple", k) for k in (2, 4, 8, 16)), "below", 1.5
        ),
    },
    "Su 2021": {
        "The temperature that knows lengths alone, ln n / ln L, helps at each longer length.": beats("log_n", "trained")
    },
}
BESIDE = (
    ("table-5.3-cpu", "Both alignments improve it dramatically"),
    ("table-5.3-cpu", "Rotary is not rescued"),
)
"""What chapter 5 says of networks with T5's bias, and a smaller rotary one: pages and the beginnings of claims."""
JUDGED = (
    f"{RULE} {FEW_STEPS} "
    "Figures are paired by segment, with intervals over the files of the text. They are of one "
    f"network: the claims are about just this one. The loss of each segment is in {LOSSES}, "
    "from which these verdicts follow."
)


def tested(out: Path) -> tuple[list[Values], Values]:
    """All results that `methods` kept in the folders of OUT, and what they share.

    Raises UserError where there are none, a file is damaged, or they are of several networks, texts or protocols.
    """
    paths = sorted(out.glob(f"*/{CELLS}/*.json"))
    tests: list[Values] = [content(path) for path in paths]
    shared = ("weights", "network", "corpus", "data")
    kinds = {json.dumps({key: test["facts"][key] for key in shared}, sort_keys=True) for test in tests}
    if len(kinds) != 1:
        what = "of several networks or texts; begin a new folder" if kinds else f"not in */{CELLS}"
        raise UserError(f"{atomic.shown(out)}: results of `regulargpt methods` are {what}")
    made = {json.dumps(test["facts"]["made_with"], sort_keys=True) for test in tests}
    biases = [test["facts"]["changes"]["bias"] for test in tests if "bias" in test["facts"]["changes"]]
    return tests, json.loads(kinds.pop()) | {
        "made_with": [*map(json.loads, sorted(made))],
        "bias": (biases or [None])[0],
    }


def pooled(tests: Sequence[Values], train_len: int) -> TextResults:
    """The losses by method and length, all draws in a single row: they are of one network.

    A method and length that a draw lacks is left out.
    """
    cells = {(test["facts"]["method"], test["facts"]["length"], test["facts"]["seed"]): test for test in tests}
    seeds = sorted({seed for *_, seed in cells})
    losses: dict[str, dict[int, Losses]] = {}
    of_files: list[int] = []
    for name in METHODS:
        for length in sorted({length for method, length, _ in cells if method == name}):
            draws = [cells.get((name, length, seed)) for seed in seeds]
            if all(draws):
                run: Any = losses.setdefault(name, {0: {}})[0]
                run[length] = np.concatenate([cell["of_words"]["nll"] for cell in draws if cell])
                of_files = [file for cell in draws if cell for file in cell["files"]]
    by_row = {name: {0: rounded(runs[0])} for name, runs in losses.items()}
    return TextResults(train_len, by_row, files={0: {len(of_files): np.array(of_files)}})


def trained_for(steps: int, results: TextResults) -> TextResults:
    """The results, every row of which is of a network that was trained for so many steps."""
    return replace(results, steps=dict.fromkeys(results.losses, steps))


def again(tests: Sequence[Values]) -> str | None:
    """How far apart results are that several versions of the source came to; None where there are none."""
    of: dict[tuple[Any, ...], list[Any]] = {}
    for test in tests:
        facts = test["facts"]
        of.setdefault((facts["method"], facts["length"], facts["seed"]), []).append(test["of_words"]["nll"])
    several = [float(np.ptp(losses, axis=0).max()) for losses in of.values() if len(losses) > 1]
    return f"{len(several)}; no segment's loss differs by more than {max(several):.1g} nats" if several else None


def cells(results: TextResults) -> Iterator[Values]:
    """A method at a length: bits per byte, and the perplexity over that of the network as trained, here and at L."""
    first = results.train_len
    for name in results.losses:
        for length in results.lengths(name):
            k = length // first
            bits = results.loss(name, k).through(lambda nats: nats / np.log(2))
            to_trained = results.difference((name, k), (TRAINED, k)).through(exp)
            to_first = results.difference((name, k), (TRAINED, 1)).through(exp)
            named = {"bits": bits, "to_trained": to_trained, "to_training_length": to_first}
            yield {"row": name, "length": length} | {key: asdict(value) for key, value in named.items()}


def table(tests: Sequence[Values], lengths: Sequence[int], train_len: int) -> PageTable:
    """A row a method, a column a length."""
    rows = []
    for name in dict.fromkeys(test["row"] for test in tests):
        known = {test["length"]: test for test in tests if test["row"] == name}
        rows.append((name, *(cell(known[T]) if T in known else Cell((CellLine("–", "state"),)) for T in lengths)))
    return PageTable(("", *(f"{T // train_len}x ({T:,})" for T in lengths)), tuple(rows))


def cell(values: Values) -> Cell:
    """Bits per byte, and below it the two ratios."""
    bits, here, first = (values[key] for key in ("bits", "to_trained", "to_training_length"))
    says = f"×{number(first['value'])} [{number(first['low'])}, {number(first['high'])}]"
    same = f"×{number(here['value'])} of trained [{number(here['low'])}, {number(here['high'])}]"
    lines = [CellLine(f"{bits['value']:.3f}", "ours"), CellLine(says), *[CellLine(same)] * (values["row"] != TRAINED)]
    return Cell(tuple(lines), values=values)


def curves(tests: Sequence[Values], train_len: int) -> PagePicture:
    """Bits per byte by length, of the methods that claims are about."""
    lines = []
    for name in DRAWN:
        of = [(test["length"], test["bits"]) for test in tests if test["row"] == name]
        if of:
            places, bits = zip(*of, strict=True)
            value, low, high = ([value[end] for value in bits] for end in ("value", "low", "high"))
            lines.append(Curve(name, places, value, low, high))
    marks = {"training length": float(train_len)}
    more = {"measure": "bits_per_byte", "marks": marks, "scale": "log"}
    return PagePicture(
        "Bits per byte by length", "length.svg", "A line a method, with its 95 % interval.", tuple(lines), **more
    )


def learning(folder: RunFolder) -> PagePicture:
    """The loss in training, a running mean of the steps."""
    rows = metrics.read_rows(folder.path / METRICS)
    steps, bits = zip(*((row["step"], round(row["bits_per_byte"], 4)) for row in rows), strict=True)
    line = Curve("running mean of the training loss", steps, bits)
    text = "What the network cost on the words it learned from."
    return PagePicture("Learning", "learning.svg", text, (line,), measure="bits_per_byte", axis="step", scale="even")


def conditions(
    config: RunConfig, summary: Values, shared: Values, tests: Sequence[Values], segments: int
) -> Iterator[tuple[str, str]]:
    """How it was trained, and how it was tested."""
    net, training = shared["network"], config.training
    yield "network", f"Llama's shape: {net['n_layers']} layers, width {net['d_model']}, {net['n_heads']} heads"
    yield "keys and values", f"{net['n_kv_heads']} heads"
    yield "parameters", f"{summary['parameters']:,}"
    yield "symbols", "bytes"
    yield "data", f"{config.data.name}, SHA-256 {shared['corpus']['sha256']}"
    yield "training length", f"{config.data.train_len:,} bytes"
    yield "trained on", f"{summary['symbols_trained']:,} bytes, {training.steps:,} steps of {training.batch_size}"
    yield "learning rate", f"{training.lr:g}, {training.warmup} steps of warm-up, then a {training.schedule} to 0"
    yield "training", f"{summary['train_seconds'] / 3600:.2f} hours of one CPU core"
    yield "symbols that count", f"the last {shared['data']['last']} of each segment, the same ones at every length"
    draws = len({test["facts"]["seed"] for test in tests})
    yield "segments", f"{segments}, in {draws} draws with seeds of their own"
    if (apart := again(tests)) is not None:
        yield "results that several versions of the source came to", apart
    if bias := shared["bias"]:
        trained_on = f"{bias['steps']} steps on segments of {bias['length']:,} bytes of the training part"
        yield "bias of the method kerple", f"{bias['kernel']}, {trained_on}"
    yield "weights as a folder of transformers", f"SHA-256 {shared['weights']}"


def beside() -> Iterator[str]:
    """What pages of chapter 5 found."""
    for name, beginning in BESIDE:
        content = files.read(Path(__file__).parent / "results" / name)
        claim = next(statement for statement in content.claims if statement.sentence.startswith(beginning))
        yield f"{claim.sentence} {claim.text}: {claim.figure} ({name})"


def page(out: Path, folder: RunFolder) -> tuple[Page, TextResults]:
    """The page of what is there. Raises UserError as `tested` does, and for a run of another training length."""
    tests, shared = tested(out)
    config, summary = RunConfig.parse(folder.config_text), folder.load_summary()
    train_len: int = shared["data"]["train_len"]
    if config.data.train_len != train_len:
        raise UserError(
            f"{atomic.shown(folder.path)} was trained on {config.data.train_len:,} symbols, not {train_len:,}"
        )
    results = trained_for(config.training.steps, pooled(tests, train_len))
    values = list(cells(results))
    lengths = sorted({value["length"] for value in values})
    segments = len(results.losses[TRAINED][0][train_len])
    told = (
        "In each cell: bits per byte; below it the perplexity over that of the network as trained, first at the "
        "training length, then at the same length, with 95 % intervals over files."
    )
    what = [f"{name}: {METHODS[name].summary} ({METHODS[name].source})" for name in results.losses]
    made = Page(
        experiment=NAME,
        scale="cpu",
        heading=TITLE,
        lead=(
            "One Llama-shaped network learned bytes of code, and was saved as transformers would. Then it was tested "
            "as it is and with every method that needs no training, on segments of up to 16 times its training length.",
        ),
        claims=tuple(made.verdict(results) for made in claimed(CLAIMS)),
        judged=JUDGED,
        sections=(
            Section(TITLE, (told, table(values, lengths, train_len), curves(values, train_len))),
            Section("The methods", (ItemList(tuple(what)),)),
            Section("Beside it: temperatures in chapter 5", (ItemList(tuple(beside())),)),
            Section(
                "Conditions", (PageTable(("", "here"), tuple(conditions(config, summary, shared, tests, segments))),)
            ),
            Section("In training", (learning(folder),)),
        ),
        facts={
            **{"over": FILES, "losses": LOSSES, "train_len": train_len, "steps": config.training.steps},
            "weights": shared["weights"],
        },
        command="\n".join(COMMANDS),
        train_seconds=summary["train_seconds"],
        environments=tuple({**environment, "runs": 1} for environment in shared["made_with"]),
    )
    return made, results


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.decoder", description="The page of methods on a decoder."
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder with a folder of `methods` for each draw")
    parser.add_argument("run", type=Path, metavar="RUN", help="the run that trained the network")
    given = parser.parse_args(arguments)
    try:
        made, results = page(given.out, RunFolder.open(given.run))
        write_losses(given.out, results)
        print(files.write(given.out, made)["page"])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
