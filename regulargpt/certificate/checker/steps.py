"""The steps of a check: the files, every entry of the table, the answers, the levels, and the balls."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from regulargpt.certificate.checker.balls import FEWEST_BITS, Balls, Undecided, exact, less, norm
from regulargpt.certificate.checker.chain_steps import AcceptedChain, check_chain
from regulargpt.certificate.checker.claims import claim, unquantised_claim
from regulargpt.certificate.checker.doubles import Doubles, is_ieee
from regulargpt.certificate.checker.equality import same_language
from regulargpt.certificate.checker.family import FIELDS
from regulargpt.certificate.checker.files import (
    MAX_CERTIFICATE,
    MAX_OTHER,
    MAX_WEIGHTS,
    Floats,
    Malformed,
    Rejected,
    digest,
    fields,
    integers,
    numbers,
    parsed,
    read,
    tensors,
)
from regulargpt.certificate.checker.forests import Function
from regulargpt.certificate.checker.image_bounds import CheckedImageBounds
from regulargpt.certificate.checker.images import Images, Progress
from regulargpt.certificate.checker.induction import induction
from regulargpt.certificate.checker.machine import CALL, INTERNAL, RETURN, Automaton, Machine
from regulargpt.certificate.checker.network import MAX_NUMBERS, Ints, Kinds, Network
from regulargpt.certificate.checker.networks import bounds_of, network_of
from regulargpt.certificate.checker.pushdown import PushdownMachine
from regulargpt.certificate.checker.refutation import AcceptedRefutation, check_refutation
from regulargpt.certificate.checker.stack_machine import StackMachine
from regulargpt.certificate.checker.stack_steps import AcceptedStack, check_stack
from regulargpt.certificate.checker.tables import FoundTable, WindowTable

FORMAT = "regulargpt certificate 3"
MAX_SIZES = {"weights": MAX_WEIGHTS, "network": MAX_OTHER, "automaton": MAX_OTHER}
FILES = tuple(MAX_SIZES)
NAME, SHA256 = re.compile(r"\w[\w.-]*", re.ASCII), re.compile("[0-9a-f]{64}")
CERTIFICATE = {"format": str, "claim": str, "unquantised": (dict, type(None)), **dict.fromkeys(FILES, dict)}
CERTIFICATE |= {"chunk_size": int, "prototypes": list, "answers": list, "leaves": dict, "nodes": dict}
TREE, NESTED = {"tree": str}, "nested"  # of a tree that follows brackets
# Of other networks than trees, by their `kind`: what their certificates have beside what all have.
KINDS: Mapping[str, Kinds] = {
    "stack": {"lag": int},
    "chain": {"unquantised": (dict, type(None)), "points": list},
    "refutation": FIELDS,
}
OF_KIND: Kinds = {"format": str, "kind": str, "claim": str, **dict.fromkeys(FILES, dict)}
Flags = npt.NDArray[np.bool_]
# What bits of the midpoints are tried until every comparison is decided.
PRECISIONS = (FEWEST_BITS, 128, 256, 512, 1024)
MAX_ENTRIES = 1 << 23  # of a part that is not listed
MAX_BALLS = 1 << 14  # of both parts, where balls are proven
MAX_EXACT_BALLS = 1 << 12  # of these, such as float64 does not prove
# Numbers of the map from the children to the widest layer, in float64 and in FLINT, with which others take a gigabyte.
MAX_MAP, MAX_EXACT_MAP = 1 << 21, 1 << 19
# Multiplications for the balls of all entries, and of those that float64 does not prove: less than two hours of either.
MAX_BALL_WORK, MAX_EXACT_BALL_WORK = 1 << 40, 1 << 37


@dataclass(frozen=True)
class Accepted:
    """What has been checked: the claims, and how much there was to check.

    `states` of the automaton are reached by non-empty words, `answered_states` of them have an answer;
    `roots` and `answered_roots` count the kinds of root of the network's trees in the same way. `smallest_margin` is at
    most how much farther than its own prototype a state of the table is from any other. `functions[k]` is what the
    sub-words of prototype k do to the automaton's states. `bits` is the precision that decided everything.
    """

    claim: str
    unquantised_claim: str | None
    language_claim: str | None
    prototypes: int
    entries: int
    levels: int
    states: int
    answered_states: int
    roots: int
    answered_roots: int
    smallest_margin: float
    homomorphism: bool
    bits: int
    functions: Mapping[int, frozenset[Function]]


AnyProof = Accepted | AcceptedStack | AcceptedChain  # that a network is right
AnyAccepted = AnyProof | AcceptedRefutation


def check(
    certificate: Path,
    files: Mapping[str, Path] | None = None,
    language: tuple[str, str] | None = None,
    progress: Progress = lambda part, done, count: None,
) -> AnyAccepted:
    """Check the certificate in a file. `files` may name the weights, network and automaton that do not lie beside it.

    The rest is as in `decide`. Raises OSError if a file cannot be read.
    """
    text = read(certificate, MAX_CERTIFICATE)
    record = parsed_certificate(text, str(certificate))
    beside = {name: certificate.parent / record[name]["file"] for name in FILES} | dict(files or {})
    del record  # it takes much memory, and is made again
    data = {name: read(beside[name], MAX_SIZES[name]) for name in FILES}
    return decide(text, data, language, progress, str(certificate), {name: str(path) for name, path in beside.items()})


def parsed_certificate(text: bytes, name: str) -> dict[str, Any]:
    """The fields of a certificate, each of its kind."""
    record = parsed(text, name)
    record = fields(record, name, fields_of(record, name))
    if record.get("tree", NESTED) != NESTED:
        raise Malformed(f"{name}: 'tree' is {record['tree']!r:.40}; it is {NESTED!r}, or left out")
    if record["format"] != FORMAT:
        raise Malformed(f"{name} has the format {record['format']!r:.60}, not {FORMAT!r}; make it anew")
    for file in FILES:
        stated = fields(record[file], f"{file!r} in {name}", {"file": str, "sha256": str})
        if not NAME.fullmatch(stated["file"]):
            raise Malformed(f"{name}: {file!r} names a file beside the certificate, not {stated['file']!r:.60}")
        if not SHA256.fullmatch(stated["sha256"]):
            raise Malformed(f"{name}: the SHA-256 of {file!r} is not 64 hexadecimal digits")
    return record


def fields_of(record: Any, name: str) -> Mapping[str, type | tuple[type, ...]]:
    """The fields that a certificate of its kind has."""
    if not isinstance(record, dict) or "kind" not in record:
        return CERTIFICATE | (TREE if isinstance(record, dict) and "tree" in record else {})
    if not isinstance(kind := record["kind"], str) or kind not in KINDS:
        raise Malformed(f"{name}: 'kind' is {kind!r:.40}; it is {' or '.join(map(repr, KINDS))}, or left out")
    return OF_KIND | KINDS[kind]


def decide(
    certificate: bytes,
    files: Mapping[str, bytes],
    language: tuple[str, str] | None = None,
    progress: Progress = lambda part, done, count: None,
    name: str = "the certificate",
    places: Mapping[str, str] | None = None,
) -> AnyAccepted:
    """Check a certificate of these weights, network (config.json) and automaton.

    `language` is a name and the JSON of its automaton, to which the certificate's must be equivalent. `name` and
    `places` say in messages where the files come from. Raises Rejected, saying what failed first, and Malformed for
    what is no certificate.
    """
    try:
        record = parsed_certificate(certificate, name)
        names = places or {file: record[file]["file"] for file in FILES}
        return check_parsed(record, files, names, language, progress)
    except (Malformed, Rejected):
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise Malformed(f"{name} or a file beside it is malformed: {type(error).__name__}") from error


def check_parsed(
    record: Mapping[str, Any],
    files: Mapping[str, bytes],
    places: Mapping[str, str],
    language: tuple[str, str] | None,
    progress: Progress,
) -> AnyAccepted:
    """Check the digests, read the files, and go through the proof with more and more bits until all is decided."""
    for file in FILES:
        actual, stated = digest(files[file]), record[file]["sha256"]
        if actual != stated:
            what = f"{places[file]} is not the {file} of this certificate"
            raise Rejected(f"{what}: SHA-256 {actual[:12]}, certified {stated[:12]}")
        if len(files[file]) > MAX_SIZES[file]:
            raise Malformed(f"{places[file]} has {len(files[file]):,} bytes; at most {MAX_SIZES[file]:,} are read")
    weights = tensors(files["weights"])
    network = parsed(files["network"], places["network"])
    automaton = parsed(files["automaton"], places["automaton"])
    if record.get("kind") == "stack":
        return of_stack(record, weights, network, automaton, places, language)
    kind = PushdownMachine if "tree" in record else Machine
    machine = kind(automaton, places["automaton"])
    other = language and (language[0], of_language(*language, kind))

    def once() -> AnyAccepted:
        if "kind" in record:
            assert isinstance(machine, Machine), "no tree is named"
            check_kind = check_chain if record["kind"] == "chain" else check_refutation
            return check_kind(record, weights, network, machine, other, progress)
        return Checker(record, network_of(weights, network), machine, progress).run(other)

    for bits in PRECISIONS:
        # A comparison that the balls leave open says nothing yet: everything is done again with more bits.
        try:
            with ctx.workprec(bits):
                return once()
        except Undecided:
            continue
    raise Rejected(f"{PRECISIONS[-1]} bits do not decide which of two numbers is the smaller: a tie, or nearly one")


def of_stack(
    record: Mapping[str, Any],
    weights: Mapping[str, Floats],
    config: Any,
    automaton: Any,
    places: Mapping[str, str],
    language: tuple[str, str] | None,
) -> AcceptedStack:
    """Check a certificate of a network with a stack."""
    machine = StackMachine(automaton, places["automaton"])
    other = language and (language[0], StackMachine(parsed(language[1].encode(), language[0]), language[0]))
    return check_stack(record, weights, config, machine, other)


def of_language(name: str, text: str, kind: type[Machine | PushdownMachine]) -> Automaton:
    """A language's automaton. Raises Rejected if it is of another kind."""
    record = parsed(text.encode(), name)
    if isinstance(record, dict) and ("moves" in record) != (kind is PushdownMachine):
        raise Rejected(f"the automaton is not that of {name}: one of the two is a pushdown automaton")
    return kind(record, name)


class Checker:
    """One check at one precision."""

    def __init__(self, record: Mapping[str, Any], network: Network, machine: Automaton, progress: Progress):
        self.record, self.network, self.machine, self.progress = record, network, machine, progress
        if (network.alphabet, network.output_names) != (machine.alphabet, machine.output_names):
            raise Rejected("the network and the automaton have other symbols or answers")
        if record["chunk_size"] != network.C:
            raise Rejected(f"the certificate is for C = {record['chunk_size']}, the weights for C = {network.C}")
        tree = record.get("tree", "flat")
        if network.model["tree"] != tree:
            raise Rejected(f"tree = {network.model['tree']!r}: the certificate is about networks with tree = {tree!r}")
        if network.direction not in (None, machine.direction):
            raise Rejected("the calls and returns of the network ('direction') are not the automaton's")
        prototypes = numbers(record["prototypes"], "'prototypes'", (-1, network.d))
        if prototypes.size > MAX_NUMBERS:
            raise Rejected(f"the prototypes are {prototypes.size:,} numbers; at most {MAX_NUMBERS:,} are checked")
        if len(prototypes) < 2:
            raise Rejected("a state is the nearest of one prototype wherever it lies: at least 2 are needed")
        if len(prototypes) * len(machine.output_names) > MAX_NUMBERS:
            raise Rejected(f"more than {MAX_NUMBERS:,} logits at the prototypes: too many")
        self.prototypes, self.quick, self.nested = exact(prototypes), network.in_doubles(), tree == NESTED

    def run(self, language: tuple[str, Automaton] | None) -> Accepted:
        machine, C, K = self.machine, self.network.C, len(self.prototypes)
        states, answered = machine.answered_states()
        total, direction = answered == states, self.network.direction
        expected = claim(machine.alphabet, C, K, total, self.network.aligned, direction)
        if self.record["claim"] != expected:
            raise Rejected(f"the claim is not the one that the table proves, which is: {expected}")
        proven = same_language(machine, language)
        answers = self.answers()
        # Beside a pair, and in it, may stand symbols.
        beside = [self.network.symbols[1:]] if self.nested else []
        rows = np.concatenate([self.network.absent, self.prototypes, *beside])
        parts = {"leaves": self.network.symbols, "nodes": rows}
        known = self.network, self.quick
        images = {part: Images(part, *known, of, self.prototypes, self.progress) for part, of in parts.items()}
        leaves, nodes = (self.table(part) for part in images.values())
        proof = induction(machine, C, leaves, nodes, answers, self.network.aligned)
        for table in (leaves, nodes):
            table.check()
        unquantised = self.balls(answers, images["leaves"], leaves, nodes)
        return Accepted(
            claim=expected,
            unquantised_claim=unquantised,
            language_claim=proven,
            prototypes=K,
            entries=len(leaves) + len(nodes),
            levels=proof.levels,
            states=states,
            answered_states=answered,
            roots=proof.roots,
            answered_roots=proof.answered,
            smallest_margin=min(part.margin for part in images.values()),
            homomorphism=all(len(functions) == 1 for functions in proof.functions.values()),
            bits=ctx.prec,
            functions=proof.functions,
        )

    def table(self, images: Images) -> WindowTable:
        """The table of a part, listed and each entry proven, or to be found: then each is proven when it occurs."""
        part, K = images.part, len(self.prototypes)
        symbols = len(self.machine.alphabet)
        stated, base = self.record[part], 1 + (symbols if part == "leaves" else K + symbols * self.nested)
        if "sha256" not in stated and "entries" not in stated:
            windows, proposed = self.listed(part, base)
            self.few_enough(images, len(windows))
            return WindowTable(base, windows, images.proven(windows, proposed))
        fields(stated, f"{part!r}", {"entries": int, "sha256": str})
        entries, sha256 = stated["entries"], stated["sha256"]
        if entries < 0 or not SHA256.fullmatch(sha256):
            raise Malformed(f"{part!r} has a number of entries from 0 on, and a SHA-256 of 64 hexadecimal digits")
        self.few_enough(images, entries)
        images.in_all = entries
        return FoundTable(part, base, self.network.C, images.proven, entries, sha256)

    def few_enough(self, images: Images, entries: int) -> None:
        """Reject a table that would take too long."""
        most = min(MAX_ENTRIES, images.most)
        if entries > most:
            why = "" if most == MAX_ENTRIES else " in a network of this size"
            raise Rejected(f"{images.part!r} has {entries:,} entries; at most {most:,} are gone through{why}")

    def listed(self, part: str, rows: int) -> tuple[Ints, Ints]:
        """The windows (n, C) and images (n,) that the certificate lists."""
        stated = fields(self.record[part], f"{part!r}", {"windows": list, "images": list})
        windows = integers(stated["windows"], f"the windows of {part!r}", rows - 1, self.network.C)
        images = integers(stated["images"], f"the images of {part!r}", len(self.prototypes))
        if len(windows) != len(images) or not (images > 0).all():
            raise Malformed(f"{part!r} has {len(windows)} windows and {len(images)} images, which count from 1")
        # A place is absent (0) only behind the last node; the first is always there.
        gaps = (windows[:, 0] == 0) | ((windows[:, 1:] > 0) & (windows[:, :-1] == 0)).any(1)  # (n,)
        if (gaps & ~self.empty_pairs(part, windows)).any():
            raise Malformed(f"{part!r} has a window with an absent place before a node")
        if part == "nodes" and ((windows == 0) | (windows > len(self.prototypes))).all(1).any():
            raise Malformed("'nodes' has a window of symbols alone: it belongs to 'leaves'")
        if len(set(map(tuple, windows.tolist()))) < len(windows):
            raise Malformed(f"{part!r} has a window twice")
        return windows, images

    def empty_pairs(self, part: str, windows: Ints) -> Flags:
        """Which windows (n, C) are pairs with nothing inside: there alone something is absent before a node.

        With C = 2 such a window has the call alone.
        """
        kinds = np.array([INTERNAL, *self.machine.direction])[windows if part == "leaves" else windows * 0]  # (n, C)
        right = self.network.aligned == "right"
        if self.network.C == 2:
            return right & (windows[:, 0] == 0) & (kinds[:, 1] == CALL)
        near, far = (RETURN, CALL) if right else (CALL, RETURN)
        others = (windows[:, 1] == 0) & (windows[:, 3:] == 0).all(1)
        return (kinds[:, 0] == near) & (kinds[:, 2] == far) & others

    def answers(self) -> list[int | None]:
        """The stated answers, each proven to have the largest logit at its prototype; None where none is stated."""
        stated = self.record["answers"]
        if len(stated) != len(self.prototypes):
            raise Malformed(f"{len(self.prototypes)} prototypes need as many answers; there are {len(stated)}")
        answered = [k for k, answer in enumerate(stated) if answer is not None]
        chosen = integers([stated[k] for k in answered], "'answers'", len(self.machine.output_names) - 1)
        logits = self.network.readout(self.prototypes[answered]) if answered else exact(np.zeros((0, 1)))
        for k, answer, row in zip(answered, chosen, logits, strict=True):
            if not less(np.delete(row, answer), row[answer]).all():
                raise Rejected(f"the answer at prototype {k + 1} is not {self.machine.output_names[answer]!r}")
        return stated

    def balls(self, answers: list[int | None], images: Images, leaves: WindowTable, nodes: WindowTable) -> str | None:
        """What is proven of the network as it is, if the certificate says so: balls that are mapped into themselves."""
        if self.record["unquantised"] is None:
            return None
        kinds = {"claim": str, "slack": float, "radii": list}
        stated = fields(self.record["unquantised"], "'unquantised'", kinds)
        slack = float(numbers([stated["slack"]], "'slack'", (1,))[0])
        radii: Floats = numbers(stated["radii"], "'radii'", (len(self.prototypes),))
        if not slack > 0 or (radii < 0).any():
            raise Malformed("'unquantised': the slack is above 0, and no radius is below")
        expected = unquantised_claim(slack, self.nested)
        if stated["claim"] != expected:
            raise Rejected(f"the claim about the network as it is goes beyond what is proven: {expected}")
        of_radii = exact(radii)
        self.readout_holds(answers, of_radii)
        if (largest := self.largest_map()) > MAX_MAP:
            what = f"balls take matrices of {largest:,} numbers in this network"
            raise Rejected(f"{what}; at most {MAX_MAP:,} are gone through")
        exactly = bounds_of(self.network, self.prototypes, of_radii)
        most = min(MAX_BALLS, MAX_BALL_WORK // exactly.work())
        if len(leaves) + len(nodes) > most:
            raise Rejected(f"balls are proven of at most {most:,} entries in a network of this size")
        residuals = images.residuals(leaves.windows(), leaves.images)
        for window, image, far in zip(leaves.windows(), leaves.images, residuals, strict=True):
            self.inside("leaves", window, image, far + slack, radii)
        quick = bounds_of(self.quick, Doubles.from_value(self.prototypes), of_radii)
        self.nodes_stay(nodes, slack, radii, quick, exactly)
        return expected

    def largest_map(self) -> int:
        """The numbers of the map from the children to the widest layer."""
        return self.network.hidden * self.network.C * self.network.d

    def nodes_stay(
        self,
        nodes: WindowTable,
        slack: float,
        radii: Floats,
        quick: CheckedImageBounds[Any],
        exactly: CheckedImageBounds[Any],
    ) -> None:
        """Reject a window whose image may leave the ball of its prototype, or come within the slack of its edge.

        Its bounds are `quick` in float64, and `exactly` in balls of FLINT where those do not tell.
        """
        fits = self.largest_map() <= MAX_EXACT_MAP
        most = left = min(MAX_EXACT_BALLS, MAX_EXACT_BALL_WORK // exactly.work()) if fits else 0
        for at, (window, image) in enumerate(zip(nodes.windows(), nodes.images, strict=True)):
            self.progress("balls", at, len(nodes))
            if known_inside(quick, window, image, slack, float(radii[image - 1])):
                continue
            if not left:
                raise Rejected(f"float64 does not prove the balls of more than {most:,} entries")
            left -= 1
            self.inside("nodes", window, image, exactly.distance(window, image) + slack, radii)

    def inside(self, part: str, window: Ints, image: int, far: arb, radii: Floats) -> None:
        """Reject an image that may leave the ball of its prototype."""
        if not far <= radii[image - 1]:
            raise Rejected(
                f"the network as it is: {part}, window {window.tolist()}: the image and the slack may reach "
                f"{float(far.upper()):.6g} from prototype {image}, whose ball has the radius {radii[image - 1]:.6g}",
                float(far.upper()) - float(radii[image - 1]),
            )

    def readout_holds(self, answers: list[int | None], radii: Balls) -> None:
        """Reject a ball where the answer a may change: at the centre logit a - logit b > |w_a - w_b| r for every b."""
        weight, logits = self.network.w["readout.weight"], self.network.readout(self.prototypes)
        for k, answer in enumerate(answers):
            for b in range(len(weight)):
                if answer is None or b == answer:
                    continue
                if not norm(weight[answer] - weight[b]) * radii[k] < logits[k, answer] - logits[k, b]:
                    raise Rejected(f"the network as it is: the answer can change within the ball of prototype {k + 1}")


def known_inside(quick: CheckedImageBounds[Any], window: Ints, image: int, slack: float, radius: float) -> bool:
    """Whether float64 tells that an image and the slack stay in the ball of their prototype; what it does not tell is
    left to FLINT."""
    with np.errstate(all="ignore"):
        return is_ieee() and bool(quick.distance(window, image) + slack <= radius)
