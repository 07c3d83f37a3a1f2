"""Figures with a trained model in Python: weights are sent only on request."""

from __future__ import annotations

import gzip
import json

import pytest
from sphinx.errors import ExtensionError

from attnbook.figures import CacheFigure, HeadsFigure, TranslatorFigure
from attnbook.figures.tokens import packing as heads
from attnbook.figures.translator import packing as translator
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.translator.config import Config
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import Vocabulary
from tests.figures.attention.cases import traits
from tests.figures.story.page import make as story
from tools import BUDGETS
from tools.site.figures.lazy_scripts import packers, registration, write_models

MOST = BUDGETS["kilobytes"]
each_kind = pytest.mark.parametrize("kind", [HeadsFigure, TranslatorFigure, CacheFigure, story])


def packed_size(text):
    return len(gzip.compress(text.encode(), 6))


@each_kind
def test_a_notebook_requests_the_weights_and_no_page_stores_them(kind):
    figure = kind()
    assert (figure.wanted, figure.weights, figure.late) == (False, {}, [figure.name])
    figure.set_state({"wanted": True})  # as a page does
    assert figure.weights == packers()[figure.name]()
    assert kind().weights == {}
    assert packed_size(json.dumps(traits(kind()))) < MOST["traits"][figure.kind] * 1000


@each_kind
def test_the_weights_are_small(kind):
    name, most = kind().name, MOST["weights"][kind().kind] * 1000
    assert packed_size(registration(name, packers()[name]())) < most


LETTERS = Vocabulary("ab")
UNREADABLE = [
    ({"norm": "layer"}, "a page reads decoders with norm=None, got 'layer'"),
    (
        {"feed_forward": "relu", "ffn_hiddens": 8},
        "a page reads decoders with feed_forward=None, got 'relu'",
    ),
    ({"positions": "rotary"}, "a page reads decoders with norm='rms', got None"),
    ({"residual": False}, "a page reads decoders with residual=True, got False"),
    ({"positions": None}, "a page reads decoders with positions='sinusoidal', got None"),
    ({"attention": False}, "a page reads translators with attention=True, got False"),
]


@pytest.mark.parametrize(("change", "message"), UNREADABLE)
def test_a_model_that_a_page_would_misread_is_refused(change, message):
    if "translators" in message:
        check, model = translator.check_readable, Translator(LETTERS, LETTERS, Config(**change))
    else:
        check, model = heads.check_readable, Decoder(LETTERS, DecoderConfig(8, **change))
    with pytest.raises(ValueError, match=f"^{message}$"):
        check(model)


def test_a_figure_that_requests_an_unknown_script_stops_the_build(tmp_path):
    message = "^a figure may ask for one of editor, python, copying.*, got 'shouting'$"
    with pytest.raises(ExtensionError, match=message):
        write_models(tmp_path, ["copying", "shouting"])
    assert [file.name for file in tmp_path.iterdir()] == ["copying.js"]
