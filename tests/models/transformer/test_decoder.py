"""The decoder: its predictions, its causality, and its refusals."""

import contextlib
import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from attnbook import sinusoidal_encoding
from attnbook.models.training import Plan, fit
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder, make_lines
from attnbook.models.transformer.removal import without_heads
from attnbook.models.vocabulary import SPECIAL, Vocabulary

SIZES = {"num_hiddens": 8, "num_heads": 2, "num_layers": 2}
WHOLE = DecoderConfig(**SIZES, feed_forward="relu", ffn_hiddens=12, norm="layer")
MODERN = DecoderConfig(
    **SIZES, feed_forward="swiglu", ffn_hiddens=12, norm="rms", positions="rotary", rotary_base=50.0
)
SMALL = DecoderConfig(**SIZES)
TEXTS = ["abcabca", "cab", "b"]
every_kind = pytest.mark.parametrize(
    "config", [WHOLE, SMALL, MODERN], ids=["whole", "attention only", "modern"]
)


def make_model(config=SMALL, **options):
    return Decoder(Vocabulary("abc"), config, **options).double().eval()


@every_kind
@pytest.mark.parametrize("positions", ["sinusoidal", None])
def test_a_decoder_applies_its_parts_in_order(config, positions):
    model = make_model(DecoderConfig(**{**vars(config), "positions": positions}))
    tokens, lengths = model.read_lines(TEXTS)
    x = model.embedding.weight[tokens]
    if positions:
        x = x + sinusoidal_encoding(x.shape[1], 8, dtype=torch.float64)
    for block in model.blocks:
        x = block(x, lengths, causal=True)
    assert torch.equal(model(tokens, lengths), model.norm(x) @ model.output.weight.T)


@every_kind
def test_no_token_is_predicted_from_itself_or_later_ones(config):
    model = make_model(config)
    (long,) = model.follow(["abcabca"])
    for n in range(1, 7):
        (short,) = model.follow(["abcabca"[:n]])
        assert short.guesses == long.guesses[:n]
        assert torch.allclose(short.probabilities, long.probabilities[:n], atol=1e-12)
        assert torch.allclose(short.weights, long.weights[..., :n, :n], atol=1e-12)


@every_kind
def test_a_text_is_read_the_same_in_a_batch_and_on_its_own(config):
    model = make_model(config)
    for in_batch, text in zip(model.follow(TEXTS), TEXTS, strict=True):
        (single,) = model.follow([text])
        assert in_batch.guesses == single.guesses
        assert torch.allclose(in_batch.weights, single.weights, atol=1e-12)
        assert in_batch.weights.shape == (2, 2, len(text), len(text))
        assert in_batch.probabilities.shape == (len(text), 3)
        assert torch.allclose(in_batch.probabilities.sum(-1), torch.ones(len(text)).double())


def test_many_texts_are_read_in_order():
    texts = [TEXTS[i % 3] for i in range(600)]
    assert [reading.text for reading in make_model().follow(texts)] == texts
    assert make_model().follow([]) == []


def test_a_line_is_continued_with_its_likeliest_symbols():
    model = make_model()
    for start, written in zip(TEXTS, model.write(TEXTS, 3), strict=True):
        assert written[: len(start)] == start
        for n in range(len(start), len(start) + 3):
            assert model.follow([written[:n]])[0].guesses[-1] == written[n]


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_refused(number):
    model = make_model()
    model.blocks[1].attention.W_v.weight.data[0] = number
    message = r"scores must be finite, got \S+ at step 0 of 'abcabca'; check the model's weights"
    for call in (model.follow, lambda texts: model.write(texts, 3)):
        with pytest.raises(ValueError, match=message):
            call(TEXTS)


def test_a_decoder_that_stores_no_weights_writes_and_refuses_to_follow():
    model = make_model()
    expected = model.write(TEXTS, 3)
    model.blocks[1].attention.keep_weights = False
    assert model.write(TEXTS, 3) == expected
    with pytest.raises(ValueError, match=r"keep_weights must be True .* got False in layer 1"):
        model.follow(TEXTS)


def test_a_line_too_long_is_refused_before_any_step_and_the_longest_is_written():
    model, steps = make_model(), []
    model.register_forward_hook(lambda *_: steps.append(1))
    with pytest.raises(ValueError, match=r"room for count=254 more .* got 3 tokens"):
        model.write(["a", "abc"], 254)
    assert not steps
    assert [len(text) for text in model.write(["a" * 254, "abc"], 2)] == [256, 5]
    assert model.write([], 300) == []


def test_threads_that_follow_get_their_own_weights():
    model, reference = make_model(), make_model()
    model.train()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: model.follow([text])[0], TEXTS * 4))
    for reading, text in zip(found, TEXTS * 4, strict=True):
        (expected,) = reference.follow([text])
        assert torch.equal(reading.weights, expected.weights)
    assert all(part.training for part in model.modules())
    assert copy.deepcopy(model).write(["a"], 2) == pickle.loads(pickle.dumps(model)).write(["a"], 2)  # noqa: S301 - our own bytes


def test_lines_of_one_symbol_are_left_out_of_the_loss():
    plan = Plan(epochs=2, batch_size=1)
    one, other = Decoder(Vocabulary("abc"), SMALL), Decoder(Vocabulary("abc"), SMALL)
    lines, more = (make_lines(one, texts) for texts in (["abca", "cb"], ["abca", "b", "cb", "c"]))
    expected, found = fit(one, lines, lines, plan), fit(other, more, more, plan)
    assert [epoch[:2] for epoch in found] == [epoch[:2] for epoch in expected]
    assert torch.equal(one.output.weight, other.output.weight)


def test_a_decoder_learns_what_always_follows():
    model = Decoder(Vocabulary("abc"), WHOLE)
    lines = make_lines(model, ["abcabcabc", "bcabcab", "cabcabcabc"])
    plan = Plan(epochs=40, batch_size=3, learning_rate=0.03, patience=40)
    losses = fit(model, lines, lines, plan)
    assert losses[-1].validation_loss < 0.2 < losses[0].validation_loss
    assert not model.training
    assert model.write(["a"], 5) == ["abcabc"]


# Removed heads


@pytest.mark.parametrize("heads", [[(0, 1)], [(0, 0), (1, 1)], [(1, 0), (1, 1)], []])
def test_removing_a_head_equals_zeros_in_its_columns_of_w_o(heads):
    model, other = make_model(WHOLE), make_model(WHOLE)
    for layer, head in heads:
        other.blocks[layer].attention.W_o.weight.data[:, head * 4 : head * 4 + 4] = 0
    tokens, lengths = model.read_lines(TEXTS)
    whole, expected = model(tokens, lengths), other(tokens, lengths)
    with contextlib.suppress(KeyboardInterrupt), without_heads(model, heads):
        assert torch.allclose(model(tokens, lengths), expected, atol=1e-14)
        raise KeyboardInterrupt
    assert torch.equal(model(tokens, lengths), whole)
    assert torch.allclose(whole, expected) == (heads == [])


@pytest.mark.weekly
@every_kind
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "non-strict"])
def test_an_exported_decoder_reads_lines_of_any_length(config, strict):
    model = make_model(config)
    batch, longest = torch.export.Dim("batch", min=2), torch.export.Dim("longest", min=2, max=64)

    def lines(count, length):
        lengths = 1 + torch.arange(count) % length
        return torch.randint(SPECIAL, SPECIAL + 3, (count, length)), lengths

    shapes = ({0: batch, 1: longest}, {0: batch})
    program = torch.export.export(model, lines(3, 7), dynamic_shapes=shapes, strict=strict).module()
    for sizes in ((2, 4), (5, 20), (3, 7)):
        given = lines(*sizes)
        assert torch.allclose(program(*given), model(*given), atol=1e-12)
