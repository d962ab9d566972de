"""`python -m experiments.gpu OUT [--device cpu] [--seconds N] [--scale smoke]`: what a GPU changes, in one command.

Three questions, in at most eight minutes:

- Is each network the same function there? Losses and gradients are compared with those of the CPU, in float64.
- How many steps of training a second does each take, there and on the CPU, in turn in one process?
- Does what is trained there hold? Trees and a rival are trained on three languages; then `check`, on the CPU, reads the
  files alone.

OUT/gpu.json has all figures, with the card's name; OUT/page.md shows them. What time did not allow is a row that says
so. The runs are kept in OUT/runs.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt import data, objectives
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.runs.exits import REFUSED, is_out_of_memory
from regulargpt.runs.run import first_model, make_model
from regulargpt.runs.sweep.names import plain
from regulargpt.storage import atomic
from regulargpt.storage.environment import environment
from regulargpt.tables import Table, markdown
from regulargpt.training.trainer import Trainer

CPU = torch.device("cpu")
RIVAL = "delta:range=signed"
TREES = ("regulargpt:gates=true", "regulargpt:gates=false", "ldru")
NETWORKS = (
    *((language, model) for language in ("parity", "brackets-2", "formula") for model in ("regulargpt", "ldru")),
    *(("brackets-2", f"regulargpt:chunk_size=3,gates={gates}") for gates in ("true", "false")),
    *(("dyck-2", model) for model in ("rnn", "lstm", "gru", "linear-rnn", "transformer", "stack-rnn", "tape-rnn")),
    *(("dyck-2", model) for model in (RIVAL, "delta:gate=true,householders=2", "mamba", "mamba2", "mamba2:version=3")),
    *(("dyck-2", model) for model in ("gla", "rwkv7", "mlstm", "slstm", "pd-ssm", "s4d", "looped")),
    ("dyck-2", "transformer:causal=true,encoding=path"),
)
"""Language and model of each comparison."""
SPEEDS = tuple(("parity", model) for model in (*TREES, "lstm", "transformer", RIVAL))
TRAININGS = tuple(product(("parity", "cycle-navigation", "dyck-4"), (*TREES, RIVAL)))
LATE = "time was up"
# Of all seconds, when the comparisons end, and when the speeds do; the rest is for the trainings.
SHARES = 0.15, 0.4
STEPS = {"smoke": 1, "full": 20}
LAPS = {"smoke": 1, "full": 3}


@dataclass(frozen=True)
class Deadline:
    """Seconds from now on, and until when in them one part may go on."""

    seconds: float
    began: float

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the time is over."""
        return self.began + share * self.seconds - time.monotonic()


Line = dict[str, Any]


def apart(language: str, model: str, device: torch.device) -> float:
    """The largest difference of the loss and of any gradient between a device and the CPU, over the largest number.

    Of random weights, in float64, and without dropout, which differs.
    """
    config = resolve("answers", model, language, {"model.d_model": 16})
    here, there = (slopes(config, place, lambda network: network.double().eval()) for place in (CPU, device))
    if len(here) != len(there):
        raise ValueError(f"{model}: {len(here) - 1} gradients on the CPU, {len(there) - 1} on {device}")
    return difference(here, there)


def slopes(config: RunConfig, place: torch.device, ready: Callable[[nn.Module], nn.Module]) -> list[Tensor]:
    """The first loss and its gradients, of random weights."""
    words = data.build(config.data)
    goal = objectives.build(config.objective, words)
    network = ready(first_model(config, words, goal, CPU)).to(place)
    # cuDNN's recurrent layers have no gradients in evaluation; torch's own do.
    with torch.backends.cudnn.flags(enabled=False):
        loss, _ = goal.loss(network, words.batch(0, "test", 0, [24], 16), place)
        loss.backward()
    return [x.detach().cpu() for x in (loss, *(p.grad for p in network.parameters() if p.grad is not None))]


def difference(here: Sequence[Tensor], there: Sequence[Tensor]) -> float:
    """The largest, over the largest number here, or 1."""
    size = max(1.0, *(float(x.abs().max()) for x in here))
    return max(float((x - y).abs().max()) for x, y in zip(here, there, strict=True)) / size


def speed(case: tuple[str, str], device: torch.device, deadline: Deadline, scale: str) -> Line:
    """Steps a second on both devices."""
    places = {"cpu": CPU, "device": device}
    speeds = rates({name: trainer(*case, place) for name, place in places.items()}, deadline, scale)
    return {**speeds, "ratio": speeds["device"] / speeds["cpu"]}


def rates(trainers: Mapping[str, Trainer], deadline: Deadline, scale: str) -> dict[str, float]:
    """Steps a second of each, the median over laps in turn; fewer laps where time runs short."""
    laps: Mapping[str, list[float]] = {name: [] for name in trainers}
    for lap in range(LAPS[scale] + 1):
        if lap > 1 and deadline.left() < 0:
            break
        for name, trained in trainers.items():
            seconds = timed(trained, trained.device, STEPS[scale])
            if lap:  # the first also loads, reserves and compiles
                laps[name].append(STEPS[scale] / seconds)
    return {name: sorted(each)[len(each) // 2] for name, each in laps.items()}


def trainer(language: str, model: str, device: torch.device) -> Trainer:
    """A training at its start, with the recipe `words`."""
    config: RunConfig = resolve("words", model, language)
    words = data.build(config.data)
    goal = objectives.build(config.objective, words)
    return Trainer(config, words, goal, make_model(config, words, goal, device), device)


def timed(trainer: Trainer, device: torch.device, steps: int) -> float:
    """Seconds of so many steps."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for _ in range(steps):
        trainer.step()
    wait()
    return time.perf_counter() - start


def training(case: tuple[str, str], device: torch.device, deadline: Deadline, scale: str, out: Path) -> Line:
    """Train, then check the certificate on the CPU; each in a process of its own, that may fail or be stopped alone."""
    language, model = case
    folder = out / "runs" / plain(f"{language}-{model}")
    short = ["--steps", "20", "--test-len", "60", "--extra-lengths", ""] if scale == "smoke" else []
    command = ["run", language, "--model", model, "--device", device.type, "--out", str(folder), *short]
    start = time.monotonic()
    summary = asking(command, deadline.left())
    is_certified = (folder / "certificate.json").exists()
    if is_certified:
        asking(["check", str(folder), "--language", language], max(deadline.left(), 10))
    seen = {key: summary[key] for key in ("score", "steps", "train_seconds")}
    return {**seen, "checked": is_certified, "seconds": time.monotonic() - start}


def asking(arguments: Sequence[str], seconds: float) -> Mapping[str, Any]:
    """What a command prints as JSON; TimeoutError after so many seconds, RuntimeError if it fails."""
    command = [sys.executable, "-m", "regulargpt", *arguments, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(seconds, 0.01), check=False)
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(said[-1][:200])
    return json.loads(done.stdout)


def measured(
    cases: Sequence[tuple[str, str]], of: Callable[[tuple[str, str], Deadline], Line], deadline: Deadline, share: float
) -> Iterator[Line]:
    """A line each case; what fails, or has no time left, says why. Each case may take an even part of what is left."""
    for number, (language, model) in enumerate(cases):
        part = deadline.left(share) / (len(cases) - number)
        try:
            if part <= 0:
                raise TimeoutError
            line = of((language, model), Deadline(part, time.monotonic()))
        except TimeoutError:
            line = {"why_not": LATE}
        except Exception as error:  # a driver may raise anything
            said = f"{error}".splitlines() or [type(error).__name__]
            line = {"why_not": "out of memory" if is_out_of_memory(error) else said[0][:200]}
        print(language, model, *(f"{key} {figure(value)}" for key, value in line.items()), file=sys.stderr, flush=True)
        yield {"language": language, "model": model, **line}


def report(out: Path, device: torch.device, seconds: float, scale: str) -> Mapping[str, Any]:
    """Measure everything, and write both files."""
    deadline = Deadline(seconds, time.monotonic())
    parts = {
        "equal": measured(NETWORKS, lambda case, _: {"apart": apart(*case, device)}, deadline, SHARES[0]),
        "speed": measured(SPEEDS, lambda case, left: speed(case, device, left, scale), deadline, SHARES[1]),
        "trained": measured(TRAININGS, lambda case, left: training(case, device, left, scale, out), deadline, 1.0),
    }
    record = {"environment": environment(device.type), "scale": scale, "seconds": seconds}
    record |= {name: list(lines) for name, lines in parts.items()}
    atomic.make_folder(out)
    atomic.write_text(out / "gpu.json", json.dumps(record, indent=1) + "\n")
    atomic.write_text(out / "page.md", page(record))
    return record


def page(record: Mapping[str, Any]) -> str:
    """page.md of what gpu.json says."""
    card = record["environment"]["device_name"] or "CPU"
    shown = {
        "equal": ("Same function", ("apart",), "Largest difference of the loss and of any gradient, in float64."),
        "speed": (
            "Steps of training a second",
            ("cpu", "device", "ratio"),
            "Recipe `words`, the median of laps in turn.",
        ),
        "trained": (
            "Trained there, checked on the CPU",
            ("score", "steps", "train_seconds", "checked"),
            "Recipe `answers`. `checked`: `regulargpt check` accepted the certificate from its files alone.",
        ),
    }
    lines = [f"# {card}", "", f"Made by `python -m experiments.gpu` in at most {record['seconds']:.0f} s.", ""]
    for name, (title, keys, said) in shown.items():
        header = ("language", "network", *keys, "not measured")
        cells = [
            (row["language"], row["model"], *(figure(row.get(key)) for key in keys), row.get("why_not", ""))
            for row in record[name]
        ]
        lines += [f"## {title}", "", said, "", markdown(Table(header, cells, names=2)), ""]
    return "\n".join(lines)


def figure(value: Any) -> str:
    """A cell.

    >>> figure(1.23456), figure(4.6e-16), figure(True), figure(None), figure("time was up")
    ('1.23', '4.6e-16', 'yes', '', 'time was up')
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}"
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.1e}"


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; SystemExit with code 2 for a wrong command."""
    parser = argparse.ArgumentParser(prog="python -m experiments.gpu", description="What a GPU changes, on one page.")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of the page and the runs")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu only tries it out (cuda)")
    parser.add_argument("--seconds", type=float, default=480, metavar="N", help="at most so long (480)")
    parser.add_argument("--scale", choices=("smoke", "full"), default="full", help="smoke only tries it out (full)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measure and say where the page is."""
    given = options(arguments)
    try:
        if given.device == "cuda" and not torch.cuda.is_available():
            raise UserError("torch finds no GPU; --device cpu tries the command out")
        if given.out.exists() and any(given.out.iterdir()):
            raise UserError(f"{given.out} is not empty; name a new folder")
        if not 1 <= given.seconds <= 86_400:
            raise UserError(f"--seconds {given.seconds:g}: give 1 to 86,400")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(REFUSED)
    report(given.out, torch.device(given.device), given.seconds, given.scale)
    print(given.out / "page.md")


if __name__ == "__main__":
    main(sys.argv[1:])
