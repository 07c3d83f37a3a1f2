"""A decoder in the page, run in node: the same numbers and answers as torch in float64."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import HeadsFigure
from attnbook.figures.tokens.packing import decoder_of, pack_model
from attnbook.figures.tokens.writing import write
from attnbook.models.transformer.removal import without_heads
from tests.figures.shared.node import ask_module
from tools.models.stories import unseen_stories

READ = """
const model = figure.opened(packed).last;
return given.map(([text, options]) => {
    const { answer, reading } = figure.write(model, text, options);
    const { chances, heads } = reading;
    return { answer, chances, weights: heads.map((layer) => layer.map(({ weights }) => weights)) };
});
"""
CLOSE = 1e-9


def ask(name, given):
    return ask_module(HeadsFigure, READ, packed=pack_model(name), given=given)


def differs(found, expected):
    """The largest difference of the numbers of one reading, whose rows may end early."""
    found, n = torch.tensor(found, dtype=torch.float64), expected.shape[-1]
    return (found - expected[..., :n]).abs().max().item()


def square(weights):
    """Rows that end early, filled up with zeros."""
    return [
        [[row + [0.0] * (len(head) - len(row)) for row in head] for head in layer]
        for layer in weights
    ]


def test_all_unseen_stories_get_the_answers_of_torch_and_some_the_same_numbers():
    stories = unseen_stories(300)
    found = ask("story", [[story.text.split(), {}] for story in stories])
    for story, page in zip(stories, found, strict=True):
        expected = write("story", story.text)
        assert page["answer"] == expected.answer
        assert differs(page["chances"][len(expected.words) - 1 :], expected.chances) < CLOSE
        assert differs(square(page["weights"]), expected.weights) < CLOSE


@pytest.mark.parametrize("window", [0, 1, 2, 7])
def test_with_a_window_the_page_computes_what_torch_does(window):
    stories = unseen_stories(20)
    found = ask("story", [[story.text.split(), {"window": window}] for story in stories])
    for story, page in zip(stories, found, strict=True):
        expected = write("story", story.text, window)
        assert page["answer"] == expected.answer
        assert differs(page["chances"][len(expected.words) - 1 :], expected.chances) < CLOSE


def test_without_heads_the_page_computes_what_torch_does():
    story, removed = unseen_stories(1)[0], [(0, 1), (1, 3)]
    (page,) = ask("story", [[story.text.split(), {"removed": removed}]])
    model = decoder_of("story")
    with without_heads(model, removed):
        (expected,) = model.follow([" ".join([story.text, *page["answer"][:-1]])])
    assert differs(page["chances"], expected.probabilities) < CLOSE
    assert differs(square(page["weights"]), expected.weights) < CLOSE


def test_a_model_whose_numbers_need_float32_is_packed_so():
    assert [pack_model(name)["dtype"] for name in ("story", "copying")] == ["float16", "float32"]
