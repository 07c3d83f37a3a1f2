"""What becomes of a site when all of it is written."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from sphinx.errors import ExtensionError

from attnbook import figures
from tools.site import node
from tools.site.finish import finish, finish_pages, finish_scripts, sized
from tools.site.minify import minified

FIGURES = [name for name in figures.__all__ if hasattr(getattr(figures, name), "_esm")]
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"{}/>'


@pytest.fixture
def pictures(tmp_path):
    """A page's folder, with pictures beside it."""
    folder = tmp_path / "_images"
    folder.mkdir()
    (folder / "wide one.svg").write_text(SVG.format(' width="500" height="247.5"'))
    (folder / "broken.svg").write_text("<p>")
    return tmp_path


# Pictures


def test_a_picture_is_as_large_as_its_file_says(pictures):
    tag = '<p><img alt="&lt;x&gt;" src="_images/wide%20one.svg?v=1#a" /></p>'
    assert sized(tag, pictures) == tag.replace("<img", '<img width="500" height="247"')


@pytest.mark.parametrize(
    "tag",
    [
        '<img src="_images/wide%20one.svg" width="20">',
        '<img height="20" src="_images/wide%20one.svg">',
        '<img src="_images/wide%20one.svg" style="width: 50%">',
        '<img src="_images/broken.svg">',
        '<img src="_images/gone.svg">',
        '<img src="https://example.org/a.svg">',
        '<img src="data:image/svg+xml,x">',
        '<image src="_images/wide%20one.svg">',
    ],
)
def test_a_picture_whose_size_is_said_or_unknown_is_left_alone(pictures, tag):
    assert sized(tag, pictures) == tag


# Pages


def test_a_page_names_the_style_by_what_it_holds(tmp_path):
    page = tmp_path / "deep" / "page.html"
    page.parent.mkdir()
    page.write_text('<link href="../_static/book.css" /><p>book.css</p>')
    seen = []
    for style in ("a {}", "b {}", "a {}"):
        finish_pages(tmp_path, style)
        seen.append(page.read_text())
    assert re.search(r'"\.\./_static/book\.css\?v=\w{8}" /><p>book\.css</p>', seen[0])
    assert seen[0] == seen[2] != seen[1]


def test_a_finished_page_is_not_written_again(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<link href="_static/book.css" />')
    finish_pages(tmp_path, "a {}")
    before = page.stat().st_mtime_ns
    finish_pages(tmp_path, "a {}")
    assert page.stat().st_mtime_ns == before


def test_a_build_that_failed_is_left_as_it_is(tmp_path):
    finish(SimpleNamespace(outdir=tmp_path), RuntimeError("before"))
    assert list(tmp_path.iterdir()) == []


# Scripts


def test_a_classic_script_keeps_the_names_that_other_scripts_see(tmp_path):
    script = tmp_path / "a.js"
    script.write_text("// why\nconst longName = () => {\n  const inner = 1;\n  return inner;\n};\n")
    finish_scripts(tmp_path)
    assert script.read_text() == "const longName=()=>1;\n"


def test_a_module_keeps_what_it_exports_and_its_texts():
    module = 'export function shares(weights) {\n  return `${weights} – "√d"`;\n}\n'
    module += "export default { render: shares };\n"
    (small,) = minified([("js", module)])
    assert len(small) < len(module)
    assert '– "√d"' in small
    assert small.startswith("export function shares(")
    assert "export default{render:shares}" in small


def test_a_style_keeps_what_it_says():
    assert minified([("css", "/* why */\n.a {\n  color: var(--ink);\n}\n")]) == [
        ".a{color:var(--ink)}\n"
    ]


def test_texts_come_back_in_their_order():
    assert minified([("js", "f(1)"), ("css", "a{}"), ("js", "f(2)")])[2].startswith("f(2)")


def test_every_script_of_the_site_is_as_small_as_it_can_be(site):
    static = site / "_static"
    texts = [path.read_text("utf-8") for path in static.glob("*.js")]
    modules = [path.read_text("utf-8") for path in (static / "live").glob("*.js")]
    parts = [
        json.loads(text[text.index("] = ") + 4 :].rstrip(";\n"))["esm"]
        for text in modules
        if "attnbookModules ??=" in text
    ]
    assert len(parts) > 10
    assert len(texts) > 10
    again = minified([("js", text) for text in parts + texts])
    assert sum(map(len, again)) > 0.99 * sum(map(len, parts + texts))


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figures_module_exports_the_same_before_and_after(figure, tmp_path):
    whole = str(getattr(figures, figure)._esm)
    (tmp_path / "whole.mjs").write_text(whole, "utf-8")
    (tmp_path / "small.mjs").write_text(*minified([("js", whole)]), "utf-8")
    program = (
        "const [a, b] = await Promise.all(['whole', 'small'].map((x) => import(`./${x}.mjs`)));"
        "console.log(JSON.stringify([a, b].map((module) => Object.keys(module).sort())))"
    )
    (tmp_path / "names.mjs").write_text(program)
    whole_names, small_names = json.loads(node.run(tmp_path / "names.mjs"))
    assert "default" in whole_names
    assert whole_names == small_names


def test_a_script_that_is_none_stops_the_build():
    with pytest.raises(ExtensionError, match=r"^minify\.mjs fails: (?s:.*)Expected identifier"):
        minified([("js", "const =")])
