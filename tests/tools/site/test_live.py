"""What becomes of widgets when a page is built."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.tools.site.live_pages import STAND_IN, book, cell, control, figure, page, printed, view
from tools.site.live import NOTE, TAG, in_script, placeholder
from tools.site.modules import name_of, registration

SCRIPT = re.compile(r'<script class="attnbook-state" type="application/json">(.*?)</script>')


def state(html: str) -> dict:
    """The state that a page holds for its figures."""
    (text,) = SCRIPT.findall(html)
    return json.loads(text)


def live_scripts(html: str) -> list[str]:
    """The scripts for figures that a page loads."""
    return re.findall(r'src="_static/live/(\w+)\.js', html)


@pytest.fixture
def build(tmp_path):
    """A function that builds a book of one page."""
    return lambda *cells, **models: book(tmp_path, index=page(*cells, models=models)).build()


# Views


def test_a_view_becomes_the_numbers_of_its_figure(build):
    built = build(cell(view("a")), a=figure())
    static = '<pre class="attnbook-static">StandIn: size 3</pre>'
    assert (
        f'<div class="attnbook-view" data-attnbook-view="figure-0">{static}</div>' in built.read()
    )
    assert built.read().count("StandIn: size 3") == 1  # neither in the state nor in the output too
    assert built.warnings == ""


def test_the_numbers_may_hold_signs_that_html_reserves():
    assert placeholder("a", "0 < 1 & 2").endswith(">0 &lt; 1 &amp; 2</pre></div>")


def test_the_state_holds_the_figures_own_traits_and_no_code(build):
    module = name_of({"esm": STAND_IN, "css": figure()["state"]["_css"]})
    built = build(cell(view("a")), a=figure())
    assert state(built.read()) == {"figure-0": {"kind": "stand-in", "size": 3, "module": module}}


def test_the_state_holds_shown_figures_only(build):
    built = build(cell(view("a")), a=figure(), b=figure(4), layout=control("Layout"))
    (shown,) = state(built.read()).values()
    assert shown["size"] == 3


def test_figures_are_named_in_the_order_in_which_a_page_shows_them(build):
    """With the ids that ipywidgets draws in each run, no two builds of a page were equal."""
    cells = [cell(view(name, f"StandIn: size {size}")) for name, size in (("b", 4), ("a", 3))]
    html = build(*cells, cell(view("b", "StandIn: size 4")), a=figure(), b=figure(4)).read()
    assert re.findall(r'data-attnbook-view="([^"]+)"', html) == ["figure-0", "figure-1", "figure-0"]
    assert {name: one["size"] for name, one in state(html).items()} == {
        "figure-0": 4,
        "figure-1": 3,
    }


def test_no_text_of_a_figure_can_end_the_script(build):
    evil = "</script><script>alert(1)</script><!--"
    built = build(cell(view("a")), a=figure(caption=evil))
    assert state(built.read())["figure-0"]["caption"] == evil
    assert "<" not in in_script({"caption": evil})


def test_require_js_and_html_manager_are_never_loaded(build):
    html = build(cell(view("a")), a=figure()).read()
    assert "require" not in html
    assert "html-manager" not in html
    assert "vnd.jupyter" not in html


# Modules


def test_a_module_is_written_once_for_all_figures_and_pages(tmp_path):
    pages = {
        name: page(cell(view("a")), cell(view("b")), models={"a": figure(), "b": figure()})
        for name in ("index", "second")
    }
    built = book(tmp_path, **pages).build()
    assert len(built.modules) == 2  # the module and the host
    assert live_scripts(built.read("second")) == live_scripts(built.read())
    assert [name for name in live_scripts(built.read()) if name != "host"] == [
        state(built.read())["figure-1"]["module"]
    ]
    assert "getBoundingClientRect" not in built.read()
    assert sum("getBoundingClientRect" in file.read_text() for file in built.modules) == 1


def test_another_style_is_another_module(build):
    built = build(cell(view("a")), cell(view("b")), a=figure(), b=figure(_css="p { margin: 0 }"))
    assert len(built.modules) == 3
    assert live_scripts(built.read())[-1] == "host"


def test_a_script_hands_over_the_module_as_it_was():
    module = {"esm": 'const a = "\u2028 \' ` ${b}";\n', "css": "</script>"}
    text = registration("ab", module)
    assert json.loads(text[text.index("] = ") + 4 :].rstrip(";\n")) == module


def test_a_page_without_figures_loads_nothing(tmp_path):
    plain = page(cell(printed("1")), models={"layout": control("Layout")})
    live = page(cell(view("a")), models={"a": figure()})
    built = book(tmp_path, index=plain, second=live).build()
    assert "live/" not in built.read()
    assert "attnbook" not in built.read()
    assert "vnd.jupyter" not in built.read()
    assert live_scripts(built.read("second"))


def test_a_book_without_figures_holds_no_host(build):
    assert build(cell(printed("1"))).modules == []


# Refusals


@pytest.mark.parametrize(
    ("model", "text", "reason"),
    [
        (control("IntSlider"), "", f"IntSlider, which needs a kernel; tag the cell `{TAG}`"),
        (control("VBox"), "", f"VBox, which needs a kernel; tag the cell `{TAG}`"),
        (figure(kind=None), "", "StandIn, which needs a kernel"),
        (figure(_esm=None), "", "StandIn, which needs a kernel"),
        (figure(static_text=""), "", "StandIn, which needs a kernel"),
        (figure() | {"buffers": [{}]}, "", "StandIn, which has binary traits"),
        (figure(4), "StandIn: size 3", "StandIn, which a later cell changed"),
    ],
)
def test_what_the_host_cannot_mount_is_named_with_its_page(build, model, text, reason):
    shown = figure(caption="the one that can be shown")
    built = build(cell(view("a", text)), cell(view("b")), a=model, b=shown)
    assert built.warnings.count("WARNING") == 1
    assert "index" in built.warnings
    assert f"cell 1 shows {reason}" in built.warnings
    assert [one.get("caption") for one in state(built.read()).values()] == [
        "the one that can be shown"
    ]


def test_a_view_without_its_model_is_named(build):
    built = build(cell(view("gone")), a=figure())
    assert "cell 1 shows a widget whose state the run did not save" in built.warnings
    assert live_scripts(built.read()) == []


def test_a_widget_outside_a_cells_output_is_named(tmp_path):
    stray = (
        '```{raw} html\n<script type="application/vnd.jupyter.widget-view+json">{}</script>\n```'
    )
    notebook = page()
    notebook.cells[0].source += f"\n\n{stray}"
    assert "a widget stands outside" in book(tmp_path, index=notebook).build().warnings


# Cells for notebooks only


def test_a_tagged_cell_keeps_its_code_and_its_prints_and_loses_its_widget(build):
    tagged = cell(
        printed("before 5"), view("a", "IntSlider(value=5)"), tags=(TAG,), source="slider()"
    )
    built = build(tagged, a=control("IntSlider"))
    html = built.read()
    assert built.warnings == ""
    assert "IntSlider" not in html
    assert "live/" not in html
    assert html.index("slider") < html.index("before 5") < html.index(NOTE)


def test_a_tagged_cell_without_output_says_where_it_is_live(build):
    assert build(cell(tags=(TAG,))).read().count(NOTE) == 1


def test_other_cells_say_nothing_of_notebooks(build):
    assert NOTE not in build(cell(view("a")), cell(printed("1")), a=figure()).read()


def test_a_figure_in_a_tagged_cell_stays_off_the_page(build):
    cells = cell(view("a"), tags=(TAG,)), cell(view("b", "StandIn: size 4"))
    (shown,) = state(build(*cells, a=figure(), b=figure(4)).read()).values()
    assert shown["size"] == 4


# Builds


def test_a_page_that_this_build_did_not_run_shows_its_stored_text(build):
    built = build(cell(view("a", "StandIn: stored")))
    assert built.warnings == ""
    assert "StandIn: stored" in built.read()
    assert "attnbook-view" not in built.read()


def test_a_rebuild_reads_only_what_changed_and_keeps_the_modules(tmp_path):
    pages = {name: page(cell(view("a")), models={"a": figure()}) for name in ("index", "second")}
    built = book(tmp_path, **pages).build()
    module, old = built.modules[0], built.read()
    written = (built.html / "second.html").stat().st_mtime_ns
    book(tmp_path, index=page(cell(view("a", "StandIn: size 4")), models={"a": figure(4)}))
    assert built.build().warnings == ""
    assert built.read() != old
    assert state(built.read())["figure-0"]["size"] == 4
    assert module in built.modules
    assert (built.html / "second.html").stat().st_mtime_ns == written


def test_a_page_that_loses_its_figures_loses_their_scripts(tmp_path):
    built = book(tmp_path, index=page(cell(view("a")), models={"a": figure()})).build()
    book(tmp_path, index=page(cell(printed("1"))))
    assert live_scripts(built.build().read()) == []


def test_pages_read_by_several_processes_are_the_same(tmp_path):
    pages = {
        name: page(cell(view("a")), models={"a": figure()})
        for name in ("index", *(f"page{number}" for number in range(8)))
    }
    one = book(tmp_path / "one", **pages).build()
    many = book(tmp_path / "many", **pages).build(parallel=2)
    assert many.warnings == ""
    assert [many.read(name) for name in pages] == [one.read(name) for name in pages]
    assert [file.name for file in many.modules] == [file.name for file in one.modules]


CODE = """
import anywidget, traitlets
class StandIn(anywidget.AnyWidget):
    _esm = "export default { render({ model, el }) { el.textContent = model.get('size') } }"
    kind = traitlets.Unicode("stand-in").tag(sync=True)
    static_text = traitlets.Unicode("StandIn: size 3").tag(sync=True)
    size = traitlets.Int(3).tag(sync=True)
    def __repr__(self):
        return self.static_text
StandIn()
"""


@pytest.mark.slow
def test_a_real_run_ends_in_a_live_page_and_its_stored_run_again(tmp_path):
    # Its own process: a kernel leaves sockets that pytest would call a leak.
    built = book(tmp_path, index=page(cell(source=CODE)))
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    for _ in range(2):
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "WARNING" not in run.stdout
        (model,) = state(built.read()).values()
        assert (model["size"], model["kind"]) == (3, "stand-in")
        assert "StandIn: size 3" in built.read()


RUN = """
import sys
from pathlib import Path
sys.path.insert(0, "")
from tests.tools.site.live_pages import Book
print(Book(Path(sys.argv[1])).build(nb_execution_mode="cache").warnings)
"""
