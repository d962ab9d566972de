"""Short words first: the order in which the windows of a table are learned.

What a window gives may be a sum of many digits modulo 5: each digit changes it, none alone says anything, and gradients
say as little. Over short words most of the digits are absent. So windows come in by the number of symbols under them,
the next ones when few of those before are missed. A curriculum as in Bengio et al. 2009.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regulargpt.certificate.tuning.fine_tuning import TrainingTable, apply_map
from regulargpt.models.tree.base import Tree

# More windows come in while less than this share of a sample of so many is missed.
FEW_MISSED, SAMPLE = 0.2, 2048
# The hardest windows are remembered once more than this share is right.
NEARLY_ALL = 0.98
# Half of what is drawn is of the last so many lengths that came in.
RECENT = 2


class ShortFirst:
    """The windows of a table in stages, one a length: the least number of symbols under them.

    `stage` is the last stage that has come in, counted from 0; `hardest` are windows that the last step found hard.

    >>> windows = torch.tensor([[1, 1], [1, 2], [2, 1], [2, 2]])
    >>> numbers = torch.tensor([-1, -1]), torch.tensor([[1, 0]]), torch.tensor([0]), windows, torch.tensor([1, 0, 0, 0])
    >>> stages = ShortFirst(TrainingTable(torch.eye(2), *numbers))
    >>> stages.ends, stages.n_windows, stages.is_whole
    ([1, 3, 4], 1, False)
    """

    def __init__(self, table: TrainingTable, stage: int = 0):
        lengths = symbols_under(table)[table.windows].sum(1)  # (n,)
        self.order = lengths.argsort(stable=True)
        counts = lengths.bincount()
        self.ends: list[int] = counts[counts > 0].cumsum(0).tolist()
        self.stage = stage
        self.hardest = torch.zeros(0, dtype=torch.long, device=self.order.device)

    @property
    def is_whole(self) -> bool:
        """Whether all windows have come in."""
        return self.stage >= len(self.ends) - 1

    @property
    def n_windows(self) -> int:
        """How many have."""
        return self.ends[self.stage] if self.ends else 0

    def whole(self) -> None:
        """Let all come in."""
        self.stage = max(0, len(self.ends) - 1)

    def open(self, table: TrainingTable, model: Tree, generator: torch.Generator) -> bool:
        """Let windows come in while few of those before are missed, and all if few of all are; whether any did."""
        before = self.stage

        def few_missed() -> bool:
            return missed(table, model, self.draw(table, SAMPLE, generator)).double().mean().item() < FEW_MISSED

        # A network that is right on nearly all may still miss one of the few shortest.
        self.whole()
        if not few_missed():
            self.stage = before
            while not self.is_whole and few_missed():
                self.stage += 1
        return self.stage > before

    def draw(self, table: TrainingTable, n: int, generator: torch.Generator) -> Int[Tensor, "n"]:
        """Windows that have come in, by their numbers: half of them of the last lengths. Of all, as the table draws."""
        if self.is_whole:
            return table.draw(n, generator)
        first = self.ends[self.stage - RECENT] if self.stage >= RECENT else 0
        share = torch.rand(n, generator=generator, device=self.order.device, dtype=torch.float64)
        is_recent = torch.arange(n, device=share.device) % 2 == 1
        row = torch.where(is_recent, first + share * (self.n_windows - first), share * self.n_windows)
        return self.order[row.long()]

    def candidates(self, table: TrainingTable, n: int, generator: torch.Generator) -> Int[Tensor, "n"]:
        """Windows of which the hardest are to be trained on; the last of them are those that were so one step ago.

        Of millions of windows a few stay wrong, and chance would hardly find them twice.
        """
        return torch.cat([self.draw(table, n - len(self.hardest), generator), self.hardest])

    def remember(self, hardest: Int[Tensor, "m"], right: Bool[Tensor, "n"]) -> None:
        """The hardest windows of a step, if of those drawn by chance nearly all are `right`.

        Before that there are enough of them, and some are out of reach: they would keep the others out.
        """
        nearly_all = right.double().mean().item() > NEARLY_ALL
        self.hardest = hardest if nearly_all else hardest[:0]


def symbols_under(table: TrainingTable) -> Int[Tensor, "rows"]:
    """The least number of symbols under a node that is an absent place (0 of them) or comes to a prototype, from 1.

    Symbols that stand behind the prototypes are a single row. What no node comes to counts as longer than all others.
    """
    K, device = len(table.prototypes), table.windows.device
    never = 1 << 40  # as good as infinite, and a sum of them is still a number
    least = torch.full((1 + max(K, int(table.windows.max()) if len(table.windows) else 0),), never, device=device)
    least[0], least[1 + K :] = 0, 1
    least = least.scatter_reduce(0, 1 + table.leaf_images, (table.leaf_windows > 0).sum(1), "amin")
    while True:
        of_windows = least[table.windows].sum(1).clamp(max=never)
        fewer = least.scatter_reduce(0, 1 + table.images, of_windows, "amin")
        if torch.equal(fewer, least):
            return least.clamp(max=1 + int(least[least < never].max()))
        least = fewer


@torch.no_grad()
def missed(table: TrainingTable, model: Tree, windows: Int[Tensor, "n"]) -> Bool[Tensor, "n"]:
    """Of these windows, which give a state that is nearer to another prototype than to theirs."""
    states = apply_map(model, table.children(model, windows), table.windows[windows])
    return torch.cdist(states, table.prototypes).argmin(1) != table.images[windows]
