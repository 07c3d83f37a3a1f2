"""The texts that the search page can quote."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.tools.site.search.test_search_places import search
from tools.site.search.parts import FOLDER, STEMMER, read_synonyms, text_by_id, write_parts

ALWAYS = ("places", "search")
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
        "<span class='katex-html'><span id='y'>x</span></span>",
        "<script type='text/x'>x</script>",
        "<noscript><p class='attnbook-moved' id='y'>x</p></noscript>",
        "<pre><span class='gp'>&gt;&gt;&gt; </span><span class='go'>x</span></pre>",
        "<svg><text id='y'>x</text><path/></svg>",
        "<div class='cell_output docutils'>x<br>x<input><p>x<img alt='x'/></p></div>",
    ):
        parts = read(f"<p>a {skipped} <span id='z'>b</span></p>")
        assert parts == [("", "a"), ("z", "b")], skipped


def test_formulas_read_as_text_and_entries_of_the_glossary_end_with_their_sentence():
    one, eight = "<mn>1</mn>", "<mrow><mn>8</mn></mrow>"
    html = "<span class='katex-html'>81</span>"
    for formula, text in (
        (f"<mfrac>{one}{eight}</mfrac>", "1/8"),
        (f"<msup>{one}{eight}</msup>", "1^8"),
        (f"<msubsup><mi>s</mi>{one}{eight}</msubsup>", "s_1^8"),
        (f"<mfrac>{one}<msqrt>{eight}</msqrt></mfrac>", "1/√8"),
    ):
        tex = "<annotation>TeX</annotation>"
        math = f"<math><semantics>{formula}{tex}</semantics></math>{html}"
        assert read(f"<p>a<span>{math}</span>, b</p>") == [("", f"a{text}, b")]
    links = "<p><a href='a'>One</a>, <a href='b'>two</a></p>"
    assert read(f"<dl><dd><p>A <a href='c'>key</a></p>\n{links}</dd></dl>") == [("", "A key")]


def test_each_page_the_synonyms_and_the_program_are_in_parts(tmp_path):
    (tmp_path / STEMMER.parent).mkdir()
    stemmer = "const stopwords = []; class Stemmer { stemWord(word) { return word } }"
    (tmp_path / STEMMER).write_text(stemmer)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.html").write_text(PAGE.format(f"<p>{name} “__proto__” pro pro</p>"))
    index = {"docnames": [*"abc"], "titles": [*"ABC"], "alltitles": {}, "objects": {}}
    text = json.dumps(index | {"objnames": {}, "terms": {"a": 0}})
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({text})")
    app = SimpleNamespace(outdir=tmp_path, env=SimpleNamespace(found_docs={*"bca"}))
    write_parts(app)

    def part(name):
        script = (tmp_path / FOLDER / f"{name}.js").read_text("utf-8")
        return json.loads(script.removesuffix(";\n").partition(f'["{name}"] = ')[2])

    places = part("places")
    assert places["pages"] == [["a.html", "A"], ["b.html", "B"], ["c.html", "C"]]
    assert [row[:4] for row in places["places"]][1:] == [[1, "", "B", "page"], [2, "", "C", "page"]]
    assert places["synonyms"] == read_synonyms()
    assert part("texts-0") == {str(i): f"{'abc'[i]} “__proto__” pro pro" for i in range(3)}
    # In the first place twice, and in each of the next two.
    words = part("words-p")
    assert (words["stems"], words["words"]["pro"]) == ({"pro": [0, 2, 1, 2, 1, 2]}, 6)
    assert search(tmp_path, ["pro"]) == [[*"abc"]]
    assert {file.stem for file in (tmp_path / FOLDER).iterdir()} == {*places["names"], *ALWAYS}
    # Sphinx's index, which no page loads, is left its titles.
    assert '"terms":{}' in (tmp_path / "searchindex.js").read_text("utf-8")
