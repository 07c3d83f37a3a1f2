"""Wrong answers that once passed, because no case was unusual enough."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
import torch
from torch.nn.functional import softmax

from attnbook.practice import check
from attnbook.practice.registry import find_task


def weigh(scores, lens, highest):
    """Powers over their sum, relative to the number that `highest` gives."""
    low = torch.finfo(scores.dtype).min
    hidden = torch.zeros_like(scores, dtype=torch.bool)
    if lens is not None:
        lens = lens.reshape(len(lens), *[1] * (scores.dim() - 3), -1, 1)
        hidden = torch.arange(scores.shape[-1]) >= lens
    filled = scores.masked_fill(hidden, low)
    powers = (filled - highest(filled)).masked_fill(hidden, low).exp().masked_fill(hidden, 0)
    total = powers.sum(-1, keepdim=True).masked_fill(hidden.all(-1, keepdim=True), 1)
    return (powers / total).masked_fill(hidden, 0)


def smoothed(pick):
    """Kernel regression that subtracts one score of each row."""

    def kernel_pool(queries, keys, values, width):
        scores = -(queries[:, :, None] - keys[:, None]).square().sum(-1) / (2 * width**2)
        powers = (scores - pick(scores)).exp()
        return powers @ values / powers.sum(-1, keepdim=True)

    return kernel_pool


def by_cdist(queries, keys, values, width):
    return softmax(-(torch.cdist(queries, keys) ** 2) / (2 * width**2), dim=-1) @ values


def loss_from_0(scores, targets, valid_lens):
    highest = scores.amax(-1, keepdim=True).clamp(min=0)
    logs = scores - highest - (scores - highest).exp().sum(-1, keepdim=True).log()
    real = torch.arange(targets.shape[1]) < valid_lens[:, None]
    right = logs.gather(-1, targets[..., None])[..., 0]
    return -torch.where(real, right, 0).sum() / real.sum()


def lengths_by_head(scores, valid_lens=None):
    if valid_lens is not None and scores.shape[1:-1] == (valid_lens.shape[-1],) * 2:
        valid_lens = valid_lens[:, :, None].expand(-1, -1, scores.shape[2])  # of each head
        visible = torch.arange(scores.shape[-1]) < valid_lens[..., None]
        filled = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        return filled.softmax(-1).masked_fill(~visible, 0)
    return find_task("masked-softmax").reference(scores, valid_lens)


def mask_in_half_precision(valid_lens, num_keys):
    lens = valid_lens[:, None] if valid_lens.dim() == 1 else valid_lens
    return torch.arange(num_keys).half() < lens[..., None].half()


def at_most_64_keys(scores):
    return torch.cat([scores[..., :64].softmax(-1), torch.zeros_like(scores[..., 64:])], -1)


def one_pass_norm(numbers, eps):
    mean = sum(numbers) / len(numbers)
    variance = sum(x * x for x in numbers) / len(numbers) - mean * mean
    return [(x - mean) / math.sqrt(max(variance, 0) + eps) for x in numbers]


def compare_by_is(query, key, num_queries, num_keys, documents):
    own = query + num_keys - num_queries
    return key <= own and documents[key] is documents[own]


def compare_as_int(query, key, num_queries, num_keys, documents):
    own = query + num_keys - num_queries
    return key <= own and int(documents[key]) == int(documents[own])


def document_of_the_token_before(query, key, num_queries, num_keys, documents):
    own = query + num_keys - num_queries
    known = documents[own - 1] if own else documents[own]
    return key <= own and documents[key] == known


WRONG = {
    "the first score is subtracted": ("kernel-pool", smoothed(lambda it: it[..., :1])),
    "the last score is subtracted": ("kernel-pool", smoothed(lambda it: it[..., -1:])),
    "the mean is subtracted": ("kernel-pool", smoothed(lambda it: it.mean(-1, keepdim=True))),
    "the smallest is subtracted": ("kernel-pool", smoothed(lambda it: it.amin(-1, keepdim=True))),
    "distances by a matrix product": ("kernel-pool", by_cdist),
    "the first of the scores is subtracted": (
        "masked-softmax",
        lambda scores, lens=None: weigh(scores, lens, lambda it: it[..., :1]),
    ),
    "the highest of an example is subtracted": (
        "masked-softmax",
        lambda scores, lens=None: weigh(scores, lens, lambda it: it.amax((-1, -2), keepdim=True)),
    ),
    "a length for each head": ("masked-softmax", lengths_by_head),
    "positions in half precision": ("length-mask", mask_in_half_precision),
    "the search for the highest score begins at 0": ("masked-loss", loss_from_0),
    "64 keys": ("softmax", at_most_64_keys),
    "a variance in one pass": ("layer-norm-by-hand", one_pass_norm),
    "names compared by `is`": ("packed-rule-by-hand", compare_by_is),
    "names converted to integers": ("packed-rule-by-hand", compare_as_int),
    "the document of the token before": ("packed-rule-by-hand", document_of_the_token_before),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_that_once_passed_is_refused(fault):
    task, function = WRONG[fault]
    assert not check(task, function)


def test_the_first_check_imports_no_compiler():
    program = (
        "import sys, torch\nfrom attnbook.practice import check\n"
        "print(check('softmax', lambda scores: scores.softmax(-1)), 'torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().endswith("False\n")
