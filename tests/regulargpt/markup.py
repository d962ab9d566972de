"""Languages and texts whose symbols are markup, or worse; and pages that ask for nothing."""

import json
import re
from pathlib import Path
from typing import Any

EVIL_BYTES = b"</script><!-- \xff\x00\x1b[2J \xe2\x80\xae\xc3\xa9 <b>&amp;\t'\"\n"
EVIL: dict[str, Any] = {
    "states": ["</script>", "<!--"],
    "alphabet": ["<b>", "'\"&"],
    "initial": "</script>",
    "transitions": {"</script>": {"<b>": "<!--", "'\"&": "</script>"}, "<!--": {"<b>": "</script>", "'\"&": "<!--"}},
    "outputs": {"</script>": "\N{SNOWMAN}no", "<!--": "<i>yes"},
}
SYMBOLS = ["<b>", "'\"&", "日\u0301", "&amp;"]
STRANGE = EVIL | {"alphabet": SYMBOLS, "transitions": {q: dict.fromkeys(SYMBOLS, "<!--") for q in EVIL["states"]}}


def language_of(machine: dict[str, Any], place: Path) -> str:
    """The name of a language that a file in a folder says."""
    file = place / "language.json"
    file.write_text(json.dumps(machine))
    return f"dfa:{file}"


def assert_one_file(page: str) -> None:
    """A page asks for nothing from anywhere, and names no folder."""
    assert set(re.findall(r"https?://[^\"'\s)]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, never asked for
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:,)", page)
    assert not re.findall(r"@import|url\(|fetch\(|XMLHttp", page)


def data_of(page: Path) -> dict[str, Any]:
    """What the script of a page looks up."""
    found = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    return json.loads(found[0])
