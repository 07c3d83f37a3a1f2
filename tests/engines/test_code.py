"""A reader's code in every engine: Ctrl+Enter runs it, and nothing that was typed is lost."""

from __future__ import annotations

import pytest

from tests.engines.conftest import OTHERS
from tests.engines.engine import until

ENGINES = [*OTHERS, "chromium"]
PAGE = "chapters/masked-softmax.html"
EMPTY = "phone.html"  # no script of this page writes to the storage
TYPED = "print(7, end='')"
FIGURE = "document.querySelector('figure.code')"
FIELD = f"() => {FIGURE} && {FIGURE}.querySelector('textarea') !== null"
VALUE = f"() => {FIGURE}.querySelector('textarea').value"
EDITOR = f"""() => {{
    const editor = {FIGURE}.querySelector('.cm-content');
    (editor ?? {FIGURE}.querySelector('textarea')).focus();
    return editor !== null;
}}"""
LINES = (
    f"""() => [...{FIGURE}.querySelectorAll('.cm-line')].map(it => it.textContent).join('\\n')"""
)
PRINTED = f"text => {FIGURE}.querySelector('.printed')?.innerText.trim() === text"
BUTTON = f"""name => {{
    const buttons = [...{FIGURE}.querySelectorAll('button')].filter(it => it.checkVisibility());
    const button = buttons.find(it => it.textContent === name);
    button?.click();
    return button !== undefined;
}}"""


@pytest.fixture
def task(engine, watched_url):
    """A page with an empty storage, whatever other tests typed before."""
    engine.open(watched_url + EMPTY)
    engine.evaluate("() => localStorage.clear()")
    engine.open(watched_url + PAGE)
    assert until(engine, FIELD)
    yield engine
    assert engine.complaints() == []


def reload(engine):
    engine.reload()
    assert until(engine, FIELD)


@pytest.mark.usefixtures("one_engine")
def test_ctrl_enter_runs_and_what_was_typed_survives_reload_and_start_again(task):
    starter = task.evaluate(VALUE)
    assert until(task, EDITOR)
    task.press("Control+a")
    task.write(TYPED)
    task.press("Control+Enter")
    assert until(task, PRINTED, "7")
    assert task.evaluate(LINES) == TYPED

    reload(task)
    assert task.evaluate(VALUE) == TYPED
    assert task.evaluate(BUTTON, "Start again")
    reload(task)
    assert task.evaluate(VALUE) == starter
    assert task.evaluate(BUTTON, "Bring back")
    assert task.evaluate(VALUE) == TYPED
