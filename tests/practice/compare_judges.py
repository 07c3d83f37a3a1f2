"""Give the same answers to our judge and to torch-judge, TorchCode's; `make compare-judges`.

The answers are ours: right implementations and known bugs of the registry, and stored answers. An
answer counts in a shared task if it is as right or wrong there as in ours; `compared.jsonl` lists
the others as not comparable. The table in `teaching.md` is made from that file.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from attnbook import __version__
from attnbook.practice import check, find_task
from attnbook.practice.task import Function
from tests.practice.adapters import SHARED, SharedTask
from tests.practice.judge import Verdicts
from tests.practice.replay import BLIND, READERS, defined_in, read_attempts, write_attempts
from tools import ROOT
from tools.colab.clean_environment import pip_into, run

OURS, THEIRS = f"attnbook {__version__}", "torch-judge 0.1.1"
FOLDER = ROOT / "_build" / "compare-judges"
STORED = Path(__file__).with_name("compared.jsonl")
PAGE = ROOT / "chapters" / "teaching.md"
HEAD = "| answers | checker | right accepted | wrong refused | bug named |\n"
KINDS = {"registry": "right code and known bugs", "stored": "what readers and testers wrote"}
LIMIT = 20  # seconds for an answer in torch-judge, which has no limit
Judge = Callable[[SharedTask, Function], tuple[bool, list[str]]]  # accepted, and names of bugs
Row = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A function or class that is known to be right, or to have one of some bugs."""

    name: str
    kind: str
    function: Function
    right: bool
    bugs: list[str]


def answers_to(task: str) -> Iterator[Answer]:
    found = find_task(task)
    for right in found.solutions.values():
        yield Answer(right.name, "registry", right.function, right=True, bugs=[])
    for bug in found.bugs.values():
        yield Answer(bug.name, "registry", bug.function, right=False, bugs=[bug.name])
    for path in BLIND + READERS:
        for number, stored in enumerate(read_attempts(path)):
            if stored["task"] == task and "case" in stored:
                meant = stored.get("meant", "wrong" if stored["case"] else "right")
                function = [*defined_in(stored["code"]).values()][-1]
                name, right = f"{path.parent.name}/{path.stem}-{number}", meant.startswith("right")
                yield Answer(name, "stored", function, right, stored["bugs"])


def ours(shared: SharedTask, answer: Function) -> tuple[bool, list[str]]:
    verdict = check(shared.ours, answer)
    return bool(verdict), [bug.name for bug in verdict.bugs]


def theirs(shared: SharedTask, answer: Function) -> tuple[bool, list[str]]:
    """The verdict of torch-judge, in a fork; it reports the test that fails, and names no bug."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(passes_torch_judge(shared, answer)))
    process.start()
    sender.close()
    try:
        accepted = receiver.poll(LIMIT) and receiver.recv()
    except EOFError:  # the answer ended the process
        accepted = False
    process.kill()
    process.join()
    return accepted, []


def passes_torch_judge(shared: SharedTask, answer: Function) -> bool:
    """Its `check` takes the answer from the caller's global names, and prints the verdict."""
    from torch_judge import check as their_check  # noqa: PLC0415 - only in its own process
    from torch_judge.tasks import get_task  # noqa: PLC0415

    names = {"check": their_check, get_task(shared.theirs)["function_name"]: shared.adapt(answer)}
    torch.manual_seed(0)
    with redirect_stdout(StringIO()) as printed:
        exec(f"check({shared.theirs!r})", names)  # noqa: S102 - our own words
    return "tests passed!" in printed.getvalue()


def verdicts(shared: SharedTask, judge: Judge) -> Row:
    """How a judge judges the answers to one task: the counts of each kind, and its mistakes."""
    counts = {kind: Verdicts() for kind in KINDS}
    found: Row = {"not comparable": [], "wrong accepted": [], "right refused": []}
    for answer in answers_to(shared.ours):
        right = answer.right
        if shared.is_right(answer.function) != right:
            found["not comparable"].append(answer.name)
            continue
        accepted, names = judge(shared, answer.function)
        counts[answer.kind].add(right=right, accepted=accepted, names=names, known=answer.bugs)
        if accepted != right:
            found["wrong accepted" if accepted else "right refused"].append(answer.name)
    counted = {kind: asdict(each) for kind, each in counts.items()}
    name = {ours: OURS, theirs: THEIRS}[judge]
    return {"judge": name, "ours": shared.ours, "theirs": shared.theirs} | counted | found


def rows_of_torch_judge() -> list[Row]:
    """Install torch-judge into a folder of its own, which only its own process sees."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    wanted = THEIRS.replace(" ", "==")
    run([*pip_into(Path(sys.executable)), "--no-deps", "--target", FOLDER, wanted])
    paths = os.pathsep.join(map(str, (ROOT, FOLDER)))
    variables = {"PYTHONPATH": paths, "PROGRESS_PATH": str(FOLDER / "progress.json")}
    command = [sys.executable, "-m", "tests.practice.compare_judges", "theirs"]
    found: list[Row] = json.loads(run(command, env=os.environ | variables, cwd=ROOT))
    return found


def table(rows: list[Row]) -> str:
    """The totals in Markdown."""
    lines = [HEAD, "|---|---|---|---|---|\n"]
    for kind, words in KINDS.items():
        for judge in (OURS, THEIRS):
            counts = sum(
                (Verdicts(**row[kind]) for row in rows if row["judge"] == judge), Verdicts()
            )
            lines.append(
                f"| {words} | {judge} | {counts.accepted}/{counts.right} "
                f"| {counts.refused}/{counts.wrong} | {counts.named}/{counts.wrong} |\n"
            )
    return "".join(lines)


def main() -> None:
    """Judge, store the verdicts, and renew the table of the page."""
    if sys.argv[1:] == ["theirs"]:
        json.dump([verdicts(each, theirs) for each in SHARED], sys.stdout)
        return
    rows = [verdicts(each, ours) for each in SHARED] + rows_of_torch_judge()
    write_attempts(STORED, rows)
    before, _, after = PAGE.read_text("utf-8").partition(HEAD)
    PAGE.write_text(before + table(rows) + "\n" + after.partition("\n\n")[2], "utf-8")
    print(table(rows))  # noqa: T201 - what a command is for


if __name__ == "__main__":
    main()
