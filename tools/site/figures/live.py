"""Live figures on pages without a kernel: what the run saved becomes what `host.js` mounts.

myst-nb leaves two things of a widget: its state, with the whole module in every figure, and
a script for each view that only require.js and html-manager could mount. Here each view
becomes its figure's numbers as text, which `host.js` replaces by the figure; the page has the
state of the figures that it shows, and each module is once on the site.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tools.site import TEXT
from tools.site.assets.minify import minify, read_script
from tools.site.figures import items, keys
from tools.site.page_tree import cells, nb_elements, tags_of

HOST = Path(__file__).parent / "host.js"
FOLDER = "live"  # below the built site's _static, where nothing is put on pages by itself
MODULES = "live_modules"  # in the data that myst-nb stores for a page
TAG = "notebook-only"
NOTE = TEXT("needs_kernel")
VIEW = "application/vnd.jupyter.widget-view+json"
OPENING, CLOSING = f'<script type="{VIEW}">', "</script>"
STATE = "ipywidgets_state"  # myst-nb's name for the state among a page's scripts
LATE = "live_late"  # likewise: the scripts that its figures may ask for
# Traits that ipywidgets adds to every widget, and no figure reads.
PLUMBING = ("layout", "tabbable", "tooltip")
# Figures that gain from more room than the text has.
WIDE = ("attention", "cache", "cost", "heads", "mask", "position", "story", "tokens", "translator")
STILL = ("static_text", "still_html")  # what is on the page already

logger = logging.getLogger(__name__)

Models = dict[str, dict[str, Any]]


class UnmountableError(ValueError):
    """A view that no page can show, with the reason and how to fix it."""


@dataclass(frozen=True)
class View:
    """One widget in the output of a cell."""

    bundle: nodes.Element  # all forms of the output
    form: nodes.Element  # the widget among them
    model_id: str

    @property
    def plain(self) -> str:
        """The output as text, as the notebook stores it."""
        forms = self.bundle.findall(nodes.container)
        return next((f.astext() for f in forms if f.get("mime_type") == "text/plain"), "")


def saved_models(script: dict[str, Any]) -> Models:
    """The models in the state that a run saved, by id."""
    state: Models = json.loads(script["body"])["state"]
    return state


def widget_name(model: dict[str, Any]) -> str:
    """The name of a widget's class."""
    state = model["state"]
    own = str(state.get("_anywidget_id", "")).rpartition(".")[2]
    return own or str(model["model_name"]).removesuffix("Model")


def check_mountable(model: dict[str, Any] | None, plain: str) -> None:
    """Refuse what `host.js` cannot mount, or could only mount as something else."""
    if model is None:
        raise UnmountableError("a widget whose state the run did not save; close none of them")
    name, state = widget_name(model), model["state"]
    if not (state.get("_esm") and state.get("kind") and state.get("static_text")):
        raise UnmountableError(f"{name}, which needs a kernel; tag the cell `{TAG}`")
    if model.get("buffers"):
        raise UnmountableError(f"{name}, which has binary traits; make them lists of numbers")
    if plain.strip() != state["static_text"].strip():
        raise UnmountableError(
            f"{name}, which a later cell changed, so its last state would be shown here; "
            f"make that cell a figure of its own, or tag this cell `{TAG}`"
        )


def data_of(model: dict[str, Any]) -> dict[str, Any]:
    """The figure's own traits, and the name of its module."""
    own = {
        name: value
        for name, value in model["state"].items()
        if not name.startswith("_") and name not in (*PLUMBING, *STILL)
    }
    return own | {"module": name_of(module_of(model))}


def in_script(data: object) -> str:
    """JSON that no HTML parser mistakes for the end of its script."""
    return json.dumps(data, separators=(",", ":")).replace("<", r"\u003c")


def placeholder(name: str, text: str, html: str = "", item: str = "", kind: str = "") -> str:
    """The numbers of a figure, or its own HTML, where `host.js` will mount it.

    `item` names what it asks of the reader (`items.py`); for `kind`, `site.css` reserves a height.
    """
    still = html or f'<pre class="attnbook-static">{escape(text)}</pre>'
    attributes = {"data-attnbook-view": name, items.ATTRIBUTE: item, "data-attnbook-kind": kind}
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items() if value)
    wide = " attnbook-wide" if kind in WIDE else ""
    return f'<div class="attnbook-view{wide}"{written}>{still}</div>'


def is_tagged(cell: nodes.Element) -> bool:
    """Whether a cell is for notebooks only."""
    return TAG in tags_of(cell)


def views(tree: nodes.Element) -> list[View]:
    """The widgets in a part of a page."""
    found = []
    for bundle in nb_elements(tree, "mime_bundle"):
        for form in bundle.children:
            if isinstance(form, nodes.Element) and form.get("mime_type") == VIEW:
                script = form.astext().removeprefix(OPENING).removesuffix(CLOSING)
                found.append(View(bundle, form, json.loads(script)["model_id"]))
    return found


def show_as_text(view: View) -> None:
    """Remove a widget's view; the output's text stays."""
    view.bundle.remove(view.form)


def show_live(view: View, name: str, model: dict[str, Any], item: str) -> None:
    """Put a figure's placeholder where its view was; a question shows no answer there."""
    state = model["state"]
    still = state.get("still_html", "")
    text = placeholder(name, state["static_text"], still, item, state.get("kind", ""))
    view.form.children = []
    view.form[keys.LABELS] = state.get(keys.LABELS, [])
    view.form.append(nodes.raw("", text, format="html"))


def replace_by_note(cell: nodes.Element) -> None:
    """Replace the widgets of a tagged cell by a note about where they are live."""
    for view in views(cell):
        view.bundle.parent.remove(view.bundle)
    if not nb_elements(cell, "cell_code_output"):
        cell.append(nodes.container(nb_element="cell_code_output", classes=["cell_output"]))
    note = nodes.paragraph("", NOTE, classes=["attnbook-notebook-only"])
    cell.children[-1].append(note)


def show_figures(tree: nodes.Element, models: Models, location: str) -> Models:
    """Put a placeholder for each figure of a page; warn of views that cannot be mounted.

    Returns:
        the models of the figures shown, by names that are the same in every build: the ids
        that ipywidgets drew are not.
    """
    mounted: Models = {}
    names: dict[str, str] = {}
    items_by_name: dict[str, str] = {}
    for cell in cells(tree):
        for view in views(cell):
            model = models.get(view.model_id)
            try:
                check_mountable(model, view.plain)
            except UnmountableError as problem:
                number = cell["cell_index"]
                logger.warning("cell %s shows %s", number, problem, location=location)
                show_as_text(view)
            else:
                name = names.setdefault(view.model_id, f"figure-{len(names)}")
                mounted[name] = models[view.model_id]
                question = items.question_before(cell)
                item = items_by_name.setdefault(
                    name, items.name_of(mounted[name]["state"], question, location)
                )
                show_live(view, name, mounted[name], item)
    return mounted


def add_scripts(env: BuildEnvironment, page: str, mounted: Models) -> None:
    """Give a page what its figures need: their state, their modules and the host."""
    modules = {name_of(module_of(model)): module_of(model) for model in mounted.values()}
    state = in_script({name: data_of(model) for name, model in mounted.items()})
    attributes = {"type": "application/json", "class": "attnbook-state", "body": state}
    NbMetadataCollector.add_js_file(env, page, "live_state", None, attributes)
    for name in [*modules, HOST.stem]:
        path, options = f"{FOLDER}/{name}.js", {"loading_method": "defer"}
        NbMetadataCollector.add_js_file(env, page, f"live_{name}", path, options)
    late = sorted({name for model in mounted.values() for name in model["state"].get("late", [])})
    for name in late:
        # No browser runs such a script by itself; figures/shared/lazy_scripts.js does, at a touch.
        attributes = {"type": "text/at-touch", "data-attnbook-late": name}
        NbMetadataCollector.add_js_file(
            env, page, f"late_{name}", f"{FOLDER}/{name}.js", attributes
        )
    NbMetadataCollector.set_doc_data(env, page, MODULES, modules)
    NbMetadataCollector.set_doc_data(env, page, LATE, late)


def replace_widgets(app: Sphinx, tree: nodes.document) -> None:
    """Replace the widgets of a page that was just read by placeholders of figures."""
    page = app.env.docname
    for cell in filter(is_tagged, cells(tree)):
        replace_by_note(cell)
    remembered = NbMetadataCollector.get_doc_data(app.env)[page]
    scripts = remembered.get("js_files", {})
    saved = scripts.pop(STATE, None)
    for name in [name for name in scripts if name.startswith("ipywidgets_")]:
        del scripts[name]  # require.js and html-manager
    if saved is None and "exec_data" not in remembered:
        # This build did not run the page: `make chapter` runs one and shows the others.
        for view in views(tree):
            show_as_text(view)
        return
    mounted = show_figures(tree, saved_models(saved[1]) if saved else {}, page)
    keys.color_keys(tree)
    if mounted:
        add_scripts(app.env, page, mounted)


def check_no_view_is_left(tree: nodes.document, page: str) -> None:
    """Warn of a widget that came to a page by another way than a cell's own output."""
    for raw in tree.findall(nodes.raw):
        if VIEW in raw.astext():
            logger.warning("a widget is outside the output of its cell", location=page)


def module_of(model: dict[str, Any]) -> dict[str, str]:
    """The code of a figure: the same for all figures of its kind."""
    return {"esm": model["state"]["_esm"], "css": model["state"].get("_css", "")}


def name_of(module: dict[str, str]) -> str:
    """A short name for a module's text."""
    return hashlib.sha256(json.dumps(module).encode()).hexdigest()[:12]


def registration(name: str, module: dict[str, str]) -> str:
    """A classic script, which `file://` allows, that passes a module to `host.js`."""
    return f"(window.attnbookModules ??= {{}})[{json.dumps(name)}] = {json.dumps(module)};\n"


def write_modules(app: Sphinx, env: BuildEnvironment) -> None:
    """Write each module once for the whole site, before the pages that name it."""
    modules = {
        name: module
        for page in NbMetadataCollector.get_doc_data(env).values()
        for name, module in page.get(MODULES, {}).items()
    }
    if not modules:
        return
    parts = [
        part for each in modules.values() for part in (("js", each["esm"]), ("css", each["css"]))
    ]
    host, *small = minify([("js", read_script(HOST)), *parts])
    texts = {HOST.stem: host}
    for name, esm, css in zip(modules, small[::2], small[1::2], strict=True):
        texts[name] = registration(name, {"esm": esm, "css": css})
    folder = Path(app.outdir) / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, "utf-8")
