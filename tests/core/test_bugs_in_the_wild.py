"""Bugs found in published attention code. Each check passes on ours and fails on the bug."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook import AdditiveAttention, DotProductAttention, masked_softmax, scaled_dot_score

FAILURES = (AssertionError, RuntimeError, IndexError)

# The bugs, written anew.


def keep_first(scores, lens, fill):
    """The textbook's way: one length per row of scores, and a number in place of padding."""
    per_row = lens.repeat_interleave(scores.shape[1]) if lens.dim() == 1 else lens.reshape(-1)
    rows = scores.reshape(-1, scores.shape[-1])
    padding = torch.arange(scores.shape[-1]) >= per_row[:, None]
    return rows.masked_fill(padding, fill).reshape(scores.shape)


def fill_with(fill):
    return lambda scores, lens: keep_first(scores, lens, fill).softmax(-1)


def softmax_over_the_batch(scores, lens):
    return keep_first(scores, lens, -1e6).softmax(0)


def softmax_over_queries_without_lengths(scores, lens=None):
    return scores.softmax(1) if lens is None else fill_with(-1e6)(scores, lens)


def fill_in_place(scores, lens):
    padding = torch.arange(scores.shape[-1]) >= lens[:, None, None]
    scores[padding.expand_as(scores)] = -1e6
    return scores.softmax(-1)


def repeat_lengths_until_they_fit(scores, lens):
    heads = scores.flatten(0, 1)
    return fill_with(-1e6)(heads, lens.repeat(len(heads) // len(lens), 1)).view_as(scores)


def mask_the_padding_in(scores, lens):
    visible = torch.arange(scores.shape[-1]) < lens[:, None, None]
    return scores.masked_fill(visible, -1e6).softmax(-1)


def mask_after_the_softmax(scores, lens):
    visible = torch.arange(scores.shape[-1]) < lens[:, None, None]
    weights = scores.softmax(-1) * visible
    return weights / weights.sum(-1, keepdim=True)


def softmax_without_the_maximum(scores, lens):
    visible = torch.arange(scores.shape[-1]) < lens[:, None, None]
    powers = scores.exp() * visible
    return powers / powers.sum(-1, keepdim=True)


class Additive(nn.Module):
    """Additive attention with switches for what went wrong in print."""

    def __init__(self, key_size, query_size, num_hiddens, *, tanh=True, swapped=False, fixed=False):
        super().__init__()
        self.W_k = nn.Linear(2 if fixed else key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(2 if fixed else query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(8 if fixed else num_hiddens, 1, bias=False)
        self.tanh, self.swapped = tanh, swapped

    def forward(self, queries, keys, values):
        for_queries, for_keys = (self.W_k, self.W_q) if self.swapped else (self.W_q, self.W_k)
        features = for_queries(queries)[:, :, None] + for_keys(keys)[:, None]
        features = features.tanh() if self.tanh else features
        self.attention_weights = self.w_v(features).squeeze(-1).softmax(-1)
        return self.attention_weights @ values


def additive_with(**switches):
    return lambda *sizes: Additive(*sizes, **switches)


class MapsWithoutTheMask(DotProductAttention):
    """Shows a heatmap computed again, from the queries and keys alone."""

    def forward(self, queries, keys, values, valid_lens=None):
        self.shown = scaled_dot_score(queries, keys).softmax(-1)
        return super().forward(queries, keys, values, valid_lens)

    @property
    def attention_weights(self):
        return self.shown


class CausalInTrainingOnly(nn.Module):
    """`is_causal=self.training`, as in PyTorch's own tutorial."""

    def forward(self, queries, keys, values, _=None, *, causal):  # noqa: ARG002 - looks elsewhere
        return scaled_dot_product_attention(queries, keys, values, is_causal=self.training)


def score_without_scale(queries, keys):
    return queries @ keys.transpose(1, 2)


def demo(layer):
    """What a notebook's last cell prints."""
    torch.manual_seed(0)
    inputs = torch.randn(2, 3, 5), torch.randn(2, 7, 5), torch.randn(2, 7, 11)
    return lambda: layer(*inputs)


# The checks. Each takes an implementation.


def assert_the_future_moves_nothing_in_either_mode(layer):
    torch.manual_seed(0)
    tokens = torch.randn(1, 7, 5)
    other = torch.cat([tokens[:, :6], 1e3 * tokens[:, 6:]], dim=1)
    for training in (True, False):
        layer.train(training)
        before, after = (layer(x, x, x, causal=True)[:, :6] for x in (tokens, other))
        assert torch.allclose(before, after, atol=1e-6)


def assert_padding_has_no_weight(weigh):
    weights = weigh(torch.ones(1, 1, 7), torch.tensor([4]))
    assert torch.equal(weights[0, 0, 4:], torch.zeros(3))
    assert torch.allclose(weights[0, 0, :4], torch.full((4,), 0.25))


def assert_rows_sum_to_one(weigh):
    torch.manual_seed(0)
    weights = weigh(torch.randn(2, 3, 7), torch.tensor([7, 4]))
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3))


def assert_no_lengths_normalise_over_keys(weigh):
    weights = weigh(torch.zeros(2, 1, 4))
    assert torch.allclose(weights, torch.full((2, 1, 4), 0.25))


def assert_scores_are_left_alone(weigh):
    scores = torch.ones(2, 3, 7)
    weigh(scores, torch.tensor([4, 2]))
    assert torch.equal(scores, torch.ones(2, 3, 7))


def assert_a_leaf_can_be_weighed(weigh):
    scores = torch.ones(2, 3, 7, requires_grad=True)
    weigh(scores, torch.tensor([4, 2])).sum().backward()
    assert scores.grad is not None


def assert_very_low_scores_keep_their_weight(weigh):
    weights = weigh(torch.full((1, 1, 4), -2e6), torch.tensor([2]))
    assert weights.tolist() == [[[0.5, 0.5, 0, 0]]]


def assert_half_precision_works(weigh):
    weights = weigh(torch.zeros(1, 2, 4, dtype=torch.float16), torch.tensor([[2, 0]]))
    assert weights.tolist() == [[[0.5, 0.5, 0, 0], [0, 0, 0, 0]]]


def assert_an_empty_row_is_no_nan(weigh):
    scores = torch.ones(2, 1, 4, requires_grad=True)
    weights = weigh(scores, torch.tensor([0, 4]))
    assert weights.isfinite().all()
    weights[1].square().sum().backward()  # the empty row is outside the loss
    assert scores.grad.isfinite().all()


def assert_an_empty_row_attends_to_nothing(weigh):
    assert weigh(torch.zeros(1, 1, 4), torch.tensor([0])).tolist() == [[[0, 0, 0, 0]]]


def assert_lengths_are_refused(wrong):
    def check(weigh):
        with pytest.raises((ValueError, TypeError), match="valid_lens must"):
            raise_assertion_unless_refused(weigh, wrong)

    return check


def raise_assertion_unless_refused(weigh, wrong):
    weigh(torch.zeros(2, 3, 4), wrong)
    raise AssertionError(f"{wrong.tolist()} was accepted")


def assert_four_axes_mask_the_right_rows(weigh):
    # Two examples of three heads: whoever repeats the lengths must repeat each one in place.
    lens = torch.tensor([[1, 2, 3], [4, 3, 2]])
    weights = weigh(torch.zeros(2, 3, 3, 4), lens)
    for head in range(3):
        assert (weights[:, head] > 0).sum(-1).tolist() == lens.tolist()


def assert_scores_200_apart_are_no_nan(weigh):
    weights = weigh(torch.tensor([[[0.0, 0.0, 200.0]]]), torch.tensor([2]))
    assert weights.tolist() == [[[0.5, 0.5, 0]]]


def assert_scores_of_1000_are_no_nan(weigh):
    weights = weigh(torch.full((1, 1, 4), 1000.0), torch.tensor([2]))
    assert weights.tolist() == [[[0.5, 0.5, 0, 0]]]


def assert_two_queries_can_differ(make):
    torch.manual_seed(0)
    layer = make(2, 2, 8)
    layer(torch.tensor([[[0.0, 0], [3, -3]]]), torch.randn(1, 7, 2), torch.ones(1, 7, 1))
    first, second = layer.attention_weights[0]
    assert (first - second).abs().max() > 1e-3


def assert_queries_and_keys_can_have_different_sizes(make):
    layer = make(3, 2, 8)
    assert layer(torch.ones(1, 5, 2), torch.ones(1, 7, 3), torch.ones(1, 7, 11)).shape == (1, 5, 11)


def assert_sizes_are_those_asked_for(make):
    layer = make(3, 3, 16)
    assert layer(torch.ones(1, 5, 3), torch.ones(1, 7, 3), torch.ones(1, 7, 11)).shape == (1, 5, 11)


def assert_the_same_cell_prints_the_same_twice(run):
    assert torch.equal(run(), run())


def assert_the_map_shown_is_the_attention_used(layer):
    torch.manual_seed(0)
    identity = torch.eye(7)[None]  # pooling it shows the weights that were used
    used = layer(torch.randn(1, 3, 5), torch.randn(1, 7, 5), identity, torch.tensor([4]))
    assert torch.allclose(layer.attention_weights, used)


def assert_attention_stays_soft_when_vectors_grow(score):
    torch.manual_seed(0)
    weights = score(torch.randn(1, 64, 1024), torch.randn(1, 16, 1024)).softmax(-1)
    entropy = -(weights * weights.clamp_min(1e-30).log()).sum(-1).mean() / math.log(16)
    assert entropy > 0.7


LENGTHS_ACCEPTED = {
    "a length of 7 of 4": torch.tensor([7, 1]),
    "a length of -3": torch.tensor([-3, 1]),
    "a length of 2.5": torch.tensor([2.5, 1]),
    "lengths (3, 2) for batch 2, queries 3": torch.ones(3, 2, dtype=torch.long),
}
UNCHECKED = fill_with(-1e6)

# name: (check, ours, bug)
TABLE = {
    "the mask fills 0, not a very low score": (
        assert_padding_has_no_weight,
        masked_softmax,
        fill_with(0.0),
    ),
    "softmax without dim normalises over the batch": (
        assert_rows_sum_to_one,
        masked_softmax,
        softmax_over_the_batch,
    ),
    "softmax(dim=1) when valid_lens is None": (
        assert_no_lengths_normalise_over_keys,
        masked_softmax,
        softmax_over_queries_without_lengths,
    ),
    "X[~mask] = value overwrites the caller's scores": (
        assert_scores_are_left_alone,
        masked_softmax,
        fill_in_place,
    ),
    "X[~mask] = value raises on a leaf that needs grad": (
        assert_a_leaf_can_be_weighed,
        masked_softmax,
        fill_in_place,
    ),
    "the fill -1e6 is above scores of -2e6": (
        assert_very_low_scores_keep_their_weight,
        masked_softmax,
        fill_with(-1e6),
    ),
    "-1e6 overflows in float16": (assert_half_precision_works, masked_softmax, fill_with(-1e6)),
    "-1e9 overflows in float16": (assert_half_precision_works, masked_softmax, fill_with(-1e9)),
    "-9e15 overflows in float16": (assert_half_precision_works, masked_softmax, fill_with(-9e15)),
    "the fill -inf makes a whole masked row NaN": (
        assert_an_empty_row_is_no_nan,
        masked_softmax,
        fill_with(-math.inf),
    ),
    "valid_len=0 with a finite fill attends to padding": (
        assert_an_empty_row_attends_to_nothing,
        masked_softmax,
        fill_with(-1e6),
    ),
    **{
        f"{what} accepted": (assert_lengths_are_refused(wrong), masked_softmax, UNCHECKED)
        for what, wrong in LENGTHS_ACCEPTED.items()
    },
    "4-D scores in a 3-D masked softmax mask the wrong rows": (
        assert_four_axes_mask_the_right_rows,
        masked_softmax,
        repeat_lengths_until_they_fit,
    ),
    "mask polarity swapped": (assert_padding_has_no_weight, masked_softmax, mask_the_padding_in),
    "softmax, then mask, then renormalise": (
        assert_scores_200_apart_are_no_nan,
        masked_softmax,
        mask_after_the_softmax,
    ),
    "softmax without subtracting the maximum": (
        assert_scores_of_1000_are_no_nan,
        masked_softmax,
        softmax_without_the_maximum,
    ),
    "additive score without tanh": (
        assert_two_queries_can_differ,
        AdditiveAttention,
        additive_with(tanh=False),
    ),
    "W_k applied to the query and W_q to the key": (
        assert_queries_and_keys_can_have_different_sizes,
        AdditiveAttention,
        additive_with(swapped=True),
    ),
    "sizes hard-coded": (
        assert_sizes_are_those_asked_for,
        AdditiveAttention,
        additive_with(fixed=True),
    ),
    "the demo runs without .eval()": (
        assert_the_same_cell_prints_the_same_twice,
        demo(DotProductAttention(0.5).eval()),
        demo(DotProductAttention(0.5)),
    ),
    "maps recomputed without the mask": (
        assert_the_map_shown_is_the_attention_used,
        DotProductAttention(),
        MapsWithoutTheMask(),
    ),
    "is_causal=self.training leaks in eval mode": (
        assert_the_future_moves_nothing_in_either_mode,
        DotProductAttention(),
        CausalInTrainingOnly(),
    ),
    "no 1/√d": (
        assert_attention_stays_soft_when_vectors_grow,
        scaled_dot_score,
        score_without_scale,
    ),
}


@pytest.mark.parametrize(("check", "ours", "bug"), TABLE.values(), ids=TABLE)
def test_ours_passes_the_check_and_the_bug_does_not(check, ours, bug):
    check(ours)
    with pytest.raises(FAILURES):
        check(bug)


def test_the_textbook_with_a_finite_fill_passes_what_it_gets_right():
    # Checks that failed for everything but ours would prove nothing.
    assert_padding_has_no_weight(fill_with(-1e6))
    assert_rows_sum_to_one(fill_with(-1e6))
    assert_scores_are_left_alone(fill_with(-1e6))
    assert_a_leaf_can_be_weighed(fill_with(-1e6))
    assert_an_empty_row_is_no_nan(fill_with(-1e6))
    assert_two_queries_can_differ(Additive)
    assert_queries_and_keys_can_have_different_sizes(Additive)
    assert_sizes_are_those_asked_for(Additive)
