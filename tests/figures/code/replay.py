"""What new readers typed into tasks of the built pages, and what the page said; says it anew.

python -m tests.figures.code.replay    writes the verdicts of today into readers/*.json
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from attnbook.figures import CodeTask
from attnbook.practice import LIST_TASKS
from tests.figures.code.interpreters import in_micropython
from tests.figures.shared.node import in_node, written

READERS = Path(__file__).with_name("readers")
ENDLESS = "did not end within two seconds"  # such code is not run again
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, answers } = JSON.parse(readFileSync(0, "utf-8"));
const { told } = await import(module);
process.stdout.write(JSON.stringify(answers.map(told)));
"""


def attempts() -> dict[Path, list[dict[str, Any]]]:
    """All that was typed, by the file that keeps it."""
    return {path: json.loads(path.read_text("utf-8")) for path in sorted(READERS.glob("*.json"))}


def said_today(tried: list[dict[str, Any]]) -> list[list[str]]:
    """What the page says of each attempt, in paragraphs without the marks of code."""
    questions = [
        {"code": each["code"], "task": LIST_TASKS[each["task"]].as_data()} for each in tried
    ]
    with tempfile.TemporaryDirectory() as folder:
        module = written(str(CodeTask._esm), Path(folder))
        paragraphs = in_node(PROGRAM, module, answers=in_micropython(questions))
    return [[text.replace("`", "") for text in each] for each in paragraphs]


def main() -> None:
    """Write today's verdicts."""
    for path, tried in attempts().items():
        finite = [each for each in tried if ENDLESS not in " ".join(each["verdict"])]
        for each, said in zip(finite, said_today(finite), strict=True):
            each["verdict"] = said
        path.write_text(json.dumps(tried, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
