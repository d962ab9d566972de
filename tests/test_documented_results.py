"""Pages are made of their records, docs/results.md of the pages, and the guides quote what both say."""

import json
import re
import shutil
from pathlib import Path

import pytest

from experiments import results_page
from experiments.atlas import columns
from experiments.atlas.page import write_page
from experiments.claims import Ratio
from experiments.page import files
from experiments.page.markdown import markdown
from experiments.page.record import Page, Values
from experiments.random_dfas import TABLE
from experiments.random_dfas import page as page_of_random_automata
from experiments.random_dfas import read as read_random_automata
from experiments.registry import experiment
from experiments.results_page import RESULTS, cells
from experiments.text.results import LOSSES, read_losses
from experiments.text.table import TextTable
from regulargpt.evaluation.interval import FILES
from regulargpt.findings import text as text_of
from regulargpt.measurements.alignment import report as align
from regulargpt.measurements.needles import finding_of
from regulargpt.results.rows import rows
from regulargpt.results.statistics import groups
from regulargpt.tables import percent

ROOT = Path(__file__).parent.parent
PAGES = sorted(path.parent.name for path in RESULTS.glob("*/page.json"))


def page(name: str) -> Page:
    """A page in experiments/results."""
    return files.read(RESULTS / name)


def text_cells(name: str) -> list[Values]:
    """The cells of a page about texts."""
    return [values for values in page(name).cells if "multiple" in values]


def test_the_results_are_made_of_the_records():
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == results_page.results()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_for_people_is_made_of_the_record_for_programs(name: str):
    place, record = RESULTS / name, page(name)
    assert (place / files.PAGE).read_text(encoding="utf-8") == markdown(record)
    assert (place / files.RECORD).read_text(encoding="utf-8") == files.rendered(record)
    assert all((place / picture.file).exists() for picture in record.pictures if not picture.lines)


def test_the_pages_of_the_atlas_and_of_random_automata_are_made_of_their_tables(tmp_path: Path):
    for file in (columns.FILE, columns.LANGUAGES, "environment.json"):
        shutil.copy(RESULTS / "atlas" / file, tmp_path)
    write_page(tmp_path)
    assert (tmp_path / files.RECORD).read_text("utf-8") == (RESULTS / "atlas" / files.RECORD).read_text("utf-8")
    found = page_of_random_automata(read_random_automata(RESULTS / "random-dfas" / TABLE))
    sections = markdown(found).partition("## How it was made")[0]
    assert (RESULTS / "random-dfas" / files.PAGE).read_text("utf-8").startswith(sections)


@pytest.mark.parametrize("name", [name for name in PAGES if "statistics" in page(name).facts])
def test_what_a_page_shows_in_bold_is_what_its_record_has(name: str):
    lines = (RESULTS / name / files.PAGE).read_text(encoding="utf-8").partition("\n## Ours")[0].splitlines()
    shown = [bold for line in lines if line.startswith("|") for bold in re.findall(r"\*\*(.*?)\*\*", line)]
    means = [one["ours"]["mean"] for one in cells(name).values() if one["done"] and one["ours"].get("mean") is not None]
    found = [text for mean in means if (text := percent(mean))]
    for text in found:
        assert any(text in bold for bold in shown), text


def test_the_transformers_cells_are_those_of_the_runs_in_the_repository():
    found_cells = cells("table-6.1-cpu")
    found = groups(rows(RESULTS / "table-6.1-cpu-transformer" / "results.csv"), ["data.name"])
    assert [str(group.key[0]) for group in found] == ["dyck-2", "dyck-3", "dyck-4", "dyck-12", "tomita-5"]
    for group in found:
        cell = found_cells[str(group.key[0]), "transformer"]
        assert tuple(cell["group"]["scores"]) == group.scores
        assert cell["ours"] == {"max": group.max, "mean": group.mean}
        assert (cell["group"]["min"], cell["group"]["first_below_99"]) == (group.min, group.first_below_99)


def test_the_ablations_cells_are_those_of_the_runs_in_the_repository():
    """Of these runs a row each has the score, and one more the first length below 99 %."""
    found = groups(rows(RESULTS / "ablations-cpu" / "results.csv"), ["run"])
    in_page = [cell["group"] for cell in cells("ablations-cpu").values() if cell["group"]]
    scores = sorted(score for group in found for score in group.scores)
    assert scores == pytest.approx(sorted(score for group in in_page for score in group["scores"]))
    assert {group["first_below_99"] for group in in_page} <= {group.first_below_99 for group in found} | {None}


def test_every_table_of_runs_in_the_repository_can_be_read():
    for path in RESULTS.glob("*/results.csv"):
        assert {row.status for row in rows(path)} == {"done"}
    assert "regex:(ab)*" in {row.get("data.name") for row in rows(RESULTS / "others" / "results.csv")}


def test_the_results_in_the_repository_stay_small():
    found = [path for path in RESULTS.rglob("*") if path.is_file() and path.suffix != ".svg"]
    # A third of them is what people read.
    assert sum(path.stat().st_size for path in found) < 2_200_000
    assert {path.suffix for path in found} <= {".md", ".json", ".jsonl", ".csv", ".png", ".toml"}


TEXT_PAGES = [RESULTS / name for name in PAGES if page(name).claims]


@pytest.mark.parametrize("folder", TEXT_PAGES, ids=[folder.name for folder in TEXT_PAGES])
def test_the_printed_rules_are_those_that_are_tested(folder: Path):
    found_page = files.read(folder)
    tested = {claim.sentence: tuple(test.rule for test in claim.bounds) for claim in text_table(found_page).claims}
    assert {claim.sentence: claim.rules for claim in found_page.claims} == tested


def text_table(page: Page) -> TextTable:
    """The experiment of a page."""
    found = experiment(page.experiment)
    assert isinstance(found, TextTable)
    return found


@pytest.mark.parametrize("folder", TEXT_PAGES, ids=[folder.name for folder in TEXT_PAGES])
def test_each_paired_verdict_follows_from_the_losses_beside_its_page(folder: Path):
    found_page = files.read(folder)
    assert (found_page.facts["losses"] == LOSSES) == (folder / LOSSES).exists()
    text = (folder / "page.md").read_text(encoding="utf-8")
    if not found_page.facts["losses"]:
        # What nobody can compute again says so.
        assert found_page.facts["over"] == FILES or re.search("(of|about) just these networks", text)
        return
    results = read_losses(folder)
    claims = {claim.sentence: claim for claim in found_page.claims}
    for claim in text_table(found_page).claims:
        paired = [test for test in claim.bounds if all(isinstance(one, Ratio) for one in test.figures)]
        found = [test(results) for test in paired]
        written = claims[claim.sentence]
        assert all(one.figure in written.figure for one in found)
        if paired == list(claim.bounds):
            verdict = claim.verdict(results)
            assert (verdict.answer, verdict.figure, verdict.seeds) == (written.answer, written.figure, written.seeds)


def test_the_guide_to_texts_quotes_what_its_commands_print():
    lines = (RESULTS / "texts" / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    words = " ".join((ROOT / "docs" / "text.md").read_text(encoding="utf-8").split())
    by_encoding = {one["encoding"]: one for one in reversed(found)}  # the first of each is the run's own test
    one = by_encoding["kerple_log"]
    for length, value in one["bits_per_byte"]["values"].items():
        low, high = one["bits_per_byte"]["intervals"][length]
        row = f"{int(length):,} {value:.3f} ({low:.3f}-{high:.3f}) {one['perplexity']['values'][length]:.2f}"
        if length != "64":
            ratio, low, high = one["extrapolation"]["ratios"][length]
            row += f" x {ratio:.3f} ({low:.3f}-{high:.3f})"
        assert row in words
    assert all(one["extrapolation"]["sentence"] in words for one in by_encoding.values())


def test_the_guide_to_texts_quotes_what_is_found_by_depth():
    report = json.loads((RESULTS / "texts" / "retrieval-needles.json").read_text(encoding="utf-8"))
    assert report["run_dir"] == "runs/line"
    finding = finding_of(report, {"by_length": report["by_length"]}, "")
    assert f"```\n{text_of(finding)}\n```" in (ROOT / "docs" / "text.md").read_text(encoding="utf-8")


def test_the_record_of_a_run_on_lines_is_the_one_whose_depths_the_guide_shows():
    run = next(
        run
        for line in (RESULTS / "texts" / "retrieval-runs.jsonl").read_text("utf-8").splitlines()
        if (run := json.loads(line))["task"] == "retrieval:line"
    )
    report = json.loads((RESULTS / "texts" / "retrieval-needles.json").read_text(encoding="utf-8"))
    values = {length: found["all"]["value"] for length, found in report["by_length"].items()}
    assert values == pytest.approx(run["exact_match"], abs=1e-5)


def test_the_guide_to_analysis_quotes_the_needles_that_were_found():
    text = " ".join((ROOT / "docs" / "analysis.md").read_text(encoding="utf-8").split())
    line = json.loads((RESULTS / "texts" / "align-line.json").read_text(encoding="utf-8"))
    assert " ".join(text_of(align.finding_of(line)).split("Propositions")[0].split()).partition(" strategy ")[2] in text
    assert (line["train_len"], line["length"]) == (64, 4096)
