"""Runs a figure's module in node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tools.site.formulas import NODE


def write_module(module: str, folder: Path) -> Path:
    """Write the module to a file that node can import."""
    path = folder / "figure.mjs"
    path.write_text(module, "utf-8")
    return path


def run_in_node(program: str, module: Path, **task: Any) -> Any:
    """Run a program that reads JSON, with the module's address, and writes JSON."""
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", program],
        input=json.dumps({"module": module.as_uri(), **task}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
