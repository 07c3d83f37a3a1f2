"""Programs that node runs while the book is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sphinx.errors import ExtensionError

from tools.site.formulas import NODE, install_katex


def run(program: Path, *arguments: str | Path, stdin: str = "") -> str:
    """Run a program of this folder, and return what it prints.

    Raises:
        ExtensionError: it fails.
    """
    install_katex()
    done = subprocess.run(
        [NODE, program, *arguments], input=stdin, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise ExtensionError(f"{program.name} fails: {done.stderr.strip()}")
    return done.stdout
