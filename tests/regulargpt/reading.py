"""A network that reads documents as a person does, and errs where it is told to."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from regulargpt.models.base import Model
from regulargpt.text.corpora.retrieval import Retrieval
from tests.languages.test_retrieval import by_hand

Errs = Callable[[int, int, float], bool]


class Reader(Model):
    """Its answer to each question is looked up, or the next one if it errs at (length, question, depth)."""

    def __init__(self, task: Retrieval, errs: Errs = lambda length, question, depth: False):
        super().__init__()
        self.task, self.errs = task, errs
        self.scale = nn.Parameter(torch.tensor(5.0))

    def forward(self, words, readout="last"):
        assert readout == "all"
        answers = torch.zeros(words.shape, dtype=torch.long)
        for row, word in enumerate(words.numpy()):
            _, found, _, depths = by_hand(self.task, self.task.decode(word))
            for number, (answer, depth) in enumerate(zip(found, depths, strict=True)):
                wrong = self.errs(len(word), number, depth)
                at = len(word) - self.task.tail + 2 * number + 1
                answers[row, at] = (answer + wrong) % len(self.task.answers)
        return self.scale * F.one_hot(answers, len(self.task.answers))  # (batch, length, n_outputs)
