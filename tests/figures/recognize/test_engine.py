"""What the page shows and judges, in node: equal to Python's code and verdicts."""

from __future__ import annotations

import pytest

from attnbook.figures import RecognizeFigure
from attnbook.practice import recognize
from attnbook.practice.recognition import SAMPLES, call_of, code_for, data_of, inputs_of
from tests.figures.attention.cases import traits
from tests.figures.code.interpreters import in_cpython, in_micropython
from tests.figures.shared.node import ask_module
from tests.practice.test_recognition import KINDS, PRINTS, UNREADABLE, as_tensor, right

PROGRAM = """
return Object.values(samples).map(
    (sample) => ["torch", "lists"].map((format) => figure.codeOf(sample, format)));
"""


def texts_of_readers():
    texts = [(task, str(make())) for task, make, _ in KINDS]
    texts += [("causal-attention", make()) for make in PRINTS.values()]
    texts += [("causal-attention", text) for text in UNREADABLE]
    return texts + [(task, str(right(task))) for task in SAMPLES]


def texts_of_bugs():
    outputs = [(task, bug["output"]) for task in SAMPLES for bug in data_of(task)["bugs"]]
    return [(task, str(as_tensor(output))) for task, output in outputs]


def question(task, text):
    return {"pasted": text, "data": data_of(task)}


def test_the_page_shows_the_same_inputs_as_python_and_as_lists():
    codes = ask_module(RecognizeFigure, PROGRAM, samples=traits(RecognizeFigure())["samples"])
    for task, (torch_code, lists) in zip(SAMPLES, codes, strict=True):
        assert torch_code == code_for(task)
        code = [f"{name} = {text}" for name, text, _ in inputs_of(task)]
        assert lists.split("\n") == "\n".join([*code, call_of(task)]).split("\n")


@pytest.mark.parametrize("make_texts", [texts_of_readers, texts_of_bugs])
def test_micropython_and_cpython_give_the_verdicts_of_recognize(make_texts):
    texts = make_texts()
    questions = [question(*each) for each in texts]
    ours, theirs = in_micropython(questions), in_cpython(questions)
    for (task, text), mine, other in zip(texts, ours, theirs, strict=True):
        try:
            expected = recognize(task, text).paragraphs()
        except ValueError as error:
            expected = [str(error).removeprefix("output: ")]
        assert (mine["verdict"], other["verdict"]) == (expected, expected)
