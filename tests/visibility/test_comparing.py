"""`compare`: what is reported of a map, and which mistake explains it."""

import pytest
import torch

from attnbook import causal_mask, window_mask
from attnbook.masking.interop import MaskRules
from attnbook.masking.mistakes import common_mistakes
from attnbook.visibility import compare

RULES = {
    "causal": MaskRules(8, 8, causal="last"),
    "window": MaskRules(8, 8, causal="last", window=3),
    "padding": MaskRules(8, 8, valid_len=6),
    "documents": MaskRules(8, 8, causal="last", documents=(0, 0, 0, 1, 1, 1, 1, 1)),
}
NAMED = ("transposed", "next_key", "window_too_large", "nothing_hidden", "documents_missing")
NAMED += ("own_key_hidden", "inverted", "left_padding")


def product(*masks):
    seen = itself = torch.eye(len(masks[0]))
    for mask in masks:
        seen = (mask.float() + itself) @ seen
    return seen > 0


@pytest.mark.parametrize("name", RULES)
def test_a_mistake_of_one_attention_is_named(name):
    rules = RULES[name]
    mistakes = common_mistakes(rules)
    for mistake in mistakes:
        found = compare(mistake.mask, rules)
        own = mistake.mask & torch.eye(8).bool()
        alike = {it.name for it in mistakes if torch.equal(it.mask | own, mistake.mask)}
        assert found.first is None or {it.name for it in found.mistakes} == alike
        assert found.first is None or mistake.message in str(found)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_mistake_of_one_layer_or_of_all_is_named(name, at):
    rules = RULES[name]
    right = rules.visible()
    for mistake in common_mistakes(rules):
        if mistake.name in NAMED:
            wrong = [mistake.mask, right], [right, mistake.mask], [mistake.mask] * 2
            seen = product(*wrong[at])
            found = compare(seen, [rules, rules])
            assert (found.first is None) == torch.equal(seen, product(right, right))
            names = {it.name for it in found.mistakes}
            of_all = any(len(it.layers) == 2 for it in found.mistakes)  # explains more
            assert found.first is None or mistake.name in names or (of_all and at < 2)
            if at == 2 and len(names) == 1:
                assert found.mistakes[0].message in str(found)


def test_the_layer_of_a_mistake_is_named_if_it_could_be_no_other():
    rules, padded = MaskRules(6, 6, causal="last", window=2), MaskRules(6, 6, valid_len=4)
    mask = {it.name: it.mask for it in common_mistakes(rules)}["window_too_large"]
    found = compare(product(rules.visible(), mask), [rules, rules])
    assert {it.layers for it in found.mistakes} == {(0,), (1,)}
    longer = {it.name: it.mask for it in common_mistakes(padded)}["length_too_large"]
    one = compare(product(rules.visible(), longer), [rules, padded])
    assert ", made in layer 1: One key too many is visible: a length of 4 ends" in str(one)
    assert str(found) == (
        f"{found.past_seen} pairs of the past are seen that should not be.\n"
        "The first such pair: the output at position 3, and the input at position 0.\n"
        "A common mistake gives exactly this map: One key too many: "
        "`window=2` counts the query’s own key and 1 before it."
    )


def test_the_kinds_of_pairs_are_counted():
    rules = MaskRules(4, 4, valid_len=3, causal="last")
    found = compare(torch.ones(4, 4).bool(), rules)
    counts = found.future_seen, found.padding_seen, found.past_seen, found.not_seen
    assert counts == (3, 3, 0, 0)  # the output at the padding sees its own input by its query
    assert found.first == (0, 1)
    found = compare(torch.eye(4).bool(), RULES["causal"].visible()[:4, :4])
    assert (found.not_seen, found.first) == (6, (1, 0))
    assert "6 pairs are not seen that should be." in str(found)


def test_what_outputs_at_padding_see_does_not_count():
    rules = MaskRules(6, 6, causal="last", start=2)
    seen = rules.visible()
    seen[0] = True  # a finite fill shows all keys to a query without one
    assert compare(seen, [rules, rules]).first is None
    seen[3, 0] = True
    assert compare(seen, [rules, rules]).padding_seen == 1


def test_a_map_of_no_mistake_is_reported_as_such():
    seen = causal_mask((1, 8, 8))[0].clone()
    seen[2, 5] = True
    found = compare(seen, RULES["causal"])
    assert (found.future_seen, found.mistakes) == (1, ())
    assert "No common mistake gives this map." in str(found)


def test_a_sound_model_with_windows_is_not_accused():
    window = RULES["window"]
    reach = window_mask((1, 8, 8), 5)[0]
    assert str(compare(reach, [window, window])) == "As expected: the map is that of the rule."
    assert compare(reach, window).past_seen == (8 - 3) + (8 - 4)


@pytest.mark.parametrize(
    ("pairs", "rule", "problem"),
    [
        ([[True]], RULES["causal"], "pairs must be a square of booleans"),
        (torch.ones(2, 3).bool(), RULES["causal"], "pairs must be a square of booleans"),
        (torch.ones(8, 8).bool(), torch.ones(8, 8), "rule must be MaskRules or a mask"),
        (torch.ones(8, 8).bool(), MaskRules(6, 8), "rule must be MaskRules or a mask"),
        (torch.ones(8, 8).bool(), [], "rule must be MaskRules or a mask"),
        (torch.ones(8, 8).bool(), "causal", "rule must be MaskRules or a mask"),
    ],
)
def test_wrong_arguments_are_refused(pairs, rule, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        compare(pairs, rule)
