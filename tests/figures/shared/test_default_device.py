"""Figures do not depend on torch's default device."""

import datetime
from functools import partial

import pytest
import torch

from attnbook import DotProductAttention, figures
from attnbook.display import heatmap
from attnbook.figures.tokens.packing import decoder_of
from attnbook.figures.translator.packing import translator_of
from attnbook.masking.interop import MaskRules
from attnbook.models.translator.dates import write_date
from attnbook.models.translator.grading import diagonal, gold_mask, uniform
from tests.figures.story.page import make as story
from tests.figures.writing.page import STORY

TOKENS = torch.randn(1, 7, 16, generator=torch.Generator().manual_seed(5))
COLUMN = torch.linspace(-2, 2, 7).reshape(1, 7, 1)
DATE = write_date(datetime.date(1987, 3, 9), "de")


def attention(**options):
    figure = figures.AttentionFigure(DotProductAttention(), TOKENS, TOKENS, TOKENS, **options)
    figure.valid_lens = [[3] * 7] if options.get("causal") else [3]
    return figure


def without_cache(load, make):
    load.cache_clear()  # so that its model is loaded with the other default device, too
    return make()


DOCUMENTS = [0, 0, 1, 1, 1, 1]
MAKERS = {
    "attention": attention,
    "attention to lengths": partial(attention, valid_lens=torch.tensor([5])),
    "attention in order": partial(attention, causal=True),
    "pooling": lambda: figures.PoolingFigure(COLUMN, COLUMN.square(), truth=torch.square),
    "position": lambda: figures.PositionFigure(8),
    "rotary": lambda: figures.PositionFigure.rotary(TOKENS[0, 0], TOKENS[0, 1]),
    "scaling": lambda: figures.ScalingFigure(TOKENS, TOKENS),
    "online": lambda: figures.OnlineSoftmaxFigure(COLUMN[0, :, 0], COLUMN[0], block=2),
    "mask": lambda: figures.MaskFigure(causal="last", documents=DOCUMENTS, written="k > 0"),
    "mask, goal": lambda: figures.MaskFigure(goal=MaskRules(6, 6, causal="last", window=2)),
    "mask, observed": lambda: figures.MaskFigure(causal="last", observed=[[True] * 6] * 6),
    "heads": lambda: without_cache(
        decoder_of, lambda: figures.HeadsFigure(text="abcabc", removed=[(0, 1)])
    ),
    "cache": lambda: without_cache(decoder_of, figures.CacheFigure),
    "story": lambda: without_cache(decoder_of, story),
    "translator": lambda: without_cache(
        translator_of, lambda: figures.TranslatorFigure("small", "9. März 1987", hidden=[3])
    ),
    "writing": lambda: without_cache(decoder_of, lambda: figures.WritingFigure(STORY)),
    "heatmap": lambda: heatmap(torch.softmax(TOKENS[0], dim=-1)),
    "baselines": lambda: [
        of.tolist() for of in (*uniform([DATE]), *diagonal([DATE]), gold_mask([DATE], "month"))
    ],
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_text_is_the_same_with_another_default_device(name):
    expected = repr(MAKERS[name]())
    with torch.device("meta"):
        assert repr(MAKERS[name]()) == expected
