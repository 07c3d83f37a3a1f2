"""Write it, find it: what the chapters ask for is what the judge knows."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from pathlib import Path

import pytest

from attnbook.practice import LIST_TASKS, check, find_task
from attnbook.practice.parts import PARTS
from tools import ROOT
from tools.book.cells import ANSWER, has_tag
from tools.book.notebooks import read
from tools.table_of_contents import pages

# Whose bug a stranger's code has, and which.
FOUND = {
    "scoring-functions": ("additive-score", "tanh after w v"),
    "masked-softmax": ("masked-softmax", "filled with minus a million"),
    "scaled-dot-product-attention": ("dot-product-layer", "kept weights know no mask"),
    "multi-head-attention": ("multi-head-attention", "scaled by the whole width"),
    "self-attention": ("causal-attention", "counted from the first key"),
    "attention-pooling": ("kernel-pool", "powers that vanish"),
    "additive-attention": ("additive-layer", "matrices swapped"),
    "bahdanau-attention": ("decoding-step", "padding is seen"),
    "position": ("rotary-encoding", "the first overwritten too soon"),
    "masks": ("masked-attention", "mask meets the heads"),
    "transformer-block": ("transformer-block", "added to what was normed"),
    "heads-that-copy": ("induction-score", "weight on the token itself"),
    "what-attention-costs": ("online-softmax", "only the sum is corrected"),
}
# These are tasks from top to bottom.
OF_TASKS = ("attention-from-nothing", "bug-clinic")
IMPORTS = (ast.Import, ast.ImportFrom)
each_chapter = pytest.mark.parametrize("name", FOUND)


def chapters():
    """The chapters before the bug clinic, in their order."""
    names = [Path(page).name for page in pages()]
    return names[names.index("queries-keys-values") : names.index("bug-clinic")]


def below(name, heading):
    """The cells below a heading of the practice."""
    cells = read(ROOT / "chapters" / f"{name}.ipynb").cells
    start = next(i for i, cell in enumerate(cells) if cell.source.startswith(heading))
    is_within = lambda cell: not (cell.cell_type == "markdown" and cell.source.startswith("#"))  # noqa: E731
    return [*takewhile(is_within, cells[start + 1 :])]


def code_after(name, heading, *, answers=False):
    """The cells of code there: what is asked, or what answers it."""
    code = (cell for cell in below(name, heading) if cell.cell_type == "code")
    return [cell for cell in code if has_tag(cell, ANSWER) is answers]


def shown(cell):
    """What a cell shows at its end, as text."""
    (output,) = (output for output in cell.outputs if output.output_type == "execute_result")
    return output.data["text/plain"]


def asked(cell, call):
    return re.search(rf'{call}\("([\w-]+)", (\w+)\)', cell.source).groups()


def signature(source):
    (function,) = (it for it in ast.parse(source).body if isinstance(it, ast.FunctionDef))
    return function.name, ast.unparse(function.args)


def test_every_chapter_but_the_first_asks_for_something():
    _, *others = chapters()
    assert [name for name in others if name not in OF_TASKS] == [*FOUND]


@each_chapter
def test_what_is_to_be_written_is_a_task_and_unfinished(name):
    *_, statement, cell = code_after(name, "### Write it")
    task, written = asked(cell, "check")
    assert shown(statement) == repr(find_task(task))
    starter = find_task(task).starter
    if "class" not in starter:
        name, arguments = signature(starter)
        assert signature(cell.source) == (f"my_{name}", arguments)
    assert f"✗ {task}: not yet." in shown(cell)
    assert f" {written}(" in cell.source


@each_chapter
def test_a_strangers_code_has_the_bug_that_its_answer_tells(name):
    task, bug = FOUND[name]
    broken, *_ = code_after(name, "### Find it")
    scope = {}
    for cell in read(ROOT / "chapters" / f"{name}.ipynb").cells:
        if cell.cell_type == "code":
            lines = [it for it in ast.parse(cell.source).body if isinstance(it, IMPORTS)]
            exec(ast.unparse(lines), scope)  # noqa: S102 - our own chapters
    exec(broken.source, scope)  # noqa: S102
    written = next(value for key, value in scope.items() if key.lower().startswith("strangers"))
    verdict = check(task, written)
    assert [each.name for each in verdict.bugs] == [bug], str(verdict)


IS_FAIR = re.compile(r"is caught\. (It fails|They fail) on no right implementation\.")


@each_chapter
def test_it_is_mended_and_pinned_in_the_same_task(name):
    broken, mended, pinned = code_after(name, "### Find it")
    task, _ = FOUND[name]
    assert broken.outputs, "its symptom is shown"
    assert asked(mended, "check")[0] == asked(pinned, "grade_tests")[0] == task
    assert f"✗ {task}: not yet." in shown(mended)
    assert f"✗ {task}, 1 test: no bug is caught." in shown(pinned)


@each_chapter
def test_each_is_answered_by_code_that_the_judge_accepts(name):
    task, _ = FOUND[name]
    written = code_after(name, "### Write it", answers=True)
    assert any("✓" in shown(cell) for cell in written if "check(" in cell.source)
    mended, *pinned = code_after(name, "### Find it", answers=True)
    assert f"✓ {task}" in shown(mended)
    verdict = shown(pinned[-1])
    rows = [row for row in verdict.splitlines() if row.endswith((" caught", " –"))]
    assert sum(" caught" in row for row in rows) >= len(find_task(task).bugs) / 2
    assert IS_FAIR.search(verdict)


# A line that ends a cell with a verdict.
JUDGED = re.compile(r"^(check|grade_tests)\(", re.MULTILINE)


@pytest.mark.parametrize("name", OF_TASKS)
def test_a_chapter_of_tasks_refuses_its_starters_and_accepts_its_answers(name):
    cells = read(ROOT / "chapters" / f"{name}.ipynb").cells
    judged = [cell for cell in cells if cell.cell_type == "code" and JUDGED.search(cell.source)]
    asked = [cell for cell in judged if "# your code" in cell.source or "# a test:" in cell.source]
    answered = [cell for cell in judged if has_tag(cell, ANSWER)]
    assert len(asked) >= 5
    assert len(answered) >= len(asked)
    assert all("✗" in shown(cell) for cell in asked)
    # One answer shows on purpose what the judge says of a bug.
    assert sum(is_accepted(shown(cell)) for cell in answered) >= len(asked)


def is_accepted(verdict):
    """Whether code is right, or a test catches something and is fair."""
    return "✓" in verdict or ("✗" not in verdict and bool(IS_FAIR.search(verdict)))


# What is written in the page

ON_PAGE = {
    (path.stem, found[1]): found[0]
    for path in sorted((ROOT / "chapters").glob("*.ipynb"))
    for number, cell in enumerate(read(path).cells)
    if cell.cell_type == "code"
    for found in [(number, *re.findall(r'^CodeTask\("([\w-]+)"\)$', cell.source, re.MULTILINE))]
    if len(found) == 2
}
# Where the same in torch is asked elsewhere: the score of one's own has no task of its name, and
# pooling is asked in torch in "Attention from nothing".
NOT_IN_TORCH_HERE = {"score-by-hand", "pool-by-hand"}


def test_every_task_on_plain_lists_stands_in_one_chapter():
    assert sorted(task for _, task in ON_PAGE) == sorted(LIST_TASKS)


def test_every_chapter_that_explains_a_stage_or_a_layer_has_one():
    assert {name for name, _ in ON_PAGE} == {*chapters()}


@pytest.mark.parametrize(("name", "task"), ON_PAGE)
def test_it_has_a_hint_and_an_answer_that_the_judge_accepts(name, task):
    after = read(ROOT / "chapters" / f"{name}.ipynb").cells[ON_PAGE[name, task] + 1 :]
    answered = next(cell for cell in after if has_tag(cell, ANSWER) and cell.cell_type == "code")
    between = after[: after.index(answered)]
    assert asked(answered, "check")[0] == task
    assert shown(answered).startswith(f"✓ {task}: right.")
    assert any(":::{dropdown} Hint" in cell.source for cell in between)
    assert not any("CodeTask(" in cell.source for cell in between)


@pytest.mark.parametrize(
    ("name", "task"), [each for each in ON_PAGE if each[1] not in NOT_IN_TORCH_HERE]
)
def test_the_same_is_asked_in_torch_after_it(name, task):
    after = read(ROOT / "chapters" / f"{name}.ipynb").cells[ON_PAGE[name, task] + 1 :]
    wanted = find_task(task).in_torch.name
    starters = [cell for cell in after if cell.cell_type == "code" and "# your code" in cell.source]
    mine = next(cell for cell in starters if f'check("{wanted}"' in cell.source)
    assert f"✗ {wanted}: not yet." in shown(mine)


@pytest.mark.parametrize("task", [task.name for task in LIST_TASKS.values() if task.draws])
def test_what_can_be_drawn_is_drawn_near_its_task(task):
    [name] = [name for name, known in ON_PAGE if known == task]
    place = ON_PAGE[name, task]
    near = read(ROOT / "chapters" / f"{name}.ipynb").cells[max(0, place - 2) : place + 4]
    assert any(f'written="{task}"' in cell.source for cell in near)


@pytest.mark.parametrize(("task", "chapter"), [(task, part[1]) for task, part in PARTS.items()])
def test_a_part_is_written_in_the_chapter_that_its_line_links_to(task, chapter):
    assert (chapter, task) in ON_PAGE
