"""A run in words: what it is, what is proven of it, and what is only observed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from languages.automata.pushdown import PushdownTransducer
from languages.registry import level_of
from regulargpt.certificate.checker import AcceptedChain, AcceptedStack, AnyProof
from regulargpt.certificate.sentences import STACKED, pointed
from regulargpt.classroom.data import PageRun
from regulargpt.config.recipes import CONSTRUCTED
from regulargpt.config.schema import RunConfig
from regulargpt.falsification.sentences import NONE_WRONG, sentence
from regulargpt.findings.markup import tag, text
from regulargpt.objectives.measures import Measure
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.storage.folder import CERTIFICATE, REFUTATION
from regulargpt.tables import number
from regulargpt.training.proof import no_certificate

PROVEN, PARTLY, OBSERVED = "proven", "partly", "observed"
PROOF = "Proven for every length, in real arithmetic"
STACK_PROOF = f"Proven for every length, {STACKED}, in real arithmetic and in float32"
NESTED_PROOF = "Proven for every length and every depth, in real arithmetic"
MARKS = {PROVEN: "✓", PARTLY: "◐", OBSERVED: "○"}


def identity(config: RunConfig) -> str:
    """The run in a line under its language.

    >>> identity(RunConfig())
    'regulargpt-C2 · recipe answers · seed 0 · trained on words of up to 40 symbols'
    """
    model = config.model.label
    words = f"trained on words of up to {config.data.train_len} symbols"
    if config.recipe in CONSTRUCTED:
        words = "not trained: its weights were constructed"
    return f"{model} · recipe {config.recipe} · seed {config.seed} · {words}"


def status(run: PageRun) -> tuple[str, str]:
    """How much is proven, and that in words."""
    if run.certificate is None and run.refutation is not None:
        return OBSERVED, f"Proven to be wrong, in real arithmetic: {run.refutation.claim}"
    if run.certificate is None:
        measured = measure_of(run.summary["measure"]).name.replace("_", " ")
        measured = "the share of whole words that are right" if measured == "words" else measured
        return OBSERVED, f"Nothing is proven: {measured} was observed on samples. {without(run)}."
    accepted = run.certificate.accepted
    proof = NESTED_PROOF if isinstance(run.machine, PushdownTransducer) else PROOF
    if isinstance(accepted, AcceptedStack):
        proof = STACK_PROOF
    if run.is_another:
        return PARTLY, f"{proof}, but of automaton.json only: {run.reasons[0]}."
    if isinstance(accepted, AcceptedStack):
        return PROVEN, f"{proof}."
    if accepted.unquantised_claim:
        return PROVEN, f"{proof}, for the network as it is."
    if isinstance(accepted, AcceptedChain):
        replaced = pointed(len(run.certificate.record["points"]))
    else:
        replaced = (
            f"the state of each node above the symbols is replaced by the nearest of {accepted.prototypes} prototypes"
        )
    return PARTLY, f"{proof}, for the quantised network: {replaced}. {as_it_is(run)}"


def as_it_is(run: PageRun) -> str:
    """What is said of the network as it is, where the proof is about the quantised network."""
    if run.refutation is not None:
        return "Without that, it is proven to be wrong."
    return "Without that, it is wrong on some words." if run.is_wrong else "Of the network as it is, this is observed."


def without(run: PageRun) -> str:
    """That there is no certificate, and why, or how to ask for one."""
    if run.reasons:
        return run.reasons[0][0].upper() + run.reasons[0][1:]
    if not run.is_on_language:
        return "A retrieval task has no automaton"
    can_have_one = run.config.model.name == "regulargpt"
    if run.is_on_language and level_of(run.config.data.name) != "regular":
        can_have_one = run.config.model.follows_brackets
    if run.config.model.has_stacks or run.config.model.carries_state:
        can_have_one = no_certificate(run.config.model, run.config.objective, run.config.data.name) is None
    return "No certificate" + (f"; run `regulargpt verify {run.path}`" if can_have_one else "")


def badge(run: PageRun) -> str:
    """The status in a box, with a mark beside its colour."""
    kind, words = status(run)
    return tag(
        "p", tag("span", MARKS[kind], class_="mark", aria_hidden="true"), " ", code(words), class_=f"badge {kind}"
    )


def proof(run: PageRun) -> str:
    """The section on what is proven and what is observed, with the digests and how to check them."""
    observed = tag("h4", "Observed, not proven") + listed(observations(run))
    if run.certificate is None:
        return tag("p", code(status(run)[1])) + (listed(run.reasons[1:]) if run.reasons[1:] else "") + observed
    record, accepted = run.certificate.record, run.certificate.accepted
    lines = [("claim", text(accepted.claim))]
    if not isinstance(accepted, AcceptedStack):
        wrong = "not proven" if run.refutation is None else f"Wrong. {run.refutation.claim}"
        lines.append(("as it is", text(accepted.unquantised_claim or wrong)))
    lines += [("table", text(entries(accepted))), ("automaton", text(answered(accepted)))]
    lines += [
        (record[name]["file"], tag("code", text(record[name]["sha256"])))
        for name in ("weights", "network", "automaton")
    ]
    rows = [tag("dt", text(name)) + tag("dd", value) for name, value in lines]
    path = tag("code", text(f"regulargpt check {run.path / CERTIFICATE}"))
    checked = "Checked when this page was made, by a program that shares no code with what trained. Check it yourself: "
    return tag("h4", "Proven, in real arithmetic") + tag("dl", *rows) + tag("p", text(checked), path) + observed


def listed(lines: Sequence[str]) -> str:
    """A list of sentences."""
    return tag("ul", *(tag("li", text(line)) for line in lines))


def entries(accepted: AnyProof) -> str:
    """The table of the certificate in numbers."""
    if isinstance(accepted, AcceptedStack):
        return (
            f"{accepted.states:,} states, {accepted.entries:,} entries, {accepted.pairs:,} pairs with the automaton, "
            f"of whose stacks one is at most {accepted.lag} higher; least sum of a unit {accepted.sign_margin:.3g}"
        )
    if isinstance(accepted, AcceptedChain):
        margin = accepted.point_margin
        rival = "" if margin is None else f", nearest rival at least {margin:.3g} farther"
        return f"{accepted.points:,} points, {accepted.rows:,} rows, {accepted.pairs:,} pairs with the automaton{rival}"
    meaning = "each prototype stands for one element" if accepted.homomorphism else "a prototype may stand for several"
    return (
        f"{accepted.prototypes} prototypes, {accepted.entries} entries, nearest rival at least "
        f"{accepted.smallest_margin:.3g} farther; {meaning}"
    )


def answered(accepted: AnyProof) -> str:
    """How much the automaton asks."""
    if isinstance(accepted, AcceptedStack):
        return f"answers in {accepted.answered_states} of the {accepted.automaton_states} states that words lead to"
    if isinstance(accepted, AcceptedChain):
        return f"answers in {accepted.answered_states} of the {accepted.states} states that words lead to"
    return (
        f"answers in {accepted.answered_states} of the {accepted.states} states that words lead to, "
        f"at {accepted.answered_roots} of {accepted.roots} kinds of root"
    )


def observations(run: PageRun) -> list[str]:
    """What was measured on samples.

    The measure by length is always there; the rest where it was measured.
    """
    summary = run.summary
    measure = measure_of(summary["measure"])
    name, score, worst = (
        measure.name.replace("_", " "),
        with_unit(summary["score"], measure),
        with_unit(summary["worst"], measure),
    )
    lines = [f"mean {name} {score} over lengths {summary['test_from']} to {summary['test_len']}, worst {worst}"]
    lines += [
        f"mean {other.replace('_', ' ')} {with_unit(of['score'], measure_of(other))}, worst "
        f"{with_unit(of['worst'], measure_of(other))}"
        for other, of in summary.get("scores", {}).items()
        if other != measure.name
    ]
    lines += wrong_words(run)
    longer = [(length, value) for length, value in run.points if length > summary["test_len"]]
    lines += [f"{with_unit(value, measure)} at length {length:,}" for length, value in longer]
    if run.field is not None and (erf := run.field.values["erf"]) is not None:
        lines.append(f"99 % of the gradient in the last {erf} of {run.field.values['length']} symbols")
    return lines


def wrong_words(run: PageRun) -> list[str]:
    """What an earlier search has wrong, and which files that say so do not hold."""
    sentences = []
    if run.falsified is not None and run.falsified["is_refuted"]:
        sentences.append(NONE_WRONG)
    elif run.falsified is not None and run.falsified["wrong"]:
        sentences.append(sentence(run.falsified))
    if run.refuted is not None and run.refuted.reason:
        sentences.append(f"{REFUTATION} proves nothing of {run.config.data.name}: {run.refuted.reason}")
    return sentences


def with_unit(value: float, measure: Measure) -> str:
    """A value with its unit."""
    return f"{number(value, measure.unit)} {measure.unit}".strip()


def code(words: str) -> str:
    """Text in which `...` is code.

    >>> code("run `a<b`")
    'run <code>a&lt;b</code>'
    """
    parts = words.split("`")
    return "".join(tag("code", text(part)) if i % 2 else text(part) for i, part in enumerate(parts))


def name(path: Path) -> str:
    """A folder's name, also of `.`."""
    return path.resolve().name
