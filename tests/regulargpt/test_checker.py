"""The independent checker: it accepts what is proven, and refuses every forgery by name."""

import ast
import itertools
import json
import math
import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import languages
from languages.convert.json_text import to_json
from regulargpt.certificate.checker import Malformed, Rejected, check, images, levels, machine, nearest, network, steps
from regulargpt.certificate.checker import networks as checker_networks
from regulargpt.certificate.checker.claims import claim
from regulargpt.certificate.checker.regulargpt import RegularGPT
from regulargpt.certificate.checker.steps import Checker
from regulargpt.certificate.search import networks as search_networks
from regulargpt.config.schema import RunConfig
from regulargpt.finite.specification import specified_machine
from regulargpt.training.proof import no_certificate
from regulargpt.training.table_fine_tuning import CHECKED
from tests.regulargpt.forging import (
    FILES,
    Cases,
    Change,
    Record,
    assert_refused,
    checked,
    drop,
    forge,
    made,
    put,
    refused_each,
    resign,
    slack,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certified run of Even Pairs."""
    return made(tmp_path_factory.mktemp("certified") / "run", "even-pairs").path


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / "run"))


def imported(module: str) -> set[str]:
    """What the file of a module imports, wherever in it."""
    tree = ast.parse(Path(str(find_spec(module).origin)).read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return modules | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


CHECKER = "regulargpt.certificate.checker"
ARITHMETIC = ["balls", "doubles", "complex_doubles", "network", "regulargpt", "ldru", "affine_forms"]
ARITHMETIC += ["slopes", "image_bounds", "block_bounds", "ldru_bounds", "boxes", "chain_network"]
TODAYS = [f"chain_{name}" for name in ("mixing", "delta", "mamba", "mamba2", "gla", "rwkv7", "xlstm", "pd_ssm", "s4d")]
TODAYS += ["chain_diagonal", "chain_linear_rnn", "chain_mlstm", "factors"]
ARITHMETIC += TODAYS


def test_the_checker_imports_numpy_and_flint_and_itself_alone():
    waiting, known = [CHECKER], set()
    while waiting:
        known.add(module := waiting.pop())
        for other in imported(module):
            if other.startswith(CHECKER):
                waiting += {other} - known
            else:
                assert other.partition(".")[0] in {"numpy", "flint", *sys.stdlib_module_names}, (module, other)
    files = {"files", "networks", "images", "tables", "steps", "claims", *ARITHMETIC}
    files |= {"machine", "moves", "pushdown", "equality", "forests", "levels", "pairs", "induction"}
    files |= {"heads", "stack_machine", "stack_network", "stack_product", "stack_equality", "stack_steps", "nearest"}
    files |= {"chain_product", "chain_boxes", "chain_steps", "recurrences", "delta_recurrences", "refutation"}
    files |= {"chain_networks", "attraction", "family", "graph", "operations"}
    assert known == {CHECKER} | {f"{CHECKER}.{name}" for name in files}


def test_the_search_imports_nothing_of_the_checker_but_what_reads_files():
    # Who makes, words and checks a certificate may know the checker; the search for what is in it may not.
    knows = {name: {CHECKER} for name in ("outcome.py", "unquantised.py", "verdict.py")}
    words = ("record.py", "chain/outcome.py", "refutation/outcome.py")
    knows |= {name: {CHECKER, f"{CHECKER}.claims"} for name in words}
    # A graph has one interpreter.
    knows["chain/graph_boxes.py"] = {f"{CHECKER}.{name}" for name in ("doubles", "files", "graph")}
    knows["refutation/outcome.py"].add(f"{CHECKER}.refutation")  # how far it reads on
    certificate = ROOT / "regulargpt" / "certificate"
    rooms = (".", "search", "tuning", "chain", "refutation")
    for path in [path for room in rooms for path in (certificate / room).glob("*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found = {other for other in imported(module) if other.startswith(CHECKER)}
        assert found == knows.get(path.relative_to(certificate).as_posix(), set()), path


def test_the_networks_that_have_certificates_are_those_of_search_and_checker():
    assert set(CHECKED) == set(search_networks.BOUNDS) == set(checker_networks.NETWORKS)


def test_a_tree_that_the_checker_does_not_know_has_no_certificate():
    config = RunConfig()
    mine = SimpleNamespace(
        name="lab.models:MyTree", why_no_certificate=lambda: None, has_stacks=False, carries_state=False
    )
    assert no_certificate(config.model, config.objective, "parity") is None
    reason = "lab.models:MyTree is no network that the checker knows, which are regulargpt, ldru"
    assert no_certificate(mine, config.objective, "parity") == reason  # type: ignore[arg-type]


def test_it_accepts_and_counts(certified: Path):
    accepted = checked(certified)
    assert (accepted.prototypes, accepted.entries, accepted.levels, accepted.bits) == (4, 26, 3, 64)
    assert (accepted.states, accepted.answered_states) == (4, 4)
    assert (accepted.roots, accepted.answered_roots) == (4, 4)
    assert accepted.claim == claim(["0", "1"], 2, 4, total=True)
    assert accepted.unquantised_claim is not None
    assert accepted.language_claim is None
    assert accepted.homomorphism
    assert accepted.smallest_margin == pytest.approx(math.sqrt(2), abs=1e-5)
    assert set(accepted.functions) == {1, 2, 3, 4}


def test_it_proves_that_the_automaton_is_a_named_languages(certified: Path):
    even_pairs, parity = (to_json(specified_machine(languages.get(name))) for name in ("even-pairs", "parity"))
    accepted = checked(certified, language=("even-pairs", even_pairs))
    assert accepted.language_claim is not None
    assert "as the language even-pairs does" in accepted.language_claim
    with pytest.raises(Rejected, match='the automaton is not that of parity: they differ on the word "1"'):
        checked(certified, language=("parity", parity))
    cycle = to_json(specified_machine(languages.get("cycle-navigation")))
    with pytest.raises(Rejected, match="the automaton is not that of cycle-navigation: it reads other symbols"):
        checked(certified, language=("cycle-navigation", cycle))


def drop_window(record: Record) -> None:
    for column in ("windows", "images"):
        record["nodes"][column].pop()


def swap_image(record: Record) -> None:
    record["nodes"]["images"][3] = 1 + record["nodes"]["images"][3] % 4


def two_in_one(record: Record) -> None:
    """All prototypes the same: every entry is a tie."""
    record["prototypes"] = [record["prototypes"][0]] * 4
    record["answers"] = [record["answers"][0]] * 4


def flip_answer(record: Record) -> None:
    record["answers"][0] = 1 - record["answers"][0]


def place_before(record: Record) -> None:
    record["leaves"]["windows"][0][:2] = [0, 1]


def silent_but(*states: str) -> Change:
    return lambda r: r.update(outputs={q: a if q in states else None for q, a in r["outputs"].items()})


def finite(record: Record) -> None:
    """Only the words 0, 1 and those of two symbols have an answer."""
    states = ["q0", "a", "b", "end"]
    rows = {"q0": {"0": "a", "1": "b"}, **{q: {"0": "end", "1": "end"} for q in states[1:]}}
    outputs = {"q0": None, "a": "even", "b": "odd", "end": None}
    record.update(states=states, transitions=rows, outputs=outputs)


NOT_FINITE, TENSORS = "hold a number that is not finite", "are not the tensors that config.json describes"
SAYS_NOTHING = "never gives two different answers: the claim would say nothing"
NAMES = ("../model.safetensors", "", ".", "..", "a\0b", "a\nb")
REFUSED: Cases = {
    ("certificate", Rejected): {
        "a window dropped": (drop_window, r"nodes: window \[\d, \d\] occurs at level \d and is not in the table"),
        "an image swapped": (swap_image, r"nodes, window .*: the state is not nearest to prototype \d"),
        "a prototype moved": (put("prototypes/0/0", 5.0), r"window .*: the state is not nearest"),
        "huge prototypes": (put("prototypes/0", [1e300] * 10), "not nearest"),
        "equal prototypes": (two_in_one, "1024 bits do not decide which of two numbers is the smaller: a tie"),
        "an answer flipped": (flip_answer, "the answer at prototype 1 is not"),
        "no answer": (put("answers/0", None), "there no answer is proven"),
        "a larger claim": (put("claim", "For every word, as it is"), "the claim is not the one"),
        "a claim of fewer words": (put("claim", claim(["0", "1"], 2, 4, False)), "the claim is not the one"),
        "another chunk size": (put("chunk_size", 3), "C = 3"),
        "smaller balls": (put("unquantised/radii", [0.0] * 4), "as it is: leaves, window"),
        "larger balls": (put("unquantised/radii", [9.0] * 4), "the answer can change within the ball"),
        "a larger slack": (slack(0.9), "the network as it is: "),
        "a larger claim of the network as it is": (put("unquantised/claim", "always"), "goes beyond what"),
        "another digest": (put("weights/sha256", "0" * 64), "is not the weights of this certificate"),
    },
    ("certificate", Malformed): {
        "another format": (put("format", "regulargpt certificate 1"), "not 'regulargpt certificate 3'"),
        "a key missing": (drop("nodes"), "has no 'nodes'"),
        "a key too many": (put("language", "parity"), "has the unknown key 'language'"),
        "a deeper key too many": (put("leaves/margins", []), "'leaves' has the unknown key 'margins'"),
        "a wrong kind": (put("prototypes", "many"), "'prototypes' is 'many', of the wrong kind"),
        "true for a number": (put("chunk_size", True), "'chunk_size' is True, of the wrong kind"),
        "a prototype that is no number": (put("prototypes/0/0", "1"), "something that is no number"),
        "a prototype too short": (drop("prototypes/0/-1"), "'prototypes' is not"),
        "a prototype beyond doubles": (put("prototypes/0/0", 10**400), "not .* finite numbers"),
        "no digest": (drop("automaton/sha256"), "has no 'sha256'"),
        **{f"the file {name!r}": (put("weights/file", name), "names a file beside the certificate") for name in NAMES},
        "a digest that is none": (put("weights/sha256", "\x1b[8m" * 16), "is not 64 hexadecimal digits"),
        "fewer answers": (drop("answers/-1"), "4 prototypes need as many answers; there are 3"),
        "an answer beyond": (put("answers/0", 2), "'answers' is not a list of integers from 0 to 1"),
        "images left out": (drop("nodes/images/-1"), r"'nodes' has \d+ windows and \d+ images"),
        "an image of nothing": (put("nodes/images/0", 0), "which count from 1"),
        "a window twice": (lambda r: put("nodes/windows/1", r["nodes"]["windows"][0])(r), "a window twice"),
        "an absent place before a node": (place_before, "absent place"),
        "a symbol too many": (put("leaves/windows/0/0", 7), "integers from 0 to 2"),
        "a fractional window": (put("leaves/windows/0/0", 1.0), "integers from 0 to 2"),
        "fewer balls": (drop("unquantised/radii/-1"), "'radii' is not"),
        "a negative ball": (put("unquantised/radii/0", -1), "no radius is below"),
        "no slack": (put("unquantised/slack", -0.0), "the slack is above 0"),
        "a slack of many digits": (put("unquantised/slack", 2**70), "'slack' is .* of the wrong kind"),
        "balls of infinite size": (put("unquantised/radii/0", 10**400), "'radii' is not"),
    },
    ("weights", Malformed): {
        "a number that is not finite": (lambda w: w["pad"].fill_(math.inf), NOT_FINITE),
        "many axes": (
            lambda w: w.update(pad=w["pad"][None, None].clone()),
            "is no array of at most 3 axes at two offsets",
        ),
        "one that is none": (lambda w: w["readout.bias"].fill_(math.nan), NOT_FINITE),
        "a head that sees nothing": (lambda w: w["blocks.0.attn.r"].fill_(-math.inf), NOT_FINITE),
        "a tensor too many": (lambda w: w.update(more=w["pad"].clone()), TENSORS),
        "a tensor too few": (drop("pad"), TENSORS),
        "another shape": (lambda w: w.update(pad=w["pad"][:, :-1].clone()), TENSORS),
        "another type": (lambda w: w.update(pad=w["pad"].half()), "'pad' has the type 'F16'; known are F64, F32"),
    },
    ("network", Malformed): {
        "norm": (put("model/norm", "rms"), "norm 'rms' is not known, only pre and post"),
        "activation": (put("model/activation", "tanh"), "activation 'tanh' is not known"),
        "an unknown field": (put("model/window", 3), "has the unknown key 'window'"),
        "a field left out": (drop("model/levels"), "has no 'levels'"),
        "a field of the whole": (put("note", ""), "config.json has the unknown key 'note'"),
        "heads": (put("model/n_heads", 3), "sizes are not those of a network"),
        "sizes": (put("model/d_ff", 1), TENSORS),
        "no sizes": (put("model/d_ff", -1), "sizes are not those of a network"),
        "gates": (put("model/gates", True), TENSORS),
        "gates by halves": (put("model/gates", 1), "'gates' is 1, of the wrong kind"),
        "a tree along brackets": (put("model/tree", "nested"), "has a 'direction' if its tree is 'nested', and only"),
        "brackets of a flat tree": (put("direction", [1, -1]), "has a 'direction' if its tree is 'nested', and only"),
        "a tree of another kind": (put("model/tree", "balanced"), "tree 'balanced' is not known, only flat and nested"),
        "gates left out": (drop("model/gates"), "has no 'gates'"),
        "state norm": (put("model/state_norm", True), TENSORS),
        "a symbol less": (put("alphabet", ["0"]), "counts other symbols"),
        "a huge scale": (put("model/embedding_scale", 10**400), "embedding_scale in config.json is not"),
        "large chunks": (put("model/chunk_size", 65), "with chunks of 2 to 64"),
    },
    ("network", Rejected): {
        "name": (put("model/name", "transformer"), "a name among 'regulargpt', 'ldru'"),
        "levels": (put("model/levels", 3), "with levels = 0"),
        "pad": (put("model/pad", "masked"), "with pad = 'learned'"),
        "attention": (put("model/attention", "full"), "with attention = 'dilated'"),
        "thickness": (put("model/thickness", 2), "with thickness = 1"),
        "brackets": (lambda r: (put("model/tree", "nested")(r), put("direction", [1, -1])(r)), "with tree = 'flat'"),
        "symbols": (put("alphabet", ["a", "b"]), "other symbols or answers"),
        "supervision": (put("supervision", "next"), "trained to answer 'next'"),
        "scale": (put("model/embedding_scale", 0.0), "the state is not nearest"),
    },
    ("automaton", Rejected): {
        "other answers": (put("outputs/q3", "even"), "is the root of words that lead"),
        "no answers": (silent_but(), SAYS_NOTHING),
        "one answer": (silent_but("q1"), SAYS_NOTHING),
        "some answers": (silent_but("q1", "q3"), "the claim is not the one.* has an answer"),
        "finitely many words": (finite, "answers finitely many words"),
    },
    ("automaton", Malformed): {
        "a state twice": (lambda r: r["states"].append("q1"), "'states' is not a list of different names"),
        "an unknown key": (put("accepting", []), "has the unknown key 'accepting'"),
        "nowhere": (lambda r: r["transitions"]["q0"].update({"0": "q9"}), "a transition leads to no state"),
        "a list for a state": (lambda r: r["transitions"]["q0"].update({"0": []}), "leads to no state"),
        "a missing transition": (lambda r: r["transitions"]["q0"].pop("0"), "give every state a transition"),
        "a list for an output": (put("outputs/q0", []), "give every state a transition"),
        "an unknown output": (put("outputs/q0", "x"), "give every state a transition"),
    },
}


@refused_each(REFUSED)
def test_what_is_forged_or_malformed_is_refused_even_with_its_digest(
    copy: Path, name: str, change: Change, kind: type[ValueError], message: str
):
    assert_refused(copy, name, change, kind, message)


TEXTS = {
    b"[]": "is not an object",
    b"null": "is not an object",
    b"3": "is not an object",
    b"NaN": "is not JSON: NaN is no number",
    b'{"format": Infinity}': "is not JSON: Infinity is no number",
    b"1" * 5000: "is not JSON",
    b'{"a": 1, "a": 2}': "is not JSON: a key is there twice",
    b"[" * 100_000: "is not JSON: nested too deeply",
    b"\xff": "is not JSON",
    "{}".encode("utf-16"): "is not JSON",
    b"": "is not JSON",
}


@pytest.mark.parametrize("data", TEXTS, ids=[str(data[:20]) for data in TEXTS])
def test_any_other_json_is_refused(tmp_path: Path, data: bytes):
    (tmp_path / "c.json").write_bytes(data)
    with pytest.raises(Malformed, match=TEXTS[data]):
        check(tmp_path / "c.json")


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(Malformed, match="is not a regular file"):
            check(path)
    (tmp_path / "large").write_bytes(b" " * 2000)
    monkeypatch.setattr(steps, "MAX_CERTIFICATE", 1000)
    with pytest.raises(Malformed, match="has 2,000 bytes; at most 1,000 are read"):
        check(tmp_path / "large")


def test_it_rejects_other_weights_even_with_their_digest(copy: Path):
    digest = json.loads((copy / "certificate.json").read_text())["weights"]["sha256"]
    forge(copy, "weights", lambda w: w["blocks.0.ff_out.bias"][0].add_(30.0))
    with pytest.raises(Rejected, match="the image and the slack may reach"):
        checked(copy)
    assert_refused(copy, "certificate", put("weights/sha256", digest), Rejected, "is not the weights of this cert")


def test_balls_are_proven_in_float64_and_where_doubles_are_not_those_of_ieee_754_by_flint(certified: Path, monkeypatch):
    counted: list[object] = []
    inside = Checker.inside
    monkeypatch.setattr(Checker, "inside", lambda *given: (counted.append(given[1]), inside(*given)))
    quick = checked(certified)
    assert counted
    assert "nodes" not in counted
    monkeypatch.setattr(steps, "is_ieee", lambda: False)
    assert checked(certified).unquantised_claim == quick.unquantised_claim
    assert "nodes" in counted


@pytest.mark.parametrize(
    ("place", "limit", "most", "message"),
    [
        (images, "MAX_WORK", 1, "has .* entries; at most 0 are gone through in a network of this size"),
        (images, "MAX_EXACT_WORK", 1, "more than 0 windows that float64 does not decide: too many in a network"),
        (steps, "MAX_BALLS", 3, "balls are proven of at most 3 entries"),
        (steps, "MAX_EXACT_BALLS", 3, "float64 does not prove the balls of more than 3 entries"),
        (steps, "MAX_BALL_WORK", 1, "balls are proven of at most 0 entries in a network of this size"),
        (steps, "MAX_MAP", 1, "balls take matrices of .* numbers in this network; at most 1 are gone through"),
        (steps, "MAX_EXACT_BALL_WORK", 1, "float64 does not prove the balls of more than 0 entries"),
        (network, "MAX_NUMBERS", 1, "a step of the network makes more than 1 numbers at once"),
        (levels, "MAX_WINDOWS", 20, "more than 20 windows at 2 levels: too many to go through"),
        (levels, "MAX_LEVELS", 2, "the levels do not repeat within 2"),
        (machine, "MAX_PRODUCTS", 8, "do too many different things"),
        (machine, "MAX_STATES", 3, "has 5 states; automata of at most 3 are checked"),
    ],
)
def test_the_work_and_memory_of_a_check_have_bounds(
    certified: Path, monkeypatch: pytest.MonkeyPatch, place: ModuleType, limit: str, most: int, message: str
):
    for module in (nearest, steps):
        monkeypatch.setattr(module, "is_ieee", lambda: False)
    monkeypatch.setattr(place, limit, most)
    with pytest.raises(Rejected, match=message):
        checked(certified)


def test_what_wide_networks_compute_goes_through_in_slices(certified: Path, monkeypatch: pytest.MonkeyPatch):
    whole = checked(certified)
    sizes: list[int] = []
    merge = RegularGPT.merge
    monkeypatch.setattr(RegularGPT, "merge", lambda *given: (sizes.append(len(given[2])), merge(*given))[1])
    for limit in ("NUMBERS", "QUICK_NUMBERS"):
        monkeypatch.setattr(images, limit, 1)
    assert checked(certified) == whole
    assert set(sizes) == {1}


def test_a_claim_about_some_words_says_how_many(copy: Path):
    forge(copy, "automaton", silent_but("q1", "q3"))
    forge(copy, "certificate", put("claim", claim(["0", "1"], 2, 4, total=False)))
    accepted = checked(copy)
    assert "on which the automaton has an answer" in accepted.claim
    assert (accepted.states, accepted.answered_states) == (4, 2)
    assert accepted.answered_roots == accepted.roots == 2


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.99])
def test_it_refuses_cut_files(copy: Path, share: float):
    for name, file in FILES.items():
        other = Path(shutil.copytree(copy, copy.with_name(name)))
        data = (other / file).read_bytes()
        (other / file).write_bytes(data[: int(share * len(data))])
        resign(other, name)
        with pytest.raises(Malformed):
            check(other / "certificate.json")
    data = (copy / "certificate.json").read_bytes()
    (copy / "certificate.json").write_bytes(data[: int(share * len(data))])
    with pytest.raises(Malformed, match="is not JSON"):
        checked(copy)


def test_any_flipped_bit_of_the_certificate_changes_nothing_or_is_refused(copy: Path, certified: Path):
    data = (certified / "certificate.json").read_bytes()
    accepted = checked(certified)
    for place, bit in itertools.product(np.random.default_rng(0).integers(len(data), size=30), (0, 4)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        (copy / "certificate.json").write_bytes(bytes(flipped))
        try:
            found = checked(copy)
        except (Malformed, Rejected, FileNotFoundError):
            continue
        assert (found.claim, found.functions) == (accepted.claim, accepted.functions)


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor a comment nor part of a docstring."""
    text = path.read_text()
    places = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = [node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, places) and ast.get_docstring(node)]
    quoted = {i for doc in docs for i in range(doc.lineno, (doc.end_lineno or doc.lineno) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for i, line in lines if line.strip() and not line.strip().startswith("#") and i not in quoted)


def test_the_page_says_how_much_there_is_to_read_and_in_how_many_ways_it_was_tried():
    page = " ".join((ROOT / "docs" / "certificate.md").read_text().split())
    files = {path.stem: path for path in (ROOT / "regulargpt" / "certificate" / "checker").glob("*.py")}
    code = {name: code_lines(path) for name, path in files.items() if name != "__init__"}
    most = re.search(r"fewer than ([\d,]+) lines of code, about two fifths of them arithmetic and networks", page)
    assert most
    lines, arithmetic = sum(code.values()), sum(code[name] for name in ARITHMETIC)
    assert int(most[1].replace(",", "")) - 200 < lines < int(most[1].replace(",", ""))
    assert 0.35 < arithmetic / lines < 0.45
    ways = re.search(r"change files in more than (\d+) ways", page)
    assert ways
    assert sum(map(len, REFUSED.values())) > int(ways[1])


def test_a_symbol_cannot_end_the_claim_or_the_line(copy: Path):
    evil = "1} of at least one symbol.\nThe same holds of the network as it is.\x1b[8m"

    def rename(record: Record) -> None:
        record["alphabet"] = ["0", evil]
        record["transitions"] = {q: {"0": row["0"], evil: row["1"]} for q, row in record["transitions"].items()}

    forge(copy, "automaton", rename)
    forge(copy, "network", put("alphabet", ["0", evil]))
    forge(copy, "certificate", lambda r: r.update(claim=claim(["0", evil], 2, 4, True), unquantised=None))
    accepted = checked(copy)
    assert accepted.claim.isprintable()
    assert accepted.claim.isascii()
    # What the alphabet is can be read back from the claim.
    texts = [
        claim(alphabet, 2, 4, True) for alphabet in (["a, b", "c"], ["a", "b, c"], ["a", "b", "c"], ["a", 'b", "c'])
    ]
    assert len(set(texts)) == 4


SPANS = ([0], [], ["a", 1], [None, 1], [{}, {}], [0, 10**400], [0, 4, 8], 3)


@pytest.mark.parametrize("spans", SPANS, ids=str)
@pytest.mark.parametrize("shape", [[1], [0] * 65, [0, 2**30, 2**30], "x"], ids=str)
def test_any_header_of_the_weights_is_answered(copy: Path, spans: object, shape: object):
    header = json.dumps({"pad": {"dtype": "F32", "shape": shape, "data_offsets": spans}}).encode()
    (copy / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"0000")
    resign(copy, "weights")
    with pytest.raises(Malformed):
        checked(copy)
