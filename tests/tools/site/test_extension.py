"""The order of what runs: one table, and the priorities that Sphinx gets of it."""

from __future__ import annotations

from inspect import signature
from types import SimpleNamespace

from tools.site.extension import EVENTS, EXTENSIONS, THEME, connect


def test_what_is_listed_before_the_extensions_runs_before_theirs_and_what_is_after_the_theme_last():
    connected = []
    app = SimpleNamespace(connect=lambda *of_event: connected.append(of_event))
    passed = []

    def first(page):
        passed.append(page)
        return page

    def second(): ...

    connect(app, {("event", "app", "page"): [first, EXTENSIONS, second, THEME, second]})
    connect(app, {("build-finished", "app", "error"): [lambda: passed.append("finished")]})
    assert [priority for *_, priority in connected] == [400, 500, 600, 500]
    (_, begin, _), *_, (_, finish, _) = connected
    assert begin(app, "a page") == "a page"
    finish(app, ValueError())
    assert passed == ["a page"]
    finish(app, None)
    assert passed == ["a page", "finished"]


def test_each_function_of_the_table_takes_only_what_its_event_passes():
    for (event, *names), listeners in EVENTS.items():
        for listener in listeners:
            if callable(listener):
                assert {*signature(listener).parameters} <= {*names}, (event, listener)
