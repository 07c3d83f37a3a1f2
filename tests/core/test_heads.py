import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.heads import merge_heads, split_heads
from tests.cases import seeds

sizes = st.sampled_from([1, 2, 3, 5])


def test_six_numbers_become_three_heads_of_two():
    vectors = torch.tensor([[[1.0, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]])
    assert split_heads(vectors, 3).tolist() == [
        [[[1, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]]
    ]


def test_three_heads_of_two_numbers_become_six():
    heads = torch.tensor([[[[1.0, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]]])
    assert merge_heads(heads).tolist() == [[[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]]


@given(seeds, sizes, sizes, sizes, sizes)
def test_each_head_holds_its_slice_of_every_vector(seed, batch, positions, num_heads, head_size):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(batch, positions, num_heads * head_size, generator=generator)
    heads = split_heads(vectors, num_heads)
    assert heads.shape == (batch, num_heads, positions, head_size)
    for head in range(num_heads):
        mine = vectors[:, :, head * head_size : (head + 1) * head_size]
        assert torch.equal(heads[:, head], mine)
    assert torch.equal(merge_heads(heads), vectors)


@pytest.mark.parametrize(("batch", "positions"), [(0, 3), (2, 0)])
def test_empty_axes_go_there_and_back(batch, positions):
    vectors = torch.ones(batch, positions, 10)
    heads = split_heads(vectors, 2)
    assert heads.shape == (batch, 2, positions, 5)
    assert merge_heads(heads).shape == vectors.shape


def test_vectors_need_not_be_contiguous():
    vectors = torch.randn(2, 10, 3).transpose(1, 2)
    assert torch.equal(merge_heads(split_heads(vectors, 5)), vectors)


@pytest.mark.parametrize("shape", [(3, 10), (2, 1, 3, 10), ()])
def test_vectors_of_other_axes_are_refused(shape):
    with pytest.raises(ValueError, match=r"vectors must have shape \(batch, .*, got \("):
        split_heads(torch.ones(shape), 2)


@pytest.mark.parametrize("shape", [(2, 3, 10), (2, 1, 1, 3, 10), ()])
def test_heads_of_other_axes_are_refused(shape):
    with pytest.raises(ValueError, match=r"heads must have shape \(batch, num_heads, .*, got \("):
        merge_heads(torch.ones(shape))


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="vectors must be a tensor, got list"):
        split_heads([[1.0]], 1)
    with pytest.raises(TypeError, match="heads must be a tensor, got float"):
        merge_heads(1.0)


@pytest.mark.parametrize("num_heads", [3, 4, 20])
def test_heads_that_do_not_divide_the_width_are_refused(num_heads):
    rule = rf"num_hiddens must be a multiple of num_heads={num_heads}, .*, got 10"
    with pytest.raises(ValueError, match=rule):
        split_heads(torch.ones(2, 3, 10), num_heads)


@pytest.mark.parametrize(
    ("wrong", "error"), [(0, ValueError), (-2, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_a_number_of_heads_that_is_none_is_refused(wrong, error):
    with pytest.raises(error, match="num_heads must be"):
        split_heads(torch.ones(2, 3, 10), wrong)
