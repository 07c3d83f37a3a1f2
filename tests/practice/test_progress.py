"""What `check` and `grade_tests` say of a reader's progress, and of what is not written yet."""

from __future__ import annotations

import pytest

from attnbook.practice import LIST_TASKS, check, grade_tests
from attnbook.practice.judge import progress


@pytest.fixture(autouse=True)
def no_results(monkeypatch):
    for name in ("_results", "_latest"):
        monkeypatch.setattr(progress, name, {})


def test_a_starter_is_not_written_whatever_its_name_and_a_planted_bug_has_a_verdict():
    for name, task in LIST_TASKS.items():
        names = {}
        parts = "from attnbook.practice.parts import pool, score"
        exec(f"{parts}\n{task.starter.replace(f'def {task.called}', 'def my_own')}", names)  # noqa: S102
        verdict = check(name, names["my_own"])
        first = f"✗ {name}: not yet." if task.planted else f"○ {name}: not written yet."
        assert str(verdict).startswith(first)
        assert not verdict
        assert verdict.as_dict()["passed"] is False


def my_pool(weights, values):
    # your code
    ...


def my_split_heads(vectors, num_heads):
    return vectors.unflatten(-1, (num_heads, -1)).transpose(-3, -2)


def test_the_next_task_is_named_once_only_one_chapter_has_what_was_tried():
    assert progress.progress_after("check", "scaled-dot-attention", [my_pool], is_right=False) == ""
    assert "○ pool: not written yet.\n0 of 6 done" in str(check("pool", my_pool))
    assert progress.latest_function("pool") is None  # no figure draws it
    assert str(check("split-heads", my_split_heads)).endswith("cases hold.")  # of another chapter


def test_progress_counts_the_readers_code_and_no_answer_of_the_book():
    chapter = progress.CHAPTERS["multi-head-attention"]
    text = str(check("split-heads", my_split_heads))
    assert text.endswith(f"1 of {len(chapter)} done in this chapter. Next: `split-heads-by-hand`.")

    def answer(vectors, num_heads):
        return my_split_heads(vectors, num_heads)

    assert str(check("split-heads", answer)).endswith("cases hold.")
    for judge, task in chapter[:-1]:
        progress.progress_after(judge, task, [my_split_heads], is_right=True)

    def test_mine(attend):
        attend()

    last = str(grade_tests(chapter[-1][1], test_mine))
    assert last.endswith(
        f"{len(chapter) - 1} of {len(chapter)} done in this chapter. "
        "Next: your tests of `multi-head-attention`."
    )
    done = progress.progress_after("grade_tests", chapter[-1][1], [test_mine], is_right=True)
    assert done == f"All {len(chapter)} done in this chapter."
