"""The translator figure's Python half: its refusals, its traits and its text."""

from __future__ import annotations

import json

import pytest
import torch

from attnbook.figures import TranslatorFigure
from attnbook.figures.translator.packing import arrays, pack_model, translator_of
from attnbook.figures.translator.reading import read
from attnbook.models.translator.checkpoints import BOOK, book_model
from attnbook.models.translator.interventions import without
from attnbook.models.vocabulary import END
from tests.figures.shared.trained import unpack
from tools.site.figures.lazy_scripts import packers

TEXT = "9. März 1987"
MONTH = [3, 4, 5, 6]


@pytest.mark.parametrize("hidden", [[], MONTH, [0, 11], [*range(12)]])
def test_the_reading_is_that_of_the_model_without_these_characters(hidden):
    figure = TranslatorFigure(text=TEXT, hidden=hidden)
    model = book_model("convolutional").double()
    mask = torch.tensor([[i in hidden for i in range(12)]])
    (expected,) = model.translate([TEXT], lambda weights, _: without(weights, mask))
    assert figure.reading.output == expected.output == figure.shown["output"]
    torch.testing.assert_close(figure.reading.weights, expected.weights)
    softmax = without(figure.reading.scores.softmax(-1), mask)
    torch.testing.assert_close(softmax, expected.weights)


@pytest.mark.parametrize("text", [TEXT, "hello", "31. Februar 2023", "9"])
def test_probabilities_are_those_of_the_checkpoint_given_its_own_output(text):
    found, model = read("convolutional", text), book_model("convolutional").eval()
    tokens = torch.tensor([[*model.target.encode(found.output), END]])
    with torch.no_grad():
        logits = model(*model.read([text]), tokens)[0]
    expected = logits[:, END:].softmax(-1).gather(1, tokens.T - END)[:, 0].double()
    torch.testing.assert_close(found.probabilities, expected, rtol=0, atol=1e-5)


def test_reading_leaves_no_hooks():
    model = translator_of("convolutional")
    hooks = len(model.cell._forward_pre_hooks), len(model.output._forward_hooks)
    read("convolutional", TEXT, [3])
    assert (len(model.cell._forward_pre_hooks), len(model.output._forward_hooks)) == hooks


def test_packed_weights_equal_those_of_the_checkpoint():
    model, checkpoint = pack_model("convolutional"), book_model("convolutional")
    own, sent = dict(arrays(checkpoint)), unpack(model["arrays"], model["data"])
    assert [*sent] == [*own]
    assert all(torch.equal(part, own[name]) for name, part in sent.items())
    assert model["source"] == checkpoint.source.characters
    # all but the rows of padding, and of tokens that only begin or end a text
    left_out = 3 * 24 + 2 * 16 + 2 * (64 + 1)
    count = sum(part.numel() for part in sent.values())
    assert count == sum(w.numel() for w in checkpoint.state_dict().values()) - left_out
    assert json.loads(json.dumps(model)) == model


def test_every_model_of_the_book_has_a_packer_of_its_own():
    assert {"copying", *BOOK} <= {*packers()}
    assert packers()["small"]() == pack_model("small")


def test_traits_can_be_set_together():
    figure = TranslatorFigure()
    figure.set_state({"text": "5/1/2000", "hidden": [7, 2], "step": 9})
    assert (figure.text, figure.hidden, figure.step) == ("5/1/2000", [2, 7], 9)
    figure.text = "1987"
    assert figure.hidden == [2]
    assert figure.shown["text"] == "1987"


def test_a_shorter_text_hides_nothing_beyond_its_end():
    figure = TranslatorFigure(text="9. März 1987", hidden=[0, 10, 11])
    figure.text = "9. März 198"
    assert figure.hidden == figure.shown["hidden"] == [0, 10]


def test_the_text_has_the_output_and_the_peak_of_each_step():
    figure = TranslatorFigure()
    first, second, third, *steps = repr(figure).splitlines()
    assert (first, second, third) == (
        "TranslatorFigure: convolutional",
        "9. März 1987 -> 1987-03-09",
        "Probability of this output: 0.997.",
    )
    for line, row, wrote in zip(steps, figure.reading.weights, "1987-03-09", strict=True):
        peak = int(row.argmax())
        character = "␣" if TEXT[peak] == " " else TEXT[peak]
        assert f' "{wrote}", probability ' in line
        assert line.endswith(f': most weight on "{character}" at {peak}, {row[peak]:.3f}')


def test_the_text_has_the_output_without_hidden_characters():
    figure = TranslatorFigure(text=TEXT)
    whole = repr(figure)
    figure.hidden = MONTH
    expected = "Without “März” it writes 1987-09-09 instead of 1987-03-09."
    assert repr(figure).splitlines()[2] == expected
    figure.hidden = [*range(12)]
    assert repr(figure).splitlines()[2].startswith("With nothing left to attend to it writes ")
    assert repr(figure).count("nothing is left to attend to") == len(figure.shown["output"])
    figure.hidden = []
    assert repr(figure) == whole == repr(TranslatorFigure())
