"""What is said of a trained recurrent network: proven at every length, or the shortest wrong word, or why neither."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from torch import Tensor, nn

from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.errors import UserError
from regulargpt.certificate import record
from regulargpt.certificate.chain.box_search import PointBoxes, search_boxes
from regulargpt.certificate.chain.graph_boxes import graph_of
from regulargpt.certificate.chain.points import Candidate, Word
from regulargpt.certificate.chain.product import ChainProduct
from regulargpt.certificate.chain.search import proven, refuse_trivial
from regulargpt.certificate.checker import FORMAT, Malformed, Progress, Rejected, decide
from regulargpt.certificate.checker.claims import chain_claim, unquantised_chain_claim
from regulargpt.certificate.outcome import Outcome, compared, errs_on, learned_report, refused, too_close
from regulargpt.certificate.verdict import remember
from regulargpt.data.language import LanguageData
from regulargpt.finite.chain import chain_of
from regulargpt.finite.from_answers import LearnedMachine, answers_of
from regulargpt.finite.specification import specified_machine
from regulargpt.storage.folder import AUTOMATON, CERTIFICATE

Floats = npt.NDArray[np.float64]

KIND = {"kind": "chain"}
# Words of each length whose states are averaged.
SAMPLES = 8
# A slack is stated smaller than found, by these shares, so that the checker's own bound may be larger.
SHARES = (0.97, 0.5)
ERRS = "the network itself errs on a word"


def chain_outcome(
    model: nn.Module,
    data: LanguageData,
    seed: int,
    files: Mapping[str, bytes],
    progress: Progress = lambda part, done, count: None,
    learned: LearnedMachine | None = None,
    known: Float[Tensor, "K D"] | None = None,
    unknown: str = "",
    wrong: Sequence[Word] = (),
) -> Outcome:
    """Search, make the certificate of these `weights` and this `network`, and have it checked; or why there is none.

    It is about the language's automaton, or about the one that was `learned` from the network's answers. Points that
    are `known` are tried first. Nothing is proven of a network that has no graph, for the reason in `unknown`. Words
    that were found `wrong` are asked once more where no shorter one is.
    """
    of_all: dict[str, Any] = {**KIND, **learned_report(learned, data.tree_task)}
    lengths = data.lengths(data.options.train_len)
    words = [data.batch(seed, "points", i, [T], SAMPLES).astype(np.int64) for i, T in enumerate(lengths)]
    try:
        machine = machine_of(data, learned)
        chain = chain_of(model, machine.n_symbols)
        candidate = Candidate(chain, machine)
        if known is not None and known.shape[1:] != (chain.dimension,):
            known = None
        holding, best = proven(candidate, words, known)
    except UserError as error:
        return refused(files["weights"], {**of_all, "reason": str(error)})
    # A network may be right for ever with its states replaced, and wrong as it is.
    of_language = replace(candidate, machine=specified_machine(data.finite))
    own = of_language.own_error() or still_wrong(data.finite.machine, model, wrong)
    of_all |= {} if own is None else {"wrong_unquantised": compared(data.finite.machine, model, own)}
    if not holding:
        return refused(files["weights"], {**of_all, **counted(best), **why_not(best, model)})
    if unknown:
        report = {"checked": False, "reason": f"not checked: {unknown}"}
        return refused(files["weights"], {**of_all, **counted(holding[0]), **report})
    errs = own is not None if learned is None else candidate.own_error() is not None
    graph = graph_of(files)
    boxes = [(product, ERRS if errs else search_boxes(chain, product, graph)) for product in holding]
    return certified(boxes, {**files, "automaton": to_json(machine).encode()}, of_all, progress)


def still_wrong(machine: MooreMachine, model: nn.Module, words: Sequence[Word]) -> Word | None:
    """The shortest of these words that the network answers wrongly."""
    for word in sorted(filter(None, words), key=len):
        symbols = np.array([word])
        if 0 <= int(machine.answers(symbols)[0]) != int(answers_of(model, symbols)[0]):
            return word
    return None


def machine_of(data: LanguageData, learned: LearnedMachine | None) -> MooreMachine:
    """The machine that is proven. Raises UserError where there is none, or nothing to prove."""
    if learned is None:
        machine, name = specified_machine(data.finite), data.name
    else:
        machine, name = learned.machine, "the automaton that was learned"
        assert isinstance(machine, MooreMachine), "the language is regular"
    refuse_trivial(machine, name)
    return machine


def counted(product: ChainProduct) -> dict[str, Any]:
    """How much comes up, and the least margins; None for that between points where there is one point only."""
    margins = {"smallest_margin": product.smallest_margin, "smallest_answer_margin": product.smallest_answer_margin}
    at_points = int((product.pairs[:, 0] > 0).sum())
    sizes = {"points": int(product.points_met.sum()), "rows": int(product.used.sum()), "pairs": at_points}
    return sizes | {name: margin if np.isfinite(margin) else None for name, margin in margins.items()}


def why_not(product: ChainProduct, model: nn.Module) -> dict[str, Any]:
    """The shortest word that is wrong with states replaced; or that a margin is too small."""
    if product.wrong is not None:
        return errs_on(product.machine, model, product.wrong)
    margin = min(product.smallest_margin, product.smallest_answer_margin)
    return {"reason": too_close(margin)}


def certified(
    candidates: Sequence[tuple[ChainProduct, tuple[ChainProduct, PointBoxes] | str]],
    files: dict[str, bytes],
    of_all: Mapping[str, Any],
    progress: Progress,
) -> Outcome:
    """The first certificate that the checker accepts, with boxes if it accepts any; or why it accepts none."""
    rejected = dict[bool, str]()  # why the first certificate was: with boxes, without
    for product, boxes in attempts(candidates):
        certificate = certificate_of(product, boxes, files)
        try:
            decide(certificate.encode(), files, progress=progress)
        except (Rejected, Malformed) as error:
            rejected.setdefault(boxes is not None, f"the independent check rejects it: {error}")
            continue
        remember(certificate.encode(), files)
        if boxes is None:
            why = next((why for _, why in candidates if isinstance(why, str)), "")
            unquantised = {"proven": False, "reason": rejected.get(True, why)}
        else:
            unquantised = {"proven": True, "slack": boxes.slack, "radius": float(boxes.radii.max())}
        report = {"proven": True, **of_all, **counted(product), "unquantised": unquantised}
        written = {**record.graph_file(files), AUTOMATON: files["automaton"].decode(), CERTIFICATE: certificate}
        return Outcome(report, written)
    return refused(files["weights"], {**of_all, **counted(candidates[0][0]), "reason": rejected[False]})


def attempts(
    candidates: Sequence[tuple[ChainProduct, tuple[ChainProduct, PointBoxes] | str]],
) -> Iterator[tuple[ChainProduct, PointBoxes | None]]:
    """What is to be checked: first with boxes, by a slack smaller than found, then without."""
    for _, boxed in candidates:
        if not isinstance(boxed, str):
            product, boxes = boxed
            yield from ((product, replace(boxes, slack=float(f"{share * boxes.slack:.3g}"))) for share in SHARES)
    yield from ((product, None) for product, _ in candidates)


def certificate_of(product: ChainProduct, boxes: PointBoxes | None, files: Mapping[str, bytes]) -> str:
    """certificate.json: points and boxes, and of which files it is. The checker finds all the rest."""
    machine, points, unquantised = product.machine, product.rows.points.tolist(), None
    if boxes is not None:
        claim = unquantised_chain_claim(boxes.slack)
        unquantised = {"claim": claim, "slack": boxes.slack, "radii": boxes.radii.tolist()}
    total, called = record.answers_every_word(machine), record.network_called(files)
    claim = chain_claim(machine.alphabet, len(points), total, called)
    of_points = {"claim": claim, "unquantised": unquantised, **record.named(files), "points": points}
    return record.text({"format": FORMAT, **KIND, **of_points})
