"""`InsideFigure`: the reader's attention, on plain lists, runs inside the story model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import traitlets

from attnbook.figures.shared.base import Figure, check_count, module, stylesheet
from attnbook.figures.tokens.writing import write
from attnbook.messages import Messages
from attnbook.practice.judge.checking import call_safely
from attnbook.practice.judge.data import parts_of
from attnbook.practice.judge.progress import latest_function
from attnbook.practice.parts import PARTS, STAGES, part_of
from attnbook.practice.task import Function

if TYPE_CHECKING:
    from attnbook.models.transformer.stories import Story

TEXT = Messages(__file__)
MOST = 10  # stories: with more, the figure is higher than a phone
TASK = "attention-from-parts"
SCORES = (STAGES[0], "scaled-score-by-hand")


def with_names(function: Function, names: dict[str, Function]) -> Function:
    """A function that finds other functions under these names."""
    if not isinstance(function, FunctionType):
        return function
    found = {**function.__globals__, **names}
    return FunctionType(
        function.__code__, found, "attention", function.__defaults__, function.__closure__
    )


class InsideFigure(Figure):
    """The answers of the story model, and those that it gives with the reader's attention.

    On the book's pages MicroPython calls the function that the reader wrote, in all heads of all
    layers, with the functions that the reader wrote for its stages. Where one is missing or
    wrong, the book's is used. In a notebook its own Python answers, with the functions that
    `check` has got from cells to write in.

    Args:
        stories: what is asked, at most ten.
        score: the task of the score: "score-by-hand" or "scaled-score-by-hand".
        name: one of the book's decoders that answer questions about a story.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Raises:
        ValueError: there are no stories or too many, or there is no such score.

    Example:
        >>> from attnbook.figures import InsideFigure
        >>> from attnbook.models.transformer.stories import Story
        >>> story = Story([("anna", "park"), ("ben", "school")], who="anna")
        >>> InsideFigure([story]).stories[0]["answer"]
        'anna is in the park .'
    """

    _esm = module("inside/figure.js")
    _css = stylesheet("shared/theme.css", "shared/question.css", "inside/style.css")

    name = traitlets.Unicode().tag(sync=True)
    stories: traitlets.List[dict[str, str]] = traitlets.List().tag(sync=True)
    parts: traitlets.List[Any] = traitlets.List().tag(sync=True)
    attention: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    # Scripts that the page loads when they are needed.
    late: traitlets.List[str] = traitlets.List().tag(sync=True)
    # In a notebook: how often its button was pressed, and what Python answered then.
    asked = traitlets.Int(0).tag(sync=True)
    result: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        stories: Sequence[Story],
        *,
        score: str = STAGES[0],
        name: str = "story",
        action: str = "",
        caption: str = "",
    ) -> None:
        from attnbook.models.transformer.stories import ask  # noqa: PLC0415

        check_count("stories", len(stories), MOST)
        if score not in SCORES:
            raise ValueError(f"score must be one of {', '.join(SCORES)}, got {score!r}")
        super().__init__(
            kind="inside",
            name=name,
            stories=[
                {
                    "text": story.text,
                    "question": ask(story.who),
                    "answer": " ".join(write(name, story.text).answer),
                }
                for story in stories
            ],
            parts=parts_of([score, *STAGES[1:]]),
            attention={"task": TASK, "code": part_of(TASK)["code"]},
            late=["python", name],
            action=action,
            caption=caption,
        )
        self._asked_for, self._tasks = stories, [TASK, score, *STAGES[1:]]
        self._write_text(self._lines())

    @traitlets.observe("asked")
    def _answer(self, _change: object) -> None:
        from attnbook.models.transformer.checkpoints import book_decoder  # noqa: PLC0415
        from attnbook.models.transformer.stages import replace_stage  # noqa: PLC0415
        from attnbook.models.transformer.stories import answers  # noqa: PLC0415

        own = [latest_function(task) for task in self._tasks]
        functions = [it or PARTS[task] for it, task in zip(own, self._tasks, strict=True)]
        attention, *stages = functions
        names = dict(zip(("score", "masked_softmax", "pool"), stages, strict=True))
        joined = with_names(attention, names)
        with replace_stage(model := book_decoder(self.name).double(), "attention", joined):
            given, reason = call_safely(lambda: answers(model, self._asked_for))
        are_own = [it is not None for it in own]
        result = {"refusal": reason} if reason else {"given": given}
        self.result = {"asked": self.asked, "own": are_own, **result}

    def _lines(self) -> Iterator[str]:
        yield TEXT("title", count=len(self.stories), name=self.name)
        for story in self.stories:
            yield f"{story['text']} {story['answer']}"
