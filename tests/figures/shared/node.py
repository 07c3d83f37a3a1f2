"""A figure's own module, run in node; what comes in bulk goes through files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnbook.figures.shared.base import Figure
from tools.site.formulas import NODE

IN_BULK = """
import { readFileSync, writeFileSync } from "node:fs";
const { module, asked, answer } = JSON.parse(readFileSync(0, "utf-8"));
const task = JSON.parse(readFileSync(asked, "utf-8"));
const figure = await import(module);
const numbers = [];
const tell = (words) => {
    writeFileSync(answer, new Float64Array(numbers));
    process.stdout.write(JSON.stringify(words));
};
"""


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


def in_bulk(program: str, module: str, folder: Path, **task: Any) -> tuple[Any, Tensor]:
    """What a program tells of a `task`, and the `numbers` that it gathers."""
    asked, answer = folder / "asked.json", folder / "answer.bin"
    asked.write_text(json.dumps(task), "utf-8")
    paths = {"asked": str(asked), "answer": str(answer)}
    words = in_node(IN_BULK + program, written(module, folder), **paths)
    return words, torch.from_numpy(np.fromfile(answer, dtype="<f8"))
