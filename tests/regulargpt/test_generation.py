"""A checkpoint goes on with a text as transformers does, token by token."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regulargpt.text.generation import Writer
from regulargpt.text.opened import open_alone
from tests.regulargpt.tiny_decoders import KINDS, TRAINED, byte_tokenizer, made

YARN = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": TRAINED, "rope_theta": 10000.0}
# As `open_alone` changes a network as trained, and as the config of transformers says it.
LONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "trained": ({}, {}),
    "yarn": ({"encoding.scaling": "yarn", "encoding.factor": 2.0}, {"rope_parameters": YARN}),
}


def both(folder: Path, kind: str, changes: dict[str, Any], more: dict[str, Any], symbols: int) -> None:
    """Ours and theirs, to the symbol that ends a text."""
    made(folder, kind)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    run = open_alone(f"hf:{folder}")
    writer = Writer.from_run(run, symbols, changes)
    read = writer.encode("the cat sat")
    ours = list(writer.continuation(read, symbols - len(read), temperature=0, seed=0))
    theirs = made(folder.with_name("changed"), kind, **more) if more else made(folder.with_name("same"), kind)
    words = torch.from_numpy(read.astype("int64"))[None]
    found = theirs.generate(words, do_sample=False, max_new_tokens=symbols - len(read), pad_token_id=1)
    found = found[0, len(read) :].tolist()
    assert ours == [symbol for symbol in found if symbol not in writer.ends]
    assert found


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_text_is_that_of_transformers(kind: str, tmp_path: Path):
    both(tmp_path / "own", kind, {}, {}, 48)


@pytest.mark.parametrize("name", LONG)
def test_also_beyond_the_training_length(name: str, tmp_path: Path):
    both(tmp_path / "own", "llama", *LONG[name], 2 * TRAINED)
