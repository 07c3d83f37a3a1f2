"""A page in plain Markdown: the form of each piece, and what is refused."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO

import pytest
from docutils import nodes
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tests.tools.colab.small_book import COLAB, SITE, notebook, small_book
from tools.book.notebooks import read
from tools.colab.leftovers import ADDED
from tools.colab.plain_markdown import block
from tools.colab.write import CopyError, write_copies

RAW = "https://raw.githubusercontent.com/reader/attention-book/colab/img"
GLOSSARY = f"{SITE}chapters/notation.html#term-"
REFERENCE = f"{SITE}chapters/api.html#attnbook"
WORKS = f"{SITE}chapters/bibliography.html"
TITLE = (
    "Elizbar A. Nadaraya. On estimating regression. Theory of Probability and Its "
    "Applications, 9(1):141–142, 1964."
)

# The text of a chapter, and that of its copy without a known site.
PIECES = {
    "a folded answer keeps markdown and formulas alive": (
        "See:\n\n:::{dropdown} Answer\n**Two** of $n$.\n:::\n\nOn.",
        "See:\n\n<details>\n<summary>Answer</summary>\n\n**Two** of $n$.\n\n</details>\n\nOn.",
    ),
    "an answer in a list stays in its item": (
        "1. one\n\n   :::{dropdown} `x`\n   :open:\n   two\n   :::\n2. three",
        "1. one\n\n   <details open>\n   <summary><code>x</code></summary>\n\n"
        "   two\n\n   </details>\n\n2. three",
    ),
    "a note is a quotation that begins with its kind": (
        ":::{note}\nA *query*.\n\n- b\n:::",
        "> **Note**\n>\n> A *query*.\n>\n> - b",
    ),
    "a note may have its own title": (":::{admonition} A *b*\nc\n:::", "> **A *b***\n>\n> c"),
    "a formula has the number that its page shows": (
        "```{math}\n:label: here\na\n\n= b,\n```\n\nHere {eq}`here`, there {eq}`there`.",
        f"$$\na\n= b, \\tag{{1}}\n$$\n\nHere (1), there [(1) of Two]({COLAB}/two.ipynb).",
    ),
    "a formula in an answer is counted, too": (
        "::::{dropdown} B\n```{math}\n:label: folded\nx\n```\n::::",
        "<details>\n<summary>B</summary>\n\n$$\nx \\tag{2}\n$$\n\n</details>",
    ),
    "a citation reads as on the page, and leads to the bibliography": (
        "{cite:p}`nadaraya1964`, {cite:t}`nadaraya1964`",
        "[Nadaraya, 1964], Nadaraya [1964]",
    ),
    "a term is a word": (
        "{term}`Asking <query>`, {term}`transformer`, {term}`valid length`",
        "Asking, transformer, valid length",
    ),
    "a name of the package is code": (
        "{py:func}`attnbook.pool`, {py:class}`attnbook.Attention`, {py:func}`it <attnbook.pool>`",
        "`attnbook.pool()`, `attnbook.Attention`, `it`",
    ),
    "a link to a chapter leads to its copy": (
        "[`a` of $b$](two.ipynb), [w](https://x.org), [here](#one)",
        f"[`a` of $b$]({COLAB}/two.ipynb), [w](https://x.org), [here]({COLAB}/one.ipynb)",
    ),
    "a link that would lead nowhere is only its text": ("the [words](notation.md)", "the words"),
    "a picture is one that publishing makes": (
        "![W_q (1, 2)](../img/lookup.svg)",
        f"![W_q (1, 2)]({RAW}/lookup.svg?sanitize=true)",
    ),
    "code, formulas and signs stay": (
        "`{term}` and ``{eq}`x` `` and $\\{a\\}$ and \\$5 and 2 \\* 3 \\[a](b)",
        "`{term}` and ``{eq}`x` `` and $\\{a\\}$ and \\$5 and 2 \\* 3 [a\\](b)",
    ),
    "a number at the beginning of a line is no list": ("In\n1964\\. We", "In\n1964\\. We"),
    "code has its own lines and its language": (
        "```python\n:::{dropdown} Answer\n{term}`query`\n```",
        "```python\n:::{dropdown} Answer\n{term}`query`\n```",
    ),
    "a table keeps its columns, also those of code": (
        "| `a\\|b` | *query* |\n|:--|--:|\n| $x$ | 2 |",
        "| `a\\|b` | *query* |\n|:--|--:|\n| $x$ | 2 |",
    ),
    "lists may be nested": ("- a\n  - b\n\n> c\n\n3. d\n4. e", "- a\n  - b\n\n> c\n\n3. d\n4. e"),
    "the end of a core is a rule and a sentence": (
        "a\n\n:::{deeper}\n:::\n\nb",
        "a\n\n---\n\nYou can stop here. Below: why and how.\n\nb",
    ),
}

# The text of some copies with a known site.
PUBLISHED = {
    "a formula has the number that its page shows": (
        "$$\na\n= b, \\tag{1}\n$$\n\nHere (1), there "
        f"[(1) of Two]({SITE}chapters/two.html#equation-there)."
    ),
    "a citation reads as on the page, and leads to the bibliography": (
        f'[[Nadaraya, 1964]({WORKS} "{TITLE}")], Nadaraya [[1964]({WORKS} "{TITLE}")]'
    ),
    "a term is a word": (
        f"[Asking]({GLOSSARY}query), [transformer]({GLOSSARY}Transformer), "
        f"[valid length]({GLOSSARY}valid-length)"
    ),
    "a name of the package is code": (
        f"[`attnbook.pool()`]({REFERENCE}.pool), [`attnbook.Attention`]({REFERENCE}.Attention), "
        f"[`it`]({REFERENCE}.pool)"
    ),
    "a link to a chapter leads to its copy": (
        f"[`a` of $b$]({SITE}chapters/two.html), [w](https://x.org), "
        f"[here]({SITE}chapters/one.html#one)"
    ),
    "a link that would lead nowhere is only its text": (
        f"the [words]({SITE}chapters/notation.html)"
    ),
    "a picture is one that publishing makes": f"![W_q (1, 2)]({SITE}_images/lookup.svg)",
}

# Text without a plain form, and the message about it, which names the chapter and the cell.
REFUSED = {
    "{sub}`x`": "<subscript>, which has no plain form: x",
    "```{figure} ../img/lookup.svg\n:alt: x\n```": "<figure>",
    ":::{exercise}\nx\n:::": "'exercise'",
    "{{ name }}": "name",
    "\\begin{align}\na\n\\end{align}": "<math_block>",
    "% a comment": "lost words, from 'a' on",
    "term\n: meaning": "<definition_list>",
    "{eq}`nonsense`": "equation not found: nonsense",
    "{cite:p}`nobody1900`": "nobody1900",
    "{term}`nonsense`": "term not in glossary: 'nonsense'",
    "[a](nonsense.ipynb)": "nonsense.ipynb",
    "[a](#nonsense)": "target not found: 'nonsense'",
    "![a](../img/nonsense.svg)": "nonsense.svg",
}


@pytest.fixture(scope="module", params=["unpublished", "published"])
def plain(request, tmp_path_factory):
    """The copy of each piece."""
    root = tmp_path_factory.mktemp("book")
    chapters = {
        "one": notebook("# One", *(text for text, _ in PIECES.values())),
        "two": notebook("# Two", "```{math}\n:label: there\nx\n```"),
    }
    book = small_book(root, chapters, SITE if request.param == "published" else "")
    copied, _ = write_copies(book, root / "colab")
    texts = [cell.source for cell in read(copied).cells[ADDED + 1 :]]
    return request.param, dict(zip(PIECES, texts, strict=True))


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_in_plain_markdown(plain, piece):
    form, copied = plain
    published = PUBLISHED.get(piece) if form == "published" else None
    assert copied[piece] == (published or PIECES[piece][1])


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """The messages about a chapter that cannot be copied."""
    root = tmp_path_factory.mktemp("book")
    book = small_book(root, {"one": notebook("# One", *REFUSED)})
    output = StringIO()
    with redirect_stderr(output), pytest.raises(CopyError):
        write_copies(book, root / "colab")
    assert not (root / "colab").exists()
    return output.getvalue()


@pytest.mark.parametrize("text", REFUSED)
def test_text_without_a_plain_form_is_refused_by_name(messages, text):
    lines = [line for line in messages.splitlines() if REFUSED[text] in line]
    number = 1 + [*REFUSED].index(text)
    assert any("one.ipynb" in line for line in lines), messages
    assert any(f"cell {number} " in line or f":{number + 1}00" in line for line in lines), lines


# A Markdown parser reads each text as it was meant


@pytest.fixture(scope="module")
def reader():
    """Another Markdown parser than the book's."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(dollarmath_plugin)


LINES = st.text(alphabet="ab1 \\`*_[]()<>$#-+=.|&;~!:{}", min_size=1).map(str.strip).filter(bool)


@given(lines=st.lists(LINES, min_size=1, max_size=3))
def test_a_text_is_read_as_it_was_written(reader, lines):
    paragraph = nodes.paragraph("", "", nodes.Text(lines[0]))
    for line in lines[1:]:
        paragraph += [nodes.Text("\n"), nodes.Text(line)]

    tokens = reader.parse(block(paragraph))

    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    texts = {"text": lambda child: child.content, "softbreak": lambda _: "\n"}
    texts["text_special"] = texts["text"]
    assert "".join(texts[child.type](child) for child in tokens[1].children) == "\n".join(lines)


@given(text=st.text(alphabet="ab `|\\", min_size=1).filter(str.strip))
def test_code_is_read_as_it_was_written(reader, text):
    paragraph = nodes.paragraph("", "", nodes.literal("", text))

    (child,) = reader.parse(block(paragraph))[1].children

    assert (child.type, child.content) == ("code_inline", text)
