"""The folder of a run, written so that a crash at any moment loses nothing that was finished."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError, nearest
from languages.kept import Kept
from regulargpt.storage import atomic, checkpoint, kept, lock, manifest, metrics, tensors
from regulargpt.storage.format import FORMAT, refuse_other_format

if TYPE_CHECKING:
    from torch import Tensor

CONFIG = "config.toml"
ENVIRONMENT = "environment.json"
METRICS = "metrics.jsonl"
MEASURES = "measures.csv"
WEIGHTS = "model.safetensors"
MODEL_CONFIG = "config.json"
GRAPH = "graph.json"
SUMMARY = "summary.json"
DONE = "DONE"
# What `verify` says of a run: no part of the manifest, and written anew by each `verify`.
CERTIFICATE, AUTOMATON, UNCERTIFIED = "certificate.json", "automaton.json", "uncertified.json"
# The same of a proof that the network is wrong for ever, on words of a family; its automaton is the language's.
REFUTATION, REFUTED_AUTOMATON = "refutation.json", "refutation-automaton.json"
# What `falsify` says of it, and the end of a run: no part of the manifest, and written anew by each `falsify`.
FALSIFIED = "falsified.json"
# The numbers of single words, where a measure is a mean of numbers: part of the manifest if it is there.
SEGMENTS = "segments.csv"
# The weights at a step of the training, where a run keeps some: part of the manifest.
SNAPSHOT = re.compile(r"snapshot-([0-9]{9,})\.safetensors")
FINAL = (CONFIG, ENVIRONMENT, METRICS, MEASURES, WEIGHTS, MODEL_CONFIG, SUMMARY)


class Fields(dict[str, Any]):
    """What a file of a finished run says; a field that it does not have is the file's fault.

    >>> Fields({"score": 100.0}, SUMMARY)["score"]
    100.0
    >>> (Fields({"score": 100.0}, SUMMARY) | {"score": 50.0})["worst"]
    Traceback (most recent call last):
    regulargpt.storage.atomic.FormatError: summary.json has no 'worst'; read it with the version that wrote it
    """

    def __init__(self, values: Mapping[str, Any], file: str):
        super().__init__(values)
        self._file = file

    def __or__(self, changes: Mapping[str, Any]) -> "Fields":  # type: ignore[override]
        """The same file's fields, with these in place of its own."""
        return Fields({**self, **changes}, self._file)

    def __missing__(self, key: str) -> Any:
        raise atomic.FormatError(f"{self._file} has no {key!r}; read it with the version that wrote it")


@dataclass(frozen=True)
class RunFolder:
    """A run's folder. Make it with `create` or `open`; hold `locked()` while writing.

    >>> import tempfile
    >>> run = RunFolder.create(Path(tempfile.mkdtemp()) / "parity", "seed = 0\\n", {"python": "3.11"})
    >>> run.append_metrics([{"step": 1, "loss": 0.5}])
    >>> run.metrics_offset(), run.is_done
    (25, False)
    """

    path: Path

    @classmethod
    def create(
        cls, path: str | Path, config_text: str, environment: Mapping[str, Any], keep: Sequence[kept.KeptFile] = ()
    ) -> "RunFolder":
        """A new run folder with config.toml, environment.json and the user's files that it is to `keep`.

        Raises UserError, before anything is written, if something lies at `path` already; StorageError if the
        disk refuses.
        """
        path = Path(path)
        refuse_occupied(path)
        atomic.make_folder(path)
        with atomic.at_work(), lock.locked(path):
            # Asked again: another process may have been faster. config.toml comes last: it makes the folder a
            # run.
            refuse_occupied(path)
            for file in keep:
                atomic.write_bytes(path / file.name, file.content)
            own = {kept.KEY: {file.option: file.record() for file in keep}} if keep else {}
            atomic.write_json(path / ENVIRONMENT, {"format": FORMAT, **environment, **own})
            atomic.write_text(path / CONFIG, config_text)
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """The run folder at `path`; UserError saying what is missing if it is none, or that its format is another."""
        path = Path(path)
        with atomic.reported(path):
            if not atomic.disk.exists(path):
                siblings = atomic.disk.names(path.parent) if atomic.disk.is_folder(path.parent) else []
                hint = nearest(path.name, siblings) or " give a folder that `regulargpt run` made"
                raise UserError(f"run folder {atomic.shown(path)} does not exist;{hint}")
            missing = [name for name in (CONFIG, ENVIRONMENT) if not atomic.disk.exists(path / name)]
        if missing:
            raise UserError(
                f"{atomic.shown(path)} is not a run folder: {' and '.join(missing)} missing;"
                " give a folder that `regulargpt run` made"
            )
        # First written, so that the oldest unfinished run has it too.
        refuse_other_format(atomic.parse_json(atomic.read_bytes(path / ENVIRONMENT), path / ENVIRONMENT), path)
        return cls(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out (LockedError if one is in), and sweep up what interrupted writes left."""
        with lock.locked(self.path):
            with atomic.reported(self.path):
                for name in filter(atomic.is_temporary, atomic.disk.names(self.path)):
                    atomic.disk.remove(self.path / name)
            yield

    @property
    def config_text(self) -> str:
        """config.toml; of a finished run checked against the manifest."""
        data = self.final_bytes(CONFIG) if self.is_done else atomic.read_bytes(self.path / CONFIG)
        return atomic.parse_text(data, self.path / CONFIG)

    @property
    def is_done(self) -> bool:
        with atomic.reported(self.path / DONE):
            return atomic.disk.exists(self.path / DONE)

    def append_metrics(self, rows: Iterable[Mapping[str, Any]]) -> None:
        metrics.append(self.path / METRICS, metrics.render_rows(rows))

    def metrics_offset(self) -> int:
        """The size of metrics.jsonl in bytes, all of them on the disk: what a checkpoint records."""
        return metrics.sync(self.path / METRICS)

    def truncate_metrics(self, offset: int) -> None:
        """Forget the rows after `offset`, which a resumed run writes again.

        Raises IntegrityError if the file is shorter: rows are lost.
        """
        metrics.cut(self.path / METRICS, offset)

    def save_checkpoint(self, step: int, weights: Mapping[str, "Tensor"], state: Mapping[str, Any]) -> None:
        """Save a checkpoint that also knows how long metrics.jsonl was and which config.toml it is of."""
        offset = self.metrics_offset()
        more = {"state": dict(state), "metrics_offset": offset, "config": self._config_digest()}
        checkpoint.save(self.path, step, weights, more)

    def load_checkpoint(self) -> checkpoint.Checkpoint | None:
        """Go back to the newest valid checkpoint, metrics.jsonl included; without any, to the start (None).

        Call it under `locked()`. `skipped` of the result says which newer ones were damaged. Raises
        IntegrityError if all are, if metrics.jsonl lost rows, or if config.toml is no longer the config that the
        checkpoint was made with.
        """
        newest = checkpoint.load_latest(self.path)
        if newest is None:
            self.truncate_metrics(0)
            return None
        config, offset, state = (newest.state.get(key) for key in ("config", "metrics_offset", "state"))
        if not (isinstance(config, str) and isinstance(offset, int) and isinstance(state, dict)):
            place = atomic.shown(self.path / checkpoint.FOLDER)
            raise atomic.FormatError(f"{place} was not saved by a run; remove that folder to start again")
        if config != self._config_digest():
            raise manifest.damaged(self.path / CONFIG, config, self._config_digest())
        self.truncate_metrics(offset)
        return checkpoint.Checkpoint(newest.step, newest.weights, state, newest.skipped)

    def write_weights(self, weights: Mapping[str, "Tensor"], model_config: Mapping[str, Any]) -> None:
        """model.safetensors and, to build the model again, config.json."""
        atomic.write_bytes(self.path / WEIGHTS, tensors.render_weights(weights))
        atomic.write_json(self.path / MODEL_CONFIG, dict(model_config))

    def write_snapshot(self, step: int, weights: Mapping[str, "Tensor"]) -> None:
        atomic.write_bytes(self.path / snapshot_name(step), tensors.render_weights(weights))

    def snapshot_steps(self) -> list[int]:
        """The steps at which a finished run kept its weights, as its manifest lists them."""
        names = manifest.read_manifest(self.path)
        return sorted(int(match[1]) for name in names if (match := SNAPSHOT.fullmatch(name)))

    def load_snapshot(self, step: int) -> bytes:
        """The file of a step, checked against the manifest."""
        return self.final_bytes(snapshot_name(step))

    def load_weights(self) -> dict[str, "Tensor"]:
        """The trained weights, checked against the manifest; IntegrityError naming file and both digests."""
        return tensors.parse_weights(self.final_bytes(WEIGHTS), self.path / WEIGHTS)

    def load_model_config(self) -> dict[str, Any]:
        """What `write_weights` was given as `model_config`, checked against the manifest."""
        return self._fields(MODEL_CONFIG, self.final_bytes(MODEL_CONFIG))

    def write_measures(self, samples: Mapping[str, int], measures: Mapping[str, Mapping[str, Any]]) -> None:
        """measures.csv, from `samples` and `measures` as summary.json has them."""
        atomic.write_text(self.path / MEASURES, metrics.render_measures(samples, measures))

    def write_segments(self, text: str) -> None:
        atomic.write_text(self.path / SEGMENTS, text)

    def load_segments(self) -> str:
        """What `write_segments` was given, checked against the manifest; UserError for a run that has none."""
        with atomic.reported(self.path):
            there = atomic.disk.exists(self.path / SEGMENTS)
        if not there:
            raise UserError(f"{atomic.shown(self.path)} has no numbers of single segments: it is no run on a text")
        return atomic.parse_text(self.final_bytes(SEGMENTS), self.path / SEGMENTS)

    def load_environment(self) -> dict[str, Any]:
        """environment.json: machine, versions, and what tells whether the data are the same."""
        return self._fields(ENVIRONMENT, atomic.read_bytes(self.path / ENVIRONMENT))

    def checked_environment(self) -> dict[str, Any]:
        """The same, of a finished run checked against the manifest."""
        return self._fields(ENVIRONMENT, self.final_bytes(ENVIRONMENT)) if self.is_done else self.load_environment()

    def kept_files(self) -> dict[str, Path]:
        """The user's files that the run keeps, by the options of `data` that name them.

        Each is checked now: IntegrityError for a file that has changed or is missing.
        """
        files = {}
        for option, (name, digest) in self.kept_names().items():
            manifest.read_checked(self.path / name, digest)
            files[option] = (self.path / name).absolute()
        return files

    def kept_names(self) -> dict[str, tuple[str, str]]:
        """What each of these files is called in the folder, and its digest."""
        return kept.names(self.checked_environment(), self.path)

    def named(self, language: str) -> str:
        """The name of the run's language, with which its kept file is read, where it keeps any."""
        file = self.kept_files().get("name")
        return language if file is None else Kept(language, file)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """summary.json: what `run --json` prints."""
        atomic.write_json(self.path / SUMMARY, dict(summary))

    def load_summary(self) -> dict[str, Any]:
        """The summary of a finished run, checked against the manifest; a copied folder is where it is now."""
        summary = self._fields(SUMMARY, self.final_bytes(SUMMARY))
        if "run_dir" in summary:
            summary["run_dir"] = str(self.path)
        return summary

    def load_attempt(self) -> dict[str, Any] | None:
        """uncertified.json: why these weights have no certificate; None if a proof of them was not tried.

        Whatever the file says, nothing is proven by it.
        """
        path = self.path / UNCERTIFIED
        if not atomic.disk.exists(path):
            return None
        attempt = atomic.parse_json(atomic.read_bytes(path), path)
        try:
            digest, _ = attempt["weights"]["sha256"], attempt["reason"]
        except (KeyError, TypeError) as error:
            raise self.no_attempt(error) from error
        is_of_these = digest == manifest.digest(self.final_bytes(WEIGHTS))
        return {**attempt, "proven": False} if is_of_these else None

    def no_attempt(self, missing: Exception) -> UserError:
        """What is said of an uncertified.json that `verify` did not write."""
        path, again = atomic.shown(self.path / UNCERTIFIED), f"run `regulargpt verify {atomic.shown(self.path)}` again"
        return UserError(f"{path} is no result of `verify`: {missing} is missing; {again}")

    def without_certificate(self) -> UserError:
        """What is said where the run has no certificate: why, if a proof was tried, or how to try one."""
        attempt, place = self.load_attempt(), atomic.shown(self.path)
        if attempt is None:
            return UserError(f"{place} has no certificate yet; try `regulargpt verify {place}`")
        return UserError(f"{place} has no certificate: {attempt['reason']}")

    def load_falsified(self) -> dict[str, Any] | None:
        """falsified.json: which words these weights have wrong; None where they were not looked for."""
        path = self.path / FALSIFIED
        if not atomic.disk.exists(path):
            return None
        report = atomic.parse_json(atomic.read_bytes(path), path)
        try:
            if report["weights"]["sha256"] != manifest.digest(self.final_bytes(WEIGHTS)):
                return None
            _ = [report[key] for key in ("all_up_to", "budget", "families", "ruled_out", "tried")]
            _ = [(w["length"] + 0, len(w["word"] or ""), w["expected"], w["answered"]) for w in report["wrong"]]
            _ = [family["v"] for family in report["families"]]
        except (KeyError, TypeError) as error:
            again = f"remove it, and run `regulargpt falsify {atomic.shown(self.path)}` again"
            raise UserError(f"{atomic.shown(path)} is no result of `falsify`; {again}") from error
        return report

    def owes_outcome(self, summary: Mapping[str, Any]) -> bool:
        """Whether a finished run was killed between its last file and what its proof came to, which `resume` writes."""
        proven = summary.get("proven")
        if proven is None or atomic.disk.exists(self.path / CERTIFICATE):
            return False
        return proven or not atomic.disk.exists(self.path / UNCERTIFIED)

    def finish(self) -> None:
        """Write the manifest over all final files, then DONE; UserError if one of them was not written."""
        self.metrics_offset()
        with atomic.reported(self.path):
            if missing := [name for name in FINAL if not atomic.disk.exists(self.path / name)]:
                place = atomic.shown(self.path)
                raise UserError(f"{place} cannot be finished without {', '.join(missing)}; resume it")
            more = [name for name, _ in kept.names(self.load_environment(), self.path).values()]
            more += [name for name in (SEGMENTS,) if atomic.disk.exists(self.path / name)]
            more += sorted(name for name in atomic.disk.names(self.path) if SNAPSHOT.fullmatch(name))
        manifest.write_manifest(self.path, [*FINAL, *more])
        atomic.write_text(self.path / DONE, "")

    def final_bytes(self, name: str) -> bytes:
        """A final file of a finished run, checked against the manifest."""
        if not self.is_done:
            place = atomic.shown(self.path)
            raise UserError(f"the run in {place} is not finished; `regulargpt resume {place}` first")
        return manifest.read_verified(self.path, [name])[name]

    def _fields(self, name: str, data: bytes) -> Fields:
        return Fields(atomic.parse_json(data, self.path / name), name)

    def _config_digest(self) -> str:
        return manifest.digest(atomic.read_bytes(self.path / CONFIG))


def snapshot_name(step: int) -> str:
    """The file with the weights at a step.

    >>> snapshot_name(100)
    'snapshot-000000100.safetensors'
    """
    return f"snapshot-{step:09d}.safetensors"


def refuse_occupied(path: Path) -> None:
    """Raise UserError where a new run folder cannot be made, since something lies there."""
    with atomic.reported(path):
        if not atomic.disk.exists(path):
            return
        if not atomic.disk.is_folder(path):
            raise UserError(f"{atomic.shown(path)} is a file; choose another --out")
        names = atomic.disk.names(path)
    # An interrupted `create` leaves these and no config.toml: there is nothing to lose in going on.
    if any(name not in (ENVIRONMENT, lock.NAME) and not atomic.is_temporary(name) for name in names):
        place = atomic.shown(path)
        raise UserError(f"run folder {place} exists; choose another --out or `regulargpt resume {place}`")
