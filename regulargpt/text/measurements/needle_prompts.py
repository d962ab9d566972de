"""A document with a needle in a checkpoint's own tokens, and whether the network finds it.

A document is filled to just under a length, so that the longest answer goes on behind it. Two scores: `exact` lets the
network go on with the likeliest tokens and reads the answer there (RULER, Hsieh et al. 2024); `choice` asks which of
four answers is the likeliest, sum of log p, as tests of multiple choice do (Brown et al. 2020, section 2.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from languages.randomness import rng
from regulargpt.models.base import Model, device_of
from regulargpt.text.corpora import Symbols
from regulargpt.text.corpora.retrieval.prompts import NeedleTask, Prompt
from regulargpt.text.corpora.retrieval.prompts.base import WRONG, longest
from regulargpt.text.generation import Decode, Writer

Encode = Callable[[str], Symbols]


@dataclass(frozen=True)
class PromptDocuments:
    """So many documents of one kind, as `encode` reads them.

    The needle of number i stands at a depth between i / words and (i + 1) / words. A document is a pure function of the
    seed, its number and its length: every method reads the same.

    >>> from regulargpt.text.corpora.retrieval.prompts import NEEDLES
    >>> some = PromptDocuments(NEEDLES["single"], lambda text: np.frombuffer(text.encode(), np.uint8), words=2)
    >>> some.room, some.shortest, some.tokens(some.document(1, length=900).text)
    (24, 392, 860)
    """

    task: NeedleTask
    encode: Encode
    words: int
    seed: int = 0

    @property
    def room(self) -> int:
        """Tokens kept free for an answer: twice those of the longest, and some for what stands around it."""
        return 2 * self.tokens(self.task.longest) + 8

    @cached_property
    def depths(self) -> Float[ndarray, "words"]:
        """Where the needles stand, from 0 to below 1."""
        drawn = [rng(self.seed, f"depth of {self.task.name}", i).random() for i in range(self.words)]
        return (np.arange(self.words) + drawn) / self.words

    @cached_property
    def shortest(self) -> int:
        """The shortest length that every document has."""
        return max(self.tokens(self.planted(i, 1).text) for i in range(self.words)) + self.room

    def document(self, i: int, length: int) -> Prompt:
        """Number i, as long as it can be. CorpusError for a length below the shortest."""
        return longest(self.task, partial(self.planted, i), self.tokens, length - self.room)

    def planted(self, i: int, amount: int) -> Prompt:
        """Number i with so much around the needle."""
        return self.task.planted(rng(self.seed, f"needle of {self.task.name}", i), amount, float(self.depths[i]))

    def tokens(self, text: str) -> int:
        """How many a text has."""
        return len(self.encode(text))

    def is_written_by(self, decode: Decode) -> bool:
        """Whether an answer is the same after it has been tokens: a tokenizer may know no digits."""
        answer = self.task.longest.strip()
        return self.task.is_found(decode(self.encode(answer).tolist()), answer)


def exact(writer: Writer, documents: PromptDocuments, i: int, prompt: Prompt) -> bool:
    """Whether the likeliest tokens behind a prompt are its answer, as far as the room for an answer goes."""
    read = writer.encode(prompt.text)
    said = writer.continuation(read, documents.room, temperature=0, seed=0)
    return documents.task.is_found(writer.decode(list(said)), prompt.answer)


def choice(writer: Writer, documents: PromptDocuments, i: int, prompt: Prompt) -> bool:
    """Whether the answer is likelier than the wrong ones; it stands at place i mod 4, so that a network that gives all
    of them the same finds a quarter."""
    place, read = i % (WRONG + 1), writer.encode(prompt.text)
    answers = [*prompt.others[:place], prompt.answer, *prompt.others[place:]]
    # Read together with the prompt: some tokenizers put a mark before every text.
    behind = [writer.encode(f"{prompt.text} {answer}")[len(read) :] for answer in answers]
    return int(np.argmax(log_probabilities(writer.model, read, behind))) == place


@torch.no_grad()
def log_probabilities(model: Model, read: Symbols, answers: Iterable[Symbols]) -> list[float]:
    """log p of each answer behind what is read; that is read once.

    >>> from regulargpt.models.transformer import Transformer
    >>> model = Transformer(4, 4, d_model=8, n_heads=2, d_ff=8, n_layers=1)
    >>> found = log_probabilities(model, np.array([0, 1]), [np.array([2]), np.array([2, 3])])
    >>> said = model(torch.tensor([[0, 1, 2]]), readout="all")[0].detach().log_softmax(-1)
    >>> np.allclose(found, [said[1, 2], said[1, 2] + said[2, 3]], atol=1e-6)
    True
    """
    decoder, device, sums = model.decoder(), device_of(model), []
    first = decoder.feed(torch.from_numpy(read.astype(np.int64))[None].to(device))  # (1, symbols)
    for answer in answers:
        reader, symbols = (
            decoder.fork(),
            torch.from_numpy(answer.astype(np.int64))[None].to(device),
        )  # (1, of the answer)
        rows = [first, *(reader.feed(symbols[:, at : at + 1]) for at in range(len(answer) - 1))]
        said = torch.cat(rows).double().log_softmax(-1)  # (of the answer, symbols)
        sums.append(float(said.gather(1, symbols.T).sum()))
    return sums


SCORES: Mapping[str, Callable[[Writer, PromptDocuments, int, Prompt], bool]] = {"exact": exact, "choice": choice}
CHANCE: Mapping[str, float | None] = {"exact": None, "choice": 100 / (1 + WRONG)}
"""What guessing finds, in percent; of `exact` next to nothing."""
MEASURE = {"exact": "exact_match", "choice": "choice"}
"""What the scores are called where measures are."""
