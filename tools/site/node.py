"""What node does while the book is built, one run of a program each time."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sphinx.errors import ExtensionError

from tools.site.formulas import NODE, install_katex


def run(program: Path, *arguments: str | Path, given: str = "") -> str:
    """What a program of this folder prints for its arguments and its input.

    Raises:
        ExtensionError: it fails.
    """
    install_katex()
    done = subprocess.run(
        [NODE, program, *arguments], input=given, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise ExtensionError(f"{program.name} fails: {done.stderr.strip()}")
    return done.stdout
