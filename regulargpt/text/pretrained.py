"""A folder that `transformers` (the extra `hf`) wrote: its config, weights and tokenizer, and all that may be wrong.

It is read from disk, never from the network. No code in it is run: JSON and safetensors. `transformers` and torch are
imported where they are needed, and whatever that library raises becomes one line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from languages.errors import UserError, one_of, shown
from regulargpt.storage import atomic
from regulargpt.text.corpora.extra import needed
from regulargpt.text.corpora.tokens import Tokens, read_tokens

PREFIX = "hf:"
CONFIG, TOKENIZER, ADAPTER = "config.json", "tokenizer.json", "adapter_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
# Nothing is downloaded, and no code that a folder names is run.
ON_DISK = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class CheckpointFamily:
    """What can be read: by which class of `transformers`, of which `model_type`, and what a message calls it."""

    reader: str
    types: tuple[str, ...]
    noun: str
    parts: str = ""


def folder_of(place: str | Path) -> Path:
    """The folder that is meant; UserError if there is none.

    >>> folder_of("hf:google/flan-t5-small")
    Traceback (most recent call last):
    languages.errors.UserError: google/flan-t5-small: no such folder; a checkpoint is read from disk: download it first
    """
    folder = Path(str(place).removeprefix(PREFIX))
    try:
        folder = folder.expanduser()
        is_there = folder.is_dir()
    except (OSError, RuntimeError):  # a name that is too long, the home of nobody
        is_there = False
    if not is_there:
        raise UserError(f"{shown(folder)}: no such folder; a checkpoint is read from disk: download it first")
    return folder


def place_of(text: str) -> str:
    """The name of a text that was given as such, or as a file or folder.

    >>> place_of("notes.txt"), place_of("text:code")
    ('text:notes.txt', 'text:code')
    """
    return text if text.startswith(("text:", PREFIX)) else f"text:{text}"


def is_of_others(folder: str) -> bool:
    """Whether a folder holds a checkpoint of `transformers`; the config.json of a run names no model_type."""
    path = Path(folder) / CONFIG
    # Path.is_file() raises for a name that is too long
    return os.path.isfile(path) and b'"model_type"' in atomic.read_bytes(path)


def is_decoder(place: str | Path) -> bool:
    """Whether a checkpoint is one of the decoders that can be read. UserError for no such folder.

    What else is in it is refused by those who read it.
    """
    from regulargpt.text.decoders.families import FAMILIES

    path = folder_of(place) / CONFIG
    return path.is_file() and atomic.parse_json(atomic.read_bytes(path), path).get("model_type") in FAMILIES


def weight_files(folder: Path) -> list[Path]:
    """The safetensors of a folder: one file, or those that an index names.

    Raises UserError where there are none, or the index names anything else, such as a pickle.
    """
    path = folder / INDEX
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not path.is_file():
        if pickles := sorted(folder.glob("pytorch_model*.bin")):
            raise UserError(
                f"{shown(pickles[0])} is a pickle, which may run code when it is opened; load it with `transformers` "
                "where you trust it, and save it again: `save_pretrained` writes safetensors"
            )
        raise UserError(f"{shown(folder)} has no {WEIGHTS}; give the folder of a checkpoint in safetensors")
    index = atomic.parse_json(atomic.read_bytes(path), path).get("weight_map")
    names = sorted(set(map(str, index.values()))) if isinstance(index, dict) else []
    if not names or not all(name.endswith(".safetensors") and "/" not in name for name in names):
        raise UserError(f"{shown(path)} does not say which file has which tensor; restore it from a copy")
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{shown(folder / name)} is missing; {INDEX} names it")
    return [folder / name for name in names]


def digest(folder: Path) -> str:
    """SHA-256 of the digests of all files with weights: what belongs to one network is for no other."""
    whole = sha256()
    for path in weight_files(folder):
        with path.open("rb") as file:
            whole.update(file_digest(file, "sha256").digest())
    return whole.hexdigest()


def tokens_of(folder: Path) -> Tokens:
    """The tokenizer beside the weights, by the extra `hf`. UserError if there is none."""
    path = folder / TOKENIZER
    if not path.is_file():
        raise UserError(
            f"{shown(folder)} has no {TOKENIZER}; save the fast tokenizer beside the weights: "
            "AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)"
        )
    return read_tokens(path)


def fitting(tokens: Tokens, embeddings: int) -> Tokens:
    """The same tokenizer; UserError if it has more tokens than the network has embeddings."""
    if (count := tokens.vocabulary_size) > embeddings:
        raise UserError(f"{shown(tokens.path)} has {count:,} tokens, and the network knows {embeddings:,}")
    return tokens


def read_config(folder: Path, family: CheckpointFamily) -> Any:
    """The config of a checkpoint, as `transformers` has it.

    Raises UserError for a folder without a config, another architecture, an adapter, quantised weights, or values that
    `transformers` does not take.
    """
    path = folder / CONFIG
    if (folder / ADAPTER).is_file():  # the library would read the network that it names, wherever that is
        raise UserError(f"{shown(folder / ADAPTER)} is of an adapter; merge it into its network, and save that alone")
    if not path.is_file():
        how = f"give the folder of a {family.noun} checkpoint, as `save_pretrained` writes it"
        raise UserError(f"{shown(folder)} has no {CONFIG}; {how}")
    written = atomic.parse_json(atomic.read_bytes(path), path)
    if (kind := written.get("model_type")) not in family.types:
        raise UserError(f"{shown(path)}: model_type = {kind!r:.40}; only {one_of(family.types)} can be read")
    if written.get("quantization_config") is not None:
        raise UserError(f"{shown(path)}: the weights are quantised; give the folder of the network before that")
    with quiet(path, family) as transformers:
        return transformers.AutoConfig.from_pretrained(folder, **ON_DISK)


def read_network(folder: Path, config: Any, family: CheckpointFamily) -> Any:
    """The network of `transformers` in float32, with all of its tensors from the folder.

    Raises UserError for weights that are a pickle, and for tensors that are missing, unknown, damaged or misshaped.
    """
    weight_files(folder)
    with quiet(folder, family) as transformers:
        # Tensors of another shape are named in the report; the error without it names none.
        how = {"dtype": "float32", "output_loading_info": True, "ignore_mismatched_sizes": True}
        theirs, report = getattr(transformers, family.reader).from_pretrained(
            folder, config=config, use_safetensors=True, **how, **ON_DISK
        )
    refuse_tensors(folder, report, family)
    return theirs


@contextmanager
def quiet(path: Path, family: CheckpointFamily) -> Iterator[Any]:
    """`transformers`, which prints nothing, and whose errors about `path` become one line."""
    transformers = needed("transformers", f"a {family.noun} checkpoint")
    log = transformers.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity(log.CRITICAL)
    log.disable_progress_bar()
    try:
        with refused(path, family):
            yield transformers
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


@contextmanager
def refused(path: Path, family: CheckpointFamily) -> Iterator[None]:
    """A UserError of one line for whatever is wrong with a file: the library raises errors of all kinds."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{shown(path)}: {error}") from None
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"{shown(path)}: transformers cannot read it ({reason:.200}); give a whole {family.noun}"
        ) from None


def refuse_tensors(folder: Path, report: dict[str, Any], family: CheckpointFamily) -> None:
    """UserError for the first tensor of another shape, missing or unknown: the library would draw or ignore it."""
    for name, stored, wanted in sorted(report["mismatched_keys"]):
        shapes = f"{tuple(stored)}; config.json says {tuple(wanted)}"
        raise UserError(f"{shown(folder)}: {name} has the shape {shapes}")
    for name in sorted(report["missing_keys"]):
        raise UserError(f"{shown(folder)} has no tensor {name}; is it a whole {family.noun}{family.parts}?")
    for name in sorted(report["unexpected_keys"]):
        raise UserError(f"{shown(folder)}: no {family.noun} has a tensor {name:.80}; its config.json is of another")
