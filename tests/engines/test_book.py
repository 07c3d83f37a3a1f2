"""The built book in Firefox and WebKit: what moves in Chromium moves there, too."""

from __future__ import annotations

import pytest

from tests.engines.conftest import LEFT_OUT
from tests.engines.engine import until
from tests.engines.figures import FOCUS, KINDS, differ, pointed, using
from tests.engines.looking import looked


def test_pages_that_no_engine_opens_have_no_figures(site):
    texts = [(site / f"{page}.html").read_text("utf-8") for page in LEFT_OUT]
    assert not any("data-attnbook-view" in text for text in texts)


def test_every_figure_starts_and_answers_a_key_and_the_pointer(engine, reading, see, in_chromium):
    look = see(engine, reading)
    assert look.still + look.deaf == []
    assert look.kinds == in_chromium(reading.page).kinds


def test_numbers_and_what_models_say_are_those_of_chromium(engine, reading, see, in_chromium):
    ours, theirs = see(engine, reading), in_chromium(reading.page)
    wrong = [
        f"{place}: {said}"
        for place, numbers in theirs.numbers.items()
        for said in differ(ours.numbers[place], numbers)
    ]
    assert wrong == []
    assert "never read" not in ours.typed.values()
    assert ours.typed == theirs.typed


def test_the_console_stays_silent(engine, reading, see):
    assert see(engine, reading).complaints == []


def test_no_page_scrolls_sideways(engine, reading, see):
    look = see(engine, reading)
    assert look.sideways <= 0, look.overflow


def test_a_page_is_as_light_as_its_reader_chose(engine, reading, see):
    assert see(engine, reading).theme == reading.scheme


VERDICT = using("""(place) => {
    const said = words(figures()[place].querySelector('.verdict'));
    return /[✓✗]/.test(said) && said;
}""")
# One line each: an editor indents by itself.
WRONG = "attention = lambda query, keys, values, valid_len: keys[0]"
RIGHT = (
    "attention = lambda query, keys, values, valid_len: "
    "pool(masked_softmax([score(query, key) for key in keys], valid_len), values)"
)
TASK = "chapters/attention-from-nothing"


@pytest.mark.parametrize("at", ["server", "folder"])
def test_python_runs_on_a_page_and_is_judged(engine, watched_home, watched, at):
    home = watched_home if at == "server" else f"{watched.as_uri()}/"
    assert looked(engine, f"{home}{TASK}.html").still == []
    place = engine.evaluate(KINDS).index("code")
    for told, code in (
        ("✗ attention-from-parts: not yet.", WRONG),
        ("✓ attention-from-parts: right.", RIGHT),
    ):
        assert until(engine, FOCUS, place)
        engine.press("Control+a")
        engine.write(code)
        assert pointed(engine, place)
        assert told in until(engine, VERDICT, place)
    assert engine.complaints() == []
