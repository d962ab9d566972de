"""Pages are made of their records, docs/results.md of the pages, and the guides quote what both say."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import decoder, results_page
from experiments.claims import FAILS, SHORT, Ratio, claimed
from experiments.page import files
from experiments.page.markdown import markdown
from experiments.page.record import Answer, Page
from experiments.recorded import FILE, RULES, read, read_rules, write, write_rules
from experiments.registry import experiment
from experiments.results_page import RESULTS, cells
from experiments.score_page import verdicts
from regulargpt.evaluation.interval import FILES
from regulargpt.findings import text as text_of
from regulargpt.results.rows import rows
from regulargpt.results.statistics import groups
from regulargpt.tables import percent
from regulargpt.text.experiments.results import LOSSES, TextResults, read_losses
from regulargpt.text.experiments.table import TextTable
from regulargpt.text.measurements.alignment import report as align
from regulargpt.text.measurements.needles import finding_of

ROOT = Path(__file__).parent.parent
PAGES = sorted(place.name for place in RESULTS.iterdir() if files.has_page(place))


def jsonl(name: str) -> list[dict[str, Any]]:
    """The records of a file of the runs on texts."""
    return [json.loads(line) for line in (RESULTS / "texts" / name).read_text("utf-8").splitlines()]


def guide(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_made_of_every_record(name: str):
    place, record = RESULTS / name, files.read(RESULTS / name)
    text = markdown(record)
    assert all((place / picture.file).exists() for picture in record.pictures if not picture.lines)
    assert [line for line in text.splitlines() if line.startswith("| None ")] == []
    if record.layout == "scores":  # every mean stands in bold, and the lines are read as they were written
        lines = [line for line in text.splitlines() if line.startswith("|")]
        shown = "\n".join(bold for line in lines for bold in re.findall(r"\*\*(.*?)\*\*", line))
        ours = [one["ours"] for one in cells(name).values() if one["done"]]
        assert all(percent(one["mean"]) in shown for one in ours if one.get("mean") is not None)
        assert cells(name)
    elif (place / files.RECORD).exists():
        assert (place / files.RECORD).read_text(encoding="utf-8") == files.rendered(record)
    if record.claims:
        assert_claims(record, place, text)


@pytest.mark.parametrize("place", sorted(path.parent for path in RESULTS.glob(f"*/{FILE}")), ids=lambda path: path.name)
def test_the_tables_of_scores_are_written_as_they_are_read(place: Path, tmp_path: Path):
    write(tmp_path / FILE, read(place / FILE))
    assert (tmp_path / FILE).read_text("utf-8") == (place / FILE).read_text("utf-8")
    write_rules(tmp_path / RULES, read_rules(place / RULES))
    assert (tmp_path / RULES).exists() == (place / RULES).exists()
    assert not (place / RULES).exists() or (tmp_path / RULES).read_text("utf-8") == (place / RULES).read_text("utf-8")


def steps_of(record: Page) -> dict[str, int]:
    """The most steps of each row of a page about texts."""
    return {model["row"]: model["steps"] for model in record.parts["models"]}


def assert_claims(record: Page, place: Path, text: str) -> None:
    """The printed rules are those that are tested, and verdicts follow from the cells, losses and steps of the page."""
    of_decoder = record.experiment == decoder.NAME  # which no experiment trains
    table = None if of_decoder else experiment(record.experiment)
    of_table = claimed(decoder.CLAIMS) if table is None else table.claims
    claims = {claim.sentence: claim for claim in record.claims}
    tested = {claim.sentence: tuple(test.rule for test in claim.bounds) for claim in of_table}
    assert {sentence: claim.rules for sentence, claim in claims.items()} == tested
    if table and not isinstance(table, TextTable):  # of scores there are no losses
        assert tuple(verdicts(table, record.scale, list(cells(place.name).values()))) == record.claims
        few = any(claim.seeds < 3 for claim in record.claims)
        assert ("claims about just these networks" in text) == few
        return
    trained = {cell["row"]: record.facts["steps"] for cell in record.cells} if of_decoder else steps_of(record)
    for claim in of_table:
        written = claims[claim.sentence]
        answer: Answer = FAILS if written.answer == SHORT else written.answer
        answers: list[Answer] = [answer] * len(claim.bounds)
        steps = claim.too_few_steps(answer, answers, TextResults(1, {}, steps=trained))
        assert (written.steps, written.answer == SHORT) == (steps, answer == FAILS and steps > 0)
    assert (record.facts["losses"] == LOSSES) == (place / LOSSES).exists()
    if not record.facts["losses"]:
        # What nobody can compute again says so.
        assert record.facts["over"] == FILES or re.search("(of|about) just these networks", text)
        return
    results = replace(read_losses(place), steps=trained)
    for claim in of_table:
        written = claims[claim.sentence]
        paired = [test for test in claim.bounds if all(isinstance(one, Ratio) for one in test.figures)]
        assert all(test(results).figure in written.figure for test in paired)
        if paired == list(claim.bounds):
            verdict = claim.verdict(results)
            assert (verdict.answer, verdict.figure, verdict.seeds) == (written.answer, written.figure, written.seeds)


def test_results_are_made_of_the_tables():
    assert guide("results.md") == results_page.results()
    assert len(guide("results.md").split()) <= 3_000


def test_cells_are_those_of_the_runs_in_the_repository():
    for path in RESULTS.glob("*/results.csv"):
        assert {row.status for row in rows(path)} == {"done"}
    assert "regex:(ab)*" in {row.get("data.name") for row in rows(RESULTS / "others" / "results.csv")}
    found = groups(rows(RESULTS / "table-6.1-cpu-transformer" / "results.csv"), ["data.name"])
    assert [str(group.key[0]) for group in found] == ["dyck-2", "dyck-3", "dyck-4", "dyck-12", "tomita-5"]
    for group in found:
        cell = cells("table-6.1-cpu")[str(group.key[0]), "transformer"]
        assert tuple(cell["group"]["scores"]) == group.scores
        assert cell["ours"] == {"max": group.max, "mean": group.mean}
        assert (cell["group"]["min"], cell["group"]["first_below_99"]) == (group.min, group.first_below_99)
    # Of the ablations' runs a row each has the score, and one more the first length below 99 %.
    found = groups(rows(RESULTS / "ablations-cpu" / "results.csv"), ["run"])
    in_page = [cell["group"] for cell in cells("ablations-cpu").values() if cell["group"]]
    scores = sorted(score for group in found for score in group.scores)
    assert scores == pytest.approx(sorted(score for group in in_page for score in group["scores"]))
    assert {group["first_below_99"] for group in in_page} <= {group.first_below_99 for group in found} | {None}


def test_the_results_in_the_repository_stay_small():
    found = [path for path in RESULTS.rglob("*") if path.is_file() and path.suffix != ".svg"]
    assert sum(path.stat().st_size for path in found) < 2_350_000
    assert {path.suffix for path in found} <= {".md", ".json", ".jsonl", ".csv", ".png", ".toml"}
    assert [*RESULTS.glob(f"*/{files.PAGE}")] == []  # pages are made, and not kept


def test_the_guide_to_texts_quotes_what_its_commands_print():
    words = " ".join(guide("text.md").split())
    by_encoding = {one["encoding"]: one for one in reversed(jsonl("evaluations.jsonl"))}  # the first is the run's own
    one = by_encoding["kerple_log"]
    for length, value in one["bits_per_byte"]["values"].items():
        low, high = one["bits_per_byte"]["intervals"][length]
        row = f"{int(length):,} {value:.3f} ({low:.3f}-{high:.3f}) {one['perplexity']['values'][length]:.2f}"
        if length != "64":
            ratio, low, high = one["extrapolation"]["ratios"][length]
            row += f" x {ratio:.3f} ({low:.3f}-{high:.3f})"
        assert row in words
    assert all(one["extrapolation"]["sentence"] in words for one in by_encoding.values())


def test_the_guides_quote_what_is_found_by_depth_and_in_lines():
    report = json.loads((RESULTS / "texts" / "retrieval-needles.json").read_text(encoding="utf-8"))
    assert report["run_dir"] == "runs/line"
    finding = finding_of(report, {"by_length": report["by_length"]}, "")
    assert f"```\n{text_of(finding)}\n```" in guide("text.md")
    run = next(run for run in jsonl("retrieval-runs.jsonl") if run["task"] == "retrieval:line")
    values = {length: found["all"]["value"] for length, found in report["by_length"].items()}
    assert values == pytest.approx(run["exact_match"], abs=1e-5)
    line = json.loads((RESULTS / "texts" / "align-line.json").read_text(encoding="utf-8"))
    said = " ".join(text_of(align.finding_of(line)).split("Propositions")[0].split()).partition(" strategy ")[2]
    assert said in " ".join(guide("analysis.md").split())
    assert (line["train_len"], line["length"]) == (64, 4096)


def test_the_guide_to_models_quotes_what_was_seen_of_each_network():
    found, quoted = cells("rivals-cpu"), 0
    for row in guide("models.md").partition("| seen here |\n")[2].partition("\n\n")[0].splitlines()[1:]:
        for part in filter(None, row.split("|")[-2].strip().split("; ")):
            network, _, scores = part.partition(": ")
            for task, score in (each.split() for each in scores.split(", ")):
                assert percent(found[network, task]["ours"]["mean"]) == score
                quoted += 1
    assert quoted >= 10
