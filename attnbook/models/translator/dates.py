"""Dates written out in many languages, each with its ISO date and the spans of its parts.

The words come from Unicode's CLDR, as Babel ships it: no download, and as many pairs as
wanted. A date has the gold spans of its year, month and day, so where a model attends can
be graded.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

try:
    from babel import Locale, UnknownLocaleError
    from babel.dates import DateTimeFormat, tokenize_pattern
except ImportError as missing:
    raise ImportError(
        "attnbook.models.translator.dates needs Babel: pip install 'attnbook[seq2seq]'"
    ) from missing

from attnbook.checks import check_size, check_whole_number, describe_value
from attnbook.models.checks import check_list

__all__ = [
    "FIELDS",
    "FORMATS",
    "LOCALES",
    "Dates",
    "WrittenDate",
    "joined_pairs",
    "make_dates",
    "pairs",
    "usable_formats",
    "write_date",
]

LOCALES = tuple("cs de el en es fi fr he hu it ja ko nl pl pt ru sv tr".split())
FORMATS = ("full", "long", "medium", "short")
FIELDS = ("year", "month", "day")
DAYS = (datetime.date(1900, 1, 1), datetime.date(2099, 12, 31))

_FIELD_OF = {"y": "year", "M": "month", "L": "month", "d": "day"}
_DRAWS = 20  # for one new string, before we give up


class WrittenDate(NamedTuple):
    """A date as people write it, and what a model should make of it.

    `spans` gives the gold characters of "year", "month" and "day": start, and the end
    after the last, so that `text[slice(*spans["month"])]` is the month.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> date = write_date(datetime.date(1987, 3, 9), "de")
        >>> date.iso, date.text[slice(*date.spans["month"])]
        ('1987-03-09', 'März')
    """

    text: str
    iso: str
    spans: dict[str, tuple[int, int]]
    locale: str
    format: str


class Dates(NamedTuple):
    """Dates to learn from, to choose by and to grade on; no text is in two of them.

    Example:
        >>> from attnbook.models.translator.dates import make_dates
        >>> dates = make_dates(train=4, validation=2, test=1, locales=["en"])
        >>> [len(each) for each in dates]
        [4, 2, 1]
    """

    train: list[WrittenDate]
    validation: list[WrittenDate]
    test: list[WrittenDate]


def write_date(date: datetime.date, locale: str, format: str = "long") -> WrittenDate:  # noqa: A002 - Babel's name
    """Write a date in the words of a locale.

    Args:
        date: a date of the years 1000 to 9999, without a time.
        locale: a name that Babel knows, such as "de" or "en_GB".
        format: "full" (with the weekday), "long", "medium" or "short".

    Raises:
        TypeError: the date is none, or has a time; locale or format is no string.
        ValueError: the year is out of its range, Babel lacks the locale, there is no such
            format, or it would leave out the century.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import write_date
        >>> write_date(datetime.date(1987, 3, 9), "de").text
        '9. März 1987'
    """
    _check_date(date)
    parts = _pattern(locale, format)
    if parts is None:
        raise ValueError(
            f"format must write all four digits of a year, got {format!r} in locale {locale!r}"
        )
    words = DateTimeFormat(date, locale)
    text, spans = "", {}
    for letter, given in parts:
        written = words[given] if letter else given
        if letter in _FIELD_OF:
            spans[_FIELD_OF[letter]] = (len(text), len(text) + len(written))
        text += written
    return WrittenDate(text, date.isoformat(), spans, locale, format)


def _check_date(date: datetime.date) -> None:
    # A datetime is a date too, but its ISO form has a time.
    if not isinstance(date, datetime.date) or isinstance(date, datetime.datetime):
        raise TypeError(f"date must be a datetime.date, got {type(date).__name__}")
    if date.year < 1000:
        raise ValueError(f"date must lie in the years 1000 to 9999, got {date}")


def pairs(dates: Sequence[WrittenDate]) -> list[tuple[str, str]]:
    """Give what a translator learns from: each text with its ISO date.

    Raises:
        TypeError: `dates` is no list of dates.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import pairs, write_date
        >>> pairs([write_date(datetime.date(1987, 3, 9), "de")])
        [('9. März 1987', '1987-03-09')]
    """
    return [(date.text, date.iso) for date in check_list("dates", dates, "WrittenDate", "spans")]


def joined_pairs(
    dates: Sequence[WrittenDate], most: int = 3, seed: int = 0
) -> list[tuple[str, str]]:
    """Put 1 to `most` dates into each text, so that long texts hold more dates.

    Each date is used once, in order, so test dates stay out of training.

    Args:
        dates: any number; none give none.
        most: dates in a text at most, at least 1.
        seed: any whole number.

    Raises:
        TypeError, ValueError: `dates` is no list of dates, `most` is below 1, or `seed` no whole
            number.

    Example:
        >>> import datetime
        >>> from attnbook.models.translator.dates import joined_pairs, write_date
        >>> dates = [write_date(datetime.date(1987, 3, 9), locale) for locale in ("de", "sv")]
        >>> joined_pairs(dates)
        [('9. März 1987; 9 mars 1987', '1987-03-09; 1987-03-09')]
    """
    check_size("most", most)
    dates = check_list("dates", dates, "WrittenDate", "spans")
    draw, found, start = _make_random(seed), list[tuple[str, str]](), 0
    while start < len(dates):
        some = dates[start : start + draw.randint(1, most)]
        found.append(("; ".join(d.text for d in some), "; ".join(d.iso for d in some)))
        start += len(some)
    return found


def _make_random(seed: int) -> random.Random:
    check_whole_number("seed", seed)
    return random.Random(int(seed))  # noqa: S311 - no secret


def usable_formats(locale: str) -> list[str]:
    """Name the formats of a locale that write all four digits of a year.

    Raises:
        TypeError, ValueError: the locale is no string, or Babel lacks it.

    Example:
        >>> from attnbook.models.translator.dates import usable_formats
        >>> usable_formats("en"), usable_formats("en_GB")
        (['full', 'long', 'medium'], ['full', 'long', 'medium', 'short'])
    """
    return [name for name in FORMATS if _pattern(locale, name) is not None]


def _pattern(locale: str, name: str) -> list[tuple[str, str]] | None:
    """The parts of a format, each a field's letter and letters, or "" and text; see CLDR."""
    for argument, given in (("locale", locale), ("format", name)):
        if not isinstance(given, str):
            raise TypeError(f"{argument} must be a string, got {type(given).__name__}")
    return _parse_pattern(locale, name)


@cache
def _parse_pattern(locale: str, name: str) -> list[tuple[str, str]] | None:
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {describe_value(name)}")
    pattern = _locale(locale).date_formats[name].pattern
    parts = [_part(kind, value) for kind, value in tokenize_pattern(pattern)]
    return None if ("y", "yy") in parts else parts


def _part(kind: str, value: Any) -> tuple[str, str]:  # noqa: ANN401 - Babel's two kinds of token
    if kind != "field":
        return "", value
    letter, count = value
    return letter, letter * count


@cache
def _locale(name: str) -> Locale:
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError, TypeError) as unknown:
        raise ValueError(
            f"locale must be one that Babel knows, got {describe_value(name)}"
        ) from unknown


def make_dates(
    train: int = 8000,
    validation: int = 500,
    test: int = 1000,
    *,
    locales: Sequence[str] = LOCALES,
    seed: int = 0,
) -> Dates:
    """Draw written dates, each string once, so no test date was in training.

    Locales, formats and the days of the years 1900 to 2099 are drawn evenly; the
    same arguments give the same dates, whatever the global random state.

    Args:
        train, validation, test: how many dates, at least 1 each.
        locales: names that Babel knows; one that is named twice is drawn twice as often.
        seed: any whole number.

    Raises:
        TypeError: a count or the seed is no whole number, or `locales` no list of strings.
        ValueError: a count is below 1, Babel lacks a locale, no locale is given, or the
            locales have not so many different strings.

    Example:
        >>> from attnbook.models.translator.dates import make_dates
        >>> dates = make_dates(train=4, validation=2, test=1, locales=["en"])
        >>> len(dates.train), dates.train[0].locale
        (4, 'en')
    """
    counts = {"train": train, "validation": validation, "test": test}
    for name, count in counts.items():
        check_size(name, count)
    written = _different_dates(sum(counts.values()), locales, _make_random(seed))
    return Dates(
        written[:train], written[train : train + validation], written[train + validation :]
    )


def _different_dates(count: int, locales: Sequence[str], draw: random.Random) -> list[WrittenDate]:
    if isinstance(locales, str) or not isinstance(locales, Sequence):
        raise TypeError(f"locales must be a list of strings, got {type(locales).__name__}")
    if not locales:
        raise ValueError(f"locales must be a list of at least one locale, got {locales!r}")
    formats = {locale: usable_formats(locale) for locale in locales}
    first, last = (day.toordinal() for day in DAYS)
    found: dict[str, WrittenDate] = {}
    for _ in range(_DRAWS * count):
        locale = draw.choice(locales)
        name = draw.choice(formats[locale])
        date = datetime.date.fromordinal(draw.randint(first, last))
        written = write_date(date, locale, name)
        found.setdefault(written.text, written)
        if len(found) == count:
            return list(found.values())
    raise ValueError(
        f"locales must have {count} different strings, but {len(found)} came in "
        f"{_DRAWS * count} draws; take more locales, or fewer dates"
    )
