"""The translator against plain loops, padding, batches and refusals."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.models.translator.config import Config
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import BEGIN, END, PAD, Vocabulary

SOURCE, TARGET = Vocabulary("abcdefg"), Vocabulary("01234-")
every_encoder = pytest.mark.parametrize("encoder", ["recurrent", "convolutional"])
attending_or_not = pytest.mark.parametrize("attention", [True, False])
texts = st.text(alphabet=SOURCE.characters, min_size=1, max_size=17)
TEXTS = ["gab", "fedcbagfedcba", "a", "caged"]


def make_model(encoder="convolutional", attention=True, dtype=torch.float64, **sizes):
    """A model whose sizes are all different, the same one each time."""
    given = {"embedding_size": 5, "written_size": 3, "num_hiddens": 14, "score_hiddens": 7}
    config = Config(encoder=encoder, attention=attention, **(given | sizes))
    model = Translator(SOURCE, TARGET, config, seed=13).to(dtype).eval()
    for weight in model.parameters():  # larger, so that the attention weights differ
        weight.data *= 2
    return model


def get_outputs(translations):
    return [found.output for found in translations]


# By hand: one text at a time, so without padding


@every_encoder
def test_an_encoder_reads_a_text_like_its_layers_alone(encoder):
    model = make_model(encoder)
    tokens, valid_lens = model.read(TEXTS)
    states, whole = model.encoder(tokens, valid_lens)
    for row, text in enumerate(TEXTS):
        x = model.encoder.embedding.weight[tokens[row, : len(text)]]
        if encoder == "recurrent":
            both, _ = model.encoder.gru(x[None])
            # forwards and backwards: each has read the whole text at its own end
            expected, whole_text = both[0], torch.cat([both[0, -1, :7], both[0, 0, 7:]])
        else:
            first, second = model.encoder.convolutions
            expected = second(first(x.T).relu()).relu().T
            whole_text = expected.mean(0)
        assert torch.allclose(states[row, : len(text)], expected, atol=1e-12)
        assert torch.allclose(whole[row], whole_text, atol=1e-12)
        assert not states[row, len(text) :].any()


def decode_by_hand(model, last, state, text_states):
    """The scores, the new state and the weights of one step, for one text."""
    attention = model.attention
    features = torch.tanh(attention.W_q(state) + attention.W_k(text_states))
    weights = attention.w_v(features)[:, 0].softmax(0)
    given = torch.cat([model.written.weight[last], weights @ text_states])
    state = model.cell(given, state)
    return model.output(state), state, weights


def test_two_decoding_steps_equal_the_formula():
    model = make_model()
    encoded = model.encode(*model.read(TEXTS))
    state = model.first_state(encoded)
    states = [torch.tanh(model.start(whole)) for whole in encoded.whole]
    last = torch.full((4,), BEGIN)
    for _ in range(2):
        scores, state = model.step(last, state, model.context(state, encoded))
        weights = model.attention.attention_weights[:, 0]
        for row, text in enumerate(TEXTS):
            text_states = encoded.states[row, : len(text)]
            expected = decode_by_hand(model, last[row], states[row], text_states)
            assert torch.allclose(scores[row], expected[0], atol=1e-12)
            assert torch.allclose(state[row], expected[1], atol=1e-12)
            assert torch.allclose(weights[row, : len(text)], expected[2], atol=1e-12)
            states[row] = expected[1]
        last = scores.argmax(-1)


# Padding and batches


@pytest.mark.few(2)
@every_encoder
@attending_or_not
@given(st.lists(texts, min_size=2, max_size=5))
@settings(max_examples=5)
def test_a_batch_is_translated_like_each_text_alone(encoder, attention, several):
    model = make_model(encoder, attention)
    for text, found in zip(several, model.translate(several), strict=True):
        (single,) = model.translate([text])
        assert (found.text, found.output) == (single.text, single.output)
        if attention:
            assert found.weights.shape == (len(found.output), len(text))
            assert torch.allclose(found.weights, single.weights, atol=1e-12)
            assert torch.allclose(found.weights.sum(-1), torch.ones(1, dtype=torch.float64))


@pytest.mark.few(2)
@every_encoder
@attending_or_not
def test_the_content_of_padding_does_not_matter(encoder, attention):
    model = make_model(encoder, attention)
    tokens, valid_lens = model.read(TEXTS)
    targets = torch.randint(3, len(TARGET), (4, 6), generator=torch.Generator().manual_seed(3))
    expected = model(tokens, valid_lens, targets)
    assert (tokens == PAD).any()
    other = torch.where(tokens == PAD, 5, tokens)
    wider = torch.cat([other, torch.full((4, 3), 7)], dim=1)
    assert torch.allclose(model(other, valid_lens, targets), expected, atol=1e-12)
    assert torch.allclose(model(wider, valid_lens, targets), expected, atol=1e-12)


def test_more_texts_than_a_batch_are_translated_in_order(monkeypatch):
    model = make_model()
    expected = get_outputs(model.translate(TEXTS))
    monkeypatch.setattr("attnbook.models.translator.model.BATCH", 3)
    found = model.translate(TEXTS)
    assert [one.text for one in found] == TEXTS
    assert get_outputs(found) == expected
    assert model.translate([]) == []


@every_encoder
@attending_or_not
def test_a_text_of_no_characters_is_read_as_zeros_and_changes_no_other(encoder, attention):
    model = make_model(encoder, attention)
    tokens, targets = torch.full((2, 5), 4), torch.full((2, 3), 3)
    scores = model(tokens, torch.tensor([0, 3]), targets)
    assert torch.allclose(scores[1:], model(tokens[1:], torch.tensor([3]), targets[1:]), atol=1e-12)
    encoded = model.encode(tokens, torch.tensor([0, 3]))
    assert not encoded.states[0].any()
    assert not encoded.whole[0].any()
    scores.sum().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


# What a translation is


@attending_or_not
def test_greedy_decoding_takes_the_likeliest_character_at_every_step(attention):
    model = make_model(attention=attention, max_steps=11)
    for found in model.translate(TEXTS):
        written = [*TARGET.encode(found.output), END] if found.output else [END]
        scores = model(*model.read([found.text]), torch.tensor([written]))[0, :, END:]
        wanted = (scores.argmax(-1) + END).tolist()
        assert wanted[: len(found.output)] == written[:-1]
        assert wanted[-1] == END or len(found.output) == 11


def test_of_the_special_tokens_only_the_end_can_be_written():
    model = make_model(max_steps=11)
    model.output.bias.data[[PAD, BEGIN]] = 1e6
    assert [len(found.output) for found in model.translate(TEXTS)] == [11] * 4
    model.output.bias.data[END] = 1e5
    assert [found.output for found in model.translate(TEXTS)] == [""] * 4


def test_a_model_translates_without_storing_weights():
    model = make_model()
    expected = get_outputs(model.translate(TEXTS))
    model.attention.keep_weights = False
    found = model.translate(TEXTS)
    assert get_outputs(found) == expected
    assert {one.weights for one in found} == {None}
    for refused, reason in (
        (model, "keep_weights=False"),
        (make_model(attention=False), "no attention"),
    ):
        with pytest.raises(ValueError, match=f"change needs weights, but .* {reason}"):
            refused.translate(TEXTS, lambda weights, _: weights)


def test_threads_that_translate_get_their_own_weights():
    model, reference = make_model(), make_model()
    model.train()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: model.translate([text])[0], TEXTS * 3))
    for one, expected in zip(found, reference.translate(TEXTS) * 3, strict=True):
        assert torch.allclose(one.weights, expected.weights, atol=1e-12)
    assert all(part.training for part in model.modules())


def test_changed_weights_are_pooled_and_returned(monkeypatch):
    model, contexts = make_model(), []
    model.output.bias.data[END] = -1e6  # so that no output ends early
    expected = model.translate(TEXTS)
    same = model.translate(TEXTS, lambda weights, _: weights.clone())
    assert get_outputs(same) == get_outputs(expected)
    chosen, step = [0, 5, 0, 2], model.step

    def spy(last, state, context):
        contexts.append(context)
        return step(last, state, context)

    def one_each(weights, step):
        return torch.eye(13, dtype=weights.dtype)[chosen] if step else weights

    monkeypatch.setattr(model, "step", spy)
    translations = model.translate(TEXTS, one_each)
    for found, before, position in zip(translations, expected, chosen, strict=True):
        assert torch.equal(found.weights[0], before.weights[0])
        assert (found.weights[1:, position] == 1).all()
    states = model.encode(*model.read(TEXTS)).states
    assert len(contexts) == model.config.max_steps
    for context in contexts[1:]:
        assert torch.equal(context, states[range(4), chosen])


def test_translating_follows_no_gradients_and_restores_the_mode_of_each_part():
    model, enabled = make_model(dropout=0.9), []

    def spy(weights, _):
        enabled.append(torch.is_grad_enabled())
        return weights

    expected = model.translate(TEXTS, spy)
    assert {*enabled} == {False}
    assert not expected[0].weights.requires_grad
    model.train()
    model.encoder.eval()
    modes = [part.training for part in model.modules()]
    assert get_outputs(model.translate(text for text in TEXTS)) == get_outputs(expected)
    assert [part.training for part in model.modules()] == modes
    with pytest.raises(ValueError, match="must hold characters"):
        model.translate(["?"])
    assert [part.training for part in model.modules()] == modes
    assert len({*modes}) == 2


def test_the_seed_alone_determines_the_first_weights():
    before = torch.get_rng_state()
    first, same, other = (Translator(SOURCE, TARGET, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(1)
    for (name, weight), again in zip(first.named_parameters(), same.parameters(), strict=True):
        assert torch.equal(weight, again), name
    assert not torch.equal(first.output.weight, other.output.weight)


# Refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda *_: None, "change must return a tensor, got NoneType at step 0"),
        (lambda w, step: w[:, step > 2 :], r"weights of shape .*\[4, 13\].*, got .* at step 3"),
        (lambda w, _: w.float(), "weights of dtype torch.float64, got torch.float32 at step 0"),
        (lambda w, _: w.to("meta"), "weights of device cpu, got meta at step 0"),
        (
            lambda w, step: w.index_fill(0, torch.tensor(2), math.nan) if step == 5 else w,
            "scores must be finite, got nan at step 5 of 'a'",
        ),
    ],
)
def test_a_change_that_returns_other_weights_is_refused(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_model().translate(TEXTS, change)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_refused(number):
    model = make_model()
    model.output.bias.data[4] = number
    message = f"scores must be finite, got {number} at step 0 of 'gab'; check the model's weights"
    with pytest.raises(ValueError, match=message):
        model.translate(TEXTS)


# The shapes in the signatures, proved as in test_shape_annotations.py

TRUE_SHAPES = """
import typing
import beartype, jaxtyping, torch
typing.TYPE_CHECKING = True
with jaxtyping.install_import_hook("attnbook", "beartype.beartype"):
    from attnbook.models import training, vocabulary
    from attnbook.models.translator import config, encoders, model as translator
typing.TYPE_CHECKING = False

letters = vocabulary.Vocabulary("abc")
for encoder in encoders.ENCODERS:
    for attention in (True, False):
        sizes = config.Config(encoder, attention, 3, 5, 14, 7)
        model = translator.Translator(letters, letters, sizes)
        batch = training.make_batch(model, [("ab", "cc"), ("cabab", "a")])
        training.masked_loss(model(*batch), batch.targets)
        model.translate(["ab", "cabab"])
        training.train(model, [("ab", "cc")], [("b", "c")], training.Plan(epochs=2))
try:
    training.masked_loss(torch.ones(2, 3, 5), torch.ones(2, 4).long())
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.weekly
def test_the_shapes_in_the_signatures_are_true():
    command = [sys.executable, "-c", TRUE_SHAPES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "TypeCheckError" in done.stdout
