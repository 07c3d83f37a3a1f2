"""Lines that repeat, and grades of heads against loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.models.transformer.checkpoints import book_decoder
from attnbook.models.transformer.grading import (
    ablate_heads,
    accuracy,
    chance,
    induction_score,
    previous_score,
    score_heads,
)
from attnbook.models.transformer.removal import without_heads
from attnbook.models.transformer.repeats import SYMBOLS, Repeat, make_repeats


@given(
    st.integers(1, 60),
    st.tuples(st.integers(1, 16), st.integers(1, 16)).map(sorted).map(tuple),
    st.integers(0, 99),
)
def test_a_line_is_a_random_beginning_and_then_a_repeated_phrase(length, periods, seed):
    for text, start, period in make_repeats(5, length, periods, seed):
        assert len(text) == length
        assert set(text) <= set(SYMBOLS)
        assert periods[0] <= period <= periods[1]
        phrase = text[start : start + period]
        assert len(set(phrase)) == len(phrase)
        assert all(text[i] == text[i - period] for i in range(start + period, length))
        assert start + 2 * period <= length or start == 0


def test_copied_positions_begin_after_the_first_copied_symbol():
    # x y | a b c a b c a: the second a cannot be predicted, as the phrase has no known length
    line = Repeat("xyabcabca", start=2, period=3)
    assert [line.text[i] for i in line.copied] == ["b", "c", "a"]


def test_the_seed_determines_the_lines():
    assert make_repeats(9, seed=1) == make_repeats(20, seed=1)[:9]
    assert make_repeats(9, seed=1) != make_repeats(9, seed=2)
    assert {repeat.period for repeat in make_repeats(200)} == set(range(4, 11))
    assert min(repeat.start for repeat in make_repeats(200)) == 0


def random_weights(*shape):
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    hidden = torch.ones(shape[-2:]).triu(1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)


def induction_by_loops(weights, text):
    total, count = 0.0, 0
    for query in range(len(text)):
        for key in range(query - 1, -1, -1):
            if text[key] == text[query]:
                total += weights[query][key + 1].item()
                count += 1
                break
    return total / count if count else 0.0


@pytest.mark.parametrize("text", ["abcabc", "aaaa", "abcdef", "abacab", "a"])
def test_the_induction_score_equals_that_of_loops(text):
    weights = random_weights(2, 3, len(text), len(text))
    expected = [[induction_by_loops(head, text) for head in layer] for layer in weights]
    assert torch.allclose(induction_score(weights, text), torch.tensor(expected))


def test_the_previous_score_equals_that_of_loops():
    weights = random_weights(3, 6, 6)
    for head, found in zip(weights, previous_score(weights), strict=True):
        assert found.item() == pytest.approx(sum(head[i, i - 1].item() for i in range(1, 6)) / 5)


def test_grades_are_averages_over_lines():
    model, lines = book_decoder("copying"), make_repeats(7, seed=5)
    readings = model.follow([line.text for line in lines])
    for layer, head, previous, induction in score_heads(model, lines):
        each = [reading.weights[layer, head] for reading in readings]
        loops = [induction_by_loops(w, line.text) for w, line in zip(each, lines, strict=True)]
        assert induction == pytest.approx(sum(loops) / 7, rel=1e-5)
        assert previous == pytest.approx(sum(previous_score(w).item() for w in each) / 7)
    right = [
        reading.guesses[i - 1] == line.text[i]
        for reading, line in zip(readings, lines, strict=True)
        for i in line.copied
    ]
    assert accuracy(model, lines) == sum(right) / len(right)


def test_chance_is_a_head_with_equal_weights():
    lines = [Repeat("aba", 0, 2)]
    found = chance(lines)
    assert found.previous == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.induction == pytest.approx(1 / 3)


def test_an_ablation_gives_the_accuracy_without_the_heads():
    model, lines = book_decoder("copying"), make_repeats(20, seed=5)
    groups = [[(0, 1)], [(1, 0), (1, 1)]]
    found = ablate_heads(model, lines, groups)
    for group in groups:
        with without_heads(model, group):
            assert found[tuple(group)] == accuracy(model, lines)
    assert accuracy(model, lines) > 0.9
