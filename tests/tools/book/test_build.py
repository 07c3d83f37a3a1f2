"""Of the build: what fails it, what it keeps, and what an interruption leaves."""

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

import pytest
from jupyter_cache import get_cache

from tests.tools.book import forked
from tools import ROOT
from tools.book.build import changes, main
from tools.book.state import QUESTIONS, Workshop, digest, is_sound

COPIED = ["_config.yml", "requirements.txt", "img", "tools", "attnbook"]
TOC = "format: jb-book\nroot: chapters/first\nchapters:\n  - file: chapters/second\n"
OF_CI = ("GITHUB_", "BOOK_SITE")  # what would give the book addresses
SECOND = "# Second\n\nText with $x^2$ and a [link](first.ipynb).\n"
QUESTION = f"{SECOND}\n## Practice\n\n**1.** Why?\n\n:::{{dropdown}} Answer\nBecause.\n:::\n"
# Each execution appends a letter to a file that is no source of the book.
COUNTED = "with open('../executed', 'a') as file:\n    _ = file.write('x')\nprint(6 * 7)"
FIGURE = """
import torch
from attnbook.figures import ScalingFigure
torch.manual_seed(0)
ScalingFigure(torch.randn(1, 2, 4), torch.randn(1, 3, 4))
"""
# Goes on with what an answer has imported and drawn.
CALLED = "print(torch.ones(3).sum().item())"
PICTURE = """
from attnbook.display import heatmap
heatmap(torch.eye(3))
"""


def cell(number, source):
    if number == 0:
        return {"cell_type": "markdown", "id": "c0", "metadata": {}, "source": source}
    shown = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": source, **shown}


def write_notebook(book, *sources, name="first", title="# First"):
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [cell(number, source) for number, source in enumerate([title, *sources])]
    notebook = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4}
    (book / "chapters" / f"{name}.ipynb").write_text(json.dumps(notebook | {"nbformat_minor": 5}))


def write_book(folder, *sources):
    """A book of two small pages with this one's settings, as an unpacked archive has them."""
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
    write_notebook(folder, *(sources or [COUNTED]))
    return folder


@pytest.fixture
def book(tmp_path):
    return write_book(tmp_path)


def source_of(stored):
    return "".join(stored["source"])


def add_line(file, line=""):
    file.write_text(f"{file.read_text()}{line}\n" if file.exists() else f"{line}\n")


def executions(book):
    return len((book / "executed").read_text())


def surroundings():
    return {name: value for name, value in os.environ.items() if not name.startswith(OF_CI)}


def start(book, *task):
    """A build in a process of its own, which inherits SIGINT as ignored, as under `nohup`."""
    ignored = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    return subprocess.Popen(
        [*ignored, sys.executable, "-m", "tools.book.build", *task],
        cwd=book,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=surroundings(),
    )


def build(book, *task):
    """The exit status and the output of a build in its own process."""
    return forked.build(book, *(task or ["build"]), env=surroundings())


def build_well(book, *task):
    """The output of a build that must succeed."""
    status, output = build(book, *task)
    assert status == 0, output
    return output


def page(book, name="first", kind=""):
    return (Workshop(book, kind).html / "chapters" / f"{name}.html").read_text()


def site_of(book):
    html = Workshop(book).html
    return {str(p.relative_to(html)): p.read_bytes() for p in html.rglob("*") if p.is_file()}


def wait_for(path):
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.1)
    raise TimeoutError(path)


# A good book


def answer_with(book, number):
    """Make a cell of the first page the worked answer to a question of the practice."""
    path = book / "chapters" / "first.ipynb"
    notebook = json.loads(path.read_text())
    notebook["cells"][number]["metadata"]["tags"] = ["answer"]
    path.write_text(json.dumps(notebook))


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good book that is built, what its build printed, and a copy that is not built."""
    book = write_book(tmp_path_factory.mktemp("good"), COUNTED, FIGURE, PICTURE, FIGURE, CALLED)
    answer_with(book, 4)
    (book / "chapters" / "second.md").write_text(QUESTION)
    copy = tmp_path_factory.mktemp("elsewhere") / "book"
    shutil.copytree(book, copy, symlinks=True)
    return book, build_well(book), copy


@pytest.mark.slow
def test_a_good_book_is_built_without_git_and_says_so(good):
    book, output, _ = good
    assert (book / "_build" / "html" / "index.html").as_uri() in output
    assert "<span" in page(book)
    assert "42" in page(book)
    assert page(book).count("data-attnbook-view") == 2
    assert "Made from an unknown commit with torch" in page(book)
    assert "repository-button" not in page(book)


@pytest.mark.slow
def test_a_copy_gives_the_same_bytes_and_is_executed_again_for_a_changed_attnbook_only(good):
    book, _, copy = good
    build_well(copy)
    one, other = site_of(book), site_of(copy)
    assert [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)] == []

    add_line(copy / "chapters" / "second.md", "More.")
    add_line(copy / "_config.yml")
    build_well(copy)
    assert "More." in page(copy, "second")
    assert "42" in page(copy)
    assert executions(copy) == 1

    add_line(copy / "attnbook" / "more.py", "x = 1")
    build_well(copy)
    assert executions(copy) == 2
    assert len(list((copy / "_build" / ".executions").iterdir())) == 1


@pytest.mark.slow
def test_a_class_gets_the_book_without_answers_beside_the_whole_one(good):
    book, _, _ = good  # the last to use it: this also renders the whole book again
    build_well(book, "build", "--without-answers")
    whole, asked = page(book, "second"), page(book, "second", QUESTIONS)
    assert ("Because." in whole, "Because." in asked) == (True, False)
    assert "<strong>1.</strong> Why?" in asked

    html = Workshop(book, QUESTIONS).html
    download = json.loads((html / "_sources" / "chapters" / "first.ipynb").read_text())
    assert [source_of(it) for it in download["cells"][1:]] == [COUNTED, FIGURE, PICTURE, CALLED]
    first = page(book, "first", QUESTIONS)
    assert first.count("data-attnbook-view") == first.count('"kind":"scaling"') == 1
    assert "3.0" in first
    assert executions(book) == 1


# A faulty book

DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
# What a page holds, or a cell shows, and what the build says of it.
PAGES = {
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
    "a shown picture": (
        "from IPython.display import Image\nImage(filename='dot.png')",
        "without alt text",
    ),
    "raw html": ("from IPython.display import HTML\nHTML('<img src=dot.png>')", "without alt"),
    "an error": (
        "import warnings\nwarnings.warn('look out')\nraise ValueError('too bad')",
        "",
    ),
}
FAULTS = [*PAGES, *CELLS]
# What the table of old addresses holds, and what the build says of it.
REDIRECTS = {
    '[second]\n"" = "first"': "second exists, so only its sections can lead elsewhere",
    '[gone]\nsection = "second"': 'gone does not exist, so the key "" must name its new page',
    '[old]\n"" = "nowhere"': "old leads to nowhere, which does not exist",
    '[older]\n"" = "second#nowhere"': "older leads to second#nowhere, which does not exist",
    '[first]\nsection = "first"': "first leads to itself by first, and would stay hidden",
}


def place_of(fault):
    number = FAULTS.index(fault)
    return f"fault{number}.md:5" if fault in PAGES else f"fault{number}.ipynb"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A book with a page for each fault, and the lines in which its build says what is wrong."""
    book = write_book(tmp_path_factory.mktemp("faulty"))
    (book / "chapters" / "dot.png").write_bytes(DOT)
    toc = TOC
    for number, fault in enumerate(FAULTS):
        name = f"fault{number}"
        if fault in PAGES:
            text = SECOND.replace("# Second", f"# {name}") + f"\n{PAGES[fault][0]}\n"
            (book / "chapters" / f"{name}.md").write_text(text)
        else:
            write_notebook(book, CELLS[fault][0], name=name)
        toc += f"  - file: chapters/{name}\n"
    (book / "_toc.yml").write_text(toc)
    (book / "chapters" / "redirects.toml").write_text("\n".join(REDIRECTS))
    status, output = build(book)
    assert status == 1
    return book, output.partition("once more")[2].splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_build_and_is_named_with_its_place(faulty, fault):
    word = (PAGES | CELLS)[fault][1]
    assert any(place_of(fault) in line and word in line for line in faulty[1]), faulty[1]


@pytest.mark.slow
@pytest.mark.parametrize("message", REDIRECTS.values())
def test_an_old_address_that_leads_nowhere_fails_the_build(faulty, message):
    assert any(message in line for line in faulty[1]), faulty[1]


@pytest.mark.slow
def test_a_cell_that_raises_fails_the_build(faulty):
    assert any("ValueError: too bad" in line for line in faulty[1]), faulty[1]


@pytest.mark.weekly
def test_what_failed_once_fails_again_although_nothing_changed(faulty):
    assert build(faulty[0])[0] == 1


# An interruption


@pytest.mark.slow
@pytest.mark.few(1)
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
    wait_for(book / "executed")
    os.kill(process.pid, sent)
    output = process.communicate(timeout=120)[0]
    assert process.returncode == status, output
    assert not Workshop(book).stamp.exists()
    if status > 0:
        assert output.endswith("[mystnb]\n\nInterrupted!\n\n")
        assert [*(book / "temporary").iterdir()] == []
    (book / "hold").unlink()
    build_well(book)
    assert "42" in page(book)


# By Jupyter Book's own command


def build_plainly(book):
    """What a build says that knows nothing of `tools/book/build.py`; any failure raises."""
    command = [Path(sysconfig.get_path("scripts")) / "jupyter-book", "build", book]
    said = subprocess.run(command, stdout=-1, stderr=-2, text=True, check=False)
    assert said.returncode == 0, said.stdout
    return said.stdout


@pytest.mark.weekly
@pytest.mark.slow
def test_the_plain_command_serves_ours_and_lets_a_fault_pass_that_ours_does_not(book):
    (book / "tools" / "node_modules").unlink()
    add_line(book / "chapters" / "second.md", "\nSee [this](nowhere.md).")

    # It fetches KaTeX, warns of nothing else and executes for both.
    said = build_plainly(book)
    assert [line for line in said.splitlines() if "WARNING" in line and "nowhere" not in line] == []
    assert "nowhere" in said
    assert '<span class="katex-html"' in page(book, "second")
    assert list((book / "_build" / "html" / "_static" / "katex" / "fonts").iterdir())
    assert "42" in page(book)

    status, output = build(book)
    assert status == 1, output
    assert "nowhere" in output
    assert executions(book) == 1


# While a chapter is written


@contextmanager
def writing(book):
    """A `make chapter`: what waits until the page is shown, what it has printed."""
    process = start(book, "chapter", "first")
    limit = threading.Timer(240, os.killpg, [process.pid, signal.SIGKILL])
    limit.start()
    output = []

    def shown():
        for line in process.stdout:
            output.append(line)
            if address := re.match(r"(http://.*html) \(Ctrl-C ends it\)", line):
                with urlopen(address[1], timeout=60) as reply:  # noqa: S310 - our own server
                    return reply.read().decode()
        raise EOFError("".join(output))

    try:
        yield shown, output
    finally:
        limit.cancel()
        os.killpg(process.pid, signal.SIGINT)
        output.append(process.communicate(timeout=60)[0])


@pytest.mark.slow
def test_a_page_in_the_writing_follows_its_sources_and_other_chapters_are_shown_as_stored(book):
    shutil.copy(book / "chapters" / "first.ipynb", book / "chapters" / "third.ipynb")
    (book / "_toc.yml").write_text(TOC + "  - file: chapters/third\n")
    with writing(book) as (shown, output):
        assert "42" in shown()
        assert "A draft." in page(book, kind="chapter")
        assert "<script data-build" not in page(book, kind="chapter")
        assert "42" not in page(book, "third", "chapter")

        # A text is shown without a run; one with a fault, too, but the fault is named.
        (book / "chapters" / "second.md").write_text(SECOND + "\nMore.\n")
        assert "42" in shown()
        assert "More." in page(book, "second", "chapter")
        write_notebook(book, COUNTED, title="# First\n\n{term}`nothing`")
        assert "nothing" in shown()
        assert any("term not in glossary" in line for line in output)
        assert executions(book) == 1

        write_notebook(book, COUNTED)
        add_line(book / "attnbook" / "more.py", "x = 1")
        assert "nothing" not in shown()
        assert executions(book) == 2
    assert not any("Traceback" in line for line in output)


def test_a_source_is_noticed_once_it_has_been_saved(tmp_path, monkeypatch):
    file = tmp_path / "chapters" / "first.md"
    file.parent.mkdir()
    texts = iter(["whole", "whole", "", "a", "a b", "a b c", "a b c"])
    file.write_text(next(texts))
    clock = SimpleNamespace(sleep=lambda _: file.write_text(next(texts)))
    monkeypatch.setattr("tools.book.build.time", clock)
    assert [file.read_text() for _ in islice(changes(tmp_path), 2)] == ["whole", "a b c"]


# Without a build


def test_an_unknown_chapter_gets_one_sentence_with_those_that_exist(book, capsys):
    assert main(["--root", str(book), "chapter", "frist"]) == 1
    said = capsys.readouterr().out
    assert said == "No chapter is named 'frist'; there are first, second.\n"


def test_serving_an_unbuilt_book_says_what_to_do(book, capsys):
    assert main(["--root", str(book), "serve"]) == 1
    assert "make book" in capsys.readouterr().err


def test_the_digest_changes_with_a_name_and_with_a_content(tmp_path):
    (tmp_path / "a.py").write_text("1")
    before = digest(tmp_path, [tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").touch()
    assert digest(tmp_path, [tmp_path]) == before
    (tmp_path / "a.py").write_text("2")
    changed = digest(tmp_path, [tmp_path])
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({before, changed, digest(tmp_path, [tmp_path])}) == 3


def test_executions_are_kept_apart_for_each_state_of_the_pinned_packages(book):
    before = Workshop(book).executions
    add_line(book / "requirements.txt")
    assert Workshop(book).executions != before


def test_a_finished_build_of_the_same_ingredients_is_kept_and_any_other_is_not(book):
    workshop = Workshop(book)

    def leftover_survives(stamp):
        workshop.html.mkdir(parents=True, exist_ok=True)
        (workshop.html / "left.html").touch()
        if stamp:
            workshop.stamp.write_text(stamp)
        workshop.prepare()
        assert not workshop.stamp.exists()
        return (workshop.html / "left.html").exists()

    assert leftover_survives(workshop.ingredients())
    assert not leftover_survives("something else")
    assert not leftover_survives("")


def test_after_a_failed_build_the_next_one_begins_from_the_last_good_one(book):
    workshop = Workshop(book)
    for part in ("html", ".doctrees", "jupyter_execute"):
        (workshop.folder / part).mkdir(parents=True)
        (workshop.folder / part / "page").write_text("good")
    workshop.stamp.write_text(workshop.ingredients())
    for _ in range(2):
        workshop.prepare()
        for part in ("html", ".doctrees", "jupyter_execute"):
            assert (workshop.folder / part / "page").read_text() == "good"
            (workshop.folder / part / "page").write_text("half")
            (workshop.folder / part / "other").touch()
        assert not workshop.stamp.exists()
    workshop.prepare()
    assert not list(workshop.folder.glob("*/other"))


def test_half_a_copy_of_a_build_is_not_trusted(book, monkeypatch):
    workshop = Workshop(book)
    workshop.html.mkdir(parents=True)
    workshop.stamp.write_text(workshop.ingredients())
    workshop.prepare()
    monkeypatch.setattr("tools.book.state.shutil.copytree", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        workshop.prepare()
    assert not workshop.stamp.exists()


def test_a_half_written_execution_is_noticed(tmp_path):
    folder = tmp_path / "cache"
    assert is_sound(folder)
    (tmp_path / "chapters").mkdir()
    write_notebook(tmp_path, "1")
    store = get_cache(folder)
    store.cache_notebook_file(tmp_path / "chapters" / "first.ipynb", check_validity=False)
    store.db.dispose()
    assert is_sound(folder)
    next(folder.rglob("base.ipynb")).write_text("{")
    assert not is_sound(folder)
