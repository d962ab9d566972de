"""A task: a Moore machine, the words it is asked about, and how words of a given length are drawn."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from languages.answers import CLASSES, Answers
from languages.automata import Dfa, MooreMachine
from languages.automata.words import Indices
from languages.errors import LanguageError, LengthEmpty, SamplingError
from languages.sampling.balanced import BalancedSampler, Mixture
from languages.sampling.graph import closure
from languages.sampling.members import Members
from languages.sampling.sampler import WordSampler, uniform_words


@dataclass(frozen=True)
class Task(Answers[MooreMachine]):
    """What a model is to learn: the machine's answer to a word, at the last position or at every position.

    sampling "uniform": words of `domain` (all words if None), each in proportion to the product of its symbols'
    `weights` (Sigma,), or all equally likely. The machine has an answer after the last symbol of each such word.

    sampling "balanced": half of the words are members (answer 1, "accept"), half are not. Members are
    uniform among the words that the machine accepts, or as `members` says: from one of several DFAs, picked
    uniformly among those that have words of that length, or from any other sampler of members. Near misses
    are made from words of these DFAs or else from uniform members.

    A length is the length of the word as the model sees it. `examples` are (word, answer) pairs. `glyphs` are the
    symbols as pages show them, where people know them by other signs than the alphabet's.

    >>> from languages.regular.parity import parity
    >>> from languages.randomness import rng
    >>> task = parity()
    >>> words = task.sample(rng(0, "example"), length=5, count=3)
    >>> words.shape, bool((task.labels(words) == words.sum(axis=1) % 2).all())
    ((3, 5), True)

    Raises LanguageError where the parts do not fit together.
    """

    name: str
    machine: MooreMachine
    summary: str
    source: str
    examples: tuple[tuple[str, str], ...]
    domain: Dfa | None = None
    sampling: Literal["uniform", "balanced"] = "uniform"
    weights: tuple[float, ...] | None = None
    members: tuple[Dfa, ...] | Members = ()
    glyphs: tuple[str, ...] = ()
    level = "regular"

    def __post_init__(self) -> None:
        if self.sampling not in ("uniform", "balanced"):
            raise LanguageError(f"{self.name}: sampling is {self.sampling!r}; it is 'uniform' or 'balanced'")
        # What does not fit is refused here, not in the midst of a run that has drawn words already.
        if self.sampling == "balanced":
            self._check_balanced()
        elif self.members:
            raise LanguageError(f"{self.name}: samplers of members go with balanced sampling only")
        dfas = (*(self.members if isinstance(self.members, tuple) else ()), self.domain)
        if any(dfa.alphabet != self.alphabet for dfa in dfas if dfa is not None):
            raise LanguageError(f"{self.name}: its automata must have the machine's alphabet, in the same order")
        if self.weights is not None and not (
            len(self.weights) == self.n_symbols and min(self.weights) >= 0 and 0 < sum(self.weights) < float("inf")
        ):
            raise LanguageError(f"{self.name}: weights are one number >= 0 for each symbol, not all 0")

        if self.glyphs and len(self.glyphs) != self.n_symbols:
            raise LanguageError(f"{self.name}: glyphs are one for each of the {self.n_symbols} symbols, or none")

    def _check_balanced(self) -> None:
        if not self.is_classification:
            raise LanguageError(
                f"{self.name}: balanced sampling is for machines that answer 'reject' or 'accept' in every state; "
                "use uniform sampling for other machines"
            )
        if self.domain is not None or self.weights is not None:
            raise LanguageError(f"{self.name}: a domain or weights go with uniform sampling only")

    @property
    def is_classification(self) -> bool:
        """Whether the labels are 0 "reject" and 1 "accept"."""
        return self.output_names == CLASSES and -1 not in self.machine.outputs

    @cached_property
    def language(self) -> Dfa:
        """The words that the machine answers with 1. Raises LanguageError if the task is no classification."""
        if not self.is_classification:
            shown = ", ".join(self.output_names[:5]) + (", ..." if self.n_outputs > 5 else "")
            raise LanguageError(
                f"{self.name} is no classification, it answers {shown}; "
                "members and next symbols are defined for reject, accept"
            )
        machine = self.machine
        accepting = {state for state, output in zip(machine.states, machine.outputs, strict=True) if output == 1}
        return Dfa(machine.states, machine.alphabet, machine.delta, machine.initial, accepting)

    def next_symbols(self, words: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """What may follow each prefix of each word: (batch, length, n_symbols + 1).

        Column a: whether the prefix and then symbol a can still be continued to a member. Last column:
        whether the prefix is itself a member. Raises LanguageError if the task is no classification.
        Source: the k-hot targets of Bhattamishra et al. 2020.

        >>> from languages.regular.dyck import dyck
        >>> dyck(1).next_symbols([[0, 1]]).astype(int).tolist()  # after 0 only 1; after 01 only 0, or the end
        [[[0, 1, 0], [1, 0, 1]]]
        """
        return self.next_symbol_table[self.machine.run(words, every=True)]

    def next_symbol_sets(self, words: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """A number (batch, length) for each set of `next_symbols`, the same for equal sets.

        >>> from languages.regular.dyck import dyck
        >>> dyck(1).next_symbol_sets([[0, 1, 0, 0]]).tolist()
        [[1, 2, 1, 0]]
        """
        return self.next_symbol_set_table[self.machine.run(words, every=True)]

    @cached_property
    def next_symbol_set_table(self) -> npt.NDArray[np.intp]:
        return np.unique(self.next_symbol_table, axis=0, return_inverse=True)[1].reshape(-1)  # (Q,)

    @cached_property
    def next_symbol_table(self) -> npt.NDArray[np.bool_]:
        """(Q, n_symbols + 1)."""
        table, accepting = self.language.table, self.language.is_accepting
        # Backwards along all arrows: the states from which a member can still be reached.
        targets = table.ravel().astype(np.intp)  # (Q * Sigma,)
        coaccessible = closure(accepting, targets, np.repeat(np.arange(len(table)), self.n_symbols))
        return np.concatenate([coaccessible[table], accepting[:, None]], axis=1)  # (Q, Sigma) and (Q, 1)

    def has_length(self, length: int) -> bool:
        """Whether the task has words of this length (at least 1)."""
        return length >= 1 and (self._weighted is None or self._weighted.has(length))

    def classes(self, length: int) -> tuple[int, ...]:
        """The labels (0 reject, 1 accept) that some word of this length has; for classifications only."""
        return self._balanced.classes(length)

    def sample(
        self,
        random: np.random.Generator,
        length: int,
        count: int,
        near_misses: float = 0.0,
        edits: int = 1,
        members: float = 0.5,
        swaps: float = 0.0,
    ) -> Indices:
        """Words (count, length) of one length: a pure function of the generator's state and the arguments.

        Balanced: a share `members` of members, the others non-members, shuffled (where the share is no whole
        number of words, the generator decides which way it is rounded). A share `near_misses` of the
        non-members are near misses: by 1..edits substitutions, each number that is possible at this length
        equally likely, and a share `swaps` of them by exchanging two symbols instead, if that is possible.
        If neither is, they are plain non-members. A class without words of this length is replaced by the other.

        Raises LengthEmpty if there is no word of this length, SamplingError for arguments out of range.

        >>> from languages.regular.dyck import dyck
        >>> from languages.randomness import rng
        >>> task = dyck(2)
        >>> [int(task.labels(task.sample(rng(0, "example"), 8, 10, members=share)).sum()) for share in (0.0, 0.5, 1.0)]
        [0, 5, 10]
        """
        if count < 0:
            raise SamplingError(f"cannot draw {count} words; a count is 0 or more")
        if not self.has_length(length):
            raise LengthEmpty(self.describe_length(length))
        # All arguments are checked before the generator is touched: a refusal leaves no trace in what is drawn next.
        if self.sampling == "balanced":
            return self._balanced.sample(random, length, count, Mixture(near_misses, edits, members, swaps))
        if near_misses:
            raise SamplingError(f"{self.name} has no non-members; near_misses is for classifications")
        if members != 0.5:
            raise SamplingError(f"{self.name} has no members; their share is for classifications")
        # Words that are all equally likely need no counting of paths.
        if self._weighted is None:
            return uniform_words(random, self.n_symbols, length, count)
        return self._weighted.sample(random, length, count)

    def prepare_near_misses(self, length: int, edits: int = 1, swaps: float = 0.0) -> None:
        """Make what near misses of words up to this length are drawn from, once for all; for classifications only.

        Raises SamplingError where that would be too large a table: before a run, not in the midst of it.
        """
        self._balanced.prepare(length, edits, swaps)

    @cached_property
    def _balanced(self) -> BalancedSampler:
        return BalancedSampler(self.language, self.members)

    @cached_property
    def _weighted(self) -> WordSampler | None:
        """The sampler of a domain or of weighted symbols; None where every word may be drawn and is equally likely."""
        if self.domain is None and self.weights is None:
            return None
        return WordSampler(self.domain or all_words(self.alphabet), self.weights)


def all_words(alphabet: tuple[str, ...]) -> Dfa:
    """Sigma*, as an automaton of one state."""
    return Dfa(("all",), alphabet, ((0,) * len(alphabet),), "all", {"all"})
