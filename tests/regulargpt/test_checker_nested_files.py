"""Certificates of trees that follow brackets, as files: accepted when they are right, refused after any one change."""

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from languages.convert.machines import to_json
from regulargpt.certificate.checker import (
    Malformed,
    Rejected,
    equality,
    forests,
    levels,
    machine,
    moves,
    pairs,
    pushdown,
)
from regulargpt.certificate.checker.claims import claim
from regulargpt.cli.commands.check import automaton_of
from regulargpt.storage.manifest import digest
from tests.languages.test_context_free import nested
from tests.regulargpt.forging import Cases, Change, Record, assert_refused, checked, drop, forge, put, refused_each
from tests.regulargpt.nested_certificates import conjunctions, of_ldru, of_table, turns

CALL, BACK, X = 1, 2, 3  # ( ) x as symbols of a window
SAID = (["(", ")", "x"], 2, 24, True, "right")


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that is right about what a call has to remember."""
    return of_table(tmp_path_factory.mktemp("certified") / "run", conjunctions(), 2)


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / "run"))


def test_it_accepts_and_says_what_is_proven(certified: Path):
    accepted = checked(certified, language=("it", json.dumps(conjunctions().record())))
    assert accepted.claim == claim(*SAID, (1, -1, 0))  # type: ignore[arg-type]
    words = 'For every word over {"(", ")", "x"}, of whatever length and depth, of at least one symbol, the network'
    assert accepted.claim.startswith(words)
    assert 'a tree that follows the brackets (calls {"("}, returns {")"}) with chunks of 2 in real' in accepted.claim
    assert accepted.language_claim == "The automaton answers every word of at least one symbol as the language it does."
    assert (accepted.states, accepted.answered_states, accepted.roots, accepted.answered_roots) == (2, 2, 24, 24)
    with pytest.raises(Rejected, match=r'the automaton is not that of it: they differ on the word "\)"'):
        checked(certified, language=("it", json.dumps(turns().record())))
    swapped = conjunctions().record()
    swapped["alphabet"] = ["x", "(", ")"]
    with pytest.raises(Rejected, match="is not that of it: it reads other symbols"):
        checked(certified, language=("it", json.dumps(swapped)))
    for move in swapped["moves"]:
        move["read"] = {"(": ")", ")": "("}.get(move["read"], "x")
    swapped["alphabet"] = ["(", ")", "x"]
    with pytest.raises(Rejected, match="is not that of it: its calls and returns are others"):
        checked(certified, language=("it", json.dumps(swapped)))
    with pytest.raises(Rejected, match="is not that of it: one of the two is a pushdown automaton"):
        checked(certified, language=("it", "{}"))


@pytest.mark.parametrize("kind", ["three", "ldru", "balls"])
def test_other_chunks_and_networks_are_accepted_and_balls_hold_with_symbols_beside(kind: str, tmp_path: Path):
    makes = {"ldru": of_ldru, "three": lambda folder: of_table(folder, turns(), 3)}
    accepted = checked(makes.get(kind, lambda folder: of_table(folder, turns(), 2, balls=True))(tmp_path / kind))
    counted = {
        "three": "with chunks of 3 in",
        "ldru": "chunks of 2 counted from the left in",
        "balls": "chunks of 2 in",
    }
    assert counted[kind] in accepted.claim
    assert (accepted.unquantised_claim is None) == (kind == "three")


def rows(part: str, *windows: list[int]) -> Change:
    """Windows more, with the first image."""

    def change(record: Record) -> None:
        record[part]["windows"] += windows
        record[part]["images"] += [1] * len(windows)

    return change


def without(part: str, window: list[int]) -> Change:
    """A window less."""

    def change(record: Record) -> None:
        at = record[part]["windows"].index(window)
        for column in record[part].values():
            del column[at]

    return change


def first_node(record: Record) -> None:
    """The table without the window of a pair that is not empty."""
    K = len(record["prototypes"])
    window = next(w for w in record["nodes"]["windows"] if 0 < w[0] <= K and w[1] == K + CALL)
    without("nodes", window)(record)


def mirrored(record: Record) -> None:
    """A rest on the other side: the windows of the tree that is counted from the left."""
    for part in ("leaves", "nodes"):
        record[part]["windows"] = [w[::-1] if 0 not in w else w for w in record[part]["windows"]]


def other_image(part: str, window: list[int]) -> Change:
    """Another image of a window: a pad for what is not empty, or the other way round."""

    def change(record: Record) -> None:
        at = record[part]["windows"].index(window)
        record[part]["images"][at] = 1 + record[part]["images"][at] % len(record["prototypes"])

    return change


def found_later(change: Change | None = None) -> Change:
    """A table that is not listed: its size and digest, perhaps with a change before."""

    def forged(record: Record) -> None:
        if change:
            change(record)
        for part in ("leaves", "nodes"):
            listed = np.column_stack([record[part]["windows"], record[part]["images"]])
            listed = listed[np.lexsort(listed.T[::-1])]
            record[part] = {"entries": len(listed), "sha256": digest(listed.astype("<u4").tobytes())}

    return forged


def changed(**changes: Any) -> Change:
    """A first move that is changed; None takes a key away."""

    def change(record: Record) -> None:
        move = record["moves"][0] | changes
        record["moves"][0] = {key: value for key, value in move.items() if value is not None}

    return change


def finite(record: Record) -> None:
    """Only x, and a pair round nothing, have an answer."""
    ways = [("a", "x", "b", {}), ("a", "(", "c", {"push": "g"}), ("c", ")", "d", {"pop": True})]
    record["moves"] = [{"from": q, "read": a, "to": p, **more} for q, a, p, more in ways]
    record.update(initial="a", outputs={"a": None, "b": "no", "c": None, "d": "yes"})


def doubled(record: Record) -> None:
    record["moves"].append(record["moves"][0])


NOT_NEAREST = "the state is not nearest|do not decide which of two numbers is the smaller"  # of numbers that are 0 or 1
FORGED: Cases = {
    ("certificate", Rejected): {
        "a pair less": (first_node, r"nodes: window \[\d+, 25\] occurs as a pair and is not in the table"),
        "an empty pair less": (without("leaves", [0, CALL]), r"leaves: window \[0, 1\] occurs as a pair and is not in"),
        "a row less": (without("leaves", [X, X]), r"window \[3, 3\] occurs at level 1 in a pair and is not in"),
        "a pending return less": (without("leaves", [X, BACK]), r"\[3, 2\] occurs at level 1 of the top level and is"),
        "a rest that is not leftmost": (mirrored, NOT_NEAREST),
        "an inside for nothing": (other_image("leaves", [0, CALL]), NOT_NEAREST),
        "an answer": (lambda r: put("answers/0", 1 - r["answers"][0])(r), "the answer at prototype 1 is not"),
        "no answer": (put("answers/0", None), "there no answer is proven"),
        "the claim of flat trees": (put("claim", claim(*SAID)), "the claim is not the one"),  # type: ignore[arg-type]
        "other brackets in the claim": (put("claim", claim(*SAID, (0, 0, 0))), "the claim is not the one"),  # type: ignore[arg-type]
        "a digest of another table": (found_later(other_image("leaves", [X, X])), "have other images than the cert"),
        "a digest of a larger table": (found_later(rows("leaves", [X, CALL], [0, BACK])), "not .* as the certificate"),
    },
    ("certificate", Malformed): {
        "no word of brackets": (drop("tree"), "has the unknown key 'moves'"),
        "another tree": (put("tree", "flat"), "'tree' is 'flat'; it is 'nested', or left out"),
        "no name of a tree": (put("tree", 1), "'tree' is 1, of the wrong kind"),
        "a pad before a return": (rows("leaves", [0, BACK]), "'leaves' has a window with an absent place before"),
        "a pad before a symbol": (rows("leaves", [0, X]), "'leaves' has a window with an absent place before a node"),
        "a pad before a call of nodes": (rows("nodes", [0, 24 + CALL]), "'nodes' has a window with an absent place"),
        "a pad for an inside": (rows("nodes", [0, 1]), "'nodes' has a window with an absent place before a node"),
        "symbols among nodes": (rows("nodes", [24 + X, 24 + X]), "window of symbols alone: it belongs to 'leaves'"),
        "a prototype among leaves": (rows("leaves", [4, 1]), "integers from 0 to 3"),
        "a symbol that there is not": (rows("nodes", [28, 1]), "integers from 0 to 27"),
    },
    ("network", Rejected): {
        "a call declared internal": (
            put("direction/0", 0),
            r"calls and returns of the network \('direction'\) are not",
        ),
        "returns for calls": (put("direction", [-1, 1, 0]), r"calls and returns of the network \('direction'\) are"),
        "a flat tree": (lambda r: (put("model/tree", "flat")(r), drop("direction")(r)), "with tree = 'nested'"),
    },
    ("network", Malformed): {
        "no brackets": (drop("direction"), "has a 'direction' if its tree is 'nested', and only then"),
        "brackets of a flat tree": (put("model/tree", "flat"), "has a 'direction' if its tree is 'nested', and only"),
        "fewer brackets": (drop("direction/-1"), "'direction' in config.json is not 1, -1 or 0 for each symbol"),
        "a direction of truth": (put("direction/0", True), "'direction' in config.json is not 1, -1 or 0"),
        "a direction of its own": (put("direction/0", 2), "'direction' in config.json is not 1, -1 or 0"),
        "a direction in words": (put("direction", "both"), "'direction' is 'both', of the wrong kind"),
    },
    ("automaton", Rejected): {
        "other answers": (put("outputs", {"q0": "yes", "q1": "no"}), "is the root of words that lead"),
        "one answer": (put("outputs/q0", "yes"), "never gives two different answers"),
        "some answers": (put("outputs/q0", None), "never gives two different answers"),
        "finitely many words": (finite, "answers finitely many words"),
        "a call that does not push here": (changed(push=None), r"'\(' is not always a call, a return or internal"),
        "a call that knows the top": (changed(to="q1"), r"'\(' is not always a call, a return or internal"),
        "a call without a move for a top": (drop("moves/0"), r"'\(' is not always a call, a return or internal"),
        "other moves": (lambda r: r["moves"][-1].update(to="q0"), "is the root of words that lead"),
    },
    ("automaton", Malformed): {
        "a move twice": (doubled, r"there are two moves from 'q0' at '\('"),
        "nowhere": (changed(to="q9"), "a move is of a state, a symbol or a top of the stack that there is not"),
        "no symbol": (changed(read="y"), "a move is of a state, a symbol or a top"),
        "no stack symbol": (changed(tops=["g9"]), "a move is of a state, a symbol or a top"),
        "a list for a top": (changed(tops=[[]]), "a move is of a state, a symbol or a top"),
        "push and pop": (changed(pop=True), "a move pops and pushes, or pops at the bottom"),
        "a move without an end": (changed(to=None), "has no 'to'"),
        "a move of more": (changed(note=""), "has the unknown key 'note'"),
        "a word for a pop": (changed(pop="yes"), "'pop' is 'yes', of the wrong kind"),
        "no move": (put("moves/0", []), "a move is not an object"),
        "an answer that there is not": (put("outputs/q0", "x"), "give symbols, and every state an output or null"),
        "no first state": (put("initial", "q9"), "give symbols, and every state an output or null, the initial one"),
        "a list of answers": (put("outputs/q0", []), "give symbols, and every state an output or null"),
        "states": (put("states", ["q0", "q1"]), "has the unknown key 'states'"),
    },
}


@refused_each(FORGED)
def test_a_forged_certificate_is_refused(copy: Path, name: str, change: Change, kind: type[ValueError], message: str):
    assert_refused(copy, name, change, kind, message)


def test_a_table_that_is_not_listed_is_computed_on_the_way(copy: Path, certified: Path):
    forge(copy, "certificate", found_later())
    assert checked(copy) == checked(certified)


@pytest.mark.parametrize(
    ("place", "limit", "most", "message"),
    [
        (levels, "MAX_WINDOWS", 20, "more than 20 windows at 2 levels: too many to go through"),
        (levels, "MAX_LOOKED_AT", 0, "more than 0 windows of pairs: too many to go through"),
        (levels, "MAX_LEVELS", 2, "the levels do not repeat within 2"),
        (pairs, "MAX_ROUNDS", 1, "pairs do not repeat within 1 rounds"),
        (forests, "MAX_ROUNDS", 1, "is not settled within 1 rounds"),
        (machine, "MAX_PRODUCTS", 8, "do too many different things"),
        (pushdown, "MAX_STATES", 6, "has 2 states; pushdown automata of at most 1 are checked"),
        (moves, "MAX_CASES", 17, "has 18 states x symbols x tops; at most 17 are gone through"),
        (equality, "MAX_FACTS", 1, "too many pairs of states of the two automata"),
        (equality, "MAX_WORD", 0, "the two automata differ: a shortest word that shows it has 1 symbols"),
    ],
)
def test_the_work_of_a_check_has_bounds(
    certified: Path, monkeypatch: pytest.MonkeyPatch, place: ModuleType, limit: str, most: int, message: str
):
    monkeypatch.setattr(place, limit, most)
    with pytest.raises(Rejected, match=message):
        checked(certified, language=("it", json.dumps(turns().record())) if place is equality else None)


def test_the_command_line_has_the_automata_of_languages_with_brackets():
    assert automaton_of("formula") == to_json(nested("formula").machine)


def declared(copy: Path, kinds: dict[str, dict[str, Any]], direction: tuple[int, ...], total: bool) -> None:
    """Other calls and returns, wherever it is said: `kinds` are what moves of a symbol do now."""

    def change(record: Record) -> None:
        for move in record["moves"]:
            for key in ("push", "pop"):
                move.pop(key, None)
            move.update(kinds.get(move["read"], {}))
            move.pop("tops")
        cases = {(move["from"], move["read"]): move for move in record["moves"]}
        record["moves"] = list(cases.values())

    forge(copy, "automaton", change)
    forge(copy, "network", put("direction", list(direction)))
    forge(copy, "certificate", put("claim", claim(SAID[0], 2, 24, total, "right", direction)))  # type: ignore[arg-type]


def test_brackets_declared_internal_everywhere_leave_no_place_for_the_pad(copy: Path):
    declared(copy, {}, (0, 0, 0), total=True)
    with pytest.raises(Malformed, match="an absent place before a node"):
        checked(copy)
    forge(copy, "certificate", without("leaves", [0, CALL]))
    with pytest.raises(Rejected, match=r"is not in the table|is the root of words"):
        checked(copy)


def test_a_return_before_its_call_is_no_pair(copy: Path):
    declared(copy, {")": {"push": "g"}, "(": {"pop": True}}, (-1, 1, 0), total=False)
    with pytest.raises(Malformed, match="an absent place before a node"):
        checked(copy)
    forge(copy, "certificate", without("leaves", [0, CALL]))
    with pytest.raises(Rejected, match="is not in the table"):
        checked(copy)
