"""The tables in README.md and docs/ say what the pages in experiments/results/ say."""

import csv
import json
import re
import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.atlas import columns
from experiments.atlas.algebra import KINDS
from experiments.atlas.networks import (
    BATCH,
    LSTM_STEPS,
    NETWORKS,
    RNN_STEPS,
    TRANSFORMER_STEPS,
    TREE_STEPS,
    TREES,
)
from experiments.atlas.page import PAGE, write_page
from experiments.atlas.pictures import PICTURES
from experiments.page.files import page as written
from experiments.page.files import read_record, to_json
from experiments.page.record import Record
from experiments.random_dfas import WANTED, seconds
from experiments.registry import experiment
from experiments.text import kept
from experiments.text.claims import EXPLODES, Against, Ratio
from experiments.text.record import ClaimRecord, TextRecord
from experiments.text.table import TextTable
from regulargpt.evaluation.interval import FILES
from regulargpt.findings import text as text_of
from regulargpt.measurements.alignment import report as align
from regulargpt.measurements.needles import finding_of
from regulargpt.results.rows import rows
from regulargpt.results.statistics import groups
from regulargpt.tables import percent

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results"
PAGES = sorted(path.parent.name for path in RESULTS.glob("*/page.json"))
SCORES = [name for name in PAGES if isinstance(read_record(RESULTS / name), Record)]
TABLE_6_1_COLUMNS = ("rnn", "transformer", "robust-C2", "certified-C2")
ANSWERS_COLUMNS = ("gated-C2", "gated-C3", "regulargpt-C2", "regulargpt-C3")


def table(file: str, first: str) -> list[list[str]]:
    """The rows of the Markdown table whose first heading is `first`."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    (start,) = [at for at, line in enumerate(lines) if line.startswith(f"| {first} |")]
    below = lines[start + 2 :]
    end = next((at for at, line in enumerate(below) if not line.startswith("|")), len(below))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in below[:end]]


def cells(page: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The cells of a page in experiments/results, by row and column."""
    found = json.loads((RESULTS / page / "page.json").read_text())["cells"]
    return {(cell["row"], cell["column"]): cell for cell in found}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_for_people_is_made_of_the_record_for_programs(name: str):
    place = RESULTS / name
    record = read_record(place)
    assert (place / "page.md").read_text(encoding="utf-8") == written(record)
    assert all((place / picture.file).exists() for picture in (*getattr(record, "pictures", ()), *record.curves))
    # Texts beside the values are those of the values, and no field of the record is missing.
    assert json.loads((place / "page.json").read_text(encoding="utf-8")) == to_json(record)


@pytest.mark.parametrize("name", SCORES)
def test_what_a_page_shows_in_bold_is_what_its_record_has(name: str):
    lines = (RESULTS / name / "page.md").read_text(encoding="utf-8").partition("\n## Ours")[0].splitlines()
    shown = [bold for line in lines if line.startswith("|") for bold in re.findall(r"\*\*(.*?)\*\*", line)]
    texts = [cell["texts"]["ours"] for cell in cells(name).values() if cell["done"]]
    noted = [re.sub(r", \d+ of \d+ missing$", "", text) for text in texts if text]
    assert len(noted) > 1
    # The page has its columns in several tables, one below the other.
    assert sorted(shown) == sorted(re.sub(r"([<>_])", r"\\\1", text) for text in noted)


def test_the_transformers_cells_are_those_of_the_runs_in_the_repository():
    page = cells("table-6.1-cpu")
    found = groups(rows(RESULTS / "table-6.1-cpu-transformer" / "results.csv"), ["data.name"])
    assert [str(group.key[0]) for group in found] == ["dyck-2", "dyck-3", "dyck-4", "dyck-12", "tomita-5"]
    for group in found:
        cell = page[str(group.key[0]), "transformer"]
        assert tuple(cell["group"]["scores"]) == group.scores
        assert cell["ours"] == {"max": group.max, "mean": group.mean}
        assert (cell["group"]["min"], cell["group"]["first_below_99"]) == (group.min, group.first_below_99)


def test_the_ablations_cells_are_those_of_the_runs_in_the_repository():
    """Of these runs a row each has the score, and one more the first length below 99 %."""
    found = groups(rows(RESULTS / "ablations-cpu" / "results.csv"), ["run"])
    page = [cell["group"] for cell in cells("ablations-cpu").values() if cell["group"]]
    scores = sorted(score for group in found for score in group.scores)
    assert scores == pytest.approx(sorted(score for group in page for score in group["scores"]))
    assert {group["first_below_99"] for group in page} <= {group.first_below_99 for group in found} | {None}


def test_every_table_of_runs_in_the_repository_can_be_read():
    for path in RESULTS.glob("*/results.csv"):
        assert {row.status for row in rows(path)} == {"done"}
    assert "regex:(ab)*" in {row.get("data.name") for row in rows(RESULTS / "others" / "results.csv")}


def test_the_results_in_the_repository_stay_small():
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    # About a megabyte of them are the losses of segments.
    assert sum(path.stat().st_size for path in files) < 6_500_000
    assert {path.suffix for path in files} <= {".md", ".json", ".jsonl", ".csv", ".svg", ".png"}


def mean_and_proof(cell: dict[str, Any]) -> str:
    """A mean, and whether all runs of the cell that are done are proven."""
    if not cell["done"]:
        return "-"
    return percent(cell["ours"]["mean"]) + (" ∎" if cell["group"]["n_proven"] == cell["done"] else "")


def test_the_tables_show_means_of_table_6_1_as_its_page_has_them():
    page = cells("table-6.1-cpu")
    languages = dict.fromkeys(row for row, _ in page)
    expected = [[row, *(mean_and_proof(page[row, column]) for column in TABLE_6_1_COLUMNS)] for row in languages]
    assert table("docs/results.md", "row") == expected


# The tables of docs/results.md that have a page's means, by their first headings: the page, columns, and whose seconds.
OF_PAGES = {
    "from answers": ("answers-cpu", ANSWERS_COLUMNS, ("gated-C2",)),
    "with the automaton": ("automaton-cpu", ("regulargpt-C2", "regulargpt-C3"), ("regulargpt-C2", "regulargpt-C3")),
    "LDRU's language": ("ldru-2026-cpu", ("ldru", "gated-regulargpt", "rnn", "lstm"), ()),
    "never tried before": ("further-languages-cpu", ("gated-C2", "gated-C3", "regulargpt-C2"), ("gated-C2",)),
}


@pytest.mark.parametrize("heading", OF_PAGES)
def test_a_table_of_means_and_proofs_is_that_of_its_page(heading: str):
    assert table("docs/results.md", heading) == means_and_proofs(*OF_PAGES[heading])


def means_and_proofs(name: str, columns: Sequence[str], timed: Sequence[str]) -> list[list[str]]:
    """The rows of such a table: means, a mark where all runs are proven, seconds of training."""
    page = cells(name)

    def seconds(row: str, column: str) -> str:
        cell = page[row, f"seconds-{column}"]
        return cell["texts"]["ours"].partition(" s")[0] if cell["done"] else "-"

    return [
        [row, *(mean_and_proof(page[row, column]) for column in columns), *(seconds(row, column) for column in timed)]
        for row in dict.fromkeys(row for row, _ in page)
    ]


def test_the_table_of_what_certifying_costs_is_that_of_its_rows():
    rows = list(csv.DictReader((RESULTS / "certifying" / "certifying.csv").read_text().splitlines()))
    assert {row["proven"] for row in rows} == {"True"}
    networks = {"gated-regulargpt": "gated RegularGPT", "regulargpt": "RegularGPT"}
    assert table("docs/results.md", "language | network") == [
        [
            *(f"`{row['language']}`", networks[row["model"]], f"{int(row['steps']):,}"),
            *(f"{float(row[name]):.1f}" for name in ("train_seconds", "certify_seconds")),
            "proven" if row["proven_unquantised"] == "True" else "no",
        ]
        for row in rows
    ]


def test_the_table_of_wider_layers_is_that_of_its_rows():
    rows = list(csv.DictReader((RESULTS / "certifying" / "wider.csv").read_text().splitlines()))
    assert {(row["model"], row["proven"]) for row in rows} == {("gated-regulargpt", "True")}
    assert table("docs/results.md", "language | option") == [
        [
            *(f"`{row['language']}`", f"`{row['options']}`", f"{int(row['steps']):,}"),
            *(f"{float(row[name]):.1f}" for name in ("train_seconds", "certify_seconds")),
            *("proven" if row["proven_unquantised"] == "True" else "no", f"{float(row['score']):.1f}"),
        ]
        for row in rows
    ]
    (dyck_12,) = [row for row in rows if row["language"] == "dyck-12"]
    (right,) = [row[1] for row in table("docs/results.md", "from answers") if row[0] == "dyck-12"]
    assert f"{float(right.removesuffix(' ∎')):.1f}" == dyck_12["score"]


def test_what_is_said_of_three_networks_that_settled_is_what_they_have():
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    page = cells("answers-cpu")
    *others, one = page["modular-arithmetic", "regulargpt-C2"]["group"]["scores"]  # from the lowest up
    assert (one, page["modular-arithmetic", "hard-regulargpt-C2"]["group"]["scores"][-1]) == (100, 100)
    assert f"The others have {others[1]:.1f} and {others[0]:.1f} %" in text
    hard = [page["modular-arithmetic", f"hard-regulargpt-C{C}"]["ours"]["mean"] for C in (2, 3)]
    assert f"Modular Arithmetic without gates ({hard[0]:.0f} % with C = 2, {hard[1]:.0f} % with C = 3)" in text
    known = cells("automaton-cpu")["modular-arithmetic", "hard-regulargpt-C2"]["ours"]["mean"]
    assert f"It still drifts a little: {known:.0f} % under `hard`" in text


def test_the_list_of_pages_says_how_many_of_their_runs_are_done():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name, done in re.findall(
        r"experiments/results/((?:answers|automaton|ldru|further)[\w-]*)/page.md\) \| ([^|]+) \|", text
    ):
        said = re.search(r"Scale cpu: (\d+) of (\d+) runs are done", (RESULTS / name / "page.md").read_text("utf-8"))
        assert said
        assert done in (said[1], f"{said[1]} of {said[2]}")
        assert (" of " in done) == (said[1] != said[2])


def test_what_is_said_of_trees_on_the_languages_of_ldru_is_what_its_page_has():
    page = cells("ldru-2026-cpu")
    languages = list(dict.fromkeys(row for row, _ in page))
    cells_of = {tree: [mean_and_proof(page[row, tree]) for row in languages] for tree in ("ldru", "gated-regulargpt")}
    right = {tree: sum(cell.startswith("100") for cell in found) for tree, found in cells_of.items()}
    proven = {tree: sum("∎" in cell for cell in found) for tree, found in cells_of.items()}
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    assert f"Here it has 100 % on {right['ldru']} and is proven on {proven['ldru']}, all trained to 40 symbols" in text
    assert right["gated-regulargpt"] == proven["gated-regulargpt"]
    assert f"Gated RegularGPT is proven on {proven['gated-regulargpt']}, too, and has 100 % on them" in text


def test_what_is_said_of_answers_that_were_looked_up_is_what_both_runs_have():
    ldru, gated = csv.DictReader((RESULTS / "certifying" / "looked-up.csv").read_text().splitlines())
    page = cells("ldru-2026-cpu")
    for run in (ldru, gated):
        cell = page[run["language"], run["model"]]
        assert (cell["steps"][0], cell["ours"]["mean"], cell["group"]["n_proven"]) == (int(run["steps"]), 100, 1)
        assert f"{cell['train_seconds']:.1f}" == run["train_seconds"]
    settled = [int(run["steps"]) - int(run["settling_since"]) for run in (ldru, gated)]
    minutes = [round(float(run["train_seconds"]) / 60) for run in (ldru, gated)]
    learned, told = ([int(run[name]) for run in (ldru, gated)] for name in ("learned_at", "labels_used"))
    results = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    assert f"automaton at step {learned[0]:,}, when {told[0]:,} answers had been told" in results
    assert (
        f"at step {learned[1]:,}, with {told[1]:,}. Both then settled, for {settled[0]:,} and {settled[1]:,}" in results
    )
    assert f"One seed, {minutes[0]} and {minutes[1]} minutes beside other work" in results


def test_the_table_of_random_automata_is_that_of_their_rows():
    rows = list(csv.DictReader((RESULTS / "random-dfas" / "random-dfas.csv").read_text().splitlines()))
    assert all(row["proven"] == row["equal"] == "True" and row["score"] == "100.0" for row in rows)
    shown = table("docs/results.md", "monoid elements")
    assert sum(int(row[1]) for row in shown) == len(rows) == 40
    for span, *figures in shown:
        low, high = map(int, span.split(" to "))
        some = [row for row in rows if low <= int(row["monoid"]) <= high]
        times = [f"{statistics.median(map(seconds, some)):.1f}", f"{max(map(seconds, some)):.1f}"]
        assert figures == [*[str(len(some))] * 3, str(sum(bool(row["slack"]) for row in some)), *times]
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    assert f"{sum(seconds(row) <= WANTED for row in rows)} of 40 take at most {WANTED} s" in text
    one_core = list(csv.DictReader((RESULTS / "random-dfas" / "one-core.csv").read_text().splitlines()))
    assert all(row["proven"] == row["equal"] == "True" and row["score"] == "100.0" for row in one_core)
    (slow,) = (seconds(row) for row in one_core if seconds(row) > WANTED)
    assert f"{len(one_core) - 1} do, and one takes {slow:.0f} s" in text


def test_the_page_of_the_atlas_is_made_of_its_table(tmp_path: Path):
    place = RESULTS / "atlas"
    shutil.copy(place / columns.FILE, tmp_path)
    write_page(tmp_path)
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == (place / PAGE).read_text(encoding="utf-8")
    for picture in PICTURES:
        assert (tmp_path / picture.file).read_bytes() == (place / picture.file).read_bytes()


def test_what_is_said_of_the_atlas_is_what_its_table_has():
    rows = [row for row in columns.read(RESULTS / "atlas" / columns.FILE) if row["state"] == columns.DONE]
    languages = {row["language"] for row in rows}
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    assert f"{len(rows):,} of 2,592 runs are done: all eight networks on {len(languages)} languages" in text
    assert all(sum(row["language"] == language for row in rows) == len(NETWORKS) for language in languages)
    asked = [row for row in rows if not row["is_constant"]]
    for title, *figures, _ in table("docs/results.md", "network | proven"):
        (name,) = [name for name, network in NETWORKS.items() if network.title == title]
        own = [row for row in asked if row["network"] == name]
        proven = [row["proven"] for row in own if row["proven"] is not None]
        expected = [f"{sum(proven):g} of {len(own)}" if proven else "-"]
        for kind in (None, *KINDS):
            some = [row for row in own if kind in (None, row["kind"])]
            expected.append(f"{sum(row['accuracy'] >= 99 for row in some)} of {len(some)}")
        assert figures == expected


def test_the_sentences_about_the_atlas_count_its_rows():
    rows = columns.read(RESULTS / "atlas" / columns.FILE)
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())

    def of(name: str, where: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        return [row for row in rows if row["network"] == name and not row["is_constant"] and where(row)]

    def right(found: list[dict[str, Any]]) -> int:
        return sum(row["accuracy"] >= 99 for row in found)

    def proven(found: list[dict[str, Any]]) -> int:
        return sum(row["proven"] == 1 for row in found)

    def fails(row: dict[str, Any]) -> bool:
        return row["accuracy"] < 99

    with_group = [of(name, lambda row: row["largest_group"] > 1) for name in ("transformer-none", "transformer-alibi")]
    none, alibi = map(right, with_group)
    a_group = f"Of {len(with_group[0])} languages whose monoid has a group of two or more elements"
    assert f"{a_group}, Transformers are right on {none} and {alibi}." in text
    groups = of("lstm", lambda row: row["kind"] == "group")
    assert f"LSTMs fail on {len(groups) - right(groups)} of the {len(groups)} that are groups" in text
    small, large = (of("regulargpt", lambda row, m=more: (row["monoid"] > 37) is m) for more in (False, True))
    of_small = f"{right(small)} of {len(small)} languages whose monoid has at most 37 elements"
    assert f"{of_small}, and on {right(large)} of {len(large)} larger ones" in text
    failed = of("regulargpt", fails)
    assert f"Of the {len(failed)} on which it fails, {proven(failed)} are proven" in text
    failed = of("ldru", fails)
    assert max(row["monoid"] for row in failed) == 20
    at_most = f"ldru has less than 99 % on {len(failed)}, all with at most 20 elements"
    assert f"{at_most}, and is proven on {proven(failed)} of these" in text
    assert {row["seconds"] > 0 for row in rows} == {True}
    steps = f"trees have {TREE_STEPS:,} and {TREES['phases.table_fine_tuning.steps']} on the table"
    words = f"with {TREES['training.batch_size']} words each"
    others = f"RNNs {RNN_STEPS:,}, LSTMs {LSTM_STEPS:,}, Transformers {TRANSFORMER_STEPS}, with {BATCH}"
    assert f"Steps are few: {steps}, {words}; {others}." in text
    (lstm,) = cells("ldru-2026-cpu")["parity", "lstm"]["steps"][:1]
    assert lstm <= 4000
    assert "with 4,000 an LSTM learns Parity, a group" in text
    hours = sum(row["seconds"] for row in rows) / 3600
    guide = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert f"{len(rows):,} runs, about {hours:.0f} core-hours" in guide


def test_the_results_say_how_far_robust_drops():
    page = cells("table-6.1-cpu")
    rows_of = [row for row, _ in page if row.startswith("dyck-") or row == "tomita-3"]
    means = [page[row, column]["ours"]["mean"] for row in rows_of for column in ("robust-hard-C2", "robust-hard-C3")]
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    said = f"the means of `robust` over the seeds drop to {min(means):.0f} to {max(means):.0f} %"
    assert f"On `dyck-N` and `tomita-3` {said} under `hard` at 10,000 symbols" in text


def test_the_ablations_table_shows_what_their_page_has():
    page = cells("ablations-cpu")
    names, columns = (list(dict.fromkeys(keys)) for keys in zip(*page, strict=True))

    def text(cell: dict[str, Any]) -> str:
        return cell["texts"]["ours"] if cell["runs"] else "-"

    expected = [[row, *(text(page[row, column]) for column in columns)] for row in names]
    assert table("docs/results.md", "language/recipe") == expected


def checked() -> list[dict[str, Any]]:
    """What was trained with the automaton, and checked again."""
    return [json.loads(line) for line in (RESULTS / "checked" / "checked.jsonl").read_text().splitlines()]


def test_the_table_of_checked_networks_is_that_of_their_record():
    record = checked()
    assert all(
        row["proven"] and row["bits"] == 64 and (row["slack"] is None or row["at_1000000"] == 100) for row in record
    )
    text = (ROOT / "docs" / "results.md").read_text()
    section = text[text.index("### Checked again") : text.index("## Final answers only")]
    assert f"All {len(record)} are accepted" in section
    shown = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")][
        2 : 2 + len(record)
    ]
    expected = [
        [
            row["language"],
            str(row["seed"]),
            str(row["prototypes"]),
            f"{row['entries']:,}",
            f"{row['smallest_margin']:.2f}",
            str(row["slack"] or "no"),
            percent(row["score"]),
            percent(row["at_1000000"]),
            f"{row['train_seconds']:.0f}",
            f"{row['check_cpu_s']:.1f}",
        ]
        for row in record
    ]
    assert [[cell.strip() for cell in cells] for cells in shown] == expected


TEXT_PAGES = sorted(
    path.parent for path in RESULTS.glob("*/page.json") if '"claims"' in path.read_text(encoding="utf-8")
)


ANSWERS = ("holds", "does not", "not decidable here")
TEXT_TABLE = "page | claims"
TOGETHER = "together"
KEPT = {"files": "kept", "segments": "gone", "words": "words", "": "exact"}


def pages_of(row: list[str]) -> list[TextRecord]:
    """The pages that a row of the table about texts links to."""
    found = [read_record(RESULTS / name) for name in re.findall(r"results/([\w.-]+)/page\.md", row[0])]
    return [page for page in found if isinstance(page, TextRecord)]


def claims_of(pages: Sequence[TextRecord]) -> list[ClaimRecord]:
    """Their claims, those that several pages test on the same runs once: where it has a figure."""
    found: dict[tuple[str, tuple[str, ...]], ClaimRecord] = {}
    for claim in sorted((claim for page in pages for claim in page.claims), key=lambda claim: not claim.figure):
        found.setdefault((claim.sentence, claim.rules), claim)
    return list(found.values())


def test_the_claims_about_texts_are_counted_as_their_pages_have_them():
    *rows, total = table("docs/results.md", TEXT_TABLE)
    for row in rows:
        pages = pages_of(row)
        claims = claims_of(pages)
        verdicts = [(claim.is_of_a_kind, claim.answer) for claim in claims]
        counts = [verdicts.count((of_a_kind, answer)) for of_a_kind in (True, False) for answer in ANSWERS]
        assert sum(counts) == len(claims) > 0
        assert row[1:] == [str(len(claims)), *map(str, counts), *{KEPT[page.over] for page in pages}]
    assert sorted(page.experiment for row in rows for page in pages_of(row)) == sorted(
        read_record(folder).experiment for folder in TEXT_PAGES
    )
    sums = [sum(int(row[at]) for row in rows) for at in range(1, len(total) - 1)]
    assert total == [TOGETHER, *map(str, sums), ""]


@pytest.mark.parametrize("folder", TEXT_PAGES, ids=[folder.name for folder in TEXT_PAGES])
def test_the_printed_rules_are_those_that_are_tested(folder: Path):
    page = read_record(folder)
    assert isinstance(page, TextRecord)
    tested = {claim.sentence: tuple(test.rule for test in claim.bounds) for claim in text_table(page).claims}
    assert {claim.sentence: claim.rules for claim in page.claims} == tested


def text_table(page: TextRecord) -> TextTable:
    """The experiment of a page."""
    found = experiment(page.experiment)
    assert isinstance(found, TextTable)
    return found


@pytest.mark.parametrize("folder", TEXT_PAGES, ids=[folder.name for folder in TEXT_PAGES])
def test_each_paired_verdict_follows_from_the_losses_beside_its_page(folder: Path):
    page = read_record(folder)
    assert isinstance(page, TextRecord)
    assert (page.losses == kept.LOSSES) == (folder / kept.LOSSES).exists()
    text = (folder / "page.md").read_text(encoding="utf-8")
    if not page.losses:
        # What nobody can compute again says so.
        assert page.over == FILES or "of just these networks" in text or "about just these networks" in text
        return
    results = kept.read(folder)
    claims = {claim.sentence: claim for claim in page.claims}
    for claim in text_table(page).claims:
        paired = [test for test in claim.bounds if all(isinstance(one, Ratio | Against) for one in test.figures)]
        found = [test(results) for test in paired]
        written = claims[claim.sentence]
        assert all(one.figure in written.figure for one in found)
        if paired == list(claim.bounds):
            verdict = claim.verdict(results)
            assert (verdict.answer, verdict.figure, verdict.seeds) == (written.answer, written.figure, written.seeds)


def test_what_ten_times_the_training_does_is_that_of_its_pages():
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    cells = [
        cell
        for name in ("long-training-cpu", "long-training-2-cpu")
        for cell in json.loads((RESULTS / name / "page.json").read_text(encoding="utf-8"))["cells"]
        if cell["multiple"] == 2 and cell["ratio"]
    ]
    assert {cell["row"] for cell in cells} == {"sandwich", "kerple_log", "alibi"}
    for ratio in (cell["ratio"] for cell in cells):
        assert f"{ratio['value']:.3f} \\[{ratio['low']:.3f}, {ratio['high']:.3f}\\]" in text


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


def at_16x(name: str) -> dict[str, str]:
    """What the rows of a page come to at 16 times the training length."""
    page = json.loads((RESULTS / name / "page.json").read_text(encoding="utf-8"))
    return {c["row"]: f"{c['measure']['value']:.1f}" for c in page["cells"] if c["multiple"] == 16 and c["measure"]}


def test_the_results_quote_what_is_found_with_and_without_a_temperature():
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    found = {row: float(value) for row, value in at_16x("table-5.4-cpu").items()}
    ends, tasks = ("", "+p_max", "+entropy", "+log"), ("line", "needles", "passkey")
    shares = [[found[f"{task}/t5{end}"] for task in tasks] for end in ends]
    plain, p_max, entropy, log = (f"{min(each)} to {max(each)} %" for each in shares)
    assert f"T5 finds {plain} of lines, needles and pass keys" in text
    assert f"by P_max it finds {p_max}, by entropy {entropy}, by the rule of lengths {log}" in text


def intervals_of(name: str, multiple: int = 16) -> dict[str, dict[str, float]]:
    """Perplexities of a page over those at the training length."""
    page = json.loads((RESULTS / name / "page.json").read_text(encoding="utf-8"))
    return {c["row"]: c["ratio"] for c in page["cells"] if c["multiple"] == multiple and c["ratio"]}


def answers_of(name: str) -> dict[str, tuple[str, bool]]:
    """The verdict of each claim of a page, and whether it is about an encoding."""
    page = read_record(RESULTS / name)
    assert isinstance(page, TextRecord)
    return {claim.sentence: (claim.answer, claim.is_of_a_kind) for claim in page.claims}


def test_the_results_say_what_three_seeds_decide():
    others, window, sharp = map(answers_of, ("table-4.3-cpu", "table-4.5-cpu", "table-5.3-cpu"))
    for sentence in (
        "Rotary explodes from 4x on.",
        "Sinusoidal explodes from 2x on.",
        "ALiBi stays within 7 % of its value at L.",
        "ALiBi is flat from 4x on: it rises by less than 0.5 %.",
    ):
        assert others[sentence] == ("holds", True)
    assert set(window.values()) == {("holds", True)}
    assert sharp["A model without positions gains too."] == ("does not", True)
    assert {sharp[sentence] for sentence in sharp if "T5" in sentence or "alignments" in sentence} == {
        ("not decidable here", True)
    }


def test_the_results_quote_how_perplexities_grow():
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    others, blockwise = intervals_of("table-4.3-cpu"), intervals_of("lex-table-5-cpu")
    sharp, trees = intervals_of("table-5.3-cpu"), intervals_of("table-6.3-cpu")
    for row, title in (("alibi", "ALiBi"), ("sandwich", "Sandwich"), ("kerple_log", "KERPLE-log")):
        one = others[row]
        quoted = f"{one['value']:.3f} \\[{one['low']:.3f}, {one['high']:.3f}\\]"
        assert f"{quoted} with {title}" in text or f"{quoted} times that at it with {title}" in text
    kerple = kept.read(RESULTS / "table-4.3-cpu").losses["kerple_log"].values()
    assert sorted((run[1024] - run[64]).mean() > 0.05 for run in kerple) == [False, False, True]
    rows = ("rotary+bca", "xpos+bca", "rotary+sliding", "xpos+sliding")
    assert max(abs(blockwise[row]["value"] - 1) for row in rows) < 0.005
    p_max, plain = sharp["t5+p_max"]["value"], sharp["t5"]["value"]
    assert f"is {p_max:.2f} times that at 64 instead of {plain:.2f} times, on the mean" in text
    jumping = ("regulargpt-32/6", "regulargpt-64/6", "regulargpt-128/12")
    assert min(trees[row]["value"] for row in jumping) > EXPLODES
    first, *_ = json.loads((RESULTS / "table-4.3-cpu" / "page.json").read_text(encoding="utf-8"))["claims"]
    figure = first["figure"].partition(" = ")[2].replace("[", "\\[").replace("]", "\\]")
    assert f"Sandwich has {figure} times its perplexity" in text


def test_the_results_quote_what_is_not_gaussian_and_where_a_gradient_lies():
    text = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    (_, gaussian, _), (_, around) = (
        json.loads((RESULTS / name / "page.json").read_text(encoding="utf-8"))["claims"]
        for name in ("table-5.7-cpu", "figure-4.7-cpu")
    )
    found = re.search(r"topic at 16x = ([\d.]+)", gaussian["figure"])
    assert found
    assert f"the QQ plot of `topic` has a correlation of {found[1]}" in text
    shares = [float(low) for low in re.findall(r"\[([\d.]+),", around["figure"])]
    assert min(shares) > 0.5
    assert "more than half of its gradient around the end of that length" in text


def test_the_guide_to_analysis_quotes_the_needles_that_were_found():
    text = " ".join((ROOT / "docs" / "analysis.md").read_text(encoding="utf-8").split())
    line = json.loads((RESULTS / "texts" / "align-line.json").read_text(encoding="utf-8"))
    assert " ".join(text_of(align.finding_of(line)).split("Propositions")[0].split()).partition(" strategy ")[2] in text
    assert (line["train_len"], line["length"]) == (64, 4096)


def test_the_table_of_encodings_on_languages_is_that_of_its_pages():
    cells: dict[tuple[str, str], float] = {}
    for name in ("encodings-languages-cpu", "encodings-languages-2-cpu"):
        page = json.loads((RESULTS / name / "page.json").read_text(encoding="utf-8"))
        cells |= {(cell["column"], cell["row"]): cell["ours"]["mean"] for cell in page["cells"] if cell["done"]}
    beside, scores = ("regulargpt", "rnn", "lstm", "linear-rnn"), {}
    for (language, row), score in cells.items():
        scores.setdefault(language, {})[row] = score
    expected = []
    for language, found in scores.items():
        encodings = {row: score for row, score in found.items() if row not in beside}
        best = max(encodings.values())
        names = [row for row, score in encodings.items() if score == best]
        name = names[0] if len(names) == 1 else f"{len(names)} of {len(encodings)}"
        expected.append([language, name, f"{best:.1f}", *(f"{found[row]:.1f}" for row in beside)])
    # The page has two tables more that begin so.
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert all(f"| {' | '.join(row)} |" in text for row in expected)
    assert f"{len(cells)} of {len(experiment('encodings-languages').all_configs('cpu'))} runs" in text


def test_the_speed_of_language_models_is_that_of_the_measurement():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").partition("### Language models")[2]
    lines = (RESULTS / "texts" / "bench.md").read_text(encoding="utf-8").splitlines()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (names,) = [line for line in text.splitlines() if line.startswith("| length |")]
    encodings = [cell.strip() for cell in names.strip("|").split("|")][1:]
    for length in ("128", "512"):
        ratio = {row[3]: row[5].split()[0] for row in found if row[:2] == ["train", length]}
        assert f"| {length} | {' | '.join(ratio[name] for name in encodings)} |" in text
    for what in (("decode alibi", "decode rotary"), ("every",)):
        ratios = [row[5].split()[0] for row in found if row[0] in what]
        assert f"| {', '.join(ratios)} |" in text
    assert {row[2] for row in found if row[0] in ("sliding:128", "bca")} == {"1.13"}
    assert max(int(row[3].split()[1]) for row in found if row[0] == "test at 16 x") == 580


def test_networks_that_drift_are_right_with_their_states_replaced_and_shown_as_their_rows_say():
    rows = list(csv.DictReader((RESULTS / "quantised" / "quantised.csv").read_text().splitlines()))
    assert all(row["quantised"] == row["quantised_10000"] == "100.0" for row in rows)
    figures = ("unquantised", "unquantised_10000", "quantised", "quantised_10000")
    expected = [
        [f"`{r['language']}`, {r['model']}", f"`{r['recipe']}`", r["chunk_size"], r["prototypes"]]
        + [percent(float(r[figure])) for figure in figures]
        for r in rows
    ]
    assert table("docs/results.md", "drifting network") == expected
