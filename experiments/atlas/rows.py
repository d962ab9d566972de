"""The rows of the atlas, from what was planned and the folders of the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from experiments.atlas.algebra import algebra
from experiments.atlas.columns import DONE, FAILED, REFUSED, Row
from experiments.atlas.networks import budget
from experiments.atlas.plan import Planned
from languages.automata import Dfa
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder

algebra_of = lru_cache(maxsize=None)(algebra)


def rows(planned: Iterable[Planned], folder: SweepFolder) -> Iterator[Row]:
    """A row of each run that has ended, in the order of the plan; why a run failed or was not proven is its reason."""
    for run in planned:
        result = row(run, folder)
        if result is not None:
            yield {"language": run.entry.name, "network": run.network.name, **algebra_of(run.entry.dfa), **result}


def row(run: Planned, folder: SweepFolder) -> dict[str, Any] | None:
    """The results of a run; None while it has not ended."""
    allowed = {"budget": budget(run.config)}
    if run.refusal:
        return {"state": REFUSED, "reason": run.refusal, **allowed}
    name = name_of(run.config)
    state = folder.state(name)
    if state == "missing":
        return None
    if state == "failed":
        return {"state": FAILED, "reason": folder.failure(name)["reason"], **allowed}
    return {"state": DONE, **allowed, **results(RunFolder.open(folder.run_path(name)), run.entry.dfa)}


def results(run: RunFolder, dfa: Dfa) -> dict[str, Any]:
    """What a finished run says of itself; `proven` only of the language itself, None where no proof was requested."""
    summary = run.load_summary()
    tuning = summary["phases"].get("table_fine_tuning", {})
    reason = why_unproven(run, dfa) if summary["proven"] is not None else ""
    return {
        "accuracy": summary["score"],
        "worst": summary["worst"],
        "first_below_99": summary["first_below_99"],
        "chance": summary["chance"],
        "proven": None if summary["proven"] is None else not reason,
        "learned_at": tuning.get("learned_at"),
        "certified_at": tuning.get("certified_at"),
        "steps": summary["steps"],
        "seconds": round(sum(value for key, value in summary.items() if key.endswith("_seconds")), 1),
        "reason": reason,
    }


def why_unproven(run: RunFolder, dfa: Dfa) -> str:
    """Why the checker accepts no certificate now, or on which word the certified machine is wrong; else nothing.

    A certificate from answers alone is about the machine of the network's answers, which may be another language's.
    """
    from regulargpt.certificate.compared import automaton_of, parting_word
    from regulargpt.certificate.sentences import sentences
    from regulargpt.certificate.verdict import acceptance

    if (attempt := run.load_attempt()) is not None:
        return "; ".join(sentences(attempt))
    if not (accepted := acceptance(run)).is_accepted:
        return accepted.reason
    right = dfa.as_moore()
    word = parting_word(automaton_of(run), right)
    return "" if word is None else f"proven of another language: {right.decode(np.array(word))} is answered wrongly"
