"""How chapters are executed: with the package, in isolated kernels, and as `make book` did."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from tools.book.state import build_folder_of, isolate_kernels


def need_package() -> None:
    """Stop the build if the package is missing; else every chapter fails on its first line."""
    if not find_spec("attnbook"):
        raise ExtensionError(
            "attnbook, which every chapter imports, is not installed: "
            "run `pip install -r requirements.txt -e .` in the book's folder first"
        )


def use_executions_of_make(app: Sphinx, config: Config) -> None:
    """Let `jupyter-book build .` use what `make book` executed, in isolated kernels.

    Only `tools/book/build.py` fails on warnings and leaves a stamp; what any other command has read
    is read again.
    """
    folder = build_folder_of(Path(app.srcdir), answers=config.book_answers)
    config.nb_execution_cache_path = str(folder.executions)
    isolate_kernels(folder.path / ".ipython")
    (Path(app.doctreedir).parent / folder.stamp.name).unlink(missing_ok=True)
