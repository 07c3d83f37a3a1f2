"""Common mistakes with masks: what they are called, and the masks that they make."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures.mask.rule_parser import evaluate_rule
from attnbook.masking import mistakes
from attnbook.masking.interop import MaskRules
from attnbook.masking.mistakes import common_mistakes
from tests.masking.mask_rules import EVERY

LAST = MaskRules(6, 6, causal="last")
FEWER = MaskRules(2, 6, causal="last")
WINDOW = MaskRules(6, 6, causal="last", window=3)
SIDES = MaskRules(6, 6, window=3, ahead=1)
LEFT = MaskRules(6, 6, start=2)
RIGHT = MaskRules(6, 6, valid_len=4)
PACKED = MaskRules(6, 6, causal="last", documents=(0, 0, 0, 1, 1, 1))
PREFIX = MaskRules(6, 6, prefix=3)
MADE = [  # the right rules, a wrong rule in Python, and the mistake
    (WINDOW, "(q >= k) & (q - k <= 3)", "window_too_large"),
    (WINDOW, "(q >= k) & (q - k < 2)", "window_too_small"),
    (WINDOW, "abs(q - k) < 3", "both_sides"),
    (WINDOW, "-1 <= q - k < 3", "next_key"),
    (WINDOW, "(q < k) | (q - k > 2)", "inverted"),
    (WINDOW, "0 < q - k < 3", "own_key_hidden"),
    (WINDOW, "k - q < 3 and k >= q", "transposed"),
    (WINDOW, "q >= k", "rule_missing"),
    (WINDOW, "q - k < 3", "rule_missing"),
    (WINDOW, "q >= k or q - k < 3", "nothing_hidden"),
    (WINDOW, "q * k % 3 == 1", None),
    (SIDES, "-2 <= q - k < 3", "ahead_too_large"),
    (SIDES, "0 <= q - k < 3", "ahead_too_small"),
    (LAST, "q > k", "own_key_hidden"),
    (LAST, "q < k", "inverted"),
    (LAST, "q >= k - 1", "next_key"),
    (LAST, "q <= k", "transposed"),
    (FEWER, "q - 4 >= k", "causal_from_first"),
    (MaskRules(2, 6, window=2, ahead=0), "0 <= q - 4 - k < 2", "counted_from_first"),
    (LEFT, "k < 4", "right_padding"),
    (LEFT, "k < 2", "start_is_length"),
    (LEFT, "k > 2", "start_too_large"),
    (LEFT, "k >= 1", "start_too_small"),
    (RIGHT, "k >= 2", "left_padding"),
    (RIGHT, "k <= 4", "length_too_large"),
    (RIGHT, "k < 3", "length_too_small"),
    (PACKED, "q >= k", "documents_missing"),
    (PACKED, "documents[q] == documents[k]", "rule_missing"),
    (PACKED, "q >= k or documents[q] == documents[k]", "joined_by_or"),
    (PACKED, "q >= k and (q < 4) == (k < 4)", "documents_late"),
    (PACKED, "q >= k and (q < 2) == (k < 2)", "documents_early"),
    (PREFIX, "q >= k", "causal_prefix"),
    (PREFIX, "q >= k or k <= 3", "prefix_too_long"),
    (PREFIX, "q >= k or k < 2", "prefix_too_short"),
    (MaskRules(6, 6, causal="last", valid_len=4), "q >= k", "rule_missing"),
    (MaskRules(3, 6, causal="first"), "q >= k", "causal_from_last"),
]


@pytest.mark.parametrize(("rules", "text", "name"), MADE)
def test_a_mistake_has_a_name(rules, text, name):
    sizes = {"num_queries": rules.num_queries, "num_keys": rules.num_keys}
    rows, error = evaluate_rule(text, {**sizes, "documents": rules.documents})
    assert not error
    fitting = [each.name for each in common_mistakes(rules) if each.mask.tolist() == rows]
    assert fitting[:1] == ([name] if name else [])


def test_every_mistake_is_tried_here():
    assert {name for *_, name in MADE} == {None} | {
        each.name for rules in EVERY for each in common_mistakes(rules)
    }


def test_each_differs_from_the_right_mask_and_shows_a_pair():
    for rules in EVERY:
        right, found = rules.visible(), common_mistakes(rules)
        for each in found:
            assert each.mask.shape == right.shape
            assert each.mask.dtype == torch.bool
            assert each.mask.any()
            assert not torch.equal(each.mask, right)
        assert right.all() or found


def test_equivalent_rules_have_the_same_mistakes():
    pairs = [
        (WINDOW, MaskRules(6, 6, window=3, ahead=0)),
        (LAST, MaskRules(6, 6, causal="first")),
        (LAST, MaskRules(6, 6, ahead=0)),
        (LAST, MaskRules(6, 6, prefix=0)),
        (LAST, MaskRules(6, 6, causal="last", ahead=2, valid_len=6, start=0, documents=(7,) * 6)),
    ]
    for one, other in pairs:
        assert str(common_mistakes(one)) == str(common_mistakes(other))


def test_a_mask_without_rules_has_the_mistakes_of_any_mask():
    names = [each.name for each in common_mistakes(LAST.visible())]
    assert names == ["next_key", "inverted", "own_key_hidden", "transposed", "nothing_hidden"]
    assert [each.name for each in common_mistakes(torch.ones(2, 3, dtype=torch.bool))] == [
        "own_key_hidden"
    ]


@pytest.mark.parametrize(
    ("wanted", "error", "sentence"),
    [
        (torch.ones(2, 3), TypeError, "wanted must be MaskRules or a mask of booleans"),
        ([[True]], TypeError, "wanted must be MaskRules or a mask of booleans"),
        (torch.ones(1, 2, 3).bool(), ValueError, r"num_keys\), got \(1, 2, 3\)"),
    ],
)
def test_what_is_no_mask_is_refused(wanted, error, sentence):
    with pytest.raises(error, match=sentence):
        common_mistakes(wanted)


def test_mistakes_with_a_batch_of_masks():
    lengths = torch.tensor([1, 3])
    mask = (torch.arange(4) < lengths[:, None, None]).expand(2, 2, 4)
    more, fewer = mistakes.one_key_too_many(mask), mistakes.one_key_too_few(mask)
    assert more[:, 0].sum(dim=-1).tolist() == [2, 4]
    assert fewer[:, 0].sum(dim=-1).tolist() == [0, 2]
    assert mistakes.first_example_for_all(mask).sum(dim=-1).tolist() == [[1, 1], [1, 1]]
    causal = torch.ones(1, 3, 3, dtype=torch.bool).tril()
    assert mistakes.first_query_for_all(causal).sum(dim=-1).tolist() == [[1, 1, 1]]
    assert mistakes.transposed(causal).sum(dim=-1).tolist() == [[3, 2, 1]]
