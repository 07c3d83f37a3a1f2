"""Runs a figure's module in node."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from attnbook.figures.shared.base import Figure
from tools.site.assets.node import NODE


def write_module(module: str, folder: Path) -> Path:
    """Write the module to a file that node can import."""
    path = folder / "figure.mjs"
    path.write_text(module, "utf-8")
    return path


def run_in_node(program: str, module: Path, **task: Any) -> Any:
    """Run a program that reads JSON, with the module's address, and writes JSON."""
    return _run(program, module.as_uri(), task)


def _run(program: str, address: str, task: dict[str, Any]) -> Any:
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", program],
        input=json.dumps({"module": address, **task}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


# What JSON cannot hold is written as Python reads it: NaN, Infinity and -Infinity.
ASK = """
import {{ readFileSync }} from "node:fs";
const {{ module, ...task }} = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const answer = (({{ {names} }}) => {{ {body} }})(task);
const plain = (_, x) => (typeof x === "number" && !Number.isFinite(x) ? `<${{x}}>` : x);
process.stdout.write(
    JSON.stringify(answer, plain).replaceAll(/"<(NaN|-?Infinity)>"/g, "$1"));
"""


def ask_module(kind: type[Figure], body: str, **task: Any) -> Any:
    """Run the body of a function of `figure`, a kind's module, and of a task; gives its answer."""
    data = base64.b64encode(str(kind._esm).encode()).decode()
    program = ASK.format(names=", ".join(task), body=body)
    return _run(program, f"data:text/javascript;base64,{data}", task)
