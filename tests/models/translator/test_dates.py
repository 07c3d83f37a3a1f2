"""Written dates: equal to Babel's, with correct spans, each string once."""

import datetime
import random
from itertools import chain

import pytest
from babel.dates import format_date

from attnbook.models.translator.dates import (
    FIELDS,
    LOCALES,
    joined_pairs,
    make_dates,
    usable_formats,
    write_date,
)

DATE = datetime.date(1987, 3, 9)
EVERY = [(locale, name) for locale in LOCALES for name in usable_formats(locale)]
DAYS = [DATE + datetime.timedelta(days) for days in range(0, 800, 3)]


@pytest.fixture(scope="module")
def dates():
    return make_dates(1000, 200, 300)


def read_spans(written):
    return {field: written.text[slice(*written.spans[field])] for field in FIELDS}


@pytest.mark.parametrize(
    ("locale", "name", "text", "expected"),
    [
        ("de", "full", "Montag, 9. März 1987", ("1987", "März", "9")),
        ("es", "long", "9 de marzo de 1987", ("1987", "marzo", "9")),
        ("hu", "short", "1987. 03. 09.", ("1987", "03", "09")),
        ("ja", "long", "1987年3月9日", ("1987", "3", "9")),
        ("he", "medium", "9 במרץ 1987", ("1987", "מרץ", "9")),
    ],
)
def test_the_spans_contain_the_year_the_month_and_the_day(locale, name, text, expected):
    written = write_date(DATE, locale, name)
    assert (written.text, written.iso) == (text, "1987-03-09")
    assert tuple(read_spans(written).values()) == expected


@pytest.fixture(scope="module")
def iso_by_text():
    """The ISO date of each string, to check that no string has two."""
    return {}


@pytest.mark.few(9)
@pytest.mark.parametrize(("locale", "name"), EVERY)
def test_a_date_is_written_as_babel_writes_it_and_its_spans_match_the_iso_date(
    locale, name, iso_by_text
):
    months = {}
    for date in DAYS:
        written = write_date(date, locale, name)
        assert written.text == format_date(date, name, locale=locale)
        assert (written.locale, written.format) == (locale, name)
        assert iso_by_text.setdefault(written.text, written.iso) == written.iso
        (_, end), (start, late_end), (late_start, _) = sorted(written.spans.values())
        assert end <= start
        assert late_end <= late_start
        found = read_spans(written)
        assert found["year"] == written.iso[:4]
        assert int(found["day"]) == date.day
        assert months.setdefault(found["month"], date.month) == date.month
    assert len(months) == 12


def test_each_string_occurs_once(dates):
    assert [len(part) for part in dates] == [1000, 200, 300]
    texts = [date.text for date in chain(*dates)]
    assert len({*texts}) == len(texts)


def test_the_seed_determines_the_dates(dates):
    state = random.getstate()
    assert make_dates(1000, 200, 300) == dates
    assert make_dates(1000, 200, 300, seed=1) != dates
    assert random.getstate() == state


def test_joined_pairs_contain_every_date_once_in_order(dates):
    found = joined_pairs(dates.test, most=3, seed=5)
    texts = [part for text, _ in found for part in text.split("; ")]
    targets = [part for _, target in found for part in target.split("; ")]
    assert texts == [date.text for date in dates.test]
    assert targets == [date.iso for date in dates.test]
    assert {target.count(";") for _, target in found} == {0, 1, 2}
    assert found == joined_pairs(dates.test, most=3, seed=5) != joined_pairs(dates.test, seed=6)


@pytest.mark.parametrize("locale", ["xx", "de-DE-1"])
def test_a_locale_that_babel_lacks_is_refused(locale):
    message = f"locale must be one that Babel knows, got {locale!r}"
    with pytest.raises(ValueError, match=message):
        write_date(DATE, locale)
    with pytest.raises(ValueError, match=message):
        make_dates(1, 1, 1, locales=["de", locale])


def test_a_locale_that_is_named_twice_is_drawn_twice_as_often():
    found = [*chain(*make_dates(500, 50, 50, locales=["fr", "tr", "tr"]))]
    assert {date.locale for date in found} == {"fr", "tr"}
    assert 0.6 < sum(date.locale == "tr" for date in found) / 600 < 0.73


def test_the_first_and_the_last_year_are_written():
    assert write_date(datetime.date(1000, 1, 1), "de").iso == "1000-01-01"
    assert write_date(datetime.date(9999, 12, 31), "de").text == "31. Dezember 9999"


def test_more_dates_than_there_are_strings_are_refused(monkeypatch):
    monkeypatch.setattr(
        "attnbook.models.translator.dates.DAYS", (DATE, DATE + datetime.timedelta(1))
    )
    with pytest.raises(ValueError, match="locales must have 30 different strings, but 6 came"):
        make_dates(10, 10, 10, locales=["de"])
