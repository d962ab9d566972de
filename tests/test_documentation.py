"""What the pages name is there: the files and headings they link to, and the files, imports and options they use."""

import re
import shlex
from pathlib import Path

import click
import pytest

from regulargpt.classroom import document
from regulargpt.classroom import page as report_page
from regulargpt.classroom.lesson import page as lesson_page
from regulargpt.cli import call, group, verbs
from regulargpt.text.corpora.retrieval import listing, retrieval

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("experiments/**/*.md"))]
GUIDES = [page for page in PAGES if page.parent in (ROOT, ROOT / "docs") and page.name != "CHANGELOG.md"]

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
OURS = re.compile(r"`((?:languages|regulargpt|experiments|tests|docs)/[\w./-]*)`")


NUMERALS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """The page without its blocks of code, in which brackets are no links and # is no heading."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings: `## The run folder` is `#the-run-folder`; a second one has -1 behind it."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path):
    for target, anchor in LINK.findall(prose(page)):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"
    if page == ROOT / "docs" / "index.md":  # it leads to every guide
        linked = {target for target, _ in LINK.findall(prose(page))}
        assert {page.name for page in (ROOT / "docs").glob("*.md")} - linked == {"index.md"}


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_files_are_there_and_what_its_python_imports_can_be_imported(page: Path):
    assert [path for path in OURS.findall(prose(page)) if not (ROOT / path).exists()] == []
    for kind, code in FENCED.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec("\n".join(line for line in code.splitlines() if line.startswith(("import ", "from "))), {})


def test_the_guide_to_texts_has_the_chances_of_its_tasks_and_what_sample_prints(capsys):
    text = (ROOT / "docs" / "text.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `(retrieval:[\w-]+)` .* \| ([\d.]+) % \|$", text, re.MULTILINE))
    assert shown == {name: f"{100 * retrieval(name).chance:.3g}" for name, _ in listing()}
    samples = [code for _, code in FENCED.findall(text) if code.startswith("$ regulargpt sample ")]
    assert samples
    for command, _, printed in (sample.removeprefix("$ ").partition("\n") for sample in samples):
        assert call(shlex.split(command)[1:]) == 0
        assert capsys.readouterr().out.strip() == printed.strip()


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_every_command_it_shows_has_these_options(page: Path):
    blocks = [code for kind, code in FENCED.findall(page.read_text(encoding="utf-8")) if kind == "sh"]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if "regulargpt " in line]
    for line in lines:
        verb, *words = shlex.split(line.partition("regulargpt ")[2], comments=True)
        if verb == "margin":  # the measurement that docs/your-own.md adds: its own test runs it
            continue
        command = group.get_command(click.Context(group), verb)
        assert command is not None, line
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


def test_the_guide_to_the_command_line_has_every_command():
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    listed = [line for line in text.partition("```")[0].splitlines() if line.startswith(("- ", "  "))]
    named = {word for part in re.findall(r"`([^`]+)`", "\n".join(listed)) for word in part.split()}
    assert set(verbs()) - named == set()


# What an option of several commands says of each, beside its default: it is about what that command reads, or writes.
OF_THEIR_OWN = {
    *("--seed", "--length", "--lengths", "--words", "--samples", "--seconds", "--steps", "--batch-size", "--lr"),
    *("--out", "--format", "--text", "--train-len", "--device", "--attention", "--temperature", "--bias", "--methods"),
    *("--model", "--recipe", "--protocol", "--set", "--config"),  # of one run, or of several
    *("--language", "--weights"),  # of a proof, or of a network from elsewhere
}


def test_an_option_of_several_commands_says_the_same_in_each():
    said: dict[str, set[str]] = {}
    commands = [group.get_command(click.Context(group), verb) for verb in verbs()]
    for option in (option for command in commands if command for option in command.params):
        if isinstance(option, click.Option) and option.help:
            said.setdefault(option.opts[0], set()).add(re.sub(r"  \[.*\]$", "", option.help))
    apart = {name for name, texts in said.items() if len(texts) > 1}
    assert "--certify" in said
    assert apart - OF_THEIR_OWN == set()
    assert OF_THEIR_OWN - set(said) == set()


def test_the_index_counts_what_there_is():
    text = " ".join((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split())
    counted = re.search(r"There are (\w+) \[lessons\].*, (\w+) \[certified runs\].*, and (\w+) notebooks:", text)
    assert counted
    docs = ROOT / "docs"
    lessons = set(re.findall(r"\| `([\w-]+)\.html` \|", (docs / "gallery" / "index.md").read_text(encoding="utf-8")))
    there = len(lessons), len([*docs.glob("certified/*/DONE")]), len([*docs.glob("notebooks/*.ipynb")])
    assert counted.groups() == tuple(NUMERALS[number] for number in there)


def test_pages_are_as_small_as_the_reasons_for_drawing_them_say():
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    said = re.search(r"styles of a report have less than (\d+) kB together, those of a lesson less than (\d+) kB", text)
    assert said
    every = [*document.SCRIPTS, *document.STYLES, "page.css", "states.css"]
    for parts, most in (
        ((*every, "tools.css", *report_page.SCRIPTS), said[1]),
        ((*every, *lesson_page.SCRIPTS, "lesson/lesson.css", "lesson/steps.css"), said[2]),
    ):
        size = sum(len(document.file(name).encode()) for name in parts)
        assert int(most) - 10 <= size / 1000 < int(most)
