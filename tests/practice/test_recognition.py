"""The bug of an output that was computed elsewhere: it is named from the numbers alone."""

from __future__ import annotations

import io
import math
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import torch

from attnbook.practice import find_task, recognize
from attnbook.practice.judge.pasted import agree, close, empty_rows, judge_output, read_text
from attnbook.practice.recognition import SAMPLES, SEEN, code_for, data_of, inputs_of

ELSEWHERE = Path(__file__).with_name("elsewhere.toml")
IMPLEMENTATIONS = tomllib.loads(ELSEWHERE.read_text("utf-8"))["implementation"]
each_task = pytest.mark.parametrize("task", SAMPLES)
CAUSAL = "causal-attention"


def as_tensor(output):
    return torch.tensor([*map(float, output["numbers"])]).reshape(output["shape"])


def right(task=CAUSAL):
    return as_tensor(data_of(task)["right"])


def inputs(task):
    """The names that the code of a task defines, before its last line."""
    scope = {}
    exec(code_for(task).rpartition("\n")[0], scope)  # noqa: S102 - our own
    return scope


def names(task, output):
    return [bug.name for bug in recognize(task, output).bugs]


@each_task
def test_the_inputs_are_short_exact_and_give_the_right_output(task):
    arguments = SAMPLES[task].make()
    for tensor in arguments:
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
            assert torch.equal(tensor.bfloat16().double(), tensor.double()) or "softmax" in task
            assert torch.equal(2 * tensor, (2 * tensor).round())
    copied = [inputs(task)[name] for name, *_ in inputs_of(task)]
    assert [torch.as_tensor(each).tolist() for each in copied] == [
        torch.as_tensor(each).tolist() for each in arguments
    ]
    assert right(task).numel() <= 48
    if task != "layer-norm":
        assert recognize(task, find_task(SAMPLES[task].task).reference(*copied))
    assert len(data_of(task)["axes"]) == right(task).dim()


@each_task
def test_the_print_of_the_right_output_is_right_and_that_of_each_bug_has_its_name(task):
    assert recognize(task, str(right(task)))
    bugs = data_of(task)["bugs"]
    assert len(bugs) >= 5
    unnamed = [
        bug["name"] for bug in bugs if bug["name"] not in names(task, str(as_tensor(bug["output"])))
    ]
    assert unnamed == []


def in_row_without_keys(task):
    """Each bug that is wrong in other rows, too; its output, with NaN in the rows without keys."""
    correct = data_of(task)["right"]
    empty = empty_rows(correct)
    for bug in data_of(task)["bugs"] if empty else []:
        is_alike = bug["output"]["shape"] == correct["shape"]
        if is_alike and not agree(bug["output"], correct, SEEN, empty):
            output = as_tensor(bug["output"])
            output.view(-1)[empty] = math.nan
            yield bug["name"], str(output)


@each_task
def test_a_bug_is_named_whatever_a_row_without_keys_holds(task):
    assert [name for name, text in in_row_without_keys(task) if name not in names(task, text)] == []


@pytest.mark.parametrize("case", IMPLEMENTATIONS, ids=lambda case: case["style"].split(":")[0])
def test_the_bug_of_an_implementation_from_elsewhere_is_named(case):
    scope = inputs(case["task"])
    with redirect_stdout(io.StringIO()) as printed:
        exec(case["code"], scope)  # noqa: S102 - stored next to this file
    assert names(case["task"], printed.getvalue()) == names(case["task"], case["printed"])
    assert case["bug"] in names(case["task"], case["printed"])


def rounded(digits):
    return str(np.round(right().double().numpy(), digits).tolist())


PRINTS = {
    "a gradient": lambda: str(right().requires_grad_() * 1),
    "a device": lambda: str(right())[:-1] + ", device='cuda:0', grad_fn=<BmmBackward0>)",
    "a parameter": lambda: str(torch.nn.Parameter(right())),
    "half precision": lambda: str(right().half()),
    "bfloat16": lambda: str(right().bfloat16()),
    "numpy": lambda: str(right().numpy()),
    "an array": lambda: repr(right().numpy()),
    "numbers of numpy": lambda: str([[[*row] for row in each] for each in right().numpy()]),
    "exponents": lambda: np.array2string(right().numpy(), formatter={"float": "{:.4e}".format}),
    "lists": lambda: str(right().tolist()),
    "three digits": lambda: rounded(3),
    "JAX": lambda: f"Array({right().tolist()}, dtype=float32)",
    "TensorFlow": lambda: f"tf.Tensor(\n{right().numpy()}, shape=(2, 6, 4), dtype=float32)",
    "a tf.Tensor": lambda: (
        f"<tf.Tensor: shape=(2, 6, 4), dtype=float32, numpy=\n{right().numpy()}>"
    ),
    "a name": lambda: f"output = {right()}",
    "a remark": lambda: f"output (mine):\n{right()}",
    "a notebook": lambda: f"Out[3]: {right()}",
    "its shape": lambda: f"{right().shape}\n{right()}",
    "one head": lambda: str(right()[:, None]),
    "a tuple": lambda: str((right(),)),
    "another minus": lambda: str(right()).replace("-", "\u2212"),
}
VALUES = {
    "a tensor": right,
    "a tensor of another type": lambda: right().bfloat16(),
    "an array": lambda: right().numpy(),
    "lists": lambda: right().tolist(),
    "rounded lists": lambda: np.round(right().double().numpy(), 4).tolist(),
}


@pytest.mark.parametrize("make", [*PRINTS.values(), *VALUES.values()], ids=[*PRINTS, *VALUES])
def test_a_right_output_is_right_in_whatever_form_it_comes(make):
    found = recognize(CAUSAL, make())
    assert found
    assert repr(found) == "✓ causal-attention: right on these inputs."


def test_numbers_are_equal_up_to_single_precision_and_the_digits_that_are_printed():
    assert recognize(CAUSAL, str(right() + 1e-5))
    assert not recognize(CAUSAL, str(right() + 2e-4))
    assert recognize(CAUSAL, right() + 1e-5)
    assert not recognize(CAUSAL, right() + 1e-4)


def test_infinity_has_a_sign_and_equals_no_number():
    found = read_text("tensor([-inf, inf, 1.])")
    assert found["numbers"] == [-math.inf, math.inf, 1.0]
    assert not close(1.0, math.inf, SEEN)
    assert not close(-math.inf, math.inf, SEEN)


def test_masks_are_compared_as_they_are_printed():
    mask = right("window-mask").bool()
    assert recognize("window-mask", str(mask))
    assert recognize("window-mask", mask)
    assert len(names("window-mask", str(~mask))) == 1


def nan_in_a_row():
    output = right()
    output[1, 2] = math.nan
    return output


def changed(task, index, factor=1.5):
    output = right(task)
    output[index] = output[index] * factor + (factor > 1)
    return output


KINDS = [
    (CAUSAL, lambda: -right(), "Each number has the opposite sign."),
    (CAUSAL, lambda: 0.3 * right(), "Each number is 0.3 times the right one."),
    (CAUSAL, lambda: -0.3 * right(), "Each number is -0.3 times the right one."),
    (CAUSAL, lambda: 0.3 * right(), "in row `[0][0]` this is 0.3, and should be 1."),
    (CAUSAL, lambda: right().mT, "The shape of the output is (2, 4, 6), and should be (2, 6, 4)."),
    (CAUSAL, nan_in_a_row, "4 numbers are NaN or infinite."),
    (CAUSAL, nan_in_a_row, "Numbers are wrong only in query 2, counted from 0."),
    (
        CAUSAL,
        lambda: changed(CAUSAL, (0, 3, 1)),
        "1 of 48 numbers is wrong: the one at `[0][3][1]`",
    ),
    (CAUSAL, lambda: changed(CAUSAL, (..., slice(1, None), 0)), "only from query 1 on"),
    ("rotary-encoding", lambda: changed("rotary-encoding", (0, 1)), "only in head 1"),
    ("scaled-dot-attention", lambda: changed("scaled-dot-attention", 0), "examples with padding."),
    ("scaled-dot-attention", lambda: changed("scaled-dot-attention", 2), "has no visible key"),
    ("masked-softmax", lambda: 0.7 * right("masked-softmax"), "weights sum to 0.7, and should"),
]


@pytest.mark.parametrize(("task", "make", "sentence"), KINDS)
def test_where_no_bug_is_known_the_kind_of_error_is_described(task, make, sentence):
    found = recognize(task, str(make()))
    assert not found
    assert found.bugs == []
    assert sentence in repr(found)


def test_a_named_bug_has_its_cause_and_its_fix_and_no_right_number():
    bug = find_task("grouped-heads").bugs["KV heads tiled"]
    verdict = recognize("grouped-heads", bug.function(*SAMPLES["grouped-heads"].make()))
    assert verdict.paragraphs()[1:] == [
        f"This is what you get when {bug.cause}",
        f"To fix it: {bug.fix}",
    ]
    assert "<p>✗ grouped-heads: the output is wrong.</p>" in verdict._repr_html_()


def test_two_bugs_with_one_output_are_both_named_and_three_are_not():
    data = data_of("layer-norm")
    bug, output = data["bugs"][0], str(data["bugs"][0]["output"]["numbers"])
    for count in (2, 3):
        found = judge_output({**data, "bugs": [bug] * count}, read_text(output))
        assert found["bugs"] == ([0, 1] if count == 2 else [])


def test_digits_that_do_not_tell_right_from_wrong_are_not_enough():
    data = data_of("layer-norm")
    near = {**data["bugs"][0], "output": {**data["right"]}}
    found = judge_output({**data, "bugs": [near]}, read_text(str(data["right"]["numbers"])))
    assert not found["right"]
    assert "at least four decimals" in found["paragraphs"][0]


UNREADABLE = {
    "hello": "There are no numbers",
    "": "There are no numbers",
    "[[]]": "There are no numbers",
    "tensor([[1., 2.], [3.": "A bracket is open at the end",
    "[[1, 2], [3]]": "The lists have different lengths",
    "[[1. 2. ... 3. 4.]]": "torch.set_printoptions(threshold=10000)",
    "None": "It returns None",
    "tensor([1.])\ntensor([2.])": "There are 2 results",
    "[1.2.3]": "`1.2.3` is not a number",
    "1 " * 20000: "There are more than 20000 characters",
}


@pytest.mark.parametrize(("text", "message"), UNREADABLE.items())
def test_a_text_that_cannot_be_read_is_refused_with_advice(text, message):
    with pytest.raises(ValueError, match=r"^output: ") as error:
        recognize(CAUSAL, text)
    assert message in str(error.value)


@pytest.mark.parametrize("output", [None, object(), {"a": 1}, [["a"]], (right(), right())])
def test_an_output_of_another_kind_is_refused(output):
    with pytest.raises(TypeError, match="output must be a tensor, an array, nested lists"):
        recognize(CAUSAL, output)


def test_an_unknown_task_is_refused_with_the_names_of_all():
    with pytest.raises(ValueError, match=r"task must be one of scaled-dot-.*, got 'attention'"):
        recognize("attention", "[1]")
