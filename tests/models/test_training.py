"""The training loop: its loss, when it ends, and that the seed determines the result."""

import copy
import io
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.models.training import Bar, Epoch, Plan, evaluate, make_batch, masked_loss, train
from attnbook.models.translator.config import Config
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import END, PAD, Vocabulary

LETTERS, DIGITS = Vocabulary("abcd"), Vocabulary("0123")
WORDS = ["ab", "bad", "c", "dab", "cab", "da", "abcd", "bc", "dcba", "cc"]
# Each letter becomes one digit, which a translator must be able to learn.
PAIRS = [(word, word.translate(str.maketrans("abcd", "0123"))) for word in WORDS]


def make_model(**options):
    sizes = {"embedding_size": 7, "written_size": 5, "num_hiddens": 24, "score_hiddens": 11}
    config = Config(**(sizes | {"encoder": "recurrent", "dropout": 0.0} | options))
    return Translator(LETTERS, DIGITS, config, seed=3)


def copy_weights(model):
    return copy.deepcopy(model.state_dict())


def have_equal_weights(one, other):
    return all(torch.equal(one[name], other[name]) for name in one | other)


# The loss


def test_the_loss_is_the_mean_of_minus_log_p_without_padding():
    scores = torch.tensor([[[0.0, 0, 0, math.log(3)], [0, 0, 0, 0]], [[0, 0, 0, 0], [9, 9, 9, 9]]])
    targets = torch.tensor([[3, END], [3, PAD]])
    # p is 3/6, then 1/4, then 1/4; the fourth is padding
    expected = (math.log(2) + 2 * math.log(4)) / 3
    assert masked_loss(scores, targets).item() == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 2**16))
def test_padding_changes_no_loss_and_no_gradient(seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, 5, 7, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(1, 7, (3, 5), generator=generator)
    targets[:, 3:] = PAD
    loss = masked_loss(scores, targets)
    assert torch.allclose(loss, masked_loss(scores[:, :3], targets[:, :3]))
    loss.backward()
    assert not scores.grad[:, 3:].any()
    assert scores.grad[:, :3].all()


def test_a_batch_ends_and_pads_each_target():
    batch = make_batch(make_model(), [("ab", "01"), ("c", "2")])
    assert batch.tokens.tolist() == [[3, 4], [5, 0]]
    assert batch.valid_lens.tolist() == [2, 1]
    assert batch.targets.tolist() == [[3, 4, END], [5, END, PAD]]


# The loop


def test_a_translator_learns_its_pairs(device):
    model = make_model(encoder="convolutional").to(device)
    history = train(model, PAIRS, PAIRS, Plan(epochs=32, batch_size=4, learning_rate=0.03))
    assert [found.output for found in model.translate(WORDS)] == [target for _, target in PAIRS]
    assert history[-1].loss < history[0].loss / 10
    assert not model.training
    assert model.device.type == device.type


def test_the_seed_alone_determines_the_weights():
    found = []
    for seed in (5, 5, 6):
        model = make_model(dropout=0.3)
        state = torch.get_rng_state()
        history = train(model, PAIRS, PAIRS[:3], Plan(epochs=2, batch_size=4, seed=seed))
        assert torch.equal(torch.get_rng_state(), state)
        torch.rand(1)
        found.append((copy_weights(model), [epoch[:2] for epoch in history]))
    assert have_equal_weights(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert not have_equal_weights(found[0][0], found[2][0])


WRONG = [(text, "3333333") for text, _ in PAIRS]  # learning makes this loss worse
IMPATIENT = Plan(epochs=60, batch_size=4, learning_rate=0.02, patience=4)


@pytest.fixture(scope="module")
def stopped_model():
    """A model whose training ended early, and its history."""
    model = make_model()
    return model, train(model, PAIRS, WRONG, IMPATIENT)


def test_training_stops_without_improvement_and_restores_the_best_weights(stopped_model):
    model, history = stopped_model
    losses = [epoch.validation_loss for epoch in history]
    best = losses.index(min(losses))
    assert len(history) == best + 1 + IMPATIENT.patience < IMPATIENT.epochs
    assert evaluate(model, make_batch(model, WRONG)) == pytest.approx(min(losses))
    assert losses[-1] > min(losses)


def test_an_incomplete_batch_is_learned_too_and_in_training_mode():
    # 10 pairs in batches of 9 make two steps
    model, shares, modes = make_model(), [], []

    def report(share, _):
        shares.append(share)
        modes.append(model.training)

    train(model, PAIRS, PAIRS, Plan(epochs=2, batch_size=9), report)
    assert shares == [0, 1 / 4, 2 / 4, 3 / 4, 1]
    assert modes == [True] * 4 + [False]


@pytest.mark.parametrize("epochs", [1, 5])
def test_the_learning_rate_rises_even_with_few_steps(monkeypatch, epochs):
    rates, step = [], torch.optim.Adam.step

    def spy(self, *given):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    train(make_model(), PAIRS, PAIRS, Plan(epochs, batch_size=10, patience=9))
    assert len(rates) == epochs
    assert rates[0] == pytest.approx(4e-3 / 25)
    assert rates[1:2] == pytest.approx([4e-3] * (epochs > 1))
    assert rates[1:] == sorted(rates[1:], reverse=True)


class Interrupt:
    """A report that does something before a step, by its number from 0."""

    def __init__(self, model, number, act):
        self.model, self.number, self.act = model, number, act
        self.before = []

    def __call__(self, _share, _history):
        self.before.append(copy_weights(self.model))
        if len(self.before) == self.number + 1:
            self.act(self.model)


def stop(_):
    raise KeyboardInterrupt


def break_bias(model):
    model.output.bias.data[:] = math.nan


def test_an_interrupt_leaves_the_best_finished_epoch(stopped_model):
    (whole, history), model = stopped_model, make_model()
    with pytest.raises(KeyboardInterrupt):
        train(model, PAIRS, WRONG, IMPATIENT, Interrupt(model, 3 * (len(history) - 1) + 1, stop))
    assert not any(part.training for part in model.modules())
    assert have_equal_weights(copy_weights(model), copy_weights(whole))


def test_an_interrupt_in_the_first_epoch_leaves_the_latest_weights():
    model = make_model()
    report = Interrupt(model, 2, stop)
    with pytest.raises(KeyboardInterrupt):
        train(model, PAIRS, PAIRS, Plan(batch_size=4), report)
    assert not any(part.training for part in model.modules())
    assert have_equal_weights(copy_weights(model), report.before[2])
    assert not have_equal_weights(report.before[2], report.before[0])


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "the loss is nan at step 1 of 3 in epoch 1; try a learning_rate below 0.004"),
        (5, "the loss is nan at step 3 of 3 in epoch 2"),
    ],
)
def test_a_loss_that_is_not_finite_ends_training_with_the_last_good_weights(number, message):
    model = make_model()
    report = Interrupt(model, number, break_bias)
    with pytest.raises(FloatingPointError, match=message):
        train(model, PAIRS, PAIRS, Plan(epochs=3, batch_size=4), report)
    found, good = copy_weights(model), report.before[number // 3 * 3]
    if number < 3:  # no epoch was finished, so the broken bias remains
        assert found.pop("output.bias").isnan().all()
        good.pop("output.bias")
    assert have_equal_weights(found, good)


def test_dropout_is_active_in_training_only():
    model = make_model(dropout=0.5)
    batch = make_batch(model, PAIRS)
    assert evaluate(model, batch) == evaluate(model, batch)
    model.train()
    assert masked_loss(model(*batch), batch.targets) != masked_loss(model(*batch), batch.targets)


# The bar


def test_the_bar_is_drawn_when_it_changes_and_has_a_constant_width():
    stream = io.StringIO()
    bar = Bar(stream)
    for step in range(1000):
        bar(step / 1000, [Epoch(1, 1, 1)] * (step // 520))
    bar(1.0, [Epoch(1, 1, 1)] * 2)
    lines = stream.getvalue().split("\r")
    assert len(lines) == 23  # nothing, 20 blocks, another epoch, the end
    assert lines[1] == "░" * 20 + " epoch 1 "
    assert lines[11:13] == ["█" * 10 + "░" * 10 + f" epoch {epoch} " for epoch in (1, 2)]
    assert lines[-1] == "█" * 20 + " trained \n"
    assert len({len(line.strip("\n")) for line in lines[1:]}) == 1
