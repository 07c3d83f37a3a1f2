"""What new readers answered on the book's pages, and what it was taken for.

python -m tests.figures.prediction.replay [FILE ...]    stores what the built pages take it for

Each file in `readers/` is one reading of a page. A line is an answer: what was asked, what was
answered, whether it is right, and whether it is a known mistake.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attnbook.figures import Prediction
from tests.figures.shared.node import in_node, written
from tests.tools.site.questions import SITE, states

READINGS = Path(__file__).parent / "readers"
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, tries } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
process.stdout.write(JSON.stringify(tries.map(({ state, answer }) => {
    const model = { get: (name) => state[name] };
    const read = state.options.length ? answer[0] : answer.map(figure.readNumber);
    const { right, says } = figure.judge(model, read);
    return { right, known: state.wrong_answers.some(([, sentence]) => sentence === says) };
})));
"""


def readings() -> list[Path]:
    return sorted(READINGS.glob("*.jsonl"))


def stored(reading: Path) -> list[dict[str, Any]]:
    """The answers of a reading."""
    return [json.loads(line) for line in reading.read_text("utf-8").strip().split("\n")]


def judged(reading: Path, site: Path = SITE) -> list[dict[str, Any]]:
    """The answers of a reading with what the page takes them for.

    Raises:
        ValueError: the page asks that no longer.
    """
    page = (site / "chapters" / f"{reading.stem}.html").read_text("utf-8")
    asked = [it for it in states(page).values() if it["kind"] == "prediction"]
    tries = stored(reading)
    with TemporaryDirectory() as folder:
        module = written(str(Prediction._esm), Path(folder))
        given = [{"state": put(it, asked), "answer": it["answer"]} for it in tries]
        found = in_node(PROGRAM, module, tries=given)
    return [it | facts for it, facts in zip(tries, found, strict=True)]


def put(tried: dict[str, Any], asked: list[dict[str, Any]]) -> dict[str, Any]:
    """The prediction that was answered: the clinic asks for each patient's fault."""
    for state in asked:
        if state["ask"] == tried["ask"] and tried["answer"][0] in (
            state["options"] or tried["answer"]
        ):
            return state
    raise ValueError(f"a prediction must ask {tried['ask']!r}, for {tried['answer']}; none does")


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or readings():
        lines = (json.dumps(it, ensure_ascii=False) for it in judged(path))
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
