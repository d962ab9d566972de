"""The comparison with LDRU: the paper's 21 languages, its protocol, and a page on which its statement stands."""

from collections import Counter
from pathlib import Path

import pytest

import languages
from experiments import shortcuts
from experiments.cells import is_published
from experiments.ldru_2026 import CPU_STEPS, LANGUAGES, RECIPES
from experiments.published import published
from experiments.registry import experiment
from experiments.reproduction import write_page
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.config.validation import validate
from tests.experiments.folders import filled
from tests.regulargpt.results.made import believe

LDRU = experiment("ldru-2026")
TWO = ["parity", "prefix-p2-k4"]


def test_the_rows_are_the_21_languages_of_the_paper():
    stated = published("related-mlp-ldru").rows[0].values["mlp-ldru"]
    assert len(LDRU.rows) == len(set(LDRU.rows)) == stated[1] == 21
    families = Counter(name.split("-")[0] for name in LDRU.rows)
    assert families == {"dyck": 6, "prefix": 6, "tomita": 5, "parity": 1, "even": 1, "cycle": 1, "modular": 1}
    sizes = {row: languages.get(name).n_outputs for row, name in LANGUAGES.items() if row.startswith("prefix")}
    assert sizes == {f"prefix-p{p}-k{k}": k**p + 1 for p in (1, 2, 4) for k in (2, 4)}
    assert not any("," in row for row in LDRU.rows)


@pytest.mark.parametrize("scale", ["smoke", "cpu", "full"])
def test_every_run_is_legal_and_shown_final_answers_only(scale):
    configs = LDRU.all_configs(scale)
    assert len(configs) == 84 * (3 if scale == "full" else 1)
    for config in configs:
        validate(config)
        assert (config.protocol, config.objective.name, config.data.train_len) == ("ldru2026-1", "last", 40)
        assert value_of(config, "phases.table_fine_tuning.automaton") in (None, "learned")
        assert value_of(config, "data.near_misses") in (None, 0.0)
        assert bool(value_of(config, "phases.table_fine_tuning.every")) == (RECIPES[config.model.title] == "answers")
        if scale == "cpu":  # as many even lengths as odd ones, and the longest
            assert (config.scored[0], config.scored[-1]) == (41, 500)
            assert sum(T % 2 for T in config.scored) * 2 == len(config.scored)
            assert config.training.steps == CPU_STEPS.get(config.model.title, 20_000)


def test_the_page_quotes_the_statement_and_has_no_published_cell(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shortcuts, "rule_scores", lambda trained, tested, path: None)
    believe(monkeypatch)

    def result(config: RunConfig) -> float:
        return 100.0 if config.model.name == "ldru" else 99.5

    folder = filled(tmp_path / "r", LDRU, "cpu", TWO, result, proven=True)
    page = write_page(folder.path, LDRU, "cpu")
    assert {cell["row"] for cell in page["cells"]} == set(TWO)
    assert not any(map(is_published, page["cells"]))
    assert {cell["title"] for cell in page["cells"] if cell["shows"]["what"] == "proven"} == {
        "ldru, answers, proven",
        "gated RegularGPT, answers, proven",
    }
    text = Path(page["page"]).read_text()
    assert text.startswith(f"# {LDRU.title}\n")
    assert f"“{published('related-mlp-ldru').rows[0].line}”" in text
    assert "Scale cpu: 8 of 8 runs are done." in text
    assert "| prefix-p2-k4 | **100**" in text
    assert text.count("**1 of 1 proven**") == 4
