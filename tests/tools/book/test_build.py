"""The build: which faults stop it, what the next build reuses, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen
from zipfile import ZipFile

import pytest
from jupyter_cache import get_cache

from tests.tools.book import forked
from tools import ROOT
from tools.book import build as tool
from tools.book.state import QUESTIONS, BuildFolder, digest, is_sound

COPIED = ["_config.yml", "requirements.txt", "img", "tools", "attnbook"]
TOC = "format: jb-book\nroot: chapters/first\nchapters:\n  - file: chapters/second\n"
CI_VARIABLES = ("GITHUB_", "BOOK_SITE")  # they would give the book addresses
SECOND = "# Second\n\nText with $x^2$ and a [link](first.ipynb).\n"
QUESTION = f"{SECOND}\n## Practice\n\n**1.** Why?\n\n:::{{dropdown}} Answer\nBecause.\n:::\n"
# Each execution appends a letter to a file that is not a source of the book.
COUNTED = "with open('../executed', 'a') as file:\n    _ = file.write('x')\nprint(6 * 7)"
FIGURE = """
import torch
from attnbook.figures import ScalingFigure
torch.manual_seed(0)
ScalingFigure(torch.randn(1, 2, 4), torch.randn(1, 3, 4))
"""
# Uses what an answer has imported.
AFTER_ANSWER = "print(torch.ones(3).sum().item())"


def write_notebook(book, *sources, name="first", title="# First", **tagged):
    """Write a chapter with these cells of code; `answer=3` tags the third."""
    cells = [{"cell_type": "markdown", "id": "c0", "metadata": {}, "source": title}]
    for number, source in enumerate(sources, 1):
        metadata = {"tags": [tag for tag, cell in tagged.items() if cell == number]}
        cell = {"cell_type": "code", "id": f"c{number}", "metadata": metadata, "source": source}
        cells.append(cell | {"execution_count": None, "outputs": []})
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4}
    (book / "chapters" / f"{name}.ipynb").write_text(json.dumps(notebook | {"nbformat_minor": 5}))


def write_book(folder, *sources, answer=None):
    """Write a book of two small pages with this book's settings, as an unpacked archive."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("node_modules", "__pycache__")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    (folder / "tools" / "node_modules").symlink_to(ROOT / "tools" / "node_modules")
    (folder / "chapters").mkdir()
    (folder / "chapters" / "references.bib").touch()
    (folder / "chapters" / "second.md").write_text(SECOND)
    (folder / "_toc.yml").write_text(TOC)
    write_notebook(folder, *(sources or [COUNTED]), answer=answer)
    return folder


@pytest.fixture
def book(tmp_path):
    return write_book(tmp_path)


def add_line(file, line=""):
    file.write_text(f"{file.read_text()}{line}\n" if file.exists() else f"{line}\n")


def count_executions(book):
    return len((book / "executed").read_text())


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(CI_VARIABLES)}


def start(book, *task):
    """Start a build in its own process, which inherits SIGINT as ignored, as under `nohup`."""
    ignored = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    return subprocess.Popen(
        [*ignored, sys.executable, "-m", "tools.book.build", *task],
        cwd=book,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=environment(),
    )


def build(book, *task):
    """The exit status and the output of a build in its own process."""
    return forked.build(book, *(task or ["build"]), env=environment())


def build_successfully(book, *task):
    """The output of a build that must succeed."""
    status, output = build(book, *task)
    assert status == 0, output
    return output


def read_page(book, name="first", kind=""):
    return (BuildFolder(book, kind).html / "chapters" / f"{name}.html").read_text()


def read_site(book):
    html = BuildFolder(book).html
    return {str(p.relative_to(html)): p.read_bytes() for p in html.rglob("*") if p.is_file()}


# A good book; `make test` also builds the real one, and its pages are tested


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good book that is built with and without answers, and what its build printed."""
    sources = COUNTED, FIGURE, FIGURE, AFTER_ANSWER
    book = write_book(tmp_path_factory.mktemp("good"), *sources, answer=3)
    (book / "chapters" / "second.md").write_text(QUESTION)
    return book, build_successfully(book, "build", "--without-answers", "--zip")


@pytest.mark.weekly
def test_a_good_book_is_built_without_git_with_and_without_answers_and_executed_once(good):
    book, output = good
    page = read_page(book)
    assert (book / "_build" / "html" / "index.html").as_uri() in output
    assert "<span" in page
    assert "42" in page
    assert page.count("data-attnbook-view") == 2
    assert "Made from an unknown commit with torch" in page
    assert "repository-button" not in page

    whole, questions = read_page(book, "second"), read_page(book, "second", QUESTIONS)
    assert ("Because." in whole, "Because." in questions) == (True, False)
    assert "<strong>1.</strong> Why?" in questions
    (path,) = (book / "_build").rglob("*.zip")  # of the book for a class, and linked there
    with ZipFile(path) as zipped:
        assert "Because." not in "".join(map(str, map(zipped.read, zipped.namelist())))
    assert path.name in questions
    first = read_page(book, "first", QUESTIONS)
    assert first.count("data-attnbook-view") == 1
    assert "3.0" in first
    assert count_executions(book) == 1


@pytest.mark.weekly
def test_a_copy_gives_the_same_bytes_and_only_a_changed_attnbook_is_executed_again(good, tmp_path):
    book, _ = good
    copy = tmp_path / "book"
    shutil.copytree(book, copy, symlinks=True, ignore=shutil.ignore_patterns("_build", "executed"))
    build_successfully(copy)
    one, other = read_site(book), read_site(copy)
    assert [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)] == []

    add_line(copy / "chapters" / "second.md", "More.")
    add_line(copy / "_config.yml")
    build_successfully(copy)
    assert "More." in read_page(copy, "second")
    assert "42" in read_page(copy)
    assert count_executions(copy) == 1

    add_line(copy / "attnbook" / "more.py", "x = 1")
    build_successfully(copy)
    assert count_executions(copy) == 2
    assert len(list((copy / "_build" / ".executions").iterdir())) == 1


# A book with faults

# The text of a page or the code of a cell, and a word of the message that the build prints.
TEXTS = {
    "a broken reference": ("See {ref}`nowhere`.", "nowhere"),
    "a broken link": ("See [this](nowhere.md).", "nowhere"),
    "an unknown term": ("See {term}`nothing`.", "nothing"),
    "a wrong formula": (r"Then $\fracc12$.", "fracc"),
    "a picture without alt text": ("![](../img/logo.svg)", "alt text"),
    "an unknown citation": ("{cite}`nobody`", "nobody"),
}
CELLS = {
    "stderr": (
        "import sys\nprint('look out', file=sys.stderr)",
        "stderr was found in the cell out",
    ),
    "raw html": ("from IPython.display import HTML\nHTML('<img src=dot.png>')", "without alt"),
}
# A layer that stores its weights and does not run the lines that the book shows.
ERROR = (
    "import torch\nfrom attnbook import AdditiveAttention\n"
    "AdditiveAttention(5, 5, 5)(*[torch.ones(1, 300, 5)] * 3)"
)
# The table of old addresses, and the messages that the build prints.
REDIRECTS = {
    '[second]\n"" = "first"': "second exists, so only its sections can lead elsewhere",
    '[gone]\nsection = "second"': 'gone does not exist, so the key "" must name its new page',
    '[old]\n"" = "nowhere"': "old leads to nowhere, which does not exist",
    '[older]\n"" = "second#nowhere"': "older leads to second#nowhere, which does not exist",
    '[first]\nsection = "first"': "first leads to itself by first, and would stay hidden",
}


# Pages with a fault about their divider or their length, and a word of its message.
DIVIDER = ":::{deeper}\n:::"
NO_HEADING = "a heading of level 2 must follow the divider"
WRONG_LINK = "the core leads into a deeper half: the text of the link to #b must be “B”"
DIVIDED = {
    "wordy": ("a " * 920 + f"\n\n{DIVIDER}\n\n## B\n", "the core has 921 words, and may have 900"),
    "twice": (f"{DIVIDER}\n\n## B\n\n{DIVIDER}\n", "one divider, and this is another"),
    "after": (f"## A\n\n{DIVIDER}\n\nText.\n\n## B\n", NO_HEADING),
    "end": (f"## A\n\nText.\n\n{DIVIDER}\n", NO_HEADING),
    "own": (f"[b](#b)\n\n{DIVIDER}\n\n## B\n", WRONG_LINK),
    "other": (f"[b](own.md#b)\n\n{DIVIDER}\n\n## B\n", WRONG_LINK),
}
MORE = {
    "code": "cell 1 of the core shows 16 lines of code, and may show 15",
    "first": "words, and may have 6500",
}
PATH = [*DIVIDED, "code"]
PARTS = f"""format: jb-book
root: chapters/first
parts:
- caption: The idea
  chapters: [{", ".join(f"{{file: chapters/{name}}}" for name in PATH)}]
- caption: More
  chapters: [{{file: chapters/second}}]
"""
LONG = "\n\n".join(f"_ = {number}" for number in range(16))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """The summary of the build of a book with every fault."""
    sources = [*(source for source, _ in CELLS.values()), ERROR]
    book = write_book(tmp_path_factory.mktemp("faulty"), *sources)
    write_notebook(book, *sources, title=f"# First\n\n{'a ' * 5800}")
    for name, (text, _) in DIVIDED.items():
        (book / "chapters" / f"{name}.md").write_text(f"# {name}\n\n{text}")
    write_notebook(book, LONG, LONG, LONG, name="code", title="# Code", setup=2)
    code = json.loads((book / "chapters" / "code.ipynb").read_text())
    divider = {"cell_type": "markdown", "id": "d", "metadata": {}, "source": f"{DIVIDER}\n\n## B"}
    code["cells"].insert(3, divider)
    (book / "chapters" / "code.ipynb").write_text(json.dumps(code))
    (book / "_toc.yml").write_text(PARTS)
    text = "\n".join(["# Second\n", *(f"{text}\n" for text, _ in TEXTS.values())])
    (book / "chapters" / "second.md").write_text(text)
    (book / "chapters" / "redirects.toml").write_text("\n".join(REDIRECTS))
    status, output = build(book)
    assert status == 1
    return output.partition(tool.SUMMARY)[2].splitlines()


@pytest.mark.slow
def test_each_fault_stops_the_build_and_is_reported_with_its_place(faulty):
    expected = [
        (f"second.md:{3 + 2 * number}:", word) for number, (_, word) in enumerate(TEXTS.values())
    ]
    expected += [
        (f"first.ipynb:{2 + number}", word) for number, (_, word) in enumerate(CELLS.values())
    ]
    expected += [
        ("", message) for message in ("'NoneType' object is not callable", *REDIRECTS.values())
    ]
    missing = [
        (place, word)
        for place, word in expected
        if not any(place in row and word in row for row in faulty)
    ]
    assert missing == [], faulty


@pytest.mark.slow
def test_each_fault_of_a_divider_or_a_length_is_reported_once_with_its_number(faulty):
    warnings = [row for row in faulty if "WARNING" in row]
    for name, words in {name: words for name, (_, words) in DIVIDED.items()}.items() | MORE.items():
        found = [row for row in warnings if f"/{name}." in row]
        assert sum(words in row for row in found) == 1, name
        assert len(found) == 1 or name == "first", found


# An interruption


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_an_interrupted_build_is_quiet_and_the_next_one_is_good(book, monkeypatch, sent, status):
    write_notebook(
        book,
        COUNTED,
        "import time\nfrom pathlib import Path\nwhile Path('../hold').exists(): time.sleep(0.05)",
    )
    (book / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(book / "temporary"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(book / "temporary"))
    (book / "hold").touch()
    process = start(book, "build")
    while not (book / "executed").exists():
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(process.pid, sent)
    output = process.communicate(timeout=120)[0]
    assert process.returncode == status, output
    assert not BuildFolder(book).stamp.exists()
    if status > 0:
        assert output.endswith("[mystnb]\n\nInterrupted!\n\n")
        assert [*(book / "temporary").iterdir()] == []
    (book / "hold").unlink()
    build_successfully(book)
    assert "42" in read_page(book)


# With Jupyter Book's own command


@pytest.mark.weekly
def test_the_plain_command_builds_the_book_and_lets_a_fault_pass_that_ours_does_not(book):
    (book / "tools" / "node_modules").unlink()
    add_line(book / "chapters" / "second.md", "\nSee [this](nowhere.md).")

    # It fetches KaTeX, has no other warning and executes for both.
    command = [Path(sysconfig.get_path("scripts")) / "jupyter-book", "build", book]
    done = subprocess.run(command, stdout=-1, stderr=-2, text=True, check=False)
    assert done.returncode == 0, done.stdout
    warnings = [line for line in done.stdout.splitlines() if "WARNING" in line]
    assert warnings != []
    assert [line for line in warnings if "nowhere" not in line] == []
    assert '<span class="katex-html"' in read_page(book, "second")
    assert list((book / "_build" / "html" / "_static" / "katex" / "fonts").iterdir())
    assert "42" in read_page(book)

    status, output = build(book)
    assert status == 1, output
    assert "nowhere" in output
    assert count_executions(book) == 1


# While a chapter is written


@contextmanager
def make_chapter(book):
    """Run `make chapter`; gives a function that waits for the next page, and the printed lines."""
    process = start(book, "chapter", "first")
    limit = threading.Timer(240, os.killpg, [process.pid, signal.SIGKILL])
    limit.start()
    output = []

    def wait_for_page():
        for line in process.stdout:
            output.append(line)
            if address := re.match(r"(http://.*html) \(Ctrl-C ends it\)", line):
                with urlopen(address[1], timeout=60) as reply:  # noqa: S310 - our own server
                    return reply.read().decode()
        raise EOFError("".join(output))

    try:
        yield wait_for_page, output
    finally:
        limit.cancel()
        os.killpg(process.pid, signal.SIGINT)
        output.append(process.communicate(timeout=60)[0])


@pytest.mark.weekly
def test_a_draft_follows_its_sources_and_other_chapters_are_shown_as_stored(book):
    shutil.copy(book / "chapters" / "first.ipynb", book / "chapters" / "third.ipynb")
    (book / "_toc.yml").write_text(TOC + "  - file: chapters/third\n")
    with make_chapter(book) as (wait_for_page, output):
        assert "42" in wait_for_page()
        assert "A draft." in read_page(book, kind="chapter")
        assert "<script data-build" not in read_page(book, kind="chapter")
        assert "42" not in read_page(book, "third", "chapter")

        # A changed text is shown without a run, even with a fault, which is reported.
        (book / "chapters" / "second.md").write_text(SECOND + "\nMore.\n")
        assert "42" in wait_for_page()
        assert "More." in read_page(book, "second", "chapter")
        write_notebook(book, COUNTED, title="# First\n\n{term}`nothing`")
        assert "nothing" in wait_for_page()
        assert any("term not in glossary" in line for line in output)
        assert count_executions(book) == 1

        write_notebook(book, COUNTED)
        add_line(book / "attnbook" / "more.py", "x = 1")
        assert "nothing" not in wait_for_page()
        assert count_executions(book) == 2
    assert not any("Traceback" in line for line in output)


@pytest.mark.parametrize("code", [0, 1, tool.UNFINISHED])
def test_a_draft_with_warnings_is_shown_and_only_one_without_is_finished(
    tmp_path, monkeypatch, code
):
    def render(folder, target, settings):  # noqa: ARG001 - the real one's parameters
        target.mkdir()
        (target / "page.html").touch()
        return code

    folder, copy = BuildFolder(tmp_path, "chapter"), tmp_path / "copy"
    monkeypatch.setattr(tool, "render", render)
    assert tool.build(folder, copy) == code
    assert (copy / "page.html").exists() == (code < tool.UNFINISHED)
    assert folder.stamp.exists() == (code == 0)


def test_a_source_is_noticed_once_it_has_been_saved(tmp_path, monkeypatch):
    file = tmp_path / "chapters" / "first.md"
    file.parent.mkdir()
    texts = iter(["whole", "whole", "", "a", "a b", "a b c", "a b c"])
    file.write_text(next(texts))
    clock = SimpleNamespace(sleep=lambda _: file.write_text(next(texts)))
    monkeypatch.setattr(tool, "time", clock)
    assert [file.read_text() for _ in islice(tool.changes(tmp_path), 2)] == ["whole", "a b c"]


# Without a build


def test_an_unknown_chapter_gets_one_sentence_with_those_that_exist(tmp_path, capsys):
    (tmp_path / "_toc.yml").write_text(TOC)
    assert tool.main(["--root", str(tmp_path), "chapter", "frist"]) == 1
    output = capsys.readouterr().out
    assert output == "There is no chapter 'frist'. The chapters are: first, second.\n"


def test_the_digest_changes_with_a_name_and_with_a_content(tmp_path):
    (tmp_path / "a.py").write_text("1")
    before = digest(tmp_path, [tmp_path])
    (tmp_path / "a.py").write_text("2")
    changed = digest(tmp_path, [tmp_path])
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({before, changed, digest(tmp_path, [tmp_path])}) == 3


def test_executions_belong_to_one_state_of_the_package_and_the_pins(tmp_path):
    (tmp_path / "attnbook").mkdir()
    for name in ("requirements.txt", "attnbook/more.py"):
        before = BuildFolder(tmp_path).executions
        before.mkdir(parents=True)
        add_line(tmp_path / name)
        assert BuildFolder(tmp_path).executions != before, name
        BuildFolder(tmp_path).prepare()
        assert not before.exists(), name


def test_a_finished_build_from_other_sources_is_not_reused(tmp_path):
    folder = BuildFolder(tmp_path)
    folder.html.mkdir(parents=True)
    (folder.html / "old.html").touch()
    folder.stamp.write_text("something else")
    folder.prepare()
    assert not (folder.html / "old.html").exists()
    assert not folder.stamp.exists()


def test_after_a_failed_build_the_next_one_begins_from_the_last_good_one(tmp_path):
    folder = BuildFolder(tmp_path)
    pages = [folder.path / part / "page" for part in ("html", ".doctrees", "jupyter_execute")]
    for page in pages:
        page.parent.mkdir(parents=True)
        page.write_text("good")
    folder.stamp.write_text(folder.digest_sources())
    for _ in range(2):
        folder.prepare()
        assert [page.read_text() for page in pages] == ["good"] * 3
        assert not list(folder.path.glob("*/other"))
        assert not folder.stamp.exists()
        for page in pages:
            page.write_text("half")
            page.with_name("other").touch()


def test_half_a_copy_of_a_build_is_not_trusted(tmp_path, monkeypatch):
    folder = BuildFolder(tmp_path)
    folder.html.mkdir(parents=True)
    folder.stamp.write_text(folder.digest_sources())
    folder.prepare()
    monkeypatch.setattr("tools.book.state.shutil.copytree", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        folder.prepare()
    assert not folder.stamp.exists()


def test_a_half_written_execution_is_noticed(tmp_path):
    folder = tmp_path / "cache"
    (tmp_path / "chapters").mkdir()
    write_notebook(tmp_path, "1")
    store = get_cache(folder)
    store.cache_notebook_file(tmp_path / "chapters" / "first.ipynb", check_validity=False)
    store.db.dispose()
    assert is_sound(folder)
    next(folder.rglob("base.ipynb")).write_text("{")
    assert not is_sound(folder)
