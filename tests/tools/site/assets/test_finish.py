"""The last steps of a build."""

from __future__ import annotations

import re
from pathlib import Path

import pydata_sphinx_theme
import pytest
from sphinx.errors import ExtensionError

from tools.site.assets.finish import NOTHING, THEME, add_sizes, finish_pages, measure_nothing
from tools.site.assets.minify import minify

STATIC = Path("theme", "pydata_sphinx_theme", "static")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"{}/>'


@pytest.fixture
def pictures(tmp_path):
    """A page's folder, with pictures in it."""
    folder = tmp_path / "_images"
    folder.mkdir()
    (folder / "wide one.svg").write_text(SVG.format(' width="500" height="247.5"'))
    (folder / "broken.svg").write_text("<p>")
    return tmp_path


# Pictures


def test_a_picture_gets_the_size_in_its_file_unless_it_is_set_or_unknown(pictures):
    tag = '<p><img alt="&lt;x&gt;" src="_images/wide%20one.svg?v=1#a" /></p>'
    assert add_sizes(tag, pictures) == tag.replace("<img", '<img width="500" height="247"')
    for tag in (
        '<img src="_images/wide%20one.svg" width="20">',
        '<img src="_images/wide%20one.svg" style="width: 50%">',
        '<img src="_images/broken.svg">',
        '<img src="_images/gone.svg">',
        '<img src="https://example.org/a.svg">',
        '<image src="_images/wide%20one.svg">',
    ):
        assert add_sizes(tag, pictures) == tag


# Pages


def test_a_page_names_the_style_by_its_content_and_is_not_written_again(tmp_path):
    page = tmp_path / "deep" / "page.html"
    page.parent.mkdir()
    page.write_text('<link href="../_static/book.css" /><p>book.css</p>')
    seen, times = [], []
    for style in ("a {}", "b {}", "a {}", "a {}"):
        finish_pages(tmp_path, style)
        seen.append(page.read_text())
        times.append(page.stat().st_mtime_ns)
    assert re.search(r'"\.\./_static/book\.css\?v=\w{8}" /><p>book\.css</p>', seen[0])
    assert seen[0] == seen[2] != seen[1]
    assert times[2] == times[3]


# Scripts


def test_minified_modules_and_styles_have_the_same_exports_and_content_in_order():
    module = 'export function shares(weights) {\n  return `${weights} – "√d"`;\n}\n'
    module += "export default { render: shares };\n"
    style = "/* why */\n.a {\n  color: var(--ink);\n}\n"
    small, css, last = minify([("js", module), ("css", style), ("js", "f(2)")])
    assert len(small) < len(module)
    assert '– "√d"' in small
    assert small.startswith("export function shares(")
    assert "export default{render:shares}" in small
    assert css == ".a{color:var(--ink)}\n"
    assert last.startswith("f(2)")


def test_a_script_with_a_syntax_error_stops_the_build():
    with pytest.raises(ExtensionError, match=r"^minify\.mjs fails: (?s:.*)Expected identifier"):
        minify([("js", "const =")])


# The theme's script


def test_the_theme_measures_nothing_and_is_changed_once():
    script = (Path(pydata_sphinx_theme.__file__).parent / STATIC / THEME).read_text("utf-8")
    finished = measure_nothing(script)
    assert finished.count(NOTHING) == 1
    assert measure_nothing(finished) == finished
    with pytest.raises(ExtensionError, match=r"must list once what may scroll, got 0 lists$"):
        measure_nothing("const theme = 1;")
