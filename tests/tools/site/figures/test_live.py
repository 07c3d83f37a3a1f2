"""How widgets are written when a page is built."""

from __future__ import annotations

import json
import re

import pytest
from nbformat import v4

from tests.tools.site.live_pages import STAND_IN, book, cell, control, figure, page, printed, view
from tools.site.figures.live import NOTE, TAG, name_of

SCRIPT = re.compile(r'<script class="attnbook-state" type="application/json">(.*?)</script>')
EVIL = "</script><script>alert(1)</script><!--"
STRAY = '```{raw} html\n<script type="application/vnd.jupyter.widget-view+json">{}</script>\n```'


# Names of keys before a figure with these labels, and between it and another.
NAMED = "{key}`fish` {key}`that <bird>`", "{key}`one <dog>` {key}`two <1>` {key}`wolf`"


def one_figure(size: int = 3, **changes):
    """A page with a stand-in figure."""
    output = cell(view("a", f"StandIn: size {size}"))
    return page(output, models={"a": figure(size, **changes)})


# Models that the host cannot mount, with the text of their output and the reason.
REFUSED = {
    "slider": (control("IntSlider"), "", f"IntSlider, which needs a kernel; tag the cell `{TAG}`"),
    "kindless": (figure(kind=None), "", "StandIn, which needs a kernel"),
    "textless": (figure(static_text=""), "", "StandIn, which needs a kernel"),
    "binary": (figure() | {"buffers": [{}]}, "", "StandIn, which has binary traits"),
    "changed": (figure(4), "StandIn: size 3", "StandIn, which a later cell changed"),
}


def write_pages():
    """A page for each thing that can happen."""
    mountable = figure(caption="the one that can be shown")
    refused = {
        name: page(cell(view("a", text)), cell(view("b")), models={"a": model, "b": mountable})
        for name, (model, text, _) in REFUSED.items()
    }
    a, b, both = view("a"), view("b"), {"a": figure(), "b": figure(4)}
    four = view("b", "StandIn: size 4")
    tagged = cell(
        printed("before 5"), view("a", "IntSlider(value=5)"), tags=(TAG,), source="slider()"
    )
    early, late = map(v4.new_markdown_cell, NAMED)
    animals, others = ["dog", "bird", "fish"], ["cat", "dog"]
    labelled = {"a": figure(key_labels=animals), "b": figure(4, key_labels=others)}
    stray = page()
    stray.cells[0].source += f"\n\n{STRAY}"
    return refused | {
        "one": one_figure(),
        "second": page(cell(a), cell(b), models={"a": figure(), "b": figure()}),
        "styled": page(cell(a), cell(b), models={"a": figure(), "b": figure(_css="p {margin: 0}")}),
        "shown": page(cell(a), models=both | {"layout": control("Layout")}),
        "order": page(cell(four), cell(a), cell(four), models=both),
        "evil": one_figure(caption=EVIL),
        "plain": page(cell(printed("1")), models={"layout": control("Layout")}),
        "gone": page(cell(view("gone")), models={"a": figure()}),
        "keys": page(early, cell(a), late, cell(four), models=labelled),
        "stray": stray,
        "tagged": page(tagged, models={"a": control("IntSlider")}),
        "silent": page(cell(tags=(TAG,))),
        "mixed": page(cell(a, tags=(TAG,)), cell(four), models=both),
        "stored": page(cell(view("a", "StandIn: stored"))),
    }


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A book of all these pages."""
    return book(tmp_path_factory.mktemp("live"), **write_pages()).build()


def warnings_of(pages, name: str) -> str:
    """The build's warnings about a page."""
    return "\n".join(line for line in pages.warnings.splitlines() if f"/{name}." in line)


def state(html: str) -> dict:
    """The state of a page's figures."""
    (text,) = SCRIPT.findall(html)
    return json.loads(text)


def live_scripts(html: str) -> list[str]:
    """The scripts for figures that a page loads."""
    return re.findall(r'src="_static/live/(\w+)\.js', html)


# Views


def test_a_view_becomes_the_numbers_of_its_figure(pages):
    html, static = pages.read("one"), '<pre class="attnbook-static">StandIn: size 3</pre>'
    attributes = 'data-attnbook-view="figure-0" data-attnbook-kind="stand-in"'
    assert f'<div class="attnbook-view" {attributes}>{static}</div>' in html
    assert html.count("StandIn: size 3") == 1  # neither in the state nor in the output too


def test_the_state_has_the_figures_own_traits_and_no_code(pages):
    module = name_of({"esm": STAND_IN, "css": figure()["state"]["_css"]})
    expected = {"figure-0": {"kind": "stand-in", "size": 3, "module": module}}
    assert state(pages.read("one")) == expected
    assert state(pages.read("shown")) == expected  # without the state of figures that are not shown
    assert state(pages.read("evil"))["figure-0"]["caption"] == EVIL  # it does not end the script


def test_figures_are_named_in_the_order_in_which_a_page_shows_them(pages):
    """With the ids that ipywidgets draws in each run, no two builds of a page were equal."""
    html = pages.read("order")
    assert re.findall(r'data-attnbook-view="([^"]+)"', html) == ["figure-0", "figure-1", "figure-0"]
    sizes = {name: one["size"] for name, one in state(html).items()}
    assert sizes == {"figure-0": 4, "figure-1": 3}


def test_no_page_loads_require_js_and_one_without_figures_loads_nothing(pages):
    for name in ("one", "plain"):
        assert re.findall("require|html-manager|vnd\\.jupyter", pages.read(name)) == []
    assert re.findall("live/|attnbook", pages.read("plain")) == []


# Keys in prose


def test_a_key_has_its_colour_in_the_nearest_figure_and_one_that_none_has_is_named(pages):
    found = re.findall(r'<strong class="attnbook-key attnbook-key-(\d)">(\w+)<', pages.read("keys"))
    assert found == [("2", "fish"), ("1", "that"), ("0", "one"), ("1", "two")]
    (warning,) = warnings_of(pages, "keys").splitlines()
    assert "{key}`wolf` must be one of dog, bird, fish, cat" in warning


# Modules


def test_a_module_is_written_once_for_all_figures_and_pages(pages):
    (module, host), styled = live_scripts(pages.read("one")), live_scripts(pages.read("styled"))
    assert live_scripts(pages.read("second")) == [module, host] == [module, "host"]
    assert state(pages.read("second"))["figure-1"]["module"] == module
    assert (len(styled), styled[-1]) == (3, "host")  # another style is another module
    assert {file.stem for file in pages.modules} == {module, *styled}
    assert "getBoundingClientRect" not in pages.read("one")
    code = [file.stem for file in pages.modules if "getBoundingClientRect" in file.read_text()]
    assert {*code} == {*styled} - {host}


# Refusals


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_host_cannot_mount_is_named_with_its_page(pages, name):
    assert warnings_of(pages, name).count("WARNING") == 1
    assert f"cell 1 shows {REFUSED[name][2]}" in warnings_of(pages, name)
    (traits,) = state(pages.read(name)).values()
    assert traits["caption"] == "the one that can be shown"


def test_a_view_without_its_model_and_one_outside_a_cells_output_are_named(pages):
    reason = "cell 1 shows a widget whose state the run did not save"
    assert reason in warnings_of(pages, "gone")
    assert live_scripts(pages.read("gone")) == []
    assert "a widget is outside" in warnings_of(pages, "stray")
    # A page that this build did not run shows its stored text.
    assert "StandIn: stored" in pages.read("stored")
    assert "attnbook-view" not in pages.read("stored")


# Cells for notebooks only


def test_a_tagged_cell_shows_its_code_and_its_prints_and_one_note_instead_of_its_widget(pages):
    html = pages.read("tagged")
    assert re.findall("IntSlider|live/", html) == []
    assert html.index("slider") < html.index("before 5") < html.index(NOTE)
    for name in ("tagged", "silent", "mixed"):
        assert pages.read(name).count(NOTE) == 1
    (traits,) = state(pages.read("mixed")).values()
    assert traits["size"] == 4


# Builds


def test_a_rebuild_writes_only_what_changed_and_removes_scripts_of_figures_that_are_gone(tmp_path):
    pages = book(tmp_path, index=one_figure(), second=one_figure()).build()
    (module, _), old = pages.modules, pages.read()
    written = (pages.html / "second.html").stat().st_mtime_ns
    book(tmp_path, index=one_figure(4))
    assert pages.build().warnings == ""
    assert pages.read() != old
    assert state(pages.read())["figure-0"]["size"] == 4
    assert module in pages.modules
    assert (pages.html / "second.html").stat().st_mtime_ns == written
    book(tmp_path, index=page(cell(printed("1"))))
    assert live_scripts(pages.build().read()) == []
