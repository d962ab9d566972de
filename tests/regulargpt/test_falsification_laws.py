"""What the parts of a search for wrong words promise, each beside a plain count or walk."""

from __future__ import annotations

import dataclasses
from collections import Counter
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from regulargpt.falsification import state_powers as powers
from regulargpt.falsification.bases import endings, numbered, pairs
from regulargpt.falsification.clusters import SPREADS, StateWalk, clusters
from regulargpt.falsification.family import FEWEST, Persistent, WordFamily, apart, joined, normal, persistent
from regulargpt.falsification.guided import TIMES, Climb, guided
from regulargpt.falsification.hunt import MOST_FAMILIES, MOST_KEPT, Hunt, Spent
from regulargpt.falsification.known import Known
from regulargpt.falsification.machine import Guide
from regulargpt.falsification.queries import random_queries
from regulargpt.falsification.search import falsify
from regulargpt.falsification.sentences import in_summary, sentence
from regulargpt.falsification.short_words import depth
from regulargpt.falsification.shrink import shrink
from regulargpt.falsification.state_powers import Front, Scan
from regulargpt.falsification.structured import runs, staying
from regulargpt.falsification.whole_powers import fewer, whole_powers
from regulargpt.models.base import Model
from regulargpt.models.linear_rnn import LinearRnn
from tests.regulargpt.machines import machines
from tests.regulargpt.planted import asked, steps, whole, with_error

PARITY = languages.get("parity").machine
FINITE = """{"states": ["start", "one", "no"], "alphabet": ["a", "b"], "initial": "start",
 "outputs": {"start": null, "one": "x", "no": null},
 "transitions": {"start": {"a": "one", "b": "no"}, "one": {"a": "no", "b": "no"}, "no": {"a": "no", "b": "no"}}}"""
SOME_QUESTIONS = """{"states": ["start", "odd", "even"], "alphabet": ["a", "b"], "initial": "start",
 "outputs": {"start": null, "odd": null, "even": "x"},
 "transitions": {"start": {"a": "odd", "b": "start"}, "odd": {"a": "even", "b": "start"},
                 "even": {"a": "odd", "b": "even"}}}"""
SOME = settings(max_examples=40)


def words_of(n_symbols: int, longest: int) -> list[tuple[int, ...]]:
    """All words of at most so many symbols, the shortest first."""
    return [word for length in range(longest + 1) for word in product(range(n_symbols), repeat=length)]


def state_of(machine: MooreMachine, word: tuple[int, ...], state: int | None = None) -> int:
    """Where a word leads."""
    at = machine.initial_index if state is None else state
    for symbol in word:
        at = int(machine.table[at, symbol])
    return at


@SOME
@given(machines(4, outputs=(2,), least=-1))
def test_what_a_guide_says_of_a_machine_is_what_all_its_short_words_say(machine: MooreMachine):
    machine = machine.minimise()
    guide, Q, n = Guide(machine), machine.n_states, machine.n_symbols
    words = words_of(n, Q)
    is_question = guide.right != UNDEFINED
    ends = np.array([[state_of(machine, word, q) for word in words] for q in range(Q)])
    alive = is_question[ends].any(1)
    assert guide.alive.tolist() == alive.tolist()
    assert guide.is_total == all(is_question[state_of(machine, word)] for word in words if word)
    counts = Counter(len(word) for word in words if word and alive[state_of(machine, word)])
    assert guide.counts(Q).tolist() == [counts[length] for length in range(1, Q + 1)]
    for q, word in enumerate(guide.access):
        assert word == next(u for u in words if state_of(machine, u) == q)
    for q, word in guide.cycles(most=n):
        back = [v for v in words if v[:1] == word[:1] and state_of(machine, v, q) == q]
        assert word in back
        assert len(word) == len(back[0])
    live = [q for q in range(Q) if alive[q]]
    assert {(q, v[0]) for q, v in guide.cycles(most=n)} == {
        (q, v[0]) for q in live for v in words if v and state_of(machine, v, q) == q
    }
    assert guide.endings()[: n + 1] == [(), *((a,) for a in range(n))]
    for q in live:
        least = min(len(w) for w, end in zip(words, ends[q], strict=True) if is_question[end])
        assert len(guide.ending(q)) == least
        assert is_question[state_of(machine, guide.ending(q), q)]
    of, longer, after = guide.extended(np.array([[0], [n - 1]]), np.array([0, Q - 1]))
    rows = zip(of.tolist(), longer.tolist(), after.tolist(), strict=True)
    expected = [
        (row, [symbol, a], int(machine.table[q, a]))
        for row, (symbol, q) in enumerate([(0, 0), (n - 1, Q - 1)])
        for a in range(n)
        if alive[machine.table[q, a]]
    ]
    assert [*rows] == expected


@SOME
@given(machines(4, outputs=(2,), least=-1))
def test_u_and_v_can_be_repeated_and_no_v_is_a_power(machine: MooreMachine):
    guide = Guide(machine.minimise())
    found = pairs(guide)
    assert len(set(found)) == len(found)
    for u, v in found:
        assert v
        assert not any(v == v[:k] * (len(v) // k) for k in range(1, len(v)) if len(v) % k == 0)
        assert guide.alive[state_of(guide.machine, u + v * 16)]
    if guide.alive.all():
        u, v = words_of(guide.machine.n_symbols, 2)[:7], words_of(guide.machine.n_symbols, 2)[1:3]
        assert {*product(u, v)} <= {*found}
    assert endings(guide) == [w for w in guide.endings() if len(w) <= 3][:8]
    kinds = [len(v) for _, v in found]
    assert numbered(kinds) == [kinds[:i].count(kind) for i, kind in enumerate(kinds)]


@SOME
@given(st.integers(0, 20), st.integers(1, 4), st.integers(0, 2**4 - 1), st.sampled_from([1, 2]), st.integers(0, 9))
def test_from_where_on_n_are_wrong_is_what_a_plain_search_says(last: int, period: int, bits: int, step: int, more: int):
    """Any flags up to some n, then a period; with a gap behind it and some n in a row again, or without."""
    second = range(201, 201 + step * (6 * period + more), step) if more else range(0)
    tried = np.array([*range(1, 60, step), *second])
    flags = np.random.default_rng(bits).integers(2, size=300).astype(bool)
    of_residue = [bool(bits >> i & 1) for i in range(period)]
    wrong = np.array([flags[n] if n <= last else of_residue[n % period] for n in tried])
    found, later = persistent(tried, wrong), [of_residue[n % period] for n in range(1, 60, step)]
    assert (found is not None) == any(later)
    if found is None:
        return
    inside = np.isin(tried % found.period, found.residues)
    right = max(tried[inside & ~wrong].tolist(), default=0)
    after = tried[inside & (tried > right)]
    assert (found.right, found.start, found.end) == (right, after[0], after[-1])
    assert right <= last
    assert (inside == wrong)[tried > last].all()
    row = len(second) or len(tried)
    for shorter in range(1, found.period // step):  # a shorter period is none of the last n in a row
        assert (wrong[-row:][shorter:] != wrong[-row:][:-shorter]).any()
    assert persistent(tried[: FEWEST - 1], np.ones(FEWEST - 1, dtype=bool)) is None
    assert persistent(tried[:FEWEST], np.ones(FEWEST, dtype=bool)) is not None


WORDS = st.lists(st.integers(0, 1), max_size=4).map(tuple)


@given(WORDS, WORDS.filter(len), WORDS, st.integers(0, 5), st.integers(1, 3))
def test_a_family_written_in_one_way_has_the_same_words(u, v, w, right: int, period: int):
    of = Persistent(right, right + 1, right + 1 + 4 * period, period, (((right + 1) % period),))
    family = WordFamily(u, v, w, of)
    found = normal(family)
    ns, same = (
        [n for n in range(each.of.start, each.of.end + 1) if n % period in each.of.residues] for each in (family, found)
    )
    assert [family.word(n) for n in ns] == [found.word(n) for n in same]
    assert normal(found) == found
    assert not (found.w and found.w[0] == found.v[0])
    assert found.u[-len(found.v) :] != found.v or len(found.u) < len(found.v)
    assert found.word(found.of.right) == family.word(right) or right == found.of.right == 0
    assert [each.u for each in apart([family, family, found], 5)] == [found.u]
    assert apart([family], 0) == []


def test_of_two_that_do_not_meet_the_longer_words_are_said():
    early, late = Persistent(1, 3, 9, 2, (1,)), Persistent(13, 15, 63, 2, (1,))
    meeting, other = Persistent(1, 9, 63, 2, (1,)), Persistent(1, 4, 63, 2, (0,))
    for one, two, both in (
        (early, late, late),
        (early, meeting, dataclasses.replace(early, end=63)),
        (early, other, other),
        (dataclasses.replace(early, end=99), meeting, dataclasses.replace(early, end=99)),
    ):
        assert joined(one, two) == joined(two, one) == both


@pytest.mark.parametrize("begins", [1, 2, 3, 9, 10, 31])
@pytest.mark.parametrize("period", [1, 2, 3])
def test_a_family_is_kept_from_its_first_wrong_n_on_and_only_if_long_words_are_wrong_too(begins: int, period: int):
    """The search saw n = 40 and later only, and the last n that it saw to be right."""
    ones = "1" * begins + f"({'1' * period})*"
    start = next(n for n in range(40, 44) if n % period == begins % period)
    for right in {0, begins - period, start - period if begins > start - period else 0}:
        hunt = Hunt(asked(whole(with_error(PARITY, ones))), 10_000)
        hunt.keep([WordFamily((), (1,), (), Persistent(max(0, right), start, 1000, period, (begins % period,)))])
        assert [(family.of.start, family.of.end) for family in hunt.families] == [(begins, 1000)]
    finite = "|".join("1" * n for n in range(begins, 50, period))
    hunt = Hunt(asked(whole(with_error(PARITY, finite))), 10_000)
    hunt.keep([WordFamily((), (1,), (), Persistent(0, begins, 1000, period, (begins % period,)))])
    assert hunt.families == []


def test_so_many_families_and_wrong_words_are_kept_the_shortest():
    hunt = Hunt(asked(whole(with_error(PARITY, "(0|1)*"))), 10_000)
    hunt.keep([WordFamily((), v, (), Persistent(0, 1, 9, 1, (0,))) for v in words_of(2, 5)[3:40]])
    assert len(hunt.families) == MOST_FAMILIES
    hunt.wrong.clear()
    for length in (9, 3, 5):
        hunt.replay(np.array([*product((0, 1), repeat=length)])[: 3 * MOST_KEPT])
    assert len(hunt.wrong) <= 2 * MOST_KEPT
    assert hunt.sorted()[:14] == words_of(2, 3)[7:] + words_of(2, 5)[31:37]
    assert hunt.shortest == 3


@pytest.mark.parametrize("words", [1, 7, 100])
def test_no_more_is_tried_than_is_given(words: int):
    hunt = Hunt(asked(whole(PARITY)), words)
    hunt.give(0.5)
    assert hunt.room == words // 2
    with suppress(Spent):
        while True:
            assert not hunt.try_all("some", np.array([[0, 1]] * 3)).any()
    assert hunt.spent == hunt.limit == words // 2
    hunt.give(1.0)
    assert hunt.limit == words
    hunt.seconds = -1.0
    with pytest.raises(Spent):
        hunt.spend("late", 0, 0)


@pytest.mark.parametrize("words", [*range(1, 60, 6), 200])
def test_all_searches_together_spend_no_more_than_is_given(words: int):
    """A long word is known, which could be shortened for long."""
    known = [(1, 0) * 20]
    for make in (steps, whole):
        spent = [0]
        falsify(
            asked(make(with_error(PARITY, "(0|1)*101101(0|1)*|(10)*"))),
            words,
            known=Known(known),
            progress=lambda kind, done, count, to=spent: to.append(done),
        )
        assert spent == sorted(spent)
        assert max(spent) <= words


@pytest.mark.parametrize("size", [0.1, 1.0, 1e3])
def test_answers_that_are_wrong_or_nearly_so_for_their_size_are_asked_again(size: float):
    of, near = asked(whole(PARITY)), 1e-4 * (1 + size)
    margins = torch.tensor([-size / 2, -near / 2, 0.0, near * 0.99, near * 1.01, size / 2], dtype=torch.float64)
    logits = torch.stack([torch.full_like(margins, size), size - margins], 1)
    logits[margins < 0] -= torch.stack([-margins, torch.zeros_like(margins)], 1)[margins < 0]
    logits[margins < 0, 1] = size
    right = np.zeros(len(margins), dtype=int)
    assert np.allclose(of.margin(logits, right), margins)
    assert of.doubtful(logits, right).tolist() == [True, True, True, True, False, False]
    assert of.doubtful(torch.full((1, 2), torch.nan), np.array([0])).all()
    assert not of.doubtful(logits, right + UNDEFINED).any()


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_word_whose_margin_is_computed_counts_three_times(count: int):
    hunt = Hunt(asked(whole(PARITY)), 1000)
    Climb(hunt, np.random.default_rng(0)).margins(np.zeros((count, 24), dtype=np.int64))
    assert hunt.spent == TIMES * max(1, count) * hunt.cost(24)
    assert hunt.tried["guided"] == count


@settings(max_examples=20, deadline=None)
@given(machines(4, outputs=(2,), least=0), st.lists(st.integers(0, 1), min_size=1, max_size=12))
def test_a_shortened_word_is_wrong_and_no_symbol_can_go(machine: MooreMachine, symbols: list[int]):
    of = asked(whole(machine))
    if not of.wrong(np.array([symbols]))[0]:
        return
    found = shrink(Hunt(of, 10_000), tuple(symbols))
    assert of.wrong(np.array([found]))[0]
    assert len(found) <= len(symbols)
    for i in range(len(found) if len(found) > 1 else 0):
        assert not of.wrong(np.array([found[:i] + found[i + 1 :]]))[0]


@pytest.mark.parametrize("error", ["1", "0", "(0|1)*11(0|1)*", "0(0|1)*", "(0|1)*0(0|1)*0(0|1)*0(0|1)*"])
def test_of_words_that_are_wrong_for_a_part_the_part_is_left(error: str):
    of = asked(whole(with_error(PARITY, error)))
    for word in words_of(2, 6):
        if word and of.wrong(np.array([word]))[0]:
            found = of.written(shrink(Hunt(of, 10_000), word))
            assert found in {error, "11", "0", "000"}


@pytest.mark.parametrize("longest", [1, 5, 8, 11, 12])
def test_of_a_network_that_reads_short_words_only_no_longer_ones_are_asked(longest: int):
    class Short(Model):
        def forward(self, words: torch.Tensor, readout: str = "last") -> torch.Tensor:
            assert words.shape[1] <= longest
            return inner(words, readout=readout)

    for make in (steps, whole):
        inner = make(PARITY)
        of = asked(inner if make is steps else Short())
        report = falsify(dataclasses.replace(of, longest=longest), 3000)
        assert report["wrong"] == []
        assert report["all_up_to"] == min(longest, report["all_up_to"]) > 0
    hunt = Hunt(dataclasses.replace(asked(steps(with_error(PARITY, "0011(0|1)*"))), longest=longest), 300)
    with suppress(Spent):
        random_queries(hunt)
    assert bool(hunt.tried["random"]) == (longest >= 8)


def test_the_words_that_are_counted_are_questions(tmp_path: Path):
    """Of a language that asks about some words only: all of them up to a length, by whatever way they are tried."""
    (file := tmp_path / "some.json").write_text(SOME_QUESTIONS)
    machine = languages.get(f"dfa:{file}").machine
    for make in (steps, whole):
        report = falsify(asked(make(machine), f"dfa:{file}"), 700)
        assert report["all_up_to"] > 4
        questions = [w for w in words_of(2, report["all_up_to"]) if w and machine.answers(np.array([w]))[0] >= 0]
        assert report["tried"]["short"] == len(questions)
        hunt = Hunt(asked(make(machine), f"dfa:{file}"), 700)
        clusters(hunt)
        assert hunt.tried["clusters"] <= hunt.spent * 2 / 3


def test_a_search_ends_that_has_no_words_of_its_lengths(tmp_path: Path):
    (file := tmp_path / "finite.json").write_text(FINITE)
    machine = languages.get(f"dfa:{file}").machine
    hunt = Hunt(asked(whole(machine), f"dfa:{file}"), 100)
    guided(hunt)
    assert hunt.spent == 0


@pytest.mark.parametrize("language", ["cyclic-5", "tomita-4"])
def test_states_of_a_machine_are_walked_through_to_the_end_at_any_spread(language: str):
    machine = languages.get(language).machine
    hunt = Hunt(asked(steps(machine), language), 10_000)
    clusters(hunt)
    size = machine.n_symbols * (machine.n_symbols + machine.n_states)
    assert len(SPREADS) * machine.n_states <= hunt.spent <= len(SPREADS) * size
    assert list(SPREADS) == sorted(SPREADS, reverse=True)
    assert min(SPREADS) > 0


@SOME
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=1, max_size=8), st.integers(0, 5), st.data())
def test_states_farther_than_the_spread_are_kept_and_stand_for_the_others(points, known: int, data):
    """On a line of whole numbers, so that some are just as far as the spread."""
    old, new = points[:known], points[known:]
    spread = data.draw(st.integers(0, 4))
    hunt = Hunt(asked(steps(PARITY)), 10)
    assert hunt.examinee.chain is not None
    walk = StateWalk(hunt, Guide(PARITY), hunt.examinee.chain, float(spread))

    def split(some):
        rows = np.array(some, dtype=float).reshape(-1, 2)
        return torch.from_numpy(rows[:, :1]), rows[:, 1].astype(int)

    kept = [*old]
    for point in new:
        if all(abs(point[0] - other[0]) > spread or point[1] != other[1] for other in kept):
            kept.append(point)
    if old:
        (vectors, beside), (moved, after) = split(old), split(new)
        found = walk.apart(vectors, beside, moved, after) if new else []
        assert [new[i] for i in found] == kept[len(old) :]


def test_v_is_read_as_often_as_is_said_in_any_pieces(monkeypatch: pytest.MonkeyPatch):
    """The states after u v^n are those of the whole word, and the n that are told are those that were tried."""
    of = asked(LinearRnn(2, 2, d_model=4).double())
    assert of.chain is not None
    group = [((), (1, 0)), ((0,), (1, 1)), ((1, 1), (0, 1))]
    for piece in (1, 5, 6, 1024):
        monkeypatch.setattr(powers, "PIECE", piece)
        scan = Scan(Hunt(of, 10_000), Guide(PARITY), of.chain, group)
        with torch.no_grad():
            front = scan.step(Front(np.arange(3), *scan.start()), 7)
        for row, (u, v) in enumerate(group):
            word = np.array([[*u, *v * 8]])
            assert front.beside[row] == PARITY.run(word)[0]
            expected = of.model(torch.from_numpy(word))[0]
            assert torch.allclose(front.logits[row], expected, atol=1e-5)


def test_what_comes_again_is_noted_of_the_last_n_in_a_row():
    """Of states that come back after `now` - `since` powers: what was wrong there is wrong later."""
    for since, now, last in ((3, 5, 1000), (1, 2, 40), (10, 24, 90)):
        row = powers.PowerRow.from_endings((), (1,), 2)
        flags = np.random.default_rng(now).integers(2, size=(2, now)).astype(bool)
        asked_of = [range(1, now), [n for n in range(1, now) if n % 2]]
        row.tried = [[*ns] for ns in asked_of]
        row.wrong = [[bool(of[n]) for n in ns] for of, ns in zip(flags, asked_of, strict=True)]
        before = [len(ns) for ns in row.tried]
        row.repeat(since, now, last)
        period = now - since
        for of, ns, tried, wrong, start in zip(flags, asked_of, row.tried, row.wrong, before, strict=True):
            later = [n for n in range(max(now, last - 4 * period - 24), last + 1) if since + (n - since) % period in ns]
            assert tried[start:] == later
            assert wrong[start:] == [bool(of[since + (n - since) % period]) for n in later]


@pytest.mark.parametrize("room", [1, 5, 6, 7, 100, 10**4])
def test_words_are_tried_up_to_the_length_that_there_is_room_for(room: int):
    hunt = Hunt(asked(steps(PARITY)), room)
    for most in (2, 4, 1000):
        lengths = [n for n in range(1, 20) if 2**n <= most and 2 ** (n + 1) - 2 <= room]
        assert depth(hunt, Guide(PARITY), most) == max(lengths, default=0)


def test_families_that_are_wrong_now_go_on_and_of_others_half():
    tried = {((), (i,), ()): {1: i % 3 == 0, 2: i % 3 == 1} for i in range(12)}
    tried[(), (99,), ()] = {}
    left = [*tried]
    assert [v[0] for _, v, _ in fewer(left, tried)] == [1, 4, 7, 10, 0, 2]
    assert [v[0] for _, v, _ in fewer(left[:5], tried)] == [1, 4, 0, 2]
    hunt = Hunt(asked(whole(with_error(PARITY, "(0|1)*0000"))), 3000)
    whole_powers(hunt)
    assert hunt.spent <= hunt.words
    assert any((family.v, family.of.start) == ((0,), 4) and not family.w + family.u for family in hunt.families)


@given(st.integers(0, 1000), st.integers(3, 60))
def test_words_of_a_kind_have_their_length_and_stay_where_they_are(seed: int, length: int):
    random, guide = np.random.default_rng(seed), Guide(languages.get("tomita-4").machine)
    assert {len(word) for word in runs(random, length, 3)} == {length}
    words = staying(random, length, guide)
    assert words.shape[1] == length
    for word in words:
        states = [state_of(guide.machine, tuple(word[:n].tolist())) for n in range(length + 1)]
        inner = states[max(map(len, guide.access)) : length - 1]
        assert len(set(inner)) <= 1 or len(inner) < 2


def test_what_a_summary_has_is_enough_for_its_sentence():
    word = {"word": "0110", "length": 4, "expected": "accept", "answered": "reject"}
    family = {"u": "", "v": "1", "w": "", "from": 3, "to": 99, "period": 2, "residues": [1]}
    for wrong, families in product(([], [word], [word, {**word, "word": "0"}]), ([], [family], [family] * 3)):
        report = {"wrong": wrong, "families": families, "tried": {"short": 12}, "all_up_to": 3, "ruled_out": ["much"]}
        report |= {"budget": {"late": False}}
        short = in_summary(report)
        assert sentence(short) == sentence(report)
        assert max(len(short["wrong"]), len(short["families"])) <= 1
