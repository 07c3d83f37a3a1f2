import math
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import causal_mask, checked, length_mask
from attnbook.masking.masks import last_visible
from attnbook.reading import _check_everywhere
from tests.cases import are_unchanged, copy_with_versions

SHAPE = (2, 3, 7)


@pytest.fixture
def compiled_mask():
    torch.compiler.reset()
    yield torch.compile(length_mask, fullgraph=True, backend="eager")
    torch.compiler.reset()


# Who sees what


@given(st.lists(st.integers(0, 7), min_size=2, max_size=2))
def test_the_length_is_the_number_of_visible_keys(lengths):
    mask = length_mask(torch.tensor(lengths), SHAPE)
    assert mask.sum(-1).flatten().tolist() == lengths
    # What is visible comes first.
    assert torch.equal(mask, mask.sort(dim=-1, descending=True, stable=True).values)


@pytest.mark.parametrize(
    ("lengths", "shape", "expected"),
    [
        ((2,), (2, 3, 7), (2, 1, 7)),
        ((2, 3), (2, 3, 7), (2, 3, 7)),
        ((2,), (2, 5, 3, 7), (2, 1, 1, 7)),
        ((2, 3), (2, 5, 3, 7), (2, 1, 3, 7)),
        ((0,), (0, 3, 7), (0, 1, 7)),
        ((2, 0), (2, 0, 7), (2, 0, 7)),
        ((2,), (2, 3, 0), (2, 1, 0)),
    ],
)
def test_the_mask_is_no_larger_than_it_must_be(lengths, shape, expected):
    mask = length_mask(torch.zeros(lengths, dtype=torch.long), shape)
    assert mask.shape == expected
    assert mask.dtype == torch.bool


def test_in_a_causal_mask_the_last_query_is_at_the_last_key():
    assert causal_mask((1, 2, 3)).int().tolist() == [[[1, 1, 0], [1, 1, 1]]]
    assert torch.equal(causal_mask((5, 3, 3))[0], torch.ones(3, 3, dtype=torch.bool).tril())
    assert causal_mask((2, 1, 7)).all()


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=5))
def test_last_visible_counts_up_to_the_last_visible_key_of_a_row(rows):
    expected = [max((key + 1 for key, seen in enumerate(row) if seen), default=0) for row in rows]
    assert last_visible(torch.tensor(rows)).tolist() == expected
    assert last_visible(torch.ones(2, 3, 0, dtype=torch.bool)).tolist() == [[0] * 3] * 2


# Types of lengths

WHOLE_NUMBER_DTYPES = [
    *(torch.int64, torch.int32, torch.int16, torch.int8),
    *(torch.uint8, torch.uint16, torch.uint32),
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
]


@pytest.mark.parametrize("dtype", WHOLE_NUMBER_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2,), (2, 3)])
def test_lengths_of_every_numeric_dtype_mean_the_same(dtype, shape):
    lengths = torch.arange(math.prod(shape)).reshape(shape)
    given = lengths.to(dtype)
    before = copy_with_versions([given])
    assert torch.equal(length_mask(given, SHAPE), length_mask(lengths, SHAPE))
    assert are_unchanged([given], before)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("length", [254, 256, 258, 512])
def test_half_precision_does_not_round_positions(dtype, length):
    mask = length_mask(torch.tensor([length], dtype=dtype), (1, 1, 521))
    assert mask.sum() == length


# Refusals of numbers


@pytest.mark.parametrize("wrong", [-1, 8, 2**40, math.nan, -math.inf, 7.5])
@pytest.mark.parametrize("index", [(1,), (1, 2)])
def test_a_length_outside_the_keys_is_refused_and_the_first_is_named(wrong, index):
    dtype = torch.float64 if isinstance(wrong, float) else torch.int64
    lengths = torch.full(SHAPE[: len(index)], 7, dtype=dtype)  # just right
    lengths[index] = wrong
    with pytest.raises(ValueError, match="valid_lens must") as caught:
        length_mask(lengths, SHAPE)
    message = f"valid_lens must lie in [0, num_keys=7], got {wrong} at index {index}; "
    message += 'see: recipes, "pad a batch"'
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("lengths", "num_keys", "message"),
    [
        # 259 in bfloat16 is 260, so that a comparison there would find nothing wrong.
        (torch.tensor([260.0]).bfloat16(), 259, r"num_keys=259\], got 260.0 at index \(0,\)"),
        # int8 cannot hold num_keys.
        (torch.tensor([50, -1], dtype=torch.int8), 300, r"got -1 at index \(1,\)"),
        (torch.tensor([2.0, 2.5]), 7, r"valid_lens must be whole numbers, got 2.5 at index \(1,"),
        (torch.tensor([3] * 70 + [8]), 7, r"num_keys=7\], got 8 at index \(70,\)"),
    ],
)
def test_no_rounding_hides_a_wrong_length(lengths, num_keys, message):
    with pytest.raises(ValueError, match=message):
        length_mask(lengths, (len(lengths), 1, num_keys))


# Refusals of shapes


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 7), (2, 3, 1)])
@pytest.mark.parametrize("scores", [(2, 3, 7), (2, 5, 3, 7)])
def test_lengths_of_another_shape_are_refused(shape, scores):
    with pytest.raises(ValueError, match="valid_lens must have shape") as caught:
        length_mask(torch.ones(shape, dtype=torch.long), scores)
    assert str(caught.value) == (
        f"valid_lens must have shape (batch=2,) or (batch=2, num_queries=3), got {shape}; "
        'see: recipes, "pad a batch"'
    )


@pytest.mark.parametrize("shape", [(), (2,), (2, 7), (2, 1, 1, 3, 7)])
def test_a_shape_without_3_or_4_axes_is_refused(shape):
    rule = r"shape must be \(batch, \[heads,\] num_queries, num_keys\), got \d axes"
    for make_mask in (lambda: length_mask(torch.tensor([2, 3]), shape), lambda: causal_mask(shape)):
        with pytest.raises(ValueError, match=rule):
            make_mask()


@pytest.mark.parametrize("shape", [(1, 3, 2), (1, 5, 1, 0)])
def test_more_queries_than_keys_are_refused_in_order(shape):
    rule = rf"causal must have a key .* num_queries={shape[-2]} and num_keys={shape[-1]}"
    with pytest.raises(ValueError, match=rule):
        causal_mask(shape)


# When lengths are read


def test_unread_lengths_follow_position_below_length(compiled_mask):
    lengths = torch.tensor([99.0, -3.0, math.nan, math.inf, -math.inf, 2.0])
    mask = compiled_mask(lengths, (6, 1, 5))
    assert mask.sum(-1).flatten().tolist() == [5, 0, 0, 5, 0, 2]


def refuses(function):
    try:
        function(torch.tensor([99]), (1, 1, 5))
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("wrong", [-1.0, 8.0, 2.5, math.nan])
def test_checked_reads_lengths_in_a_compiled_function(compiled_mask, wrong):
    lengths = torch.tensor([1.0, wrong])
    compiled_mask(lengths, SHAPE)
    with checked(), pytest.raises(ValueError, match=r"valid_lens must .* at index \(1,\)"):
        compiled_mask(lengths, SHAPE)
    compiled_mask(lengths, SHAPE)


def test_checked_blocks_nest(compiled_mask):
    with checked():
        with checked():
            assert refuses(compiled_mask)
        assert refuses(compiled_mask)
    assert not refuses(compiled_mask)


def test_checked_in_one_thread_is_not_seen_by_another():
    outcome = []
    with checked():
        # What decides on a GPU, read here so that no GPU is needed.
        thread = threading.Thread(target=lambda: outcome.append(_check_everywhere.get()))
        thread.start()
        thread.join()
        assert _check_everywhere.get()
    assert outcome == [False]
