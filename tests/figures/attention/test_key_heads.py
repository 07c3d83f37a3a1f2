"""Heads that share keys in the attention figure: in Python, and its numbers in the page."""

from __future__ import annotations

import pytest
import torch
import traitlets

from attnbook import DotProductAttention
from attnbook.figures import AttentionFigure
from tests.figures.attention.cases import traits
from tests.figures.attention.page import disagreements
from tests.tools.site.site_checks import UNFOLD

HEADS = 4


def make_figure(key_heads=(4, 2, 1), **options):
    rng = torch.Generator().manual_seed(11)
    queries, keys, values = (torch.randn(HEADS, n, 3, generator=rng) for n in (2, 5, 5))
    inputs = queries, keys, values[..., :2]
    return AttentionFigure(DotProductAttention(), *inputs, key_heads=key_heads, **options), inputs


def as_if_repeated(figure, inputs, key_heads):
    """What a figure without the control holds if each head has the keys that it shares."""
    queries, keys, values = inputs
    first = torch.arange(HEADS) // (HEADS // key_heads) * (HEADS // key_heads)
    plain = AttentionFigure(DotProductAttention(), queries, keys[first], values[first])
    plain.valid_lens, plain.temperature = figure.valid_lens, figure.temperature
    return plain


@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_neighbouring_heads_read_the_keys_and_values_of_the_first(key_heads):
    figure, inputs = make_figure()
    figure.key_heads, figure.temperature, figure.valid_lens = key_heads, 2.0, [5, 3, 1, 0]
    plain = as_if_repeated(figure, inputs, key_heads)
    assert torch.equal(figure.attention_weights, plain.attention_weights)
    assert torch.equal(figure.output, plain.output)
    assert f"KV heads {key_heads}\n" in repr(figure)


def test_a_number_of_key_heads_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="key_heads must divide the 4 examples, got 3"):
        make_figure(key_heads=(4, 3))
    with pytest.raises(ValueError, match="key_heads must be empty where scores are moved"):
        make_figure(movable="scores")
    figure, _ = make_figure(key_heads=(4, 2))
    with pytest.raises(traitlets.TraitError, match=r"key_heads must be one of \[4, 2\], got 1"):
        figure.key_heads = 1
    assert figure.key_heads == 4
    without, _ = make_figure(key_heads=())
    with pytest.raises(traitlets.TraitError, match=r"key_heads must be one of \[0\], got 2"):
        without.key_heads = 2


@pytest.fixture(scope="module")
def show(stage):
    return stage({"heads": make_figure()[0]})


def test_in_the_page_the_slider_shares_keys_and_every_number_follows(show):
    view, (figure, inputs) = show("heads"), make_figure()
    view.tab.evaluate(UNFOLD)
    slider = view.figure.get_by_label("KV heads", exact=True)
    names = [f"example {head}" for head in range(HEADS)]
    for key, key_heads in (("Home", 1), ("ArrowRight", 2), ("End", 4), ("Home", 1)):
        slider.press(key)
        assert view.get("key_heads") == [key_heads]
        state = traits(as_if_repeated(figure, inputs, key_heads))
        assert disagreements(view.figure, state) == []
        titles = view.figure.locator(".title").all_inner_texts()
        read = [title.partition("values of ")[2] for title in titles]
        shared = HEADS // key_heads
        first = [head - head % shared for head in range(HEADS)]
        assert read == [names[f] if f != head else "" for head, f in enumerate(first)]
