"""Scripts that a page loads only when they are needed: an editor, Python, a model, known outputs.

A figure names in its trait `late` what it may need, and `live.py` names that on its page. The
weights are those of the checkpoint that the chapter loads; here they become a script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from tools.site.assets import node
from tools.site.figures.live import FOLDER, LATE

PROGRAM = Path(__file__).parents[1] / "python_in_page" / "bundle.mjs"
BUNDLED = ("editor", "python")  # what PROGRAM makes


def packers() -> dict[str, Callable[[], dict[str, Any]]]:
    """The functions that give each model's weights, and the outputs of known bugs, by name."""
    # A book without models is built without torch.
    from attnbook.figures.tokens import packing as decoders  # noqa: PLC0415
    from attnbook.figures.translator import packing as translators  # noqa: PLC0415
    from attnbook.models.transformer import checkpoints as transformer  # noqa: PLC0415
    from attnbook.models.translator import checkpoints as translator  # noqa: PLC0415
    from attnbook.practice import recognition  # noqa: PLC0415

    return {
        **{name: partial(decoders.pack_model, name) for name in transformer.BOOK},
        "recognition": lambda: {name: recognition.data_of(name) for name in recognition.SAMPLES},
        **{name: partial(translators.pack_model, name) for name in translator.BOOK},
    }


def bundle(folder: Path) -> None:
    """Write the scripts into a folder.

    Raises:
        ExtensionError: the editor or MicroPython is not as it should be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    node.run(PROGRAM, folder)


def registration(name: str, model: dict[str, Any]) -> str:
    """A classic script, which `file://` allows, that passes a model's weights to the figures."""
    text = json.dumps(model, separators=(",", ":"))
    return f"(window.attnbookLate ??= {{}})[{json.dumps(name)}] = {text};\n"


def write_models(folder: Path, names: Iterable[str]) -> None:
    """Write a script for each model into a folder.

    Raises:
        ExtensionError: a figure asks for a model that does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    functions = packers()
    for name in names:
        if name not in functions:
            allowed = ", ".join([*BUNDLED, *functions])
            raise ExtensionError(f"a figure may ask for one of {allowed}, got {name!r}")
        (folder / f"{name}.js").write_text(registration(name, functions[name]()), "utf-8")


def write_scripts(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the scripts that some page may ask for, before the pages that name them."""
    pages = NbMetadataCollector.get_doc_data(env).values()
    wanted = {name for page in pages for name in page.get(LATE) or ()}
    folder = Path(app.outdir) / "_static" / FOLDER
    if wanted & {*BUNDLED}:
        bundle(folder)
    if models := wanted - {*BUNDLED}:
        write_models(folder, sorted(models))
