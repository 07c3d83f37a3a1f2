"""A figure's own module, run in node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from attnbook.figures.shared.base import Figure
from tools.site.formulas import NODE


def written(module: str, folder: Path) -> Path:
    """The module as a file that node takes for one."""
    path = folder / "figure.mjs"
    path.write_text(module, "utf-8")
    return path


def with_fault(figure: type[Figure], fault: tuple[str, str]) -> str:
    """A figure's module in which some text is another one; it must be there."""
    before, after = fault
    assert before in str(figure._esm)
    return str(figure._esm).replace(before, after)


def in_node(program: str, module: Path, **task: Any) -> Any:
    """What a program answers: JSON in, with the module's address; JSON out."""
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", program],
        input=json.dumps({"module": module.as_uri(), **task}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
