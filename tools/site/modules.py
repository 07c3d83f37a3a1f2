"""The programs of live figures: each once for the whole site, and `host.js`, which mounts them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tools.site.minify import minified

HOST = Path(__file__).parent / "host.js"
FOLDER = "live"  # below the built site's _static, where nothing is put on pages by itself
MODULES = "live_modules"  # ours among what myst-nb remembers of a page


def module_of(model: dict[str, Any]) -> dict[str, str]:
    """The code of a figure: the same for all figures of its kind."""
    return {"esm": model["state"]["_esm"], "css": model["state"].get("_css", "")}


def name_of(module: dict[str, str]) -> str:
    """A short name for a module's text."""
    return hashlib.sha256(json.dumps(module).encode()).hexdigest()[:12]


def registration(name: str, module: dict[str, str]) -> str:
    """A classic script, which `file://` allows, that hands a module to `host.js`."""
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
    host, *small = minified([("js", HOST.read_text("utf-8")), *parts])
    texts = {HOST.stem: host}
    for name, esm, css in zip(modules, small[::2], small[1::2], strict=True):
        texts[name] = registration(name, {"esm": esm, "css": css})
    folder = Path(app.outdir) / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.js").write_text(text, "utf-8")
