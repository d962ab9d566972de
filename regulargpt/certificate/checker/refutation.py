"""The steps of a check of a refutation: a network whose states settle is wrong on u v^n w, for ever from some n on.

While the network reads v again and again, its states come near a limit, geometrically: then so do its logits, and the
answer no longer changes. The automaton's states come around with a period.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import ctx

from regulargpt.certificate.checker.attraction import Attracted, Attraction
from regulargpt.certificate.checker.balls import FEWEST_BITS, Balls, Undecided, less
from regulargpt.certificate.checker.claims import NETWORK, quoted, refutation_claim
from regulargpt.certificate.checker.delta_recurrences import DeltaRecurrences, DeltaSettling
from regulargpt.certificate.checker.doubles import OF_DOUBLES, is_ieee, known
from regulargpt.certificate.checker.equality import same_language
from regulargpt.certificate.checker.family import MAX_FROM, CheckedFamily
from regulargpt.certificate.checker.files import Floats, Rejected
from regulargpt.certificate.checker.graph import is_graph
from regulargpt.certificate.checker.images import Progress
from regulargpt.certificate.checker.machine import Automaton, Function, Machine
from regulargpt.certificate.checker.network import whole
from regulargpt.certificate.checker.recurrences import Recurrences
from regulargpt.certificate.checker.recurrences import WordSettling as Recurring

LATER = "a larger 'from' can be checked"
# Each number of their states moves by itself, or to another place.
BY_NUMBER = ("linear-rnn", "mamba", "mamba2", "gla", "s4d", "mlstm", "pd-ssm")
# Multiplications for a block, and for the words that are read one by one: a few minutes.
MAX_BLOCK, MAX_WORK = 1 << 26, 1 << 32
# Where more would be needed, so many symbols are read, or a part of that: words may settle much earlier.
FEW, PART = 1 << 11, 4
LARGE, QUICK = 1 << 14, 8  # from so many for a symbol on, so many times as many, or more, take as long in float64


@dataclass(frozen=True)
class AcceptedRefutation:
    """What has been checked: the claims, and how much there was to check.

    From n = `settled` on one comparison decides all n at once; before that there are `words`, read one by one, or
    decided by `comparisons` of several at once. In the limit the answer's logit is larger than every other by `margin`
    or more. `layers` are those of the network; `bits` is the precision that decided everything.
    """

    claim: str
    language_claim: str | None
    settled: int
    words: int
    margin: float
    layers: int
    bits: int
    comparisons: int


def check_refutation(
    record: Mapping[str, Any],
    weights: Mapping[str, Floats],
    config: Any,
    machine: Machine,
    language: tuple[str, Automaton] | None,
    progress: Progress,
) -> AcceptedRefutation:
    """All steps, for a certificate whose fields are of their kinds. Raises Undecided where more bits may tell."""
    model = {} if is_graph(config) else whole(config)["model"]
    name, is_mixed = model.get("name"), "s" in str(model.get("blocks", ""))
    if name == "delta" and model.get("n_layers") == 1:
        return check_network(DeltaRecurrences(weights, config), record, machine, language, progress)
    if name not in BY_NUMBER or is_mixed:
        return check_network(Attracted(weights, config), record, machine, language, progress)
    network = Recurrences(weights, config)
    # In a large network float64 is quicker, and tells nearly always; comparisons that it leaves open are FLINT's.
    if ctx.prec == FEWEST_BITS and network.work_of_symbol() >= LARGE and is_ieee():
        try:
            with np.errstate(all="ignore"):
                return check_network(Recurrences(weights, config, known), record, machine, language, progress)
        except Undecided:
            pass
    return check_network(network, record, machine, language, progress)


def check_network(
    network: Recurrences | DeltaRecurrences | Attracted,
    record: Mapping[str, Any],
    machine: Machine,
    language: tuple[str, Automaton] | None,
    progress: Progress,
) -> AcceptedRefutation:
    """All steps, in the arithmetic of the network."""
    if (network.alphabet, network.output_names) != (machine.alphabet, machine.output_names):
        raise Rejected("the network and the automaton have other symbols or answers")
    family = CheckedFamily.from_record(record, len(network.alphabet), len(network.output_names))
    right = right_answer(machine, family)
    called = network.exact.CALLED if isinstance(network, Attracted) else NETWORK
    expected = claim_of(family, machine, right, called)
    if record["claim"] != expected:
        raise Rejected(f"the claim is not the one that is proven, which is: {expected}")
    proven = same_language(machine, language)
    kind: Any = Attraction if isinstance(network, Attracted) else RefutationCheck
    refutation: RefutationCheck | Attraction = kind(network, family, progress)
    settled, words, margin = refutation.run()
    done, bits = refutation.comparisons, refutation.bits
    return AcceptedRefutation(expected, proven, settled, words, margin, network.layers, bits, done)


def claim_of(family: CheckedFamily, machine: Machine, right: int, network: str) -> str:
    """What is proven of the family."""
    words = {name: [machine.alphabet[a] for a in getattr(family, name)] for name in "uvw"}
    answers = machine.output_names[family.answer], machine.output_names[right]
    return refutation_claim(words, family.start, family.period, family.residue, *answers, network)


def right_answer(machine: Machine, family: CheckedFamily) -> int:
    """The automaton's answer to all words of a family. Raises Rejected if it has none, or the network's, or another
    one to later words."""
    of = {name: after(machine, getattr(family, name)) for name in "uvw"}
    first = power(of["v"], family.first())[of["u"][machine.initial]]
    if power(of["v"], family.period)[first] != first:
        raise Rejected(f"the automaton is in another state {family.period} times v later: the period is not its own")
    right = machine.outputs[of["w"][first]]
    if right is None:
        raise Rejected("the automaton has no answer to these words: they are no questions")
    if right == family.answer:
        name = quoted(machine.output_names[right])
        raise Rejected(f"the automaton answers {name} to these words, as the network is claimed to: nothing is wrong")
    return right


def after(machine: Machine, word: Sequence[int]) -> Function:
    """What a word does to the states."""
    states = tuple(range(len(machine.outputs)))
    for symbol in word:
        states = tuple(machine.letters[symbol][q] for q in states)
    return states


def power(function: Function, n: int) -> Function:
    """The function n times one after the other, by squaring."""
    states = tuple(range(len(function)))
    while n:
        if n & 1:
            states = tuple(function[q] for q in states)
        function, n = tuple(function[q] for q in function), n >> 1
    return states


class RefutationCheck:
    """One check at one precision of what the network answers."""

    def __init__(self, network: Recurrences | DeltaRecurrences, family: CheckedFamily, progress: Progress):
        self.network: Any = network  # each with states of its own
        self.family, self.progress, self.comparisons = family, progress, 0
        self.bits = OF_DOUBLES if network.is_quick else ctx.prec
        self.work = network.work_of_symbol()
        self.speed = QUICK if network.is_quick else 1
        self.on_the_way = network.on_the_way(family.v, family.w)
        if self.work * max(len(family.u + family.v + family.w), self.on_the_way) > MAX_BLOCK:
            raise Rejected("the network is too large for words of this length")
        self.after_u = self.network.beginning()
        if family.u:
            self.after_u = self.network.read(family.u, self.after_u, [])[2]
        self.settling: DeltaSettling | Recurring = self.network.toward(self.after_u, family.v, family.w)

    def run(self) -> tuple[int, int, float]:
        """From which n on one comparison decides, how many words were read, and the margin in the limit.

        Raises Rejected where the network answers otherwise, and Undecided.
        """
        first, limit = self.family.first(), self.limit()
        gaps = limit[self.family.answer] - np.delete(limit, self.family.answer)
        settled, words = self.before(first, self.settled(first))
        return settled, words, min((float(gap.lower()) for gap in gaps), default=np.inf)

    def limit(self) -> Balls:
        """The logits that all come near. Raises Rejected unless they have the family's answer."""
        limit = self.settling.all(MAX_FROM)
        self.answers(limit, "for every n that is large enough")
        return limit

    def holds_from(self, n: int) -> bool:
        """Whether one comparison shows the answer to all of them."""
        return self.holds(self.settling.all(n))

    def holds(self, logits: Balls) -> bool:
        """Whether these logits certainly have the family's answer."""
        return bool((np.delete(logits, self.family.answer) < logits[self.family.answer]).all())

    def settled(self, low: int) -> int:
        """The least n from which on one comparison decides, or nearly; `low` if it does there."""
        if self.holds_from(low):
            return low
        high = 2 * low
        while not self.holds_from(high):
            if high > MAX_FROM:
                raise Undecided
            low, high = high, 2 * high
        while high - low > 1 + high // 64:
            half = (low + high) // 2
            low, high = (low, half) if self.holds_from(half) else (half, high)
        return high

    def answers(self, logits: Balls, which: str) -> None:
        """Raise Rejected unless these logits have the family's answer."""
        answer, names = self.family.answer, self.network.output_names
        smaller = less(np.delete(logits, answer), logits[answer])
        if not smaller.all():
            other = [a for a in range(len(names)) if a != answer][int(np.flatnonzero(~smaller)[0])]
            raise Rejected(
                f"the network does not answer {quoted(names[answer])} {which}: the logit of {quoted(names[other])} is "
                "as large, or larger"
            )

    def before(self, first: int, settled: int) -> tuple[int, int]:
        """Show the answer to the words of the family before n = `settled`, or an earlier number from which on it is
        shown; that n, and how many words there are."""
        if first >= settled:
            return settled, 0
        if isinstance(self.settling, Recurring):
            return self.read_on(first, settled)
        words = -(-(settled - first) // self.family.period)
        if first < (filled := min(settled, self.settling.first)):
            self.read_on(first, filled)
            first += -(-(filled - first) // self.family.period) * self.family.period
        # Twice the period: what is reflected comes back near to where it was.
        for n in range(first, min(settled, first + 2 * self.family.period), self.family.period):
            self.go_on(self.settling, n, settled)
        return settled, words

    def go_on(self, settling: DeltaSettling, n: int, settled: int) -> None:
        """Every second word of the family from n on, before `settled`: as many at once as one comparison decides."""
        count, period, done = 1, 2 * self.family.period, 0
        while n < settled:
            self.progress("words", n, settled)
            logits = settling.some(n, count, period)
            done, self.comparisons = done + 1, self.comparisons + 1
            if self.holds(logits):
                n, count = n + count * period, 2 * count
            elif count > 1:
                count //= 2
            else:
                self.answers(logits, f"for n = {n:,}")
            if done * self.work > MAX_WORK:
                raise Rejected(f"the answer is settled from n = {settled:,} on; too many steps before that: {LATER}")

    def read_on(self, first: int, settled: int) -> tuple[int, int]:
        """Read u v^n w for every n of the family, the n behind each other, up to `settled` or to where all later ones
        are near enough to each other; that n, and how many words there are."""
        network, family = self.network, self.family
        length, period = len(family.v), family.period
        # Each of the words ends in a w of its own.
        needed = self.work * (settled * length + (settled - first) // period * len(family.w))
        most = MAX_WORK * self.speed
        limit = most if needed <= most else min(most // PART, FEW * self.speed * self.work)
        states, read, words, done, last = self.after_u, 0, 0, first * length, settled - 1
        while read < last:
            if self.work * done > limit:
                raise Rejected(
                    f"the answer is settled from n = {settled:,} on; too many words before that to read one by one: "
                    f"{LATER}"
                )
            self.progress("words", read, last)
            if isinstance(self.settling, Recurring):
                # Of the words read here bounds were begun already, or they are now.
                is_known = read == self.settling.read
                later = self.settling if is_known else network.toward(states, family.v, family.w, read)
                done += self.on_the_way
                if later.first <= last and self.holds(later.all(later.first)):
                    last = later.first - 1
                    continue
            # At most as many as before: it may be settled then.
            blocks = min(max(1, network.piece // length), last - read, max(1, read))
            # n is `read` + 1 after the first of these blocks.
            here = [i for i in range(blocks) if read + 1 + i >= first and (read + 1 + i - first) % period == 0]
            ends = [(i + 1) * length - 1 for i in here]
            logits, branches, states = network.read(family.v * blocks, states, ends)
            for symbol in family.w if here else ():
                logits, branches = network.one_more(branches, symbol)
            self.comparisons += len(here)
            for i, row in zip(here, logits, strict=True):
                self.answers(row, f"for n = {read + 1 + i:,}")
            done += length * max(0, read + blocks - max(first, read)) + len(family.w) * len(here)
            read, words = read + blocks, words + len(here)
        return last + 1, words
