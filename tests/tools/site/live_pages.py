"""Small books with stand-in figures, for the tests of `live.py` and `host.js` of tools/site."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
from nbformat import v4
from sphinx.application import Sphinx
from sphinx.util.console import strip_colors
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools import ROOT
from tools.book.keys import KeyRole
from tools.site.assets.finish import finish_scripts
from tools.site.extension import EVENTS, connect
from tools.site.figures import lazy_scripts, live
from tools.site.figures.live import VIEW

STATE = "application/vnd.jupyter.widget-state+json"

# A slider that shows its number; the values that tests read are properties of its element.
STAND_IN = """
const loaded = (globalThis.loaded = (globalThis.loaded ?? 0) + 1);
export default {
  render({ model, el }) {
    const input = Object.assign(document.createElement("input"), { type: "range", max: 9 });
    const output = document.createElement("output");
    const paint = () => { output.value = input.value = model.get("size"); };
    input.setAttribute("aria-label", "size");
    input.addEventListener("input", () => {
      model.set("size", Number(input.value));
      model.save_changes();
    });
    model.on("change:size", paint);
    paint();
    el.append(input, output);
    Object.assign(el, { model, wide: el.getBoundingClientRect().width });
    return () => { model.off("change:size", paint); el.replaceChildren(); };
  },
};
"""
STYLE = "[data-attnbook-view] output { color: rgb(0, 114, 178) }"


def figure(size: int = 3, **changes: Any) -> dict[str, Any]:
    """The saved model of a stand-in figure; a change to None leaves that part out."""
    state = {
        "_anywidget_id": "attnbook.StandIn",
        "_css": STYLE,
        "_dom_classes": [],
        "_esm": STAND_IN,
        "_model_name": "AnyModel",
        "kind": "stand-in",
        "layout": "IPY_MODEL_layout",
        "size": size,
        "static_text": f"StandIn: size {size}",
        "tooltip": None,
    }
    state = {name: value for name, value in (state | changes).items() if value is not None}
    return {"model_name": "AnyModel", "model_module": "anywidget", "state": state}


def control(name: str) -> dict[str, Any]:
    """The saved model of one of ipywidgets' own controls."""
    return {"model_name": f"{name}Model", "model_module": "@jupyter-widgets/controls", "state": {}}


def view(model_id: str, text: str = "StandIn: size 3") -> Any:
    """The output that shows a widget."""
    data = {"text/plain": text, VIEW: {"model_id": model_id, "version_major": 2}}
    return v4.new_output("execute_result", data, execution_count=1)


def printed(text: str) -> Any:
    """The output that shows a printed line."""
    return v4.new_output("stream", name="stdout", text=text)


def cell(*outputs: Any, tags: tuple[str, ...] = (), source: str = "show()") -> Any:
    """A code cell that was run."""
    metadata = {"tags": list(tags)}
    return v4.new_code_cell(source, outputs=list(outputs), execution_count=1, metadata=metadata)


def page(*cells: Any, models: dict[str, Any] | None = None) -> Any:
    """A notebook with a heading, cells and the state of its widgets."""
    saved = {STATE: {"version_major": 2, "version_minor": 0, "state": models}}
    metadata = {"widgets": saved} if models else {}
    metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return v4.new_notebook(cells=[v4.new_markdown_cell("# Page"), *cells], metadata=metadata)


def events_of(parts: tuple[ModuleType, ...]) -> dict[tuple[str, ...], list[Any]]:
    """What these parts of the site do at events."""
    names = {part.__name__ for part in parts}
    return {
        event: [each for each in listeners if getattr(each, "__module__", "") in names]
        for event, listeners in EVENTS.items()
    }


@dataclass
class Book:
    """A book's folder and the warnings of its last build."""

    folder: Path
    warnings: str = ""

    @property
    def html(self) -> Path:
        return self.folder / "html"

    @property
    def modules(self) -> list[Path]:
        """The scripts of live figures on the site."""
        return sorted((self.html / "_static" / "live").glob("*.js"))

    def read(self, name: str = "index") -> str:
        """A page of the built site."""
        return (self.html / f"{name}.html").read_text("utf-8")

    def build(self, *parts: ModuleType, **settings: Any) -> Book:
        """Build what is out of date, with these parts of the site and the plain theme."""
        warnings = StringIO()
        config = {
            "extensions": ["myst_nb"],
            "html_theme": "basic",
            "root_doc": "contents",
            "html_favicon": "icon.svg",
            "nb_execution_mode": "off",
            "nb_execution_cache_path": str(self.folder / "cache"),
            "html_static_path": [str(ROOT / "tools" / "site" / "static")],
            "html_js_files": [("storage.js", {"defer": "defer", "priority": 100})],
        }
        folders = [str(self.folder / name) for name in ("source", "html", "doctrees")]
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                folders[0], None, *folders[1:], "html", confoverrides=config | settings,
                status=None, warning=warnings,
            )  # fmt: skip
            app.add_role("key", KeyRole())
            connect(app, events_of(parts or (live, lazy_scripts)))
            app.build()
        finish_scripts(self.html / "_static")  # the sentences of `storage.js`
        self.warnings = strip_colors(warnings.getvalue())
        return self


def book(folder: Path, **pages: Any) -> Book:
    """Write a book of these notebooks and a contents page, which leads to all of them."""
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    (source / "contents.md").write_text("# Contents\n\n```{toctree}\n:glob:\n*\n```\n")
    (source / "icon.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for name, notebook in pages.items():
        nbformat.write(notebook, source / f"{name}.ipynb")
    return Book(folder)
