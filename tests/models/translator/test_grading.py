"""Grades by hand, baselines, changed weights, and the book's model against its targets."""

import datetime

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.models.translator.checkpoints import book_model
from attnbook.models.translator.dates import write_date
from attnbook.models.translator.grading import (
    DIGITS,
    Grade,
    diagonal,
    effects,
    exact_match,
    exact_match_by_length,
    gold_mask,
    grade,
    grade_by_locale,
    looked,
    uniform,
    without,
)
from attnbook.models.translator.model import Translation
from tools.models import grade as tool
from tools.models.checkpoints import RECIPES

DAY = datetime.date(1987, 3, 9)
GERMAN, ENGLISH = write_date(DAY, "de"), write_date(DAY, "en")  # 9. März 1987, March 9, 1987


def make_weights(date, positions):
    """Weight 1 at one position for each of the ten written characters."""
    return torch.eye(len(date.text))[positions]


RIGHT = [8, 8, 8, 8, 0, 3, 3, 0, 0, 0]


def make_translation(date, output=None, weights=None):
    return Translation(date.text, date.iso if output is None else output, weights)


@pytest.fixture(scope="module")
def unseen():
    return RECIPES["small"].dates().test[:60]


@pytest.fixture(scope="module")
def small():
    return book_model("small")


# Grades


def test_grades_are_those_counted_by_hand():
    # year: two of four digits attend to 8 to 12; month: one of two to 3 to 7; day: both to 0
    weights = make_weights(GERMAN, [8, 11, 0, 7, 1, 3, 2, 1, 0, 0])
    assert grade([GERMAN], [weights]) == {
        "year": Grade(0.5, 0.5, 4),
        "month": Grade(0.5, 0.5, 2),
        "day": Grade(1, 1, 2),
    }


def test_hyphens_do_not_count_and_digits_never_written_count_as_misses():
    weights = make_weights(GERMAN, RIGHT)
    for position in range(12):
        weights[[4, 7]] = make_weights(GERMAN, [position, position])
        assert {one.peak for one in grade([GERMAN], [weights]).values()} == {1.0}
    shorter = grade([GERMAN], [weights[:9]])
    assert shorter["day"] == Grade(0.5, 0.5, 2)
    assert shorter["year"].peak == 1


def test_each_locale_is_graded_on_its_own():
    right = make_weights(GERMAN, RIGHT)
    wrong = make_weights(ENGLISH, [12] * 10)
    found = grade_by_locale([ENGLISH, GERMAN], [wrong, right])
    assert list(found) == ["de", "en"]
    assert found["de"]["day"].peak == found["en"]["year"].peak == 1
    assert found["en"]["day"].peak == found["en"]["month"].weight == 0
    assert grade([ENGLISH, GERMAN], [wrong, right])["day"] == Grade(0.5, 0.5, 4)


def test_exact_match_counts_whole_outputs_in_all_or_by_the_length_of_the_text():
    dates = [GERMAN, ENGLISH, ENGLISH]
    outputs = [
        make_translation(GERMAN),
        make_translation(ENGLISH, "1987-03-08"),
        make_translation(ENGLISH, "1987-03-0"),
    ]
    assert exact_match(dates, outputs) == pytest.approx(1 / 3)
    outputs[2] = make_translation(ENGLISH)
    found = exact_match_by_length(dates, outputs, starts=(1, 13, 20))
    assert found == {1: (1, 1), 13: (0.5, 2)}


# Baselines


def test_uniform_weights_score_the_share_of_the_span():
    found = grade([GERMAN], uniform([GERMAN]))
    for field, share in (("year", 4 / 12), ("month", 4 / 12), ("day", 1 / 12)):
        assert found[field].weight == pytest.approx(share)
        assert found[field].peak == pytest.approx(share)


def test_the_diagonal_runs_from_the_first_to_the_last_character():
    swedish = write_date(DAY, "sv", "short")  # as long as what is written
    assert torch.equal(diagonal([swedish])[0], torch.eye(10))
    assert {one.peak for one in grade([swedish], diagonal([swedish])).values()} == {1.0}
    (weights,) = diagonal([GERMAN])
    assert weights.argmax(-1).tolist() == [0, 1, 3, 4, 5, 6, 7, 9, 10, 11]
    assert torch.equal(weights.sum(-1), torch.ones(10))


# Changed weights


def test_the_gold_mask_marks_the_span_and_nothing_else():
    mask = gold_mask([GERMAN, ENGLISH], "day")
    assert mask.shape == (2, 13)
    assert mask.nonzero().tolist() == [[0, 0], [1, 6]]


@given(st.integers(0, 2**16))
def test_without_a_span_the_other_weights_stay_proportional(seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(2, 13, generator=generator, dtype=torch.float64).softmax(-1)
    mask = gold_mask([GERMAN, ENGLISH], "month")
    found = without(weights, mask)
    assert not found[mask].any()
    assert torch.allclose(found.sum(-1), torch.ones(2, dtype=torch.float64))
    for row in range(2):
        ratio = (found / weights)[row][~mask[row]]
        assert torch.allclose(ratio, ratio[0])
    assert not without(weights, torch.ones_like(mask)).any()  # all removed: nothing, not NaN


def test_a_change_applies_to_its_field_only_and_the_output_depends_on_it(
    monkeypatch, small, unseen
):
    results, translate = [], small.translate

    def spy(texts, change=None):
        results.append(translate(texts, change))
        return results[-1]

    monkeypatch.setattr(small, "translate", spy)
    for effect in effects(small, unseen).values():
        assert effect.removed > 0.5
        assert effect.moved > 0.5
        assert effect.kept < 0.05
    others = {"year": "month", "month": "day", "day": "year"}
    for order, field in enumerate(DIGITS):
        before, removed, kept, moved = results[4 * order : 4 * order + 4]
        first, stop = DIGITS[field].start, DIGITS[field].stop
        for number, date in enumerate(unseen):
            inside, away = slice(*date.spans[field]), slice(*date.spans[others[field]])
            # A slice, because the output with changed weights may end early.
            steps = slice(first, stop)
            assert not removed[number].weights[steps, inside].any()
            for changed, span in ((kept, inside), (moved, away)):
                shares = changed[number].weights[steps, span].sum(-1)
                assert torch.allclose(shares, torch.ones_like(shares))
            assert len(kept[number].weights[steps]) == stop - first
            assert torch.equal(removed[number].weights[:first], before[number].weights[:first])


# The tool, and the targets of the book's model


@pytest.fixture(scope="module")
def graded():
    dates = RECIPES[tool.MAIN].dates().test[:250]
    texts = [date.text for date in dates]
    return dates, {name: book_model(name).translate(texts) for name in tool.SAME_DATES}


def test_the_books_model_reaches_its_targets_and_a_missed_one_is_reported(graded):
    dates, found = graded
    assert tool.targets(dates, found[tool.MAIN]) == [
        "  exact match at least 0.99: True",
        "  peaks of year at least 0.97: True",
        "  peaks of month at least 0.97: True",
        "  peaks of day at least 0.97: True",
    ]
    dates, found = dates[:100], found[tool.MAIN][:100]
    silent = [one._replace(output="") for one in found]
    blind = [
        one._replace(weights=weights) for one, weights in zip(found, uniform(dates), strict=True)
    ]
    for outputs, reached in ((silent, [False, True, True, True]), (blind, [True] + [False] * 3)):
        assert [line.endswith("True") for line in tool.targets(dates, outputs)] == reached


def test_dates_drawn_later_are_in_no_part_of_the_recipe():
    recipe = RECIPES[tool.MAIN]
    known = {date.text for part in recipe.dates() for date in part}
    later = {date.text for date in tool.make_later_dates(recipe)}
    assert len(later) == tool.LATER
    assert not known & later


def test_attention_beats_weights_that_do_not_depend_on_the_text(graded):
    dates = graded[0]
    baselines = [grade(dates, weights) for weights in (uniform(dates), diagonal(dates))]
    for model in (tool.MAIN, "recurrent"):
        best = grade(dates, looked(graded[1][model]))
        for baseline in baselines:
            for field, one in baseline.items():
                assert best[field].weight > one.weight + 0.3
                assert best[field].peak > one.peak + 0.3


def test_without_attention_fewer_outputs_are_right(graded):
    dates, found = graded
    right = {name: exact_match(dates, one) for name, one in found.items()}
    assert right["recurrent"] > 0.98 > right["recurrent-without-attention"]


@pytest.mark.weekly
def test_all_models_are_graded_by_field_locale_and_number_of_dates(monkeypatch, capsys):
    shorter = {name: recipe._replace(test=150) for name, recipe in RECIPES.items()}
    monkeypatch.setattr(tool, "RECIPES", shorter)
    monkeypatch.setattr(tool, "LATER", 150)
    assert tool.main() == 0
    printed = capsys.readouterr().out
    names = [line.split()[0] for line in printed.splitlines() if line.strip()]
    locales = {date.locale for date in shorter[tool.MAIN].dates().test}
    assert {*tool.SAME_DATES, *tool.JOINED, "uniform", "diagonal", *locales} <= {*names}
    for text in ("removed", "training", "peaks of day at least"):
        assert text in printed
    (line,) = [line for line in printed.splitlines() if line.startswith("  uniform")]
    weight, peak = map(float, line.split()[1:3])  # of the year: its share of the text
    assert weight == peak == pytest.approx(0.29, abs=0.02)
    assert printed.count("exact match at least 0.99: True") == 2
    assert "False" not in printed
