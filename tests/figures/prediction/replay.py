"""What new readers answered on the book's pages, and how the page judged it.

python -m tests.figures.prediction.replay [FILE ...]    stores how the built pages judge it

Each file in `readers/` is one reading of a page. A line is an answer: the question, the answer,
whether it is right, and whether it is a known mistake.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attnbook.figures import Prediction
from tests.figures.shared.node import run_in_node, write_module
from tests.practice.replay import read_attempts, write_attempts
from tests.tools.site.questions import SITE, states

READINGS = Path(__file__).parent / "readers"
PROGRAM = """
import { readFileSync } from "node:fs";
const { module, tries } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
process.stdout.write(JSON.stringify(tries.map(({ state, answer }) => {
    const model = { get: (name) => state[name] };
    const read = state.options.length ? answer[0] : answer.map(figure.readNumber);
    const { right, message } = figure.judge(model, read);
    return { right, known: state.wrong_answers.some(([, sentence]) => sentence === message) };
})));
"""


def readings() -> list[Path]:
    return sorted(READINGS.glob("*.jsonl"))


def judge_reading(reading: Path, site: Path = SITE) -> list[dict[str, Any]]:
    """Judge the answers of a reading as the page does.

    Raises:
        ValueError: the page no longer has the question.
    """
    page = (site / "chapters" / f"{reading.stem}.html").read_text("utf-8")
    questions = [state for state in states(page).values() if state["kind"] == "prediction"]
    tries = read_attempts(reading)
    with TemporaryDirectory() as folder:
        module = write_module(str(Prediction._esm), Path(folder))
        jobs = [{"state": question_of(t, questions), "answer": t["answer"]} for t in tries]
        judgements = run_in_node(PROGRAM, module, tries=jobs)
    return [tried | judgement for tried, judgement in zip(tries, judgements, strict=True)]


def question_of(tried: dict[str, Any], questions: list[dict[str, Any]]) -> dict[str, Any]:
    """The prediction that was answered; the clinic has several with one `ask`."""
    for state in questions:
        if state["ask"] == tried["ask"] and tried["answer"][0] in (
            state["options"] or tried["answer"]
        ):
            return state
    raise ValueError(f"a prediction must ask {tried['ask']!r}, for {tried['answer']}; none does")


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or readings():
        write_attempts(path, judge_reading(path))


if __name__ == "__main__":
    main()
