"""The built book in Firefox and WebKit: what moves in Chromium moves there, too."""

from __future__ import annotations

import pytest

from tests.engines.engine import until
from tests.engines.figures import FOCUS, KINDS, differ, pointed, using
from tests.engines.looking import looked

SCHEMES = ["light", "dark"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_figure_starts(engine, chromium, see, name, scheme):
    look = see(engine, name, scheme)
    assert look.still == []
    assert look.kinds == see(chromium, name).kinds


def test_every_figure_answers_a_key_and_the_pointer(engine, see, name):
    assert see(engine, name).deaf == []


def test_the_numbers_are_those_of_chromium(engine, chromium, see, name):
    ours, theirs = see(engine, name).numbers, see(chromium, name).numbers
    wrong = [f"{place}: {said}" for place in theirs for said in differ(ours[place], theirs[place])]
    assert wrong == []


def test_models_say_what_they_say_in_chromium(engine, chromium, see, name):
    said = see(engine, name).typed
    assert "never read" not in said.values()
    assert said == see(chromium, name).typed


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_console_stays_silent(engine, see, name, scheme):
    assert see(engine, name, scheme).complaints == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_asked_of_another_host(engine, see, name, scheme):
    assert see(engine, name, scheme).foreign == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_page_scrolls_sideways(engine, see, name, scheme):
    look = see(engine, name, scheme)
    assert look.sideways <= 0, look.overflow


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_page_is_as_light_as_its_reader_chose(engine, see, name, scheme):
    assert see(engine, name, scheme).theme == scheme


def test_figures_start_in_a_folder_without_a_server(engine, chromium, see, watched):
    name = "chapters/masked-softmax"
    look = looked(engine, (watched / f"{name}.html").as_uri())
    assert look.kinds == see(chromium, name).kinds
    assert look.still + look.complaints + look.foreign == []


VERDICT = using("""(place) => {
    const said = words(figures()[place].querySelector('.verdict'));
    return /[✓✗]/.test(said) && said;
}""")
# One line each: an editor indents by itself.
WRONG = "softmax = lambda scores: scores"
RIGHT = (
    "import math; softmax = lambda scores: "
    "[1 / sum(math.exp(min(b - a, 700)) for b in scores) for a in scores]"
)
TASK = "chapters/attention-from-nothing"


@pytest.mark.parametrize("at", ["server", "folder"])
def test_python_runs_on_a_page_and_is_judged(engine, watched_home, watched, at):
    home = watched_home if at == "server" else f"{watched.as_uri()}/"
    assert looked(engine, f"{home}{TASK}.html").still == []
    place = engine.evaluate(KINDS).index("code")
    for told, code in (
        ("✗ softmax-by-hand: not yet.", WRONG),
        ("✓ softmax-by-hand: right.", RIGHT),
    ):
        assert until(engine, FOCUS, place)
        engine.press("Control+a")
        engine.write(code)
        assert pointed(engine, place)
        assert told in until(engine, VERDICT, place)
    assert engine.complaints() == []
