"""A page with the editor alone: beside it a bench that remembers what it was given."""

from __future__ import annotations

from pathlib import Path

from regulargpt.classroom.document import document
from regulargpt.classroom.live.twins import PageScript, bundle, resolved

HERE = "regulargpt/classroom/workbench"
START = f"""
const told = [];
const listeners = [];
const {{ languageOf }} = modules["{HERE}/machine.js"];
const bench = {{ drawn: null, language: null, problem: "", word: [], set: {{}} }};
bench.on = (kind, listener) => kind === "language" && listeners.push(listener);
bench.set.language = (drawn) => {{
  const {{ language, problem }} = languageOf(drawn);
  Object.assign(bench, {{ drawn, language, problem }});
  told.push(drawn);
  listeners.forEach((listener) => listener(bench));
}};
const editor = new modules["{HERE}/editor.js"].EditorPanel(document.querySelector("#editor"), bench);
"""
STYLES = ("page.css", "lesson/lesson.css", "workbench/editor.css")
SHARED = ("word.js", "nodes.js", "lesson/field.js", "lesson/chips.js")


def written(out: Path) -> Path:
    """The page's file; in it `editor`, `bench`, and all drawn machines that the bench was `told`."""
    names = ("editor", "machine", "machine_json", "edits", "arrows")
    scripts = [PageScript(*resolved(f"{HERE}/{name}.js", "", Path()), name) for name in names]
    page = document(
        title="The editor",
        heading="The editor",
        skip=("editor", "To the editor"),
        body='<main><section class="panel"><h2>The machine</h2><div id="editor"></div></section></main>',
        data={},
        styles=STYLES,
        scripts=SHARED,
        modules=bundle(scripts),
    )
    out.write_text(page.replace("</script>\n</body>", f"{START}</script>\n</body>"))
    return out
