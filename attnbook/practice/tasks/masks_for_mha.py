"""Masks as `nn.MultiheadAttention` takes them: inverted, and one for each head."""

import math

import torch
from torch import Tensor, nn

import attnbook
from attnbook.practice import mistakes
from attnbook.practice.example_inputs import lengths, normal
from attnbook.practice.task import Function, Task

Two = tuple[Tensor, Tensor]

task = Task(
    name="masks-for-mha",
    statement=(
        "`nn.MultiheadAttention` takes two masks, and in both of them True *hides*: `attn_mask`, "
        "for each query and key, and `key_padding_mask`, for each key. Write `masks_for_mha(mask, "
        "valid_lens, num_heads)`. `mask` is boolean, (batch, num_queries, num_keys), True = "
        "visible; `valid_lens`, (batch,), is the number of keys of each example, from the first, "
        "that are not padding. Return `(attn_mask, key_padding_mask)`, both boolean, True = "
        "hidden. `attn_mask`, (batch * num_heads, num_queries, num_keys), means the same as "
        "`mask`: all heads of the first example come first, then those of the second, and so on. "
        "`key_padding_mask`, (batch, num_keys), means the same as `valid_lens`. Neither mask "
        "repeats the other, and a row that hides all keys stays so."
    ),
    starter="def masks_for_mha(mask, valid_lens, num_heads):\n    ...",
    outputs=("attn_mask", "key_padding_mask"),
)


def _some(*shape: int) -> Tensor:
    return normal(*shape) > 0


task.case("two examples and three heads")(lambda: (_some(2, 5, 7), lengths(4, 6), 3))
task.case("as many queries as keys")(
    lambda: (torch.ones(2, 5, 5, dtype=torch.bool).tril(), lengths(2, 3), 3)
)
task.case("as many heads as examples")(lambda: (_some(3, 2, 5), lengths(1, 3, 4), 3))
task.case("one head")(lambda: (_some(2, 3, 5), lengths(3, 1), 1))
task.case("one example")(lambda: (_some(1, 3, 5), lengths(3), 2))
task.case("a length of all keys, and one of 0")(lambda: (_some(2, 3, 5), lengths(5, 0), 2))
task.case("a mask that is a view of another tensor")(
    lambda: (_some(5, 3, 2).transpose(0, 2), lengths(1, 4), 3)
)
task.case("2 examples of 2 queries, 257 keys, 9 heads")(
    lambda: (_some(2, 2, 257), lengths(257, 130), 9)
)


@task.solution(
    "`mask` and the book's length mask are inverted; each example's mask is repeated for each head."
)
def turned_round(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    real = attnbook.length_mask(valid_lens, (len(mask), 1, mask.shape[2]))[:, 0]
    return ~mask.repeat_interleave(num_heads, dim=0), ~real


@task.solution("flattening (examples, heads) into one axis keeps an example's heads together.")
def through_an_axis_for_heads(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    heads = mask.unsqueeze(1).expand(-1, num_heads, -1, -1)
    padding = torch.arange(mask.shape[-1]) >= valid_lens.unsqueeze(1)
    return heads.logical_not().flatten(0, 1), padding


@task.solution("it lists the masks in order: example by example, and all heads of each.")
def one_after_the_other(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    hidden, padding = [], torch.ones(len(mask), mask.shape[2], dtype=torch.bool)
    for example, length in enumerate(valid_lens.tolist()):
        hidden += [mask[example] == False] * num_heads  # noqa: E712 - of tensors
        padding[example, :length] = False
    return torch.stack(hidden), padding


@task.solution("mask number i of the result belongs to example i // num_heads.")
def heads_that_look_up_their_example(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    examples = torch.arange(len(mask) * num_heads) // num_heads
    beyond = torch.arange(1, mask.shape[2] + 1) > valid_lens[:, None]
    return torch.logical_xor(mask[examples], torch.tensor(True)), beyond


@task.test
def test_multihead_attention_weighs_what_is_visible_and_nothing_else(written: Function) -> None:
    torch.manual_seed(3)
    mask = torch.tensor([[[1, 0, 1, 1], [1, 1, 0, 0]], [[0, 1, 1, 0], [1, 0, 0, 1]]]).bool()
    attn_mask, key_padding_mask = written(mask, lengths(3, 4), 3)
    layer = nn.MultiheadAttention(6, 3, batch_first=True)
    queries, keys = normal(2, 2, 6), normal(2, 4, 6)
    masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
    _, weights = layer(queries, keys, keys, average_attn_weights=False, **masks)
    visible = mask & torch.tensor([[True, True, True, False], [True] * 4])[:, None]
    assert torch.equal(weights > 0, visible[:, None].expand(-1, 3, -1, -1))


@task.test
def test_heads_of_one_example_are_next_to_each_other(masks_for_mha: Function) -> None:
    mask = torch.tensor([[[True, False]], [[False, True]]])
    attn_mask, _ = masks_for_mha(mask, lengths(2, 2), 2)
    assert attn_mask[:, 0, 0].tolist() == [False, False, True, True]


def _hidden(mask: Tensor, num_heads: int) -> Tensor:
    return ~mask.repeat_interleave(num_heads, dim=0)


def _padding(mask: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(mask.shape[-1]) >= valid_lens[:, None]


@task.bug(
    symptom="The layer attends to padding and to the future, and to nothing else.",
    origin="`nn.MultiheadAttention` against SDPA, LLMs-from-scratch#1061",
    fix="invert both with `~`: here True hides.",
)
def true_means_visible(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`True` marks visible keys in both masks, but here it must mark hidden ones."""
    return ~_hidden(mask, num_heads), ~_padding(mask, valid_lens)


@task.bug(
    symptom="The model attends to padding only.",
    origin="Stack Overflow 62170439; a tokenizer's `attention_mask` has the other meaning",
    fix="let True mark padding: positions `>=` lengths.",
)
def key_padding_mask_not_turned_round(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`key_padding_mask` is True for real keys, as a tokenizer gives it; the other one is right."""
    return _hidden(mask, num_heads), ~_padding(mask, valid_lens)


@task.bug(
    symptom="A batch of one is right; in larger ones examples get each other's masks.",
    origin="a common mistake, by `repeat(num_heads, 1, 1)`",
    fix="use `repeat_interleave`: all heads of the first example come first.",
)
def heads_before_examples(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """masks are repeated in the order a, b, a, b, but the order of the heads is a, a, b, b."""
    return ~mask.repeat(num_heads, 1, 1), _padding(mask, valid_lens)


@task.bug(
    symptom="RuntimeError: the shape of the 3D attn_mask should be (batch * num_heads, …).",
    origin="Stack Overflow 62170439",
    fix="repeat each example's mask once for each head: `repeat_interleave(num_heads, dim=0)`.",
)
def one_mask_for_each_example(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` has one mask for each example, and heads are left out."""
    del num_heads
    return ~mask, _padding(mask, valid_lens)


@task.bug(
    symptom="A little attention always goes to the first key of padding.",
    fix="positions count from 0: the key at the length is padding, so compare with `>=`.",
)
def one_key_of_padding_seen(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the first key of padding is not hidden, as positions are compared with `>`."""
    return _hidden(mask, num_heads), _padding(mask, valid_lens + 1)


@task.bug(
    symptom="The last word of each sentence is never attended to.",
    fix="positions count from 0: the last real key is at the length minus 1.",
)
def one_real_key_hidden(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the last real key is hidden, as if it were padding."""
    return _hidden(mask, num_heads), _padding(mask, valid_lens - 1)


@task.bug(
    symptom="Short sentences lose their words, and their padding is read.",
    origin="tokenizers that pad on the left, for some models",
    fix="hide the last keys: these sentences are padded at their end.",
)
def padding_taken_to_be_on_the_left(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """the first keys are hidden, as if padding were on the left."""
    num_keys = mask.shape[-1]
    return _hidden(mask, num_heads), torch.arange(num_keys) < num_keys - valid_lens[:, None]


@task.bug(
    symptom="Nothing is hidden: scores of hidden keys rise by 1.",
    origin="float masks of 0 and 1 handed where they are added",
    fix="keep `attn_mask` boolean: numbers in it are added to the scores.",
)
def ones_and_zeros(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` holds 1.0 and 0.0, which are added to the scores and hide nothing."""
    return _hidden(mask, num_heads).float(), _padding(mask, valid_lens)


@task.bug(
    symptom="PyTorch warns that mismatched `key_padding_mask` and `attn_mask` are deprecated.",
    origin="`generate_square_subsequent_mask` next to a boolean `key_padding_mask`",
    fix="make both boolean, True where hidden.",
)
def numbers_to_be_added(mask: Tensor, valid_lens: Tensor, num_heads: int) -> Two:
    """`attn_mask` holds 0 and -inf, to be added, but `key_padding_mask` is boolean."""
    hidden = _hidden(mask, num_heads)
    return torch.zeros(hidden.shape).masked_fill(hidden, -math.inf), _padding(mask, valid_lens)


task.inherit(
    lambda **steps: (
        lambda mask, valid_lens, num_heads: (
            _hidden(steps["mask"](mask), num_heads),
            _padding(mask, valid_lens),
        )
    ),
    mistakes.masking,
)
