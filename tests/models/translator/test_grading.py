"""Grades by hand, baselines, changed weights; and the book's model against its targets."""

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
    reach,
    uniform,
    without,
)
from attnbook.models.translator.model import Translation
from tools.models import grade as tool
from tools.models.checkpoints import RECIPES

DAY = datetime.date(1987, 3, 9)
GERMAN, ENGLISH = write_date(DAY, "de"), write_date(DAY, "en")  # 9. März 1987, March 9, 1987


def weights_at(date, positions):
    """For each of the ten characters that are written, weight 1 at one position."""
    return torch.eye(len(date.text))[positions]


RIGHT = [8, 8, 8, 8, 0, 3, 3, 0, 0, 0]


def written(date, output=None, weights=None):
    return Translation(date.text, date.iso if output is None else output, weights)


@pytest.fixture(scope="module")
def unseen():
    return RECIPES["small"].dates().test[:60]


@pytest.fixture(scope="module")
def small():
    return book_model("small")


# Grades


def test_grades_are_those_counted_by_hand():
    # year: two of four digits look at 8 to 12; month: one of two at 3 to 7; day: both at 0
    weights = weights_at(GERMAN, [8, 11, 0, 7, 1, 3, 2, 1, 0, 0])
    assert grade([GERMAN], [weights]) == {
        "year": Grade(0.5, 0.5, 4),
        "month": Grade(0.5, 0.5, 2),
        "day": Grade(1, 1, 2),
    }


def test_the_dashes_and_digits_that_were_never_written_count_as_they_should():
    weights = weights_at(GERMAN, RIGHT)
    for position in range(12):
        weights[[4, 7]] = weights_at(GERMAN, [position, position])
        assert {one.peak for one in grade([GERMAN], [weights]).values()} == {1.0}
    shorter = grade([GERMAN], [weights[:9]])
    assert shorter["day"] == Grade(0.5, 0.5, 2)
    assert shorter["year"].peak == 1


def test_the_largest_weight_may_be_less_than_half():
    weights = torch.full((10, 12), 0.05)
    weights[:, 0] = 0.45  # the largest of all, and yet less than half
    found = grade([GERMAN], [weights])["day"]
    assert found.weight == pytest.approx(0.45)
    assert found.peak == 1
    assert grade([GERMAN], [weights])["year"].peak == 0


def test_each_locale_is_graded_on_its_own():
    right = weights_at(GERMAN, RIGHT)
    wrong = weights_at(ENGLISH, [12] * 10)
    found = grade_by_locale([ENGLISH, GERMAN], [wrong, right])
    assert list(found) == ["de", "en"]
    assert found["de"]["day"].peak == found["en"]["year"].peak == 1
    assert found["en"]["day"].peak == found["en"]["month"].weight == 0
    assert grade([ENGLISH, GERMAN], [wrong, right])["day"] == Grade(0.5, 0.5, 4)


def test_weights_of_another_text_are_refused():
    with pytest.raises(ValueError, match=r"shape \(steps, 12\) for '9. März 1987', got \(10, 13\)"):
        grade([GERMAN], uniform([ENGLISH]))


def test_exact_match_counts_whole_outputs_in_all_or_by_the_length_of_the_text():
    dates = [GERMAN, ENGLISH, ENGLISH]
    outputs = [written(GERMAN), written(ENGLISH, "1987-03-08"), written(ENGLISH, "1987-03-0")]
    assert exact_match(dates, outputs) == pytest.approx(1 / 3)
    outputs[2] = written(ENGLISH)
    found = exact_match_by_length(dates, outputs, starts=(1, 13, 20))
    assert found == {1: (1, 1), 13: (0.5, 2)}


@pytest.mark.parametrize("starts", [(), (13, 20)])
def test_a_text_that_is_shorter_than_every_group_is_refused(starts):
    message = r"starts must hold one of at most 12, the length of '9. März 1987', got \("
    with pytest.raises(ValueError, match=message):
        exact_match_by_length([GERMAN, ENGLISH], [written(GERMAN), written(ENGLISH)], starts)


@pytest.mark.parametrize(
    "grading",
    [grade, grade_by_locale, exact_match, exact_match_by_length],
    ids=lambda f: f.__name__,
)
def test_no_dates_have_no_grade(grading):
    with pytest.raises(ValueError, match="dates must hold at least one, got none"):
        grading([], [])


# Baselines


def test_looking_everywhere_alike_scores_the_share_of_the_span():
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


def test_a_model_without_attention_has_nothing_to_grade():
    with pytest.raises(ValueError, match="but their model has no attention"):
        looked([written(GERMAN)])


# Changed weights


def test_the_gold_mask_marks_the_span_and_nothing_else():
    mask = gold_mask([GERMAN, ENGLISH], "day")
    assert mask.shape == (2, 13)
    assert mask.nonzero().tolist() == [[0, 0], [1, 6]]


@given(st.integers(0, 2**16))
def test_without_a_span_the_rest_keeps_its_proportions(seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(2, 13, generator=generator, dtype=torch.float64).softmax(-1)
    mask = gold_mask([GERMAN, ENGLISH], "month")
    found = without(weights, mask)
    assert not found[mask].any()
    assert torch.allclose(found.sum(-1), torch.ones(2, dtype=torch.float64))
    for row in range(2):
        ratio = (found / weights)[row][~mask[row]]
        assert torch.allclose(ratio, ratio[0])


def test_taking_all_the_weight_off_leaves_none_and_no_nan():
    weights = torch.tensor([[1.0, 0.0]])
    assert without(weights, torch.tensor([[True, False]])).tolist() == [[0, 0]]


def test_a_change_reaches_the_digits_of_its_field_alone_and_what_is_written_depends_on_it(
    monkeypatch, small, unseen
):
    seen, translate = [], small.translate

    def spy(texts, change=None):
        seen.append(translate(texts, change))
        return seen[-1]

    monkeypatch.setattr(small, "translate", spy)
    for effect in effects(small, unseen).values():
        assert effect.removed > 0.5
        assert effect.moved > 0.5
        assert effect.kept < 0.05
    others = {"year": "month", "month": "day", "day": "year"}
    for order, field in enumerate(DIGITS):
        before, removed, kept, moved = seen[4 * order : 4 * order + 4]
        first, stop = DIGITS[field].start, DIGITS[field].stop
        for number, date in enumerate(unseen):
            inside, away = slice(*date.spans[field]), slice(*date.spans[others[field]])
            # A slice: what is written with changed weights may end early.
            steps = slice(first, stop)
            assert not removed[number].weights[steps, inside].any()
            for changed, span in ((kept, inside), (moved, away)):
                shares = changed[number].weights[steps, span].sum(-1)
                assert torch.allclose(shares, torch.ones_like(shares))
            assert len(kept[number].weights[steps]) == stop - first
            assert torch.equal(removed[number].weights[:first], before[number].weights[:first])


def test_no_dates_show_no_effect(small):
    with pytest.raises(ValueError, match="dates must hold at least one, got none"):
        effects(small, [])


@pytest.mark.parametrize("dates", [[], [GERMAN]])
def test_without_attention_there_are_no_effects(dates):
    model = book_model("recurrent-without-attention")
    with pytest.raises(ValueError, match="model must have attention, got a Translator without"):
        effects(model, dates)


@pytest.mark.parametrize("place", [0, 4, 11])
def test_a_character_is_heard_two_places_off_by_one_encoder_and_everywhere_by_the_other(place):
    text = "9. März 1987"
    near = reach(book_model("convolutional"), text, place, "8")
    assert near[place] > 0.1
    assert all(near[j] < 1e-6 for j in range(len(text)) if abs(j - place) > 2)
    far = reach(book_model("recurrent"), text, place, "8")
    assert far.shape == (len(text),)
    assert far.all()
    assert all(far[j] > 0.01 for j in range(len(text)) if abs(j - place) == 3)


@pytest.mark.parametrize(
    ("place", "other", "error", "message"),
    [
        (0, "", ValueError, "other must be one character, got ''"),
        (0, "ab", ValueError, "other must be one character, got 'ab'"),
        (0, 8, TypeError, "other must be a string, got int"),
        (3, "a", ValueError, r"place must lie in \[0, len\(text\)=3\), got 3"),
        (-1, "a", ValueError, r"place must lie in \[0, len\(text\)=3\), got -1"),
        (0, "∂", ValueError, "text must hold characters of the vocabulary, got '∂'"),
    ],
)
def test_a_replacement_that_cannot_be_made_is_refused(small, place, other, error, message):
    with pytest.raises(error, match=message):
        reach(small, "May", place, other)


# The tool, and what the book's model must reach


@pytest.fixture(scope="module")
def graded():
    dates = RECIPES[tool.MAIN].dates().test
    texts = [date.text for date in dates]
    return dates, {name: book_model(name).translate(texts) for name in tool.ALIKE}


def test_the_books_model_reaches_its_targets_and_a_missed_one_is_noticed(graded):
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


def test_what_is_drawn_later_was_never_seen():
    recipe = RECIPES[tool.MAIN]
    seen = {date.text for part in recipe.dates() for date in part}
    later = {date.text for date in tool.drawn_later(recipe)}
    assert len(later) == tool.LATER
    assert not seen & later


def test_attention_beats_weights_that_do_not_depend_on_the_text(graded):
    dates, found = graded
    for model in (tool.MAIN, "recurrent"):
        best = grade(dates, looked(found[model]))
        for baseline in (uniform(dates), diagonal(dates)):
            for field, one in grade(dates, baseline).items():
                assert best[field].weight > one.weight + 0.3
                assert best[field].peak > one.peak + 0.3


def test_without_attention_less_is_right(graded):
    dates, found = graded
    right = {name: exact_match(dates, one) for name, one in found.items()}
    assert right["recurrent"] > 0.98 > right["recurrent-without-attention"]


def test_all_models_are_graded_by_field_locale_and_number_of_dates(monkeypatch, capsys):
    shorter = {name: recipe._replace(test=150) for name, recipe in RECIPES.items()}
    monkeypatch.setattr(tool, "RECIPES", shorter)
    monkeypatch.setattr(tool, "LATER", 150)
    assert tool.main() == 0
    printed = capsys.readouterr().out
    names = [line.split()[0] for line in printed.splitlines() if line.strip()]
    locales = {date.locale for date in shorter[tool.MAIN].dates().test}
    assert {*tool.ALIKE, *tool.JOINED, "uniform", "diagonal", *locales} <= {*names}
    for text in ("removed", "training", "peaks of day at least"):
        assert text in printed
    (line,) = [line for line in printed.splitlines() if line.startswith("  uniform")]
    weight, peak = map(float, line.split()[1:3])  # of the year: its share of the text
    assert weight == peak == pytest.approx(0.29, abs=0.02)
    assert printed.count("exact match at least 0.99: True") == 2
    assert "False" not in printed
