"""T5 checkpoints of `transformers` as an `EncoderDecoder`: T5, T5 1.1, Flan-T5, mT5, CodeT5, CodeT5+ up to 770M.

`transformers` (the extra `hf`) reads a folder on disk, never the network. No code in it is run: JSON and safetensors.
It and torch are imported where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError, one_of, shown
from languages.text.extra import needed
from languages.text.tokens import Tokens, read_tokens
from regulargpt.storage import atomic

if TYPE_CHECKING:
    from regulargpt.models.transformer.encoder_decoder.model import EncoderDecoder

PREFIX = "hf:"
CONFIG, TOKENIZER = "config.json", "tokenizer.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
# Those whose every layer has the first one's bias: the others have a network of their own.
TYPES = ("t5", "mt5")
# Nothing is downloaded, and no code that a folder names is run.
ON_DISK = {"local_files_only": True, "trust_remote_code": False}
ANSWER_TOKENS = 64
"""Tokens of an answer where nothing else is said."""


@dataclass(frozen=True)
class Pretrained:
    """The network of a checkpoint, the token that an answer begins with, those that end it, and the tokenizer."""

    folder: Path
    model: EncoderDecoder
    start: int
    ends: tuple[int, ...]

    @classmethod
    def load(cls, place: str | Path) -> Pretrained:
        """From a folder, which may be written `hf:PATH`, in float32 and for evaluation.

        Raises UserError for no such folder, another architecture, weights that are a pickle, tensors that are missing,
        unknown, of another shape, or damaged; and CorpusError without the extra `hf`.
        """
        folder = folder_of(place)
        config = read_config(folder)
        weight_files(folder)

        from regulargpt.models.transformer.encoder_decoder.from_transformers import converted, special_tokens

        with quiet(folder) as transformers:
            # Tensors of another shape are named in the report; the error without it names none.
            how = {"dtype": "float32", "output_loading_info": True, "ignore_mismatched_sizes": True}
            theirs, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                folder, config=config, use_safetensors=True, **how, **ON_DISK
            )
        refuse_tensors(folder, report)
        with refused(folder):
            start, ends = special_tokens(theirs)
            return cls(folder, converted(theirs), start, ends)

    @property
    def vocabulary_size(self) -> int:
        """The tokens that the network has an embedding of."""
        return self.model.embedding.num_embeddings

    @cached_property
    def tokens(self) -> Tokens:
        """The tokenizer beside the weights. UserError if there is none that fits."""
        return fitting(tokens_of(self.folder), self.vocabulary_size)

    @cached_property
    def digest(self) -> str:
        """That of the weights."""
        return digest(self.folder)

    def encode(self, text: str) -> list[int]:
        """The tokens that the encoder reads, with those that the tokenizer puts around a text."""
        return self.tokens.tokenizer.encode(text).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an answer, without special tokens."""
        return self.tokens.tokenizer.decode(list(tokens), skip_special_tokens=True)

    def answer(self, source: Sequence[int], most: int = ANSWER_TOKENS) -> list[int]:
        """The most probable token after token, up to one that ends an answer, which is left out, or `most` of them.

        Raises UserError for a source without tokens, or with one that the network has no embedding of.
        """
        from regulargpt.models.transformer.encoder_decoder.greedy import greedy

        return greedy(self.model, source, start=self.start, ends=self.ends, most=most)


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


def read_config(folder: Path) -> Any:
    """The `T5Config` of a checkpoint.

    Raises UserError for a folder without one, another architecture, or values that `transformers` does not take.
    """
    path = folder / CONFIG
    if not path.is_file():
        place = shown(folder)
        raise UserError(f"{place} has no {CONFIG}; give the folder of a T5 checkpoint, as `save_pretrained` writes it")
    if (kind := atomic.parse_json(atomic.read_bytes(path), path).get("model_type")) not in TYPES:
        raise UserError(f"{shown(path)}: model_type = {kind!r:.40}; only {one_of(TYPES)} can be read")
    with quiet(path) as transformers:
        return transformers.AutoConfig.from_pretrained(folder, **ON_DISK)


@contextmanager
def quiet(path: Path) -> Iterator[Any]:
    """`transformers`, which prints nothing, and whose errors about `path` become one line."""
    transformers = needed("transformers", "a T5 checkpoint")
    log = transformers.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity(log.CRITICAL)
    log.disable_progress_bar()
    try:
        with refused(path):
            yield transformers
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """A UserError of one line for whatever is wrong with a file: the library raises errors of all kinds."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{shown(path)}: {error}") from None
    except Exception as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{shown(path)}: transformers cannot read it ({reason:.200}); give a whole T5") from None


def refuse_tensors(folder: Path, report: dict[str, Any]) -> None:
    """UserError for the first tensor of another shape, missing or unknown: the library would draw or ignore it."""
    for name, stored, wanted in sorted(report["mismatched_keys"]):
        shapes = f"{tuple(stored)}; config.json says {tuple(wanted)}"
        raise UserError(f"{shown(folder)}: {name} has the shape {shapes}")
    for name in sorted(report["missing_keys"]):
        raise UserError(f"{shown(folder)} has no tensor {name}; is it a whole T5, encoder and decoder?")
    for name in sorted(report["unexpected_keys"]):
        raise UserError(f"{shown(folder)}: no T5 has a tensor {name:.80}; its config.json is of another")
