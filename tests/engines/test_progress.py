"""Progress in every engine: it is stored, loaded, merged, moved and deleted."""

from __future__ import annotations

import json

import pytest

from tests.engines.conftest import OTHERS
from tests.engines.engine import until
from tests.engines.watched_site import DENY, watched_copy
from tests.tools.site import progress_book
from tools.site.figures.items import FOUND

ENGINES = [*OTHERS, "chromium"]
SECOND, FIRST, OWN = (f"chapters/{name}.html" for name in ("second", "first", "your-progress"))
OLD = {"attnbook: softmax-by-hand": "# old", "attnbook: softmax-by-hand before": "# older"}
FULL = """<script>
const set = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, text) {
    if (key.startsWith("attnbook/")) throw new DOMException("full", "QuotaExceededError");
    set.call(this, key, text);
};
</script>"""

# Figures of closed sections start once a reader is there.
READY = """() => dispatchEvent(new Event('attnbook-reader'))
    && document.querySelectorAll('[data-attnbook-view]').length
    === document.querySelectorAll('[data-attnbook-view] figure').length"""
STORE = """items => {
    localStorage.clear();
    for (const [key, text] of Object.entries(items)) localStorage.setItem(key, text);
}"""
# All but the last page, which a page stores when the reader leaves it.
STORED = """() => Object.fromEntries(Object.keys(localStorage)
    .filter(key => key.startsWith('attnbook') && !key.includes('/last/'))
    .map(key => [key, localStorage.getItem(key)]))"""
CHOOSE = """(option, page = document) => [...page.querySelectorAll('.option')]
    .find(each => each.textContent.includes(option)).click()"""
STATES = """(page = document) => [...page.querySelectorAll('.option')]
    .map(each => each.textContent.trim() + ' ' + each.dataset.state).sort()"""
OPEN = "() => [...document.querySelectorAll('.attnbook-answer')].map(each => each.open)"
TYPE = """(text, page = document) => {
    const field = page.querySelector('figure.code textarea');
    field.value = text;
    field.dispatchEvent(new Event('input'));
}"""
CODE = "(page = document) => page.querySelector('figure.code textarea').value"
PRESS = """(text, part = 'main') => [...document.querySelectorAll(`${part} button`)]
    .find(each => each.textContent === text).click()"""
TICKS = """() => [...document.querySelectorAll('.bd-links a')]
    .filter(each => each.textContent.includes('(read)')).map(each => each.firstChild.data.trim())"""
MESSAGE = "document.querySelector('.attnbook-your-progress > [role=status]').textContent"
ANSWER, CLEAR_ANSWER = f"() => {MESSAGE}", f"() => {{ {MESSAGE} = ''; }}"
SORRY = "() => [...document.querySelectorAll('.attnbook-not-stored')].map(each => each.textContent)"
SAVE = """async () => {
    const make = URL.createObjectURL, follow = HTMLAnchorElement.prototype.click;
    let saved;
    URL.createObjectURL = (blob) => { saved = blob; return 'about:blank#'; };
    HTMLAnchorElement.prototype.click = () => {};
    [...document.querySelectorAll('main button')]
        .find(each => each.textContent === 'Save to a file').click();
    [URL.createObjectURL, HTMLAnchorElement.prototype.click] = [make, follow];
    return saved.text();
}"""
LOAD = """text => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'some.json'));
    const input = document.querySelector('.attnbook-your-progress input');
    input.files = transfer.files;
    input.dispatchEvent(new Event('change'));
}"""
FRAMES = """url => {
    window.frames_ = [0, 1].map(() => {
        const frame = document.body.appendChild(document.createElement('iframe'));
        frame.src = url;
        return frame;
    });
}"""
ALIVE = """() => frames_.every(({ contentDocument: page, contentWindow }) => page
    && contentWindow.dispatchEvent(new Event('attnbook-reader'))
    && page.querySelectorAll('[data-attnbook-view]').length === 3
    && page.querySelectorAll('[data-attnbook-view] figure').length === 3)"""


def in_frame(script):
    """The same function in one of two frames."""
    return f"(frame, ...values) => ({script})(...values, frames_[frame].contentDocument)"


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """A watched site; one page also with denied storage, full storage, or a changed question."""
    site = progress_book.build_site(tmp_path_factory)
    folder = watched_copy(site, tmp_path_factory.mktemp("watched-progress"))
    html = (folder / SECOND).read_text("utf-8")
    item = FOUND.search(html)[1]
    others = {
        "denied": html.replace("<head>", f"<head>{DENY}", 1),
        "full": html.replace("<head>", f"<head>{FULL}", 1),
        "changed": html.replace(item, f"{item[:-8]}00000000"),
    }
    for name, text in others.items():
        assert text != html
        (folder / SECOND).with_stem(name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def site_url(request, engine, progress_url, book):
    """From a folder, Chromium may start a new process without the storage of the page before."""
    is_served = request.param == "server" or engine.name == "Chromium"
    return progress_url if is_served else f"{book.as_uri()}/"


@pytest.fixture(scope="session")
def progress_url(serve, book):
    return serve(book)


@pytest.fixture
def reader(engine):
    yield engine
    assert engine.complaints() == []


def start(engine, site, page, stored=None):
    """Open a page with this storage."""
    engine.open(site + page)
    assert until(engine, READY)
    engine.evaluate(STORE, stored or {})
    reload(engine)


def reload(engine):
    engine.reload()
    assert until(engine, READY)


def show(engine, site, page):
    engine.open(site + page)
    assert until(engine, READY)


@pytest.mark.few(3)
@pytest.mark.parametrize("site_url", ["server", "folder"], indirect=True)
def test_answers_and_their_folds_survive_a_reload(reader, site_url):
    start(reader, site_url, SECOND)
    reader.evaluate(CHOOSE, "six")
    reload(reader)
    assert reader.evaluate(STATES) == ["four ", "two ", "✗ six wrong"]
    assert reader.evaluate(OPEN) == [False, False]
    reader.evaluate(CHOOSE, "four")
    reload(reader)
    assert reader.evaluate(STATES) == ["two ", "✓ four right", "✗ six wrong"]
    assert reader.evaluate(OPEN) == [True, False]


@pytest.mark.usefixtures("one_engine")
def test_an_answer_is_not_shown_for_a_question_that_has_changed(reader, progress_url):
    start(reader, progress_url, SECOND)
    reader.evaluate(CHOOSE, "four")
    show(reader, progress_url, "chapters/changed.html")
    assert reader.evaluate(STATES) == ["four ", "six ", "two "]
    assert reader.evaluate(OPEN) == [False, False]


@pytest.mark.usefixtures("one_engine")
def test_stored_text_that_is_no_answer_is_ignored(reader, progress_url):
    start(reader, progress_url, SECOND)
    reader.evaluate(CHOOSE, "four")
    [key] = reader.evaluate(STORED)
    for text in ("no JSON", "null", '{"tried": 3}', '{"tried": ["nine", [4]], "done": "sure"}'):
        start(reader, progress_url, SECOND, {key: text})
        assert reader.evaluate(STATES) == ["four ", "six ", "two "], text


def test_two_tabs_merge(reader, progress_url):
    start(reader, progress_url, SECOND)
    reader.open(f"{progress_url}phone.html")
    reader.evaluate(FRAMES, progress_url + SECOND)
    assert until(reader, ALIVE)
    both = f"""() => {{
        for (const [i, option] of ['two', 'six'].entries()) ({in_frame(CHOOSE)})(i, option);
    }}"""
    reader.evaluate(both)  # neither has read the other's
    reader.evaluate(in_frame(TYPE), 0, "# first tab")
    merged = ["four ", "✗ six wrong", "✗ two wrong"]
    for frame in (0, 1):
        is_merged = f"(frame, states) => String(({in_frame(STATES)})(frame)) === String(states)"
        assert until(reader, is_merged, frame, merged), reader.evaluate(in_frame(STATES), frame)
    assert until(reader, f"() => ({in_frame(CODE)})(1) === '# first tab'")
    show(reader, progress_url, SECOND)
    assert reader.evaluate(STATES) == merged
    assert reader.evaluate(CODE) == "# first tab"


@pytest.mark.few(3)
@pytest.mark.parametrize("storage", ["denied", "full"])
def test_without_storage_everything_works_and_one_sentence_warns(reader, progress_url, storage):
    start(reader, progress_url, FIRST)
    reader.evaluate(STORE, OLD)
    show(reader, progress_url, f"chapters/{storage}.html")
    assert reader.evaluate(SORRY) == []
    if storage == "full":  # what cannot be moved stays, and is used
        assert reader.evaluate(CODE) == "# old"
        assert reader.evaluate(STORED) == OLD
    reader.evaluate(CHOOSE, "four")
    reader.evaluate(TYPE, "# mine")
    reader.evaluate(PRESS, "Start again")
    reader.evaluate(PRESS, "Bring back")
    assert reader.evaluate(CODE) == "# mine"
    reader.evaluate(PRESS, "Mark as read")
    reader.evaluate(PRESS, "Read ✓")
    assert reader.evaluate(STATES) == ["six ", "two ", "✓ four right"]
    assert reader.evaluate(OPEN) == [True, False]
    [sentence] = reader.evaluate(SORRY)
    assert "a reload loses what you do here" in sentence


@pytest.mark.usefixtures("one_engine")
def test_code_of_the_old_format_is_moved(reader, progress_url):
    start(reader, progress_url, SECOND, OLD)
    assert reader.evaluate(CODE) == "# old"
    moved = reader.evaluate(STORED)
    assert not {*moved} & {*OLD}
    assert sorted(moved.values()) == ["# old", "# older"]
    reader.evaluate(PRESS, "Bring back")
    assert reader.evaluate(CODE) == "# older"
    # A page that is still open has stored more; nothing of it is lost.
    start(reader, progress_url, SECOND, moved | {"attnbook: softmax-by-hand": "# newest"})
    assert reader.evaluate(CODE) == "# old"
    assert reader.evaluate(STORED)["attnbook: softmax-by-hand"] == "# newest"
    reader.evaluate(PRESS, "Start again")
    assert "# newest" not in reader.evaluate(CODE)
    code_only = {key: text for key, text in moved.items() if "/code/" in key}
    start(reader, progress_url, SECOND, code_only | {"attnbook: softmax-by-hand": "# newest"})
    assert reader.evaluate(CODE) == "# newest"
    reader.evaluate(PRESS, "Bring back")
    assert reader.evaluate(CODE) == "# old"


@pytest.mark.usefixtures("one_engine")
def test_a_chapter_is_marked_as_read_announced_and_ticked(reader, progress_url):
    start(reader, progress_url, SECOND)
    announced = "() => document.querySelector('.attnbook-read [role=status]').textContent"
    assert reader.evaluate(announced) == ""
    assert reader.evaluate(
        "() => document.querySelector('.attnbook-read + .attnbook-divider') !== null"
    )
    reader.evaluate(PRESS, "Mark as read")
    assert reader.evaluate(announced) == "This chapter is marked as read."
    assert reader.evaluate(TICKS) == ["Second"]
    reload(reader)
    assert reader.evaluate(TICKS) == ["Second"]
    reader.evaluate(PRESS, "Read ✓")
    assert reader.evaluate(announced) == "This chapter is no longer marked as read."
    assert reader.evaluate(TICKS) == []


ENTRIES = """() => [...document.querySelectorAll('.attnbook-path li')]
    .map(each => each.textContent.replace(/\\s+/g, ' ').replace(/ · Core \\d+ min/, '').trim())"""
CONTINUE = """() => {
    const link = document.querySelector('.attnbook-continue:not([hidden]) a');
    return link && [link.textContent, link.href];
}"""


READ_ON = """() => {
    document.querySelector('#far-below > details').open = true;
    document.querySelector('#far-below').scrollIntoView();
}"""


@pytest.mark.usefixtures("one_engine")
def test_the_path_shows_what_is_done_and_where_the_reader_stopped(reader, progress_url):
    start(reader, progress_url, FIRST)
    assert reader.evaluate(ENTRIES) == ["First", "Second"]
    assert reader.evaluate(CONTINUE) is None
    show(reader, progress_url, SECOND)
    reader.evaluate(CHOOSE, "four")
    reader.evaluate(READ_ON)
    show(reader, progress_url, FIRST)
    assert reader.evaluate(ENTRIES) == ["First", "Second · 1 of 1 prediction · 0 of 1 task"]
    text, address = reader.evaluate(CONTINUE)
    assert text == "Continue where you stopped: Second, “Far below”"
    assert address == f"{progress_url}{SECOND}#far-below"
    reader.evaluate("() => attnbookProgress.write('read/second/-', '1')")
    assert reader.evaluate(ENTRIES)[1] == "Second · ✓ read · 1 of 1 prediction · 0 of 1 task"
    show(reader, progress_url, OWN)
    assert reader.evaluate(ENTRIES) == ["First", "Third"]
    begun = ENTRIES.replace(".attnbook-path", ".attnbook-started")
    assert reader.evaluate(begun) == ["Second · ✓ read · 1 of 2 predictions · 0 of 1 task"]


def test_progress_is_saved_deleted_and_loaded(reader, progress_url):
    foreign = {"attnbook/1/%2Fother%2F/read/second/-": "1", "theme": "dark"}
    start(reader, progress_url, SECOND, OLD)
    reader.evaluate(CHOOSE, "four")
    reader.evaluate(PRESS, "Mark as read")
    stored = reader.evaluate(STORED)
    show(reader, progress_url, OWN)
    saved = json.loads(reader.evaluate(SAVE))
    assert (saved["format"], saved["version"], saved["site"]) == ("attnbook progress", 1, "/")

    start(reader, progress_url, OWN, reader.evaluate(STORED) | foreign)
    reader.evaluate(PRESS, "Delete everything …")
    reader.evaluate(PRESS, "Cancel")
    assert reader.evaluate(STORED).items() >= stored.items()
    reader.evaluate(PRESS, "Delete everything …")
    reader.evaluate(PRESS, "Delete everything")
    assert "is deleted" in reader.evaluate(ANSWER)
    assert reader.evaluate(STORED) == {key: "1" for key in foreign if key != "theme"}
    assert reader.evaluate("() => localStorage.getItem('theme')") == "dark"
    assert reader.evaluate(TICKS) == []

    reader.evaluate(LOAD, json.dumps(saved))
    assert until(reader, f"() => ({ANSWER})().startsWith('Loaded: 5 items were added.')")
    assert reader.evaluate(TICKS) == ["Second"]
    assert reader.evaluate(STORED).items() >= stored.items()


ITEM = "code/softmax-by-hand/-"


OTHER_FILES = [
    ({"format": "bookmarks"}, "This file does not hold saved progress."),
    ({"version": 2}, "This file was saved by a newer version of the book."),
    ({"book": "Cooking"}, "This file is from another book, “Cooking”."),
    ({"items": {ITEM: "# file", "../other": "1"}}, "This file is damaged."),
    ({"items": {ITEM: 7}}, "This file is damaged."),
    (None, "This file does not hold saved progress."),
]


@pytest.mark.usefixtures("one_engine")
def test_a_file_that_is_not_this_books_progress_changes_nothing(reader, progress_url):
    start(reader, progress_url, OWN)
    reader.evaluate("item => attnbookProgress.write(item, '# mine')", ITEM)
    saved, before = json.loads(reader.evaluate(SAVE)), reader.evaluate(STORED)
    for change, sentence in OTHER_FILES:
        reader.evaluate(LOAD, json.dumps(saved | change) if change else "{")
        assert until(reader, f"() => ({ANSWER})().endsWith('Nothing was changed.')")
        assert reader.evaluate(ANSWER).startswith(sentence)
        assert reader.evaluate(STORED) == before
        reader.evaluate(CLEAR_ANSWER)


@pytest.mark.usefixtures("one_engine")
def test_loading_never_replaces_code(reader, progress_url):
    start(reader, progress_url, OWN)
    read = "kind => attnbookProgress.read(`${kind}/softmax-by-hand/-`)"
    saved = json.loads(reader.evaluate(SAVE))
    reader.evaluate("item => attnbookProgress.write(item, '# mine')", ITEM)
    for text, end in (("# file", "1 item was added."), ("# other", "was not changed.")):
        reader.evaluate(LOAD, json.dumps(saved | {"items": {ITEM: text}}))
        assert until(reader, f"end => ({ANSWER})().endsWith(end)", end)
        assert [reader.evaluate(read, kind) for kind in ("code", "before")] == ["# mine", "# file"]


@pytest.mark.usefixtures("one_engine")
def test_loading_completes_an_answer_and_never_removes_one(reader, progress_url):
    start(reader, progress_url, OWN)
    saved = json.loads(reader.evaluate(SAVE))
    item = "prediction/second/1"
    tried, done = '{"tried":["two"],"done":""}', '{"tried":[],"done":"right"}'
    for stored, text, after in ((tried, done, done), (done, tried, done), (tried, "{", tried)):
        reader.evaluate("([item, text]) => attnbookProgress.write(item, text)", [item, stored])
        reader.evaluate(LOAD, json.dumps(saved | {"items": {item: text}}))
        assert until(reader, f"() => ({ANSWER})().startsWith('Loaded')")
        assert reader.evaluate("item => attnbookProgress.read(item)", item) == after
        reload(reader)
