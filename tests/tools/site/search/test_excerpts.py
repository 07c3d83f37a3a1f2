"""The texts that the search page can quote."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tools.site.assets.minify import minify, read_script
from tools.site.search.excerpts import PROGRAM, SCRIPT, read_synonyms, text_by_id, write_excerpts

PAGE = "<main><nav>menu</nav><article class='bd-article'>{}</article><p>foot</p></main>"


def read(html: str) -> list[tuple[str, str]]:
    """The text of an article with this content."""
    return text_by_id(PAGE.format(html))


@pytest.mark.parametrize(
    ("html", "parts"),
    [
        (
            '<p>Before</p><section id="a"><h2>One</h2><p id="b">Two</p></section><p>three</p>',
            [("", "Before"), ("a", "One"), ("b", "Two three")],
        ),
        (
            "<dl><dt>soft<em>max</em></dt><dd>is\n\n  <code>&lt;one&gt;</code></dd></dl>",
            [("", "softmax is <one>")],
        ),
        (
            "<div class='doctest'><pre><span class='gp'>&gt;&gt;&gt; </span>f(<b>NAME</b>)\n"
            "<span class='go'>0.5</span></pre></div>",
            [("", "f(NAME)")],
        ),
    ],
)
def test_each_id_begins_a_part_and_only_the_article_is_read(html, parts):
    assert read(html) == parts


def test_what_no_reader_would_quote_is_skipped():
    for skipped in (
        "<h1>x <b id='y'>x</b></h1>",
        "<a class='headerlink' href='#y'>#</a>",
        "<span class='katex-mathml'><math><mi>x</mi></math></span>",
        "<script type='text/x'>x</script>",
        "<noscript><p class='attnbook-moved' id='y'>x</p></noscript>",
        "<pre><span class='gp'>&gt;&gt;&gt; </span><span class='go'>x</span></pre>",
        "<svg><text id='y'>x</text><path/></svg>",
        "<div class='cell_output docutils'>x<br>x<input><p>x<img alt='x'/></p></div>",
    ):
        parts = read(f"<p>a {skipped} <span id='z'>b</span></p>")
        assert parts == [("", "a"), ("z", "b")], skipped


def test_the_script_brings_every_page_the_synonyms_and_what_searches_them(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text(PAGE.format(f"<p>{name} “{name}”</p>"))
    (tmp_path / "searchindex.js").write_text(
        'Search.setIndex({"alltitles": {"A": [[0, null]]}, "terms": {"a": 0}})'
    )
    app = SimpleNamespace(outdir=tmp_path, env=SimpleNamespace(found_docs={"b", "a"}))
    write_excerpts(app)
    script = (tmp_path / SCRIPT.name).read_text("utf-8")
    pages, synonyms, program = script.split(";\n", 2)
    pages = json.loads(pages.removeprefix("window.attnbookPages = "))
    assert pages == {"a.html": [["", "a “a”"]], "b.html": [["", "b “b”"]]}
    assert json.loads(synonyms.removeprefix("window.attnbookSynonyms = ")) == read_synonyms()
    assert program == "".join(minify([("js", read_script(part)) for part in PROGRAM]))
    # Sphinx's index is left its titles.
    text = (tmp_path / "searchindex.js").read_text("utf-8")
    assert text.startswith('Search.setIndex({"alltitles":{"A":[[0,null]]},"terms":{},')
