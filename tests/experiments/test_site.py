"""The site: every link of every page leads to a file and to a heading in it, and nothing is fetched from elsewhere."""

import re
from pathlib import Path

import pytest

from experiments import site
from experiments.gallery import INDEX
from experiments.page.record import PagePicture
from tests.regulargpt.browser import chromium, needs_browser
from tests.test_documentation import anchors

HREF = re.compile(r'(?:href|src)="([^"]*)"')


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    """The pages that are made from Markdown; what is drawn of them stands in other tests."""

    def draw(picture: PagePicture, place: Path) -> None:
        (place / picture.file).parent.mkdir(parents=True, exist_ok=True)
        (place / picture.file).touch()

    made = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.files, "draw", draw)
        site.write_pages(made)
    return made


def test_each_link_leads_to_a_file_and_a_heading(out: Path):
    pages = list(out.rglob("*.html"))
    assert len(pages) == len(site.pages()) > 40
    later = {(out / "gallery" / f"{INDEX}.html"), (out / "api" / "index.html"), out / "workbench.html"}
    ids = {page: set(re.findall(r'id="([^"]*)"', page.read_text("utf-8"))) for page in pages}
    for page in pages:
        for target in HREF.findall(page.read_text("utf-8")):
            name, _, anchor = target.partition("#")
            assert name.startswith("http") or not re.match(r"\w+:", name), (page, target)
            file = (page.parent / name).resolve() if name else page
            if not name.startswith("http") and file not in later:
                assert file.exists(), (page, target)
                assert not anchor or anchor in ids[file], (page, target)


def test_headings_have_the_anchors_of_the_repository_and_links_into_the_code_are_left_out(tmp_path: Path):
    for page in site.pages():
        if page.name != site.files.PAGE:
            parsed = site.tokens((site.ROOT / page).read_text("utf-8"))
            ids = {token.attrs["id"] for token in parsed if token.type == "heading_open"}
            assert ids == anchors(site.ROOT / page), page
    assert site.follow(tmp_path, Path("docs/text.md"), "../regulargpt/api.py") is None
    assert site.follow(tmp_path, Path("docs/a.md"), "../experiments/results/rivals-cpu").endswith(
        "/rivals-cpu/page.html"
    )
    assert site.follow(tmp_path, Path("docs/text.md"), "index.md#words") == "../docs/index.html#words"


@needs_browser
def test_pages_fit_a_telephone(out: Path):
    with chromium() as browser:
        browser.look(390)
        for page in ("index.html", "docs/results.html", "docs/languages.html"):
            browser.open(out / page)
            assert browser.evaluate("document.documentElement.scrollWidth") == 390
        assert browser.problems == []


def test_the_reference_is_built_from_the_docstrings(tmp_path: Path):
    site.write_api(tmp_path)
    for page, said in (("api", "def run"), ("models/base", "class Model"), ("models/hooks", "run_with_hooks")):
        words = re.sub(r"<[^>]+>", "", (tmp_path / "api" / "regulargpt" / f"{page}.html").read_text("utf-8"))
        assert said in " ".join(words.split())
