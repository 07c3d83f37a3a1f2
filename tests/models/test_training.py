"""The training loop: what counts for the loss, when it ends, and that a seed decides all."""

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
# Each letter has its digit: something a translator must be able to learn.
PAIRS = [(word, word.translate(str.maketrans("abcd", "0123"))) for word in WORDS]


def make(**options):
    sizes = {"embedding_size": 7, "written_size": 5, "num_hiddens": 24, "score_hiddens": 11}
    config = Config(**(sizes | {"encoder": "recurrent", "dropout": 0.0} | options))
    return Translator(LETTERS, DIGITS, config, seed=3)


def weights(model):
    return copy.deepcopy(model.state_dict())


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one | other)


# The loss


def test_the_loss_is_the_mean_of_minus_log_p_over_characters_that_are_no_padding():
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


def test_a_batch_ends_each_target_and_pads_behind_it():
    batch = make_batch(make(), [("ab", "01"), ("c", "2")])
    assert batch.tokens.tolist() == [[3, 4], [5, 0]]
    assert batch.valid_lens.tolist() == [2, 1]
    assert batch.targets.tolist() == [[3, 4, END], [5, END, PAD]]


# The loop


@pytest.mark.parametrize("encoder", ["recurrent", "convolutional"])
def test_a_translator_learns_its_pairs(encoder, device):
    model = make(encoder=encoder).to(device)
    history = train(model, PAIRS, PAIRS, Plan(epochs=40, batch_size=4, learning_rate=0.03))
    assert [found.output for found in model.translate(WORDS)] == [target for _, target in PAIRS]
    assert history[-1].loss < history[0].loss / 10
    assert not model.training
    assert model.device.type == device.type


def test_the_same_seed_gives_the_same_weights_whatever_was_drawn_before():
    found = []
    for seed in (5, 5, 6):
        model = make(dropout=0.3)
        state = torch.get_rng_state()
        history = train(model, PAIRS, PAIRS[:3], Plan(epochs=2, batch_size=4, seed=seed))
        assert torch.equal(torch.get_rng_state(), state)
        torch.rand(1)
        found.append((weights(model), [epoch[:2] for epoch in history]))
    assert same(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert not same(found[0][0], found[2][0])


WRONG = [(text, "3333333") for text, _ in PAIRS]  # the better it learns, the worse
IMPATIENT = Plan(epochs=60, batch_size=4, learning_rate=0.02, patience=4)


@pytest.fixture(scope="module")
def stopped():
    """A model whose training ended early, and its history."""
    model = make()
    return model, train(model, PAIRS, WRONG, IMPATIENT)


def test_training_ends_when_it_is_no_better_and_restores_the_best_weights(stopped):
    model, history = stopped
    losses = [epoch.validation_loss for epoch in history]
    best = losses.index(min(losses))
    assert len(history) == best + 1 + IMPATIENT.patience < IMPATIENT.epochs
    assert evaluate(model, make_batch(model, WRONG)) == pytest.approx(min(losses))
    assert losses[-1] > min(losses)


def test_training_goes_on_to_the_last_epoch_while_it_gets_better():
    plan = Plan(epochs=5, batch_size=4, patience=1)
    assert len(train(make(), PAIRS, PAIRS, plan)) == 5


def test_the_last_pairs_of_an_epoch_are_learned_too_in_training_mode():
    # 10 pairs in batches of 9: were the tenth left out, the first step would be the only one
    model, shares, modes = make(), [], []

    def report(share, _):
        shares.append(share)
        modes.append(model.training)

    train(model, PAIRS, PAIRS, Plan(epochs=2, batch_size=9), report)
    assert shares == [0, 1 / 4, 2 / 4, 3 / 4, 1]
    assert modes == [True] * 4 + [False]


@pytest.mark.parametrize("epochs", range(1, 10))
def test_the_learning_rate_rises_however_few_the_steps_are(monkeypatch, epochs):
    rates, step = [], torch.optim.Adam.step

    def spy(self, *given):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    train(make(), PAIRS, PAIRS, Plan(epochs, batch_size=10, patience=9))
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
        self.before.append(weights(self.model))
        if len(self.before) == self.number + 1:
            self.act(self.model)


def stop(_):
    raise KeyboardInterrupt


def break_bias(model):
    model.output.bias.data[:] = math.nan


def test_an_interrupt_leaves_the_best_finished_epoch(stopped):
    (whole, history), model = stopped, make()
    with pytest.raises(KeyboardInterrupt):
        train(model, PAIRS, WRONG, IMPATIENT, Interrupt(model, 3 * (len(history) - 1) + 1, stop))
    assert not any(part.training for part in model.modules())
    assert same(weights(model), weights(whole))


def test_an_interrupt_in_the_first_epoch_leaves_what_was_learned_so_far():
    model = make()
    report = Interrupt(model, 2, stop)
    with pytest.raises(KeyboardInterrupt):
        train(model, PAIRS, PAIRS, Plan(batch_size=4), report)
    assert not any(part.training for part in model.modules())
    assert same(weights(model), report.before[2])
    assert not same(report.before[2], report.before[0])


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "the loss is nan at step 1 of 3 in epoch 1; try a learning_rate below 0.004"),
        (5, "the loss is nan at step 3 of 3 in epoch 2"),
    ],
)
def test_a_loss_that_is_no_number_ends_training_and_leaves_the_last_good_weights(number, message):
    model = make()
    report = Interrupt(model, number, break_bias)
    with pytest.raises(FloatingPointError, match=message):
        train(model, PAIRS, PAIRS, Plan(epochs=3, batch_size=4), report)
    found, good = weights(model), report.before[number // 3 * 3]
    if number < 3:  # no epoch was finished: what broke the loss is still there
        assert found.pop("output.bias").isnan().all()
        good.pop("output.bias")
    assert same(found, good)


def test_a_validation_loss_that_is_no_number_is_noticed(monkeypatch):
    monkeypatch.setattr("attnbook.models.training.evaluate", lambda *_: math.inf)
    message = "the loss is inf on the validation pairs after epoch 1"
    with pytest.raises(FloatingPointError, match=message):
        train(make(), PAIRS, PAIRS)


def test_dropout_is_at_work_in_training_and_not_in_evaluation():
    model = make(dropout=0.5)
    batch = make_batch(model, PAIRS)
    assert evaluate(model, batch) == evaluate(model, batch)
    model.train()
    assert masked_loss(model(*batch), batch.targets) != masked_loss(model(*batch), batch.targets)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("ab?", "01")], "characters of the vocabulary, got '[?]'"),
        ([("ab", "09")], "characters of the vocabulary, got '9'"),
        ([("", "0")], "text must hold at least one character"),
    ],
)
def test_pairs_that_cannot_be_learned_from_are_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        train(make(), pairs, PAIRS)
    with pytest.raises(ValueError, match=message):
        train(make(), PAIRS, pairs)


def test_pairs_may_come_one_by_one():
    one, other = make(), make()
    train(one, iter(PAIRS), (pair for pair in PAIRS), Plan(epochs=1))
    train(other, PAIRS, PAIRS, Plan(epochs=1))
    assert same(weights(one), weights(other))


@pytest.mark.parametrize(("pairs", "judged"), [([], PAIRS), (PAIRS, [])])
def test_training_and_validation_without_pairs_are_refused(pairs, judged):
    name = "validation" if pairs else "pairs"
    with pytest.raises(ValueError, match=f"{name} must hold at least one, got none"):
        train(make(), pairs, judged)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs must be at least 1, got 0"),
        ({"batch_size": 2.5}, TypeError, "batch_size must be a whole number, got 2.5"),
        ({"patience": 0}, ValueError, "patience must be at least 1, got 0"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be positive and finite, got 0"),
        ({"learning_rate": math.nan}, ValueError, "learning_rate must be positive .*, got nan"),
    ],
)
def test_a_plan_out_of_range_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        Plan(**given)


# The bar


def test_the_bar_is_drawn_when_it_changes_and_always_has_the_same_width():
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


def test_the_bar_goes_to_standard_output(capsys):
    Bar()(1.0, [])
    assert capsys.readouterr().out.endswith("\r" + "█" * 20 + " trained \n")
