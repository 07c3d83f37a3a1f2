"""The line that a chapter shows is the line that runs, and editing it changes the layer."""

import inspect
import re
import sys

import pytest
import torch

from attnbook import (
    AdditiveAttention,
    Attention,
    DotProductAttention,
    masked_softmax,
    rotary_encoding,
    sinusoidal_encoding,
)
from attnbook.models import training
from attnbook.models.transformer import grading
from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.repeats import make_repeats
from attnbook.models.translator.checkpoints import book_model
from attnbook.models.translator.model import Translator
from attnbook.pooling import kernel_pool, pool
from attnbook.position import angles
from attnbook.scoring import additive_features, scaled_products
from attnbook.weighting import weigh
from tests.cases import LAYERS, PER_EXAMPLE, make
from tools.book import notebooks


def translate_and_learn():
    model = book_model("small")
    model.translate(["3 May 2024"])
    pairs = [("3 May 2024", "2024-05-03")]
    training.train(model, pairs, pairs, training.Plan(epochs=1))


def follow_and_grade():
    grading.score_heads(book_decoder("copying"), make_repeats(3))


SHOWN = re.compile(r"show_source\(([\w., ]+)\)")
# What each chapter shows, and a call as that chapter makes it.
CALLS = {
    "attention-pooling": (
        lambda: kernel_pool(*(torch.ones(1, 3, 1),) * 3, width=0.5),
        [kernel_pool],
    ),
    "masked-softmax": (
        lambda: masked_softmax(torch.ones(2, 3, 7), PER_EXAMPLE),
        [masked_softmax, weigh],
    ),
    "scaled-dot-product-attention": (
        lambda: make("dot")(*inputs(), PER_EXAMPLE),
        [DotProductAttention.score, Attention.forward, Attention._weigh_and_pool],
    ),
    "additive-attention": (
        lambda: make("additive")(*inputs(), PER_EXAMPLE),
        [AdditiveAttention.score, additive_features],
    ),
    "bahdanau-attention": (
        translate_and_learn,
        [
            Translator.context,
            Translator.step,
            training.masked_loss,
            training.learn_batch,
        ],
    ),
    "position": (
        lambda: rotary_encoding(sinusoidal_encoding(3, size=4)),
        [angles, rotary_encoding],
    ),
    "heads-that-copy": (
        follow_and_grade,
        [grading.previous_score, grading.behind_last],
    ),
}


def inputs():
    return torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 11)


def run(call):
    """List what a call runs, as code objects."""
    found = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, *_: found.add(frame.f_code))
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def list_not_run(call, functions):
    codes = run(call)
    return [function.__qualname__ for function in functions if function.__code__ not in codes]


@pytest.mark.parametrize("chapter", CALLS)
def test_the_lines_that_a_chapter_shows_run_when_the_layer_is_called(chapter):
    call, functions = CALLS[chapter]
    assert list_not_run(call, functions) == []


def test_all_sources_that_chapters_show_are_tested():
    in_chapters = {
        (path.stem, name.split(".")[-1])
        for path in notebooks.chapters()
        for cell in notebooks.read(path).cells
        for names in SHOWN.findall(cell.source)
        for name in names.split(", ")
        if cell.cell_type == "code"
    }
    tried = {(name, each.__name__) for name, (_, functions) in CALLS.items() for each in functions}
    assert in_chapters == tried


EDITS = {
    "the scale of the dot product": (
        scaled_products,
        "queries / math.sqrt(queries.shape[-1])",
        "queries",
        {"dot", "multi-head"},
    ),
    "the hidden units": (additive_features, "torch.tanh(", "torch.sin(", {"additive"}),
    "what padding scores": (weigh, "has_keys, -math.inf, 0.0", "has_keys, -1.0, 0.0", {*LAYERS}),
    "the softmax": (weigh, "softmax(filled", "softmax(2 * filled", {*LAYERS}),
    "the weighted sum": (pool, "weights @ values", "weights @ -values", {*LAYERS}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_editing_the_line_that_a_chapter_shows_changes_the_output(edit, monkeypatch):
    function, line, other, layers = EDITS[edit]
    source = inspect.getsource(function)
    assert source.count(line) == 1
    given = inputs()
    before = {name: make(name)(*given, PER_EXAMPLE) for name in LAYERS}
    edited = dict(function.__globals__)
    exec("from __future__ import annotations\n" + source.replace(line, other), edited)  # noqa: S102
    monkeypatch.setattr(function, "__code__", edited[function.__name__].__code__)
    after = {name: make(name)(*given, PER_EXAMPLE) for name in LAYERS}
    assert {name for name in LAYERS if not torch.equal(before[name], after[name])} == layers
