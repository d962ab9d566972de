"""The tensors of a folder: one safetensors file, or several with an index. Read one by one, and no pickle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from languages.errors import UserError, shown
from regulargpt.storage import atomic

if TYPE_CHECKING:
    from torch import Tensor

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
# In the index stand names of files in the same folder.
SHARD = re.compile(r"[\w.-]+\.safetensors")
KINDS = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True)
class Stored:
    """The files of a folder, and which tensor is in which."""

    folder: Path
    files: Mapping[str, Any]  # opened safetensors, by name of the file
    place: Mapping[str, str]  # of each tensor the name of its file

    def __contains__(self, name: str) -> bool:
        return name in self.place

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, which is not read; UserError for one that holds no floating-point numbers."""
        opened = self.files[self.place[name]].get_slice(name)
        if (kind := opened.get_dtype()) not in KINDS:
            raise UserError(f"{shown(self.folder)}: {name} is stored as {kind}; save the checkpoint in float32")
        return tuple(opened.get_shape())

    def read(self, name: str) -> Tensor:
        """A tensor in float32."""
        return self.files[self.place[name]].get_tensor(name).float()


@contextmanager
def opened(folder: Path) -> Iterator[Stored]:
    """The tensors of a folder, as long as it is open.

    Raises UserError for a folder without safetensors, an index that names what is not there, or a damaged file.
    """
    from safetensors import SafetensorError, safe_open

    index = index_of(folder)
    names = sorted(set(index.values())) or [WHOLE]
    files: dict[str, Any] = {}
    try:
        for name in names:
            files[name] = safe_open(folder / name, framework="pt")
        found = {tensor: name for name, file in files.items() for tensor in file.keys()}  # noqa: SIM118 no mapping
        for tensor, name in index.items():
            if found.get(tensor) != name:
                raise UserError(f"{shown(folder / INDEX)}: {tensor:.80} is not in {name}; restore it from a copy")
        yield Stored(folder, files, found)
    except SafetensorError as error:
        raise atomic.FormatError(f"{shown(folder)}: a safetensors file is damaged; restore it ({error})") from None


def index_of(folder: Path) -> dict[str, str]:
    """Of each tensor its file, where there are several; empty where there is one."""
    path = folder / INDEX
    if (folder / WHOLE).is_file():
        return {}
    if not path.is_file():
        if pickles := sorted(folder.glob("pytorch_model*.bin")):
            raise UserError(
                f"{shown(pickles[0])} is a pickle, which may run code when it is opened; load it with `transformers` "
                "where you trust it, and save it again: `save_pretrained` writes safetensors"
            )
        raise UserError(f"{shown(folder)} has no {WHOLE}; give the folder of a checkpoint in safetensors")
    index = atomic.parse_json(atomic.read_bytes(path), path).get("weight_map")
    if not isinstance(index, dict) or not index or not all(is_shard(name) for name in index.values()):
        raise UserError(f"{shown(path)} does not say which file has which tensor; restore it from a copy")
    for name in sorted(set(index.values())):
        if not (folder / name).is_file():
            raise UserError(f"{shown(folder / name)} is missing; {INDEX} names it")
    return index


def is_shard(name: Any) -> bool:
    """Whether it is the name of a safetensors file in the same folder."""
    return isinstance(name, str) and SHARD.fullmatch(name) is not None


def digest(folder: Path) -> str:
    """SHA-256 of the digests of all files with weights: what was found for one network is for no other."""
    names = sorted(set(index_of(folder).values())) or [WHOLE]
    whole = sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            whole.update(file_digest(file, "sha256").digest())
    return whole.hexdigest()
