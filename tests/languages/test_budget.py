"""Large machines and odd files: read within the limits, or refused in one line that says which number is too large."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages import get, rng, task_of
from languages.automata import Dfa, MooreMachine
from languages.automata.congruence import hopcroft, refine
from languages.automata.monoid import TransitionMonoid
from languages.automata.semiautomaton import numbered
from languages.budget import TooLarge
from languages.convert import dot_parser, files, pieces
from languages.convert.dot import from_dot, to_dot
from languages.convert.files import load, save
from languages.errors import AutomatonError, SamplingError
from languages.sampling import counting
from languages.sampling.graph import closure, walk
from tests.languages.refusing import refusal

DRAWN = 'digraph { "" [shape=point]; "" -> p; p -> p [label="'


def chain(length: int) -> Dfa:
    """A word of a's: each state is told from the next by a word that is one symbol shorter only."""
    table = [[min(i + 1, length - 1), i] for i in range(length)]
    return Dfa(numbered(length), "ab", table, "q0", {f"q{length - 1}"})


def random_dfa(n_states: int, seed: int = 0, alphabet: Sequence[str] = "ab") -> Dfa:
    random = rng(seed, "test")
    names = numbered(n_states)
    accepting = {name for name, flag in zip(names, random.integers(0, 2, n_states), strict=True) if flag}
    return Dfa(names, tuple(alphabet), random.integers(0, n_states, (n_states, len(alphabet))), "q0", accepting)


def test_refused_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = refusal(from_dot, "digraph {" + "{" * 100_000, "x.dot")
    assert nested == "x.dot, line 1: expected at most 50 groups in one another, found {"
    monkeypatch.setattr(dot_parser, "MAX_TOKENS", 40)
    monkeypatch.setattr(pieces, "MAX_LABELLED", 20)
    allowed = "are allowed, LANGUAGES_BUDGET=2 allows more"
    many = f"x.dot: the drawing has 41 words and marks or more; at most 40 {allowed}"
    assert refusal(from_dot, "digraph { " + "a -> " * 20 + "a }", "x.dot") == many
    assert refusal(from_dot, "digraph { a [" + "x=1 " * 20 + "] }", "x.dot") == many
    label = f"x.dot, line 1: a label has 21 characters; at most 20 {allowed}"
    assert refusal(from_dot, DRAWN + "a" * 21 + '"] }', "x.dot") == label


def test_what_is_long_is_named_in_part_or_not_kept() -> None:
    """Else each of many edges would carry a copy of all."""
    drawing = dot_parser.parse("digraph { edge [" + "".join(f"x{i}=1 " for i in range(1000)) + "label=a]; p -> q }")
    assert drawing.edges[0].attributes == {"label": "a"}
    long = "p" * 10**6
    assert len(refusal(Dfa, (long,), "a", {long: {"b" * 10**6: "p"}}, long, set(), error=AutomatonError)) < 1000


def test_what_is_no_file_is_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "null.dot").symlink_to("/dev/null")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    odd = "cannot be read (it is a pipe or device, not a file)"
    reasons = {"pipe.json": odd, "zero.json": odd, "null.dot": odd,
               "loop.json": "cannot be read (Too many levels of symbolic links)",
               "x" * 300 + ".json": "cannot be read (File name too long)",
               "absent.json": "cannot be read (No such file or directory)", "bytes.json": "not a text file in UTF-8",
               "a.xml": "unknown ending '.xml'; machines are in .json, .dot, .gv, .jff, .att, .txt files"}  # fmt: skip
    for name, reason in reasons.items():
        assert refusal(load, tmp_path / name, error=AutomatonError) == f"{tmp_path / name}: {reason}"
    assert refusal(load, tmp_path / "folder.json") == f"{tmp_path / 'folder.json'} is a folder; name a file in it"
    assert "cannot be read" in refusal(load, "a\0.json")
    assert "cannot be written" in refusal(save, chain(2), tmp_path / "absent" / "machine.json", error=AutomatonError)


def test_a_file_of_too_many_bytes_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**40)  # it takes no space on the disk
    large = refusal(load, tmp_path / "large.json")
    assert large.endswith("1,099,511,627,776 bytes; at most 16,777,216 are allowed, LANGUAGES_BUDGET=65536 allows more")
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    save(chain(3), tmp_path / "chain.dot")
    with pytest.raises(TooLarge):
        load(tmp_path / "chain.dot")
    monkeypatch.setenv("LANGUAGES_BUDGET", "100")
    assert load(tmp_path / "chain.dot") == chain(3)


def test_machines_of_too_many_transitions_are_refused() -> None:
    names = numbered(1001)
    message = refusal(Dfa, names, names[:1000], np.zeros((1001, 1000), dtype=np.int32), "q0", set())
    assert message.startswith("1,001 states times 1,000 symbols are 1,001,000 transitions; at most 524,288 are allowed")
    assert refusal(Dfa.from_partial, names[:1000], names[:1000], {}, "q0", set()) == message


def test_large_machines_are_minimised_drawn_read_and_sampled(tmp_path: Path) -> None:
    long = chain(5_000)
    assert long.minimise().n_states == 5_000
    assert from_dot(to_dot(long)) == long
    task = get("regex:" + "a" * 5_000 + ";alphabet=ab")
    assert task.sample(rng(0, "test"), 100, 3).shape == (3, 100)
    assert task.next_symbols(np.zeros((1, 2), np.uint8)).tolist() == [[[True, False, False]] * 2]
    names = numbered(5000)
    machine = MooreMachine(names, "a", [[i] for i in range(5000)], "q0", tuple(range(5000)), names)
    for ending in ("json", "dot"):
        save(machine, tmp_path / f"machine.{ending}")
        assert load(tmp_path / f"machine.{ending}") == machine


@given(st.integers(1, 40), st.integers(0, 2**32), st.integers(1, 3))
def test_both_refinements_find_the_same_classes(n_states: int, seed: int, n_symbols: int) -> None:
    random = rng(seed, "test")
    table = random.integers(0, n_states, (n_states, n_symbols))
    colours = random.integers(0, 2, n_states)
    rounds, settled = refine(table, colours, n_states + 1)
    assert settled
    for start in (refine(table, colours, 0)[0], refine(table, colours, 1)[0]):
        split = hopcroft(table, start)
        assert len(set(zip(rounds.tolist(), split.tolist(), strict=True))) == len(set(split.tolist()))
        assert len(set(split.tolist())) == len(set(rounds.tolist()))


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_a_walk_reaches_what_rounds_reach(n_nodes: int, seed: int) -> None:
    random = rng(seed, "test")
    source, target = random.integers(0, n_nodes, (2, n_nodes))
    nodes = random.integers(0, 5, n_nodes) == 0
    assert closure(nodes, source, target).tolist() == walk(nodes, source, target).tolist()


def test_monoids_of_large_machines_stop_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    for machine, budget, said in (
        (random_dfa(12, seed=1), "1", "more than 20000 elements; minimise the machine, or set LANGUAGES_BUDGET=2"),
        (random_dfa(30_000), "1", "more than 2236 elements"),
        (random_dfa(12, seed=1), "0.01", "more than 200 elements"),
        # Each element takes as many steps as the symbols have states, and 512 more: 2^31 / 100 steps are 40 elements.
        (random_dfa(12, seed=1, alphabet=numbered(1000)), "0.01", "more than 40 elements"),
    ):
        monkeypatch.setenv("LANGUAGES_BUDGET", budget)
        assert said in refusal(TransitionMonoid.from_machine, machine, error=TooLarge)


def cycles(*sizes: int) -> Dfa:
    """A first symbol chooses a cycle: which lengths have members repeats only after the product of the sizes."""
    delta = {"start": {str(i): f"{i}.0" for i in range(len(sizes))}}
    for i, size in enumerate(sizes):
        delta |= {f"{i}.{at}": {"0": f"{i}.{(at + 1) % size}"} for at in range(size)}
    symbols, accepting = tuple(map(str, range(len(sizes)))), {f"{i}.0" for i in range(len(sizes))}
    return Dfa.from_partial(tuple(delta), symbols, delta, "start", accepting)


def test_samples_that_would_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(cycles(2, 3, 5, 7, 11, 13, 17, 19, 23))
    assert task.sample(rng(0, "test"), 1000, 4).shape == (4, 1000)
    with pytest.raises(SamplingError, match="length 100000000: which lengths have words does not repeat up to"):
        task.sample(rng(0, "test"), 10**8, 1)
    with pytest.raises(SamplingError, match=r"length 10000: .* choose shorter words, LANGUAGES_BUDGET=2 allows more"):
        get("regex:" + "a" * 20_000 + ";alphabet=ab").sample(rng(0, "test"), 10_000, 1)
    monkeypatch.setattr(counting, "MAX_COUNTED", 2**20)
    with pytest.raises(SamplingError, match=r"counting the words of 9,996 symbols .* choose shorter words, LANG"):
        get("dyck-100").sample(rng(0, "test"), 10_000, 4)


def test_near_misses_are_drawn_or_refused() -> None:
    refused = {
        1000: "near misses of up to 1000 edits need about 7,003,997 pairs of transitions; at most",
        10**9: "near misses for 2 symbols need more than 2097152 pairs of transitions; use them only with",
    }
    for edits, message in refused.items():
        with pytest.raises(SamplingError, match=message):
            get("dyck-2").sample(rng(0, "test"), min(edits, 10**6), 4, near_misses=1.0, edits=edits)
    assert task_of(chain(1000)).sample(rng(0, "test"), 1010, 4, near_misses=1.0, edits=1).shape == (4, 1010)


AUDITED = {
    "regex:(a|b)*a(a|b){13}": "16384",
    "regex:(a|b)*a(a|b){18}": "TooLarge",
    "regex:" + "ab" * 5_000: "10002",
    "dfa:random.json": "30000",
    "dfa:random.dot": "100000",
}


LIMITED = """
import sys, languages
for name in sys.argv[1:]:
    try: print(languages.get(name).machine.n_states)
    except languages.UserError as error: print(type(error).__name__)
"""


@pytest.mark.slow
def test_the_audited_cases_need_less_than_a_gibibyte(tmp_path: Path) -> None:
    """In one process whose memory is bounded; the generous time is against a hang."""
    save(random_dfa(30_000), tmp_path / "random.json")
    save(random_dfa(100_000), tmp_path / "random.dot")  # 200,000 edges
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *AUDITED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.split() == list(AUDITED.values()), done.stderr
