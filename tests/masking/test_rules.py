"""Rules that say which positions may attend to which, each against a loop over pairs."""

import itertools
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import (
    causal_mask,
    checked,
    document_mask,
    position_mask,
    prefix_mask,
    start_mask,
    window_mask,
)

# Each rule against a loop over pairs


@st.composite
def shapes(draw, ordered=True):
    """Shapes of scores; with a key for each query where the rule needs positions."""
    batch, queries, more = (draw(st.integers(1, 4)) for _ in range(3))
    heads = draw(st.sampled_from([(), (3,)]))
    keys = queries + more - 1 if ordered else draw(st.integers(1, 5))
    return batch, *heads, queries, keys


def by_pairs(shape, is_visible):
    """Ask, for each example and pair of positions, whether the query may see the key."""
    batch, *heads, queries, keys = shape
    mask = torch.zeros(batch, queries, keys, dtype=torch.bool)
    for example, query, key in itertools.product(range(batch), range(queries), range(keys)):
        mask[example, query, key] = is_visible(example, keys - queries + query, key)
    return mask[:, None].expand(shape) if heads else mask


def whole_numbers(draw, count, most):
    return draw(st.lists(st.integers(0, most), min_size=count, max_size=count))


@given(st.data())
def test_a_start_mask_agrees_with_a_loop(data):
    shape = data.draw(shapes(ordered=False))
    starts = whole_numbers(data.draw, shape[0], shape[-1])
    expected = by_pairs(shape, lambda example, _, key: key >= starts[example])
    assert torch.equal(start_mask(torch.tensor(starts), shape).expand(shape), expected)


@given(st.data())
def test_a_window_mask_agrees_with_a_loop(data):
    shape = data.draw(shapes())
    window, ahead = (data.draw(st.none() | st.integers(least, 5)) for least in (1, 0))

    def near(_, query, key):
        return (window is None or query - key < window) and (ahead is None or key - query <= ahead)

    mask = window_mask(shape, window, ahead)
    assert torch.equal(mask.expand(shape), by_pairs(shape, near))
    assert mask.shape == (1,) * (len(shape) - 2) + shape[-2:]


@given(st.data())
def test_a_prefix_mask_agrees_with_a_loop(data):
    shape = data.draw(shapes())
    prefix = whole_numbers(data.draw, shape[0], shape[-1])
    expected = by_pairs(shape, lambda example, query, key: key <= query or key < prefix[example])
    assert torch.equal(prefix_mask(torch.tensor(prefix), shape).expand(shape), expected)


@given(st.data())
def test_a_document_mask_agrees_with_a_loop(data):
    shape = data.draw(shapes())
    numbers = [whole_numbers(data.draw, shape[-1], 2) for _ in range(shape[0])]
    documents = torch.tensor(numbers).to(data.draw(st.sampled_from([torch.uint16, torch.int32])))
    given_to_all = data.draw(st.booleans())
    numbers = numbers[:1] * shape[0] if given_to_all else numbers
    expected = by_pairs(
        shape, lambda example, query, key: numbers[example][query] == numbers[example][key]
    )
    mask = document_mask(documents[0] if given_to_all else documents, shape)
    assert torch.equal(mask.expand(shape), expected)


# Positions that are given


@st.composite
def rows(draw, shape, most):
    """Numbers of queries and of keys, for all examples or for each, and the same as lists."""
    batch, queries, keys = shape[0], shape[-2], shape[-1]
    given, lists = [], []
    for count in (queries, keys):
        for_all = draw(st.booleans())
        numbers = [whole_numbers(draw, count, most) for _ in range(1 if for_all else batch)]
        dtype = draw(st.sampled_from([torch.int64, torch.uint16, torch.float32]))
        given.append(torch.tensor(numbers[0] if for_all else numbers).to(dtype))
        lists.append(numbers * batch if for_all else numbers)
    return given, lists


HUGE = st.sampled_from([sys.maxsize, 2**63, 2**64])  # what people write for "no limit"


@given(st.data())
def test_masks_of_given_positions_agree_with_a_loop(data):
    shape = data.draw(shapes(ordered=False))
    (q, k), (of_queries, of_keys) = data.draw(rows(shape, 9))
    window, ahead = (data.draw(st.none() | st.integers(least, 5) | HUGE) for least in (1, 0))
    sinks = data.draw(st.integers(0, 3) | HUGE)
    (dq, dk), (documents_q, documents_k) = data.draw(rows(shape, 2))
    valid = [[data.draw(st.booleans()) for _ in range(shape[-1])] for _ in range(shape[0])]
    first = shape[-1] - shape[-2]  # the loop counts queries from there

    def apart(example, query, key):
        return of_keys[example][key] - of_queries[example][query - first]

    def within(*pair):
        return window is None or apart(*pair) > -window

    def near(*pair):
        return within(*pair) and (ahead is None or apart(*pair) <= ahead)

    def all_rules(example, query, key):
        return (
            apart(example, query, key) <= 0
            and (within(example, query, key) or of_keys[example][key] < sinks)
            and documents_q[example][query - first] == documents_k[example][key]
            and valid[example][key]
        )

    positions = {"query_positions": q, "key_positions": k}
    causal = causal_mask(shape, **positions)
    assert torch.equal(causal.expand(shape), by_pairs(shape, lambda *pair: apart(*pair) <= 0))
    window_of_ones_own = window_mask(shape, window, ahead, **positions)
    assert torch.equal(window_of_ones_own.expand(shape), by_pairs(shape, near))
    documents = {"query_documents": dq.long(), "key_documents": dk.long()}
    rule = {"valid": torch.tensor(valid), "window": window, "sinks": sinks} | documents
    assert torch.equal(position_mask(q, k, shape, **rule).expand(shape), by_pairs(shape, all_rules))


# Refusals

ones = torch.ones
lens = torch.tensor


@pytest.mark.parametrize(
    ("rule", "arguments", "error", "message"),
    [
        (
            window_mask,
            ((1, 3, 3), 0),
            ValueError,
            'window must be at least 1, got 0; see: recipes, "window"$',
        ),
        (window_mask, ((1, 3, 3), 1.0), TypeError, "window must be a whole number or None"),
        (window_mask, ((1, 3, 2), 1), ValueError, 'a window must have a key for .*, "window"$'),
        (window_mask, ((3, 3), 1), ValueError, "shape must be .*, got 2 axes"),
        (start_mask, ([1], (1, 1, 3)), TypeError, "starts must be a tensor of whole numbers"),
        (start_mask, (lens([4]), (1, 1, 3)), ValueError, r"starts must lie in \[0, "),
        (start_mask, (lens([1, 2]), (1, 1, 3)), ValueError, 'starts must have .*, "left padding"$'),
        (prefix_mask, (lens([1, 2]), (1, 1, 3)), ValueError, r"prefix_lens must .*, got \(2,\)$"),
        (prefix_mask, (lens([4]), (1, 1, 3)), ValueError, r"prefix_lens must lie in"),
        (prefix_mask, (lens([1]), (1, 3, 2)), ValueError, "must have a key for each"),
        (document_mask, (ones(2).bool(), (1, 2, 2)), TypeError, "documents must hold whole"),
        (document_mask, (ones(2), (1, 2, 2)), TypeError, 'whole numbers, .*, "packed documents"$'),
        (document_mask, (ones(3).long(), (1, 2, 2)), ValueError, r"must have shape .*\(3,"),
        (
            document_mask,
            (ones(2).long(), (1, 3, 2)),
            ValueError,
            'a key for .*, "packed documents"$',
        ),
        (position_mask, (lens([0]), lens([0, 1, 2]), (1, 1, 2)), ValueError, r"\(num_keys=2,\) or"),
        (
            position_mask,
            (lens([[0], [1]]), lens([0]), (1, 1, 1)),
            ValueError,
            "query_positions must",
        ),
        (
            position_mask,
            (lens([True]), lens([0]), (1, 1, 1)),
            TypeError,
            "query_positions must hold",
        ),
        (position_mask, (None, lens([0]), (1, 1, 1)), ValueError, "query_positions must be given"),
    ],
)
def test_a_mask_function_refuses_invalid_arguments(rule, arguments, error, message):
    with pytest.raises(error, match=message):
        rule(*arguments)


def test_checked_reads_starts_in_compiled_code_too():
    compiled = torch.compile(lambda starts: start_mask(starts, (1, 1, 3)), backend="eager")
    assert not compiled(torch.tensor([4])).any()
    with checked(), pytest.raises(ValueError, match="starts must lie in"):
        compiled(torch.tensor([4]))
