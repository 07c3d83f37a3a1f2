import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.heads import merge_heads, split_heads
from tests.cases import seeds

VECTORS = torch.tensor([[[1.0, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]])
HEADS = torch.tensor([[[[1.0, 2], [7, 8]], [[3, 4], [9, 10]], [[5, 6], [11, 12]]]])
sizes = st.sampled_from([1, 2, 3, 5])


def test_six_numbers_become_three_heads_of_two_and_these_six_again():
    assert torch.equal(split_heads(VECTORS, 3), HEADS)
    assert torch.equal(merge_heads(HEADS), VECTORS)


@given(seeds, sizes, sizes, sizes, sizes)
def test_each_head_is_its_slice_of_every_vector(seed, batch, positions, num_heads, head_size):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(batch, num_heads * head_size, positions, generator=generator)
    vectors = vectors.transpose(1, 2)  # need not be contiguous
    heads = split_heads(vectors, num_heads)
    assert heads.shape == (batch, num_heads, positions, head_size)
    for head in range(num_heads):
        mine = vectors[:, :, head * head_size : (head + 1) * head_size]
        assert torch.equal(heads[:, head], mine)
    assert torch.equal(merge_heads(heads), vectors)


@pytest.mark.parametrize("num_heads", [4, 20])
def test_heads_that_do_not_divide_the_width_are_refused(num_heads):
    rule = rf"num_hiddens must be a multiple of num_heads={num_heads}, .*, got 6"
    with pytest.raises(ValueError, match=rule):
        split_heads(VECTORS, num_heads)
