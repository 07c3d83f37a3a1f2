"""Name the bug of an output that was computed elsewhere, in any course or framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.judge import lists, tensors
from attnbook.practice.judge.pasted import agree, judge_output, read_text, read_value
from attnbook.practice.judge.verdicts import Message
from attnbook.practice.list_task import ListTask
from attnbook.practice.registry import find_task
from attnbook.practice.task import Bug, Case, Function, Task

WIDTH = 92  # of a line of code
SEEN = (2e-4, 2e-4)  # smaller differences do not show in four decimals


@dataclass(frozen=True)
class Sample:
    """Inputs of a task that are short to print, and exact in every floating-point type.

    Args:
        task: its name.
        make: creates the arguments.
        axes: the name of each axis of the output.
        sums: "rows" if an output's rows are weights; "last" if each value ends with 1, so that
            each output ends with the sum of its weights.
        padded: the examples with padding, and with visible keys.
    """

    task: str
    make: Callable[[], tuple[Any, ...]]
    axes: str
    sums: str = ""
    padded: tuple[int, ...] = ()


def halves(*shape: int, seed: int = 0) -> Tensor:
    """Random multiples of a half."""
    return (2 * normal(*shape, seed=seed)).round() / 2 + 0.0  # no -0.0


def _values(*shape: int) -> Tensor:
    """Values that end with 1."""
    return torch.cat([halves(*shape[:-1], shape[-1] - 1, seed=3), torch.ones(*shape[:-1], 1)], -1)


def _scores() -> Tensor:
    scores = halves(3, 2, 5)
    scores[0, 0, 1] = 0
    scores[0, 1, :3] = torch.tensor([1000.0, 999.5, 1000.0])
    scores[1, 1, :2] = -2_000_000
    return scores


def _mask() -> Tensor:
    mask = halves(2, 3, 5, seed=3) > -0.5
    mask[0, 1] = False
    return mask


def _weights() -> list[Tensor]:
    return [halves(6, size, seed=seed) for seed, size in enumerate((2, 2, 2, 6), 4)]


SAMPLES = {
    "scaled-dot-attention": Sample(
        "scaled-dot-attention",
        lambda: (halves(3, 2, 4), halves(3, 5, 4, seed=1), _values(3, 5, 3), lengths(3, 5, 0)),
        "example query component",
        "last",
        (0,),
    ),
    "causal-attention": Sample(
        "causal-attention",
        lambda: (halves(2, 6, 3), halves(2, 6, 3, seed=1), _values(2, 6, 4)),
        "example query component",
        "last",
    ),
    "cached-step": Sample(
        "causal-attention",
        lambda: (halves(2, 3, 4), halves(2, 6, 4, seed=1), _values(2, 6, 3)),
        "example query component",
        "last",
    ),
    "masked-attention": Sample(
        "masked-attention",
        lambda: (halves(2, 2, 3, 3), halves(2, 2, 5, 3, seed=1), _values(2, 2, 5, 2), _mask()),
        "example head query component",
        "last",
    ),
    "masked-softmax": Sample(
        "masked-softmax",
        lambda: (_scores(), lengths(4, 2, 0)),
        "example query key",
        "rows",
        (0, 1),
    ),
    "multi-head-attention": Sample(
        "multi-head-attention",
        lambda: (
            *(halves(2, n, 2, seed=seed) for seed, n in enumerate((3, 5, 5))),
            *_weights(),
            3,
            lengths(3, 5),
        ),
        "example query component",
        padded=(0,),
    ),
    "grouped-heads": Sample(
        "grouped-heads",
        lambda: (halves(1, 4, 3, 2), halves(1, 2, 5, 2, seed=1), _values(1, 2, 5, 3)),
        "example head query component",
        "last",
    ),
    "split-heads": Sample(
        "split-heads",
        lambda: (torch.arange(1.0, 37).reshape(2, 3, 6), 2),
        "example head position component",
    ),
    "rotary-encoding": Sample(
        "rotary-encoding",
        lambda: (halves(1, 2, 3, 6), lengths(0, 3, 7)),
        "example head position component",
    ),
    "window-mask": Sample("window-mask", lambda: (4, 6, 3), "query key"),
    "layer-norm": Sample(
        "layer-norm-by-hand", lambda: ([2.0, -1.0, 0.5, 4.0, 1.5], 0.5), "component"
    ),
}


@dataclass(repr=False)
class Recognition(Message):
    """The result of `recognize`; `bool(recognition)` is whether the output is right.

    Args:
        task: as it was given.
        right: whether the output is right.
        bugs: the known bugs that give this output, at most two.
        text: the verdict, a paragraph each.

    Example:
        >>> from attnbook.practice import recognize
        >>> recognize("layer-norm", [0.3333, -1.3333, -0.5, 1.4444, 0.0556])
        ✓ layer-norm: right on these inputs.
    """

    task: str
    right: bool
    bugs: list[Bug] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.right

    def paragraphs(self) -> list[str]:
        """The verdict, a paragraph each."""
        return self.text


def recognize(task: str, output: object) -> Recognition:
    """Name the bug of an output that your own code gives on the inputs of `code_for(task)`.

    Args:
        task: its name, one of those on the page *Bug clinic*.
        output: a tensor, an array or nested lists of numbers, or the text that their `print` gives,
            with four decimals or more.

    Returns:
        The known bugs that give this output, or what kind of number is wrong.

    Raises:
        ValueError: there is no such task; or the output, with all its numbers, cannot be read.
        TypeError: the output is of another kind.

    Example:
        >>> from attnbook.practice import recognize
        >>> recognize("layer-norm", "[0.3029, -1.2114, -0.4543, 1.3124, 0.0505]").bugs[0].name
        'divided by one less'
    """
    data = data_of(task)
    try:
        found = read_text(output) if isinstance(output, str) else _read(output)
    except lists.Unreadable as error:
        raise ValueError(f"output: {error}") from None
    verdict = judge_output(data, found)
    known = find_task(SAMPLES[task].task).bugs
    bugs = [known[data["bugs"][i]["name"]] for i in verdict["bugs"]]
    return Recognition(task, verdict["right"], bugs, verdict["paragraphs"])


def _read(output: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a reader passes
    plain = output.tolist() if hasattr(output, "tolist") else output
    try:
        found = read_value(plain, str(getattr(output, "dtype", "")))
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            "output must be a tensor, an array, nested lists of numbers or the text that is "
            f"printed, got {type(output).__name__}"
        ) from None
    # Numbers in a list may be rounded, as they were printed.
    return read_text(str(output)) if isinstance(output, list) else found


def inputs_of(task: str) -> list[tuple[str, str, bool]]:
    """The name and the code of each argument, and whether it is a tensor.

    Raises:
        ValueError: there is no such task.
    """
    names, arguments = _task(task).arguments, SAMPLES[task].make()
    pairs = zip(names, map(_plain, arguments), strict=False)
    return [(name, _layout(value), isinstance(value, list)) for name, value in pairs]


def call_of(task: str) -> str:
    """The line that runs the reader's function."""
    names = (name for name, *_ in inputs_of(task))
    return f"print({_task(task).called}({', '.join(names)}))"


def code_for(task: str) -> str:
    """The inputs of a task as torch code.

    Raises:
        ValueError: there is no such task.

    Example:
        >>> from attnbook.practice.recognition import code_for
        >>> print(code_for("layer-norm"))
        import torch
        <BLANKLINE>
        numbers = torch.tensor([2.0, -1.0, 0.5, 4.0, 1.5])
        eps = 0.5
        print(layer_norm(numbers, eps))
    """
    lines = [
        f"{name} = torch.tensor({code})" if is_tensor else f"{name} = {code}"
        for name, code, is_tensor in inputs_of(task)
    ]
    return "\n".join(["import torch", "", *lines, call_of(task)])


def _task(name: str) -> Task:
    if name not in SAMPLES:
        raise ValueError(f"task must be one of {', '.join(SAMPLES)}, got {name!r}")
    return find_task(SAMPLES[name].task)


def _plain(value: Any) -> Any:  # noqa: ANN401 - an argument
    return value.tolist() if isinstance(value, Tensor) else value


def _layout(value: Any, indent: str = "") -> str:  # noqa: ANN401 - an argument
    """Nested lists as code, in lines that are not too long."""
    line = repr(value)
    if not isinstance(value, list) or len(indent + line) <= WIDTH:
        return line
    inner = f"{indent}    "
    parts = "".join(f"{inner}{_layout(each, inner)},\n" for each in value)
    return f"[\n{parts}{indent}]"


@cache
def data_of(task: str) -> dict[str, Any]:
    """The right output and that of each bug, for JSON: the page gets no bug's code.

    Raises:
        ValueError: there is no such task.
    """
    found, sample = _task(task), SAMPLES[task]
    right = _output(found, sample, found.reference)
    outputs = [(bug, _output(found, sample, bug.function)) for bug in found.bugs.values()]
    return {
        "name": task,
        "output": found.outputs[0],
        "axes": sample.axes.split(),
        "sums": sample.sums,
        "padded": [*sample.padded],
        "right": right,
        "bugs": [
            {"name": bug.name, "cause": bug.cause, "fix": bug.fix, "output": output}
            for bug, output in outputs
            if output and right and not agree(output, right, SEEN)
        ],
    }


def _output(task: Task, sample: Sample, function: Function) -> dict[str, Any] | None:
    """The output of a function on a sample, without what JSON lacks; None if it raises an error."""
    if isinstance(task, ListTask):
        given = lists.outcome_of(function, lists.as_plain(sample.make())).get("gives")
    else:
        case = Case("recognize", sample.make, gradients=False)
        outputs = tensors.outcome_of(task, case, function).outputs
        given = outputs[0].tolist() if outputs else None
    if given is None:
        return None
    read = read_value(given)
    numbers = [_short(number) for number in read["numbers"]]
    return {"shape": read["shape"], "numbers": numbers}


def _short(number: float) -> float | str:
    return float(f"{number:.6g}") if abs(number) < float("inf") else str(number)
