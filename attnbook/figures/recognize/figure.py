"""`RecognizeFigure`: inputs to run any code on, and the bug of the output that is pasted."""

from __future__ import annotations

from typing import Any

import traitlets

from attnbook.figures.shared.base import Figure, module, stylesheet
from attnbook.messages import Messages
from attnbook.practice.recognition import SAMPLES, call_of, code_for, inputs_of

TEXT = Messages(__file__)


class RecognizeFigure(Figure):
    """Inputs of a task, to run your own code on, and a field for the output that it prints.

    On the book's pages MicroPython reads the output and names its bug; it is loaded at the first
    touch. In Jupyter and Colab, `attnbook.practice.recognize` does.

    Args:
        task: whose inputs are shown first.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Raises:
        traitlets.TraitError: there is no such task.

    Example:
        >>> from attnbook.figures import RecognizeFigure
        >>> print(repr(RecognizeFigure("layer-norm")).splitlines()[-1])
        print(layer_norm(numbers, eps))
    """

    _esm = module("recognize/figure.js")
    _css = stylesheet(
        "shared/theme.css", "shared/style.css", "shared/question.css", "recognize/style.css"
    )

    task = traitlets.Enum([*SAMPLES]).tag(sync=True)
    # Of each task: its arguments, as name, code, whether it is a tensor; and the call.
    samples: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    late: traitlets.List[str] = traitlets.List().tag(sync=True)  # scripts, when they are needed

    def __init__(
        self, task: str = "scaled-dot-attention", *, action: str = "", caption: str = ""
    ) -> None:
        super().__init__(
            kind="recognize",
            task=task,
            samples={name: [[*map(list, inputs_of(name))], call_of(name)] for name in SAMPLES},
            late=["python", "recognition"],
            action=action,
            caption=caption,
        )
        self._describe()

    @traitlets.observe("task")
    def _describe(self, _: object = None) -> None:
        title = TEXT("title", task=self.task, about=TEXT.group("about")[self.task])
        self._write_text([title, "", code_for(self.task)])
