"""What a page loads only at the reader's first touch: an editor, and a Python.

A figure names in its trait `late` what it may need, and `live.py` names that on its page.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

from tools.site.formulas import NODE
from tools.site.live import FOLDER, LATE

PROGRAM = Path(__file__).parent / "late" / "bundle.mjs"


def bundle(folder: Path) -> None:
    """Write the scripts into a folder.

    Raises:
        ExtensionError: the editor or MicroPython is not as it should be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([NODE, PROGRAM, folder], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExtensionError(f"the scripts for the first touch cannot be made: {done.stderr}")


def write_scripts(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the scripts, if some page may ask for them, before the pages that name them."""
    if any(page.get(LATE) for page in NbMetadataCollector.get_doc_data(env).values()):
        bundle(Path(app.outdir) / "_static" / FOLDER)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write them when all pages are read."""
    app.connect("env-updated", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
