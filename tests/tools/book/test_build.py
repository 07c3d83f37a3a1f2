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
from urllib.request import urlopen

import pytest
from jupyter_cache import get_cache

from tests.tools.book import forked
from tools import ROOT
from tools.book.build import changes, chapters, main
from tools.book.state import Workshop, digest, is_sound

COPIED = ["_config.yml", "requirements.txt", "img", "tools", "attnbook"]
TOC = "format: jb-book\nroot: chapters/first\nchapters:\n  - file: chapters/second\n"
OF_CI = ("GITHUB_", "BOOK_SITE")  # what would give the book addresses
SECOND = "# Second\n\nText with $x^2$ and a [link](first.ipynb).\n"


def cell(number, source):
    if number == 0:
        return {"cell_type": "markdown", "id": "c0", "metadata": {}, "source": source}
    shown = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": source, **shown}


def write_notebook(book, *sources, name="first"):
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [cell(number, source) for number, source in enumerate(["# First", *sources])]
    notebook = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4}
    (book / "chapters" / f"{name}.ipynb").write_text(json.dumps(notebook | {"nbformat_minor": 5}))


def write_book(folder):
    """A book of two small pages with this one's settings, as an unpacked archive has them."""
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    (folder / "chapters").mkdir()
    (folder / "chapters" / "references.bib").touch()
    (folder / "chapters" / "second.md").write_text(SECOND)
    (folder / "_toc.yml").write_text(TOC)
    write_notebook(folder, "print(6 * 7)")
    return folder


@pytest.fixture
def book(tmp_path):
    return write_book(tmp_path)


def surroundings():
    return {name: value for name, value in os.environ.items() if not name.startswith(OF_CI)}


def start(book, *task):
    return subprocess.Popen(
        [sys.executable, "-m", "tools.book.build", *task],
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


def page(book, name="first", kind=""):
    return (Workshop(book, kind).html / "chapters" / f"{name}.html").read_text()


QUESTION = f"{SECOND}\n## Practice\n\n**1.** Why?\n\n:::{{dropdown}} Answer\nBecause.\n:::\n"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good book that is built, and what its build said."""
    book = write_book(tmp_path_factory.mktemp("good"))
    (book / "chapters" / "second.md").write_text(QUESTION)
    status, output = build(book)
    assert status == 0, output
    return book, output


@pytest.mark.slow
def test_a_good_book_is_built_without_git_and_says_so(good):
    book, output = good
    assert (book / "_build" / "html" / "index.html").as_uri() in output
    assert "<span" in page(book)
    assert "42" in page(book)
    assert "Made from an unknown commit with torch" in page(book)
    assert "repository-button" not in page(book)


@pytest.mark.slow
def test_a_class_gets_the_book_without_answers_beside_the_whole_one(good):
    book, _ = good
    assert build(book, "build", "--without-answers")[0] == 0
    whole, asked = page(book, "second"), page(book, "second", "questions")
    assert ("Because." in whole, "Because." in asked) == (True, False)
    assert "<strong>1.</strong> Why?" in asked


FIGURE = """
import torch
from attnbook.figures import ScalingFigure
torch.manual_seed(0)
ScalingFigure(torch.randn(1, 2, 4), torch.randn(1, 3, 4))
"""
PICTURE = """
from attnbook.display import heatmap
heatmap(torch.eye(3))
"""


def site_of(book):
    html = Workshop(book).html
    return {str(p.relative_to(html)): p.read_bytes() for p in html.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_two_builds_of_one_book_are_equal_byte_for_byte(book, tmp_path_factory):
    write_notebook(book, FIGURE, PICTURE, FIGURE)
    copy = tmp_path_factory.mktemp("elsewhere") / "book"
    shutil.copytree(book, copy)
    sites = []
    for folder in (book, copy):
        status, output = build(folder)
        assert status == 0, output
        sites.append(site_of(folder))

    one, other = sites
    assert [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)] == []
    assert one["chapters/first.html"].count(b"data-attnbook-view") == 2


@pytest.mark.slow
def test_an_unchanged_book_is_not_executed_again_and_a_changed_attnbook_executes_it(book):
    write_notebook(book, "import time\nprint(f'now {time.time_ns()} ns')")

    def executed_at():
        status, output = build(book)
        assert status == 0, output
        return re.findall(r"now \d+ ns", page(book))[0]

    first = executed_at()
    (book / "chapters" / "second.md").write_text(SECOND + "\nMore.\n")
    assert executed_at() == first
    (book / "_config.yml").write_text((book / "_config.yml").read_text() + "\n")
    assert executed_at() == first
    (book / "attnbook" / "more.py").write_text("x = 1\n")
    assert executed_at() != first
    assert len(list((book / "_build" / ".executions").iterdir())) == 1


FAULTS = {
    "a broken reference": ("See {ref}`nowhere`.", "second.md:5", "nowhere"),
    "a broken link": ("See [this](nowhere.md).", "second.md:5", "nowhere"),
    "an unknown term": ("See {term}`nothing`.", "second.md:5", "nothing"),
    "a wrong formula": (r"Then $\fracc12$.", "second.md:5", "fracc"),
    "a picture without alt text": ("![](../img/logo.svg)", "second.md:5", "alt text"),
    "an unknown citation": ("{cite}`nobody`", "second.md:5", "nobody"),
}


# A cell that shows it, and what the build says of it.
SHOWN = {
    "stderr": (
        "import sys\nprint('look out', file=sys.stderr)",
        "stderr was found in the cell out",
    ),
    "a picture": (
        "from IPython.display import Image\nImage(filename='dot.png')",
        "without alt text",
    ),
    "raw html": ("from IPython.display import HTML\nHTML('<img src=dot.png>')", "without alt"),
}
FAILING = [
    "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')",
    "import warnings\nwarnings.warn('look out')",
    "raise ValueError('too bad')",
]
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A book with a page for each fault, and the lines in which its build says what is wrong."""
    book = write_book(tmp_path_factory.mktemp("faulty"))
    pages = [f"page{number}" for number in range(len(FAULTS))]
    for name, (text, _, _) in zip(pages, FAULTS.values(), strict=True):
        body = SECOND.replace("# Second", f"# {name}") + f"\n{text}\n"
        (book / "chapters" / f"{name}.md").write_text(body)
    cells = [f"cell{number}" for number in range(len(SHOWN))]
    for name, (source, _) in zip(cells, SHOWN.values(), strict=True):
        write_notebook(book, source, name=name)
    (book / "chapters" / "dot.png").write_bytes(DOT)
    write_notebook(book, *FAILING)
    (book / "_toc.yml").write_text(
        TOC + "".join(f"  - file: chapters/{name}\n" for name in [*pages, *cells])
    )
    status, output = build(book)
    assert status == 1
    return book, output.partition("once more")[2].splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_build_and_is_named_with_its_place(faulty, fault):
    (_, place, word), lines = FAULTS[fault], faulty[1]
    where = place.replace("second", f"page{[*FAULTS].index(fault)}")
    assert any(where in line and word in line for line in lines), lines


@pytest.mark.slow
@pytest.mark.parametrize("shown", SHOWN)
def test_what_a_cell_shows_can_fail_the_build(faulty, shown):
    where, lines = f"cell{[*SHOWN].index(shown)}.ipynb", faulty[1]
    assert any(where in line and SHOWN[shown][1] in line for line in lines), lines


@pytest.mark.slow
def test_a_cell_that_raises_fails_the_build_today_and_tomorrow(faulty):
    book, lines = faulty
    assert any("first.ipynb" in line for line in lines), lines
    assert any("ValueError: too bad" in line for line in lines), lines
    # What failed once fails again, although nothing changed.
    assert build(book)[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_build_does_not_trip_the_next_one(book, sent):
    write_notebook(book, "print(6 * 7)", "import time\ntime.sleep(5)")
    process = start(book, "build")
    wait_for(book / "_build" / ".executions")
    os.kill(process.pid, sent)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not Workshop(book).stamp.exists()
    status, output = build(book)
    assert status == 0, output
    assert "42" in page(book)


def wait_until(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise TimeoutError


def wait_for(path):
    wait_until(path.exists)


# By Jupyter Book's own command


def build_plainly(book):
    """What a build says that knows nothing of `tools/book/build.py`; any failure raises."""
    command = [Path(sysconfig.get_path("scripts")) / "jupyter-book", "build", book]
    said = subprocess.run(command, stdout=-1, stderr=-2, text=True, check=False)
    assert said.returncode == 0, said.stdout
    return said.stdout


@pytest.mark.slow
def test_the_plain_command_serves_ours_and_lets_a_fault_pass_that_ours_does_not(book):
    shutil.rmtree(book / "tools" / "node_modules")
    write_notebook(book, "import time\nprint(f'now {time.time_ns()} ns')")

    # It fetches KaTeX, warns of nothing and executes for both.
    assert "WARNING" not in build_plainly(book)
    assert '<span class="katex-html"' in page(book, "second")
    assert list((book / "_build" / "html" / "_static" / "katex" / "fonts").iterdir())
    executed = re.findall(r"now \d+ ns", page(book))
    assert build(book)[0] == 0
    assert re.findall(r"now \d+ ns", page(book)) == executed != []

    # What it lets pass fails the book afterwards.
    (book / "chapters" / "second.md").write_text(SECOND + "\nSee [this](nowhere.md).\n")
    assert "nowhere" in build_plainly(book)
    status, output = build(book)
    assert status == 1, output
    assert "nowhere" in output


@pytest.mark.slow
def test_one_chapter_is_executed_and_the_others_shown_as_stored(book):
    write_notebook(book, "print(6 * 7)")
    shutil.copy(book / "chapters" / "first.ipynb", book / "chapters" / "third.ipynb")
    (book / "_toc.yml").write_text(TOC + "  - file: chapters/third\n")
    status, output = build(book, "chapter", "first", "--once")
    assert status == 0, output
    assert "42" in page(book, kind="chapter")
    assert "A draft." in page(book, kind="chapter")
    assert "42" not in page(book, "third", "chapter")


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
def test_a_page_in_the_writing_follows_its_sources(book):
    clock = "import time\nprint(f'now {time.time_ns()} ns')"
    write_notebook(book, clock)
    with writing(book) as (shown, output):
        first = re.findall(r"now \d+ ns", shown())
        assert "<script data-build" not in page(book, kind="chapter")

        # A text is shown without a run; one with a fault, too, but the fault is named.
        (book / "chapters" / "second.md").write_text(SECOND + "\nMore.\n")
        assert re.findall(r"now \d+ ns", shown()) == first
        assert "More." in page(book, "second", "chapter")
        for fault in ("{term}`nothing`", "{term}`nothing` still"):
            write_notebook(book, clock, f"#\n'{fault}'")
            notebook = json.loads((book / "chapters" / "first.ipynb").read_text())
            notebook["cells"][0]["source"] = f"# First\n\n{fault}"
            (book / "chapters" / "first.ipynb").write_text(json.dumps(notebook))
            del output[:]
            assert "nothing" in shown()
            assert any("term not in glossary" in line for line in output)

        write_notebook(book, clock)
        assert re.findall(r"now \d+ ns", shown()) == first
        (book / "attnbook" / "more.py").write_text("x = 1\n")
        assert re.findall(r"now \d+ ns", shown()) != first
    assert not any("Traceback" in line for line in output)


def test_a_source_is_noticed_once_it_has_been_saved(tmp_path):
    file, seen = tmp_path / "chapters" / "first.md", []
    file.parent.mkdir()
    file.write_text("whole")

    def watch():
        seen.extend(file.read_text() for _ in islice(changes(tmp_path), 2))

    watcher = threading.Thread(target=watch)
    watcher.start()
    wait_until(lambda: seen)
    for part in ("", "a", "a b", "a b c"):
        file.write_text(part)
        time.sleep(0.1)
    watcher.join(20)
    assert seen == ["whole", "a b c"]


def test_an_unknown_chapter_gets_one_sentence_with_those_that_exist(book, capsys):
    assert main(["--root", str(book), "chapter", "frist"]) == 1
    said = capsys.readouterr().out
    assert said == "No chapter is named 'frist'; there are first, second.\n"


def test_serving_an_unbuilt_book_says_what_to_do(book, capsys):
    assert main(["--root", str(book), "serve"]) == 1
    assert "make book" in capsys.readouterr().err


def test_the_real_table_of_contents_names_files_that_exist():
    for name in chapters(ROOT).values():
        assert list((ROOT / "chapters").glob(Path(name).name + ".*"))


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


@pytest.mark.parametrize("name", ["attnbook/layers.py", "requirements.txt"])
def test_executions_are_kept_apart_for_each_state_of_what_chapters_import(book, name):
    before = Workshop(book).executions
    (book / "chapters" / "second.md").write_text("# Other")
    assert Workshop(book).executions == before
    (book / name).write_text((book / name).read_text() + "\n")
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
    write_notebook_into_cache(folder, tmp_path)
    assert is_sound(folder)
    next(folder.rglob("base.ipynb")).write_text("{")
    assert not is_sound(folder)


def write_notebook_into_cache(folder, tmp_path):
    (tmp_path / "chapters").mkdir()
    write_notebook(tmp_path, "1")
    store = get_cache(folder)
    store.cache_notebook_file(tmp_path / "chapters" / "first.ipynb", check_validity=False)
    store.db.dispose()
