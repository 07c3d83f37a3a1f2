"""Where a caller has set another default device, figures show the same."""

import pytest
import torch

from attnbook import DotProductAttention
from attnbook.display import heatmap
from attnbook.figures import (
    AlignmentFigure,
    AttentionFigure,
    HeadsFigure,
    MaskFigure,
    OnlineSoftmaxFigure,
    PoolingFigure,
    PositionFigure,
    ScalingFigure,
    TranslatorFigure,
)
from attnbook.figures.heads.packing import decoder_of
from attnbook.figures.translator.packing import translator_of
from attnbook.models.translator.dates import write_date
from attnbook.models.translator.grading import diagonal, gold_mask, uniform
from tests.figures.alignment.cases import DAY, cached_model

TOKENS = torch.randn(1, 7, 16, generator=torch.Generator().manual_seed(5))
PLACES = torch.linspace(-2, 2, 7).reshape(1, 7, 1)
LENGTHS = torch.tensor([5])
DATE = write_date(DAY, "de")


def attention(**options):
    figure = AttentionFigure(DotProductAttention(), TOKENS, TOKENS, TOKENS, **options)
    figure.valid_lens = [[3] * 7] if options.get("causal") else [3]
    return figure


def heads():
    decoder_of.cache_clear()  # so that its model is loaded where another device is set, too
    return HeadsFigure(text="abcabc", removed=[(0, 1)])


def translator():
    translator_of.cache_clear()
    return TranslatorFigure("small", "9. März 1987", hidden=[3])


FIGURES = {
    "attention": attention,
    "attention to lengths": lambda: attention(valid_lens=LENGTHS),
    "attention in order": lambda: attention(causal=True),
    "pooling": lambda: PoolingFigure(PLACES, PLACES.square(), truth=torch.square),
    "position": lambda: PositionFigure(8),
    "rotary": lambda: PositionFigure.rotary(TOKENS[0, 0], TOKENS[0, 1]),
    "scaling": lambda: ScalingFigure(TOKENS, TOKENS),
    "alignment": lambda: AlignmentFigure(cached_model("small"), [DATE]),
    "online": lambda: OnlineSoftmaxFigure(PLACES[0, :, 0], PLACES[0], block=2),
    "mask": lambda: MaskFigure(causal="last", documents=[0, 0, 1, 1, 1, 1], written="k > 0"),
    "heads": heads,
    "translator": translator,
    "heatmap": lambda: heatmap(torch.softmax(TOKENS[0], dim=-1)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_the_same(name):
    expected = repr(FIGURES[name]())
    with torch.device("meta"):
        assert repr(FIGURES[name]()) == expected


def test_ways_to_look_are_the_same():
    expected = [*uniform([DATE]), *diagonal([DATE]), gold_mask([DATE], "month")]
    with torch.device("meta"):
        found = [*uniform([DATE]), *diagonal([DATE]), gold_mask([DATE], "month")]
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))
