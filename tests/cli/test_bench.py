"""`regulargpt bench` from the command line: what it reports, and that what it compares is equal."""

import json

import pytest
from click.testing import CliRunner

from regulargpt.bench import PARTS
from regulargpt.cli import call
from regulargpt.cli.commands.bench import command
from regulargpt.models import MODELS


@pytest.fixture(scope="module")
def result() -> dict:
    done = CliRunner().invoke(command, ["--scale", "smoke", "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_part_reports_rows_and_how_they_were_measured(result: dict):
    assert list(result["parts"]) == list(PARTS)
    assert all(part["rows"] and part["method"] for part in result["parts"].values())
    assert result["threads"] == result["environment"]["threads"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("part", ["tree", "every", "text"])
def test_what_is_compared_is_equal(result: dict, part: str):
    assert result["parts"][part]["equal"] is True
    assert result["parts"][part]["difference"] < (1e-10 if part == "text" else 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["tree", "every", "forward", "text"])
def test_ratios_come_with_their_spread(result: dict, part: str):
    for row in result["parts"][part]["rows"]:
        assert 0 < row["low"] <= row["ratio"] <= row["high"], row


@pytest.mark.slow
def test_every_model_and_family_is_measured(result: dict):
    assert [row["model"] for row in result["parts"]["models"]["rows"]] == list(MODELS)
    languages = {row["language"] for row in result["parts"]["samplers"]["rows"]}
    assert languages > {"parity", "modular-arithmetic", "tomita-1", "dyck-1", "flip-flop", "regex:(ab)*"}


def test_the_text_is_markdown_with_all_columns_of_equal_width():
    done = CliRunner().invoke(command, ["samplers", "--scale", "smoke"])
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert done.exit_code == 0
    assert len({len(line) for line in lines}) == 1
    assert len({line.count("|") for line in lines}) == 1


def test_an_unknown_part_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]):
    assert call(["bench", "forest"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "'forest' is not one of 'tree', 'every', 'forward', 'samplers', 'models', 'text'" in message
