"""The cache figure in a browser: it shows what Python computes, and hides a bug."""

from __future__ import annotations

from random import Random

import pytest
from playwright.sync_api import expect

from attnbook.figures.cache.bugs import BUGS, STAYS
from attnbook.figures.cache.figure import RANGES, label_of
from attnbook.figures.cache.measuring import make_pairs
from tests.figures.cache.page import ROOM, disagreements, menu, setting
from tests.figures.cache.test_writing import MENU
from tests.figures.shared.trained import open_more_controls, show_with_model
from tests.tools.site.site_checks import NARROW


@pytest.fixture(scope="module")
def show(stage):
    return show_with_model(stage, ROOM, "window", "drafts", "users")


def test_each_bug_of_the_menu_shows_with_the_settings_that_it_needs(show):
    _, figure, python = show()
    for bug in MENU:
        menu(figure).select_option(bug)
        python.bug = bug
        for name, value in BUGS[bug].shows.as_dict().items():
            setattr(python, name, value)
        needs = figure.locator(".quiz")
        for name, value in BUGS[bug].shows.as_dict().items():
            if value:
                expect(needs).to_contain_text(f"{name} {value}")
        assert needs.is_visible() == any(BUGS[bug].shows.as_dict().values())
        assert disagreements(figure, python) == [], bug
        expect(figure.locator(".answer")).to_contain_text("Numbers first differ at step")


def test_random_settings_and_texts_give_what_python_computes(show):
    rng = Random(4)  # noqa: S311 - settings to test with, no secrets
    view, figure, python = show("drafts")
    for _ in range(12):
        change = {name: rng.randint(0, most) for name, most in RANGES.items()}
        change |= {
            "text": "".join(rng.choices("abcdefghijklmnop", k=rng.randint(1, 16))),
            "bug": rng.choice(["", *MENU]),
            "step": rng.randrange(12),
            "focus": [rng.randrange(2), rng.randrange(2)],
        }
        view.set(**change)
        for name, value in change.items():
            setattr(python, name, value)
        assert disagreements(figure, python) == [], change


def test_each_setting_has_a_slider_and_each_head_can_be_chosen(show):
    view, figure, _ = show("window")
    for name, most in RANGES.items():
        setting(figure, name).press("End")
        assert view.get(name) == [most]
        setting(figure, name).press("Home")
        assert view.get(name) == [0]
    open_more_controls(figure)
    figure.get_by_label("head").select_option("layer 1, head 0")
    assert view.get("focus") == [[1, 0]]


def test_another_pair_of_users_changes_both_texts(show):
    view, figure, python = show("users")
    first, second = make_pairs(2)[1].texts
    view.set(first=first, text=second)
    python.first, python.text = first, second
    assert disagreements(figure, python) == []
    menu(figure).select_option(STAYS)
    python.bug = STAYS
    assert disagreements(figure, python) == []


@pytest.mark.parametrize("is_found", [True, False])
def test_a_hidden_bug_is_guessed_in_three_tries_or_named(show, is_found):
    view, figure, _ = show()
    figure.get_by_role("button", name="Which bug is it?").click()
    status = figure.locator(".quiz")
    expect(status).to_contain_text("three guesses")
    [bug] = view.get("bug")
    assert view.get("hidden") == [True]
    wrong = [other for other in MENU if other != bug]
    tries = [wrong[0], bug] if is_found else wrong[:3]
    for each in tries:
        expect(figure.get_by_role("button", name="Which bug is it?")).to_be_hidden()
        menu(figure).select_option(each)
        assert view.get("bug") == [bug]  # a guess is no choice
        figure.get_by_role("button", name="Guess").press("Enter")
    expect(status).to_contain_text(f"{'Yes' if is_found else 'It was'}: {label_of(bug)}.")
    assert view.get("hidden") == [False]
    expect(menu(figure)).to_have_value(bug)
    menu(figure).select_option("none")
    expect(status).to_be_hidden()


def test_on_a_phone_slots_wrap_and_nothing_is_cut(show):
    _, figure, _ = show("users", NARROW)
    wide = figure.evaluate("figure => figure.scrollWidth - figure.clientWidth")
    assert wide <= 0
