"""`ShapeFigure`: step through the trace of a layer, with the tensor of each step drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import traitlets

from attnbook.figures.shape.number_origins import Number, steps_as_data
from attnbook.figures.shared.base import Figure, check_count, module, stylesheet
from attnbook.messages import Messages
from attnbook.tracing import Step, Trace

TEXT = Messages(__file__)
MOST_NUMBERS, MOST_AXES = 4096, 5
NUM_LISTED = 3  # numbers of a tensor in the text


class ShapeFigure(Figure):
    """A layer's source, and a drawing of the tensor that each step of its run made.

    The last axis runs across and the one before it down. The matrices of the examples are
    below each other; with four axes, those of the second axis, the heads, are side by side.
    If a step only moved numbers, the tensor that they come from is drawn too.

    The colour of a number shows its share of the largest number in its tensor. Tensors that
    share their numbers also share one scale, so a number that only moves keeps its colour.

    Args:
        trace: what `attnbook.tracing.trace` returned. Its tensors have at most 4096
            numbers and 5 axes. An exception that the layer raised is shown at its line.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    A trait that the controls change, and that you can set: `step`, from 0. It starts at the
    last step if the layer raised an exception.

    Raises:
        TypeError: `trace` is not a `Trace`.
        ValueError: it holds no tensor, more than 256, or one that is too large.
        traitlets.TraitError: `step` is set out of its range.

    Example:
        >>> from attnbook.figures import ShapeFigure
        >>> from attnbook.tracing import trace
        >>> figure = ShapeFigure(trace(split_heads, torch.ones(2, 3, 8), 4))
        >>> figure.step
        0
    """

    _esm = module("shape/figure.js")
    _css = stylesheet("shared/theme.css", "shared/style.css", "shape/style.css")

    sections: traitlets.List[Any] = traitlets.List().tag(sync=True)
    steps: traitlets.List[Any] = traitlets.List().tag(sync=True)
    numbers: traitlets.List[Any] = traitlets.List().tag(sync=True)  # each list once
    step = traitlets.Int(0, min=0).tag(sync=True)
    remark = traitlets.Unicode().tag(sync=True)  # what the trace's second run found

    def __init__(self, trace: Trace, *, action: str = "", caption: str = "") -> None:
        steps_made = _check_trace(trace)
        steps, numbers = steps_as_data(steps_made, trace.weights)
        super().__init__(
            kind="shape",
            sections=[_convert_section(title, lines) for title, lines in trace.sections],
            steps=steps,
            numbers=numbers,
            remark=trace.remark,
            step=len(steps_made) - 1 if trace.error else 0,
            action=action,
            caption=caption,
        )
        self._describe()

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        count = len(self.steps) if self.steps else math.inf
        if proposal["value"] >= count:
            raise traitlets.TraitError(
                f"step must lie in [0, steps={count}), got {proposal['value']}"
            )
        return int(proposal["value"])  # True is 1

    @traitlets.observe("step")
    def _describe(self, _change: object = None) -> None:
        if self.steps and self.sections:
            self._write_text(self._lines())

    def _lines(self) -> Iterator[str]:
        yield TEXT("title", step=self.step, last=len(self.steps) - 1)
        before = None
        for index, step in enumerate(self.steps):
            if step["section"] != before:
                yield self.sections[step["section"]]["title"]
            before = step["section"]
            formula = self._describe_formula(step)
            shape = describe_shape(step["shape"], step["symbols"])
            tensor = f"{step['name']} {shape}{formula}{self._list_numbers(step)}"
            yield f"{index:4} {TEXT('step_in_list', line=step['line'], tensor=tensor)}"
        yield from self._list_errors()
        if self.remark:
            yield self.remark

    def _list_numbers(self, step: dict[str, Any]) -> str:
        if step["numbers"] < 0 or not self.numbers[step["numbers"]]:
            return ""
        numbers = self.numbers[step["numbers"]]
        text = [_format_number(number, step["kind"]) for number in numbers[:NUM_LISTED]]
        return f": {', '.join(text)}{', …' * (len(numbers) > NUM_LISTED)}"

    def _describe_formula(self, step: dict[str, Any]) -> str:
        formula = step["product"]["formula"] if step["product"] else step["name"]
        return "" if formula == step["name"] else f" = {formula}"

    def _list_errors(self) -> Iterator[str]:
        for section in self.sections:
            for line in section["lines"]:
                text = " ".join(text for kind, text in line["notes"] if kind == "error")
                if text:
                    yield TEXT(
                        "error_in_list", function=section["title"], line=line["number"], error=text
                    )


def describe_shape(shape: list[int], symbols: list[str]) -> str:
    """Write a shape with its names and its numbers: "(batch 2, heads 3, 4)"."""
    sizes = [
        symbol if symbol == str(size) else f"{symbol} {size}"
        for size, symbol in zip(shape, symbols, strict=True)
    ]
    return f"({', '.join(sizes)})"


def _format_number(number: Number, kind: str) -> str:
    if kind == "bool":
        return str(bool(number))
    if kind == "int" or isinstance(number, str):
        return str(number).replace("Infinity", "inf").replace("NaN", "nan")
    # Not `decimals`: the digits of a number near 0 are noise that differs between machines.
    text = f"{number:.3f}" if abs(number) < 1e5 else f"{number:.1e}"
    return "0" if number == 0 else text.replace("-0.000", "0.000")


def _check_trace(trace: Trace) -> list[Step]:
    if not isinstance(trace, Trace):
        raise TypeError(
            f"trace must be what attnbook.tracing.trace returns, got {type(trace).__name__}"
        )
    steps = trace.steps
    if not steps:
        raise ValueError("trace must hold a tensor or more, got none")
    check_count("steps", len(steps))
    for step in steps:
        found = f"got {step.name} of shape {step.shape} in line {step.line} of {step.title}"
        if math.prod(step.shape) > MOST_NUMBERS:
            raise ValueError(
                f"trace must hold tensors of at most {MOST_NUMBERS} numbers, {found}; "
                "use smaller sizes"
            )
        if len(step.shape) > MOST_AXES:
            raise ValueError(f"trace must hold tensors of at most {MOST_AXES} axes, {found}")
    return steps


def _convert_section(title: str, lines: Any) -> dict[str, Any]:  # noqa: ANN401 - of a trace
    texts = [
        {
            "number": line.number,
            "source": line.source,
            # Shapes are drawn, so their notes are left out.
            "notes": [
                [kind, text]
                for kind, text in line.notes
                if kind != "made" and not text.startswith("·")
            ],
        }
        for line in lines
    ]
    return {"title": title, "lines": texts}
