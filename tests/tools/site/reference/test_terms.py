"""The meanings of terms: collected from the glossary, and written on the links to it."""

from __future__ import annotations

import re

import pytest

from tests.tools.site.live_pages import Book, book
from tests.tools.site.term_links import links
from tools.site.chapter.formulas import FormulaError
from tools.site.reference import terms
from tools.site.reference.terms import formula_text

GLOSSARY = """# Words

:::{glossary}
key
other key
  Opens a {term}`lock` of $W_k$, "always".

  A second paragraph.

lock
  Is opened by a `key <2>`.

code
  ```
  no sentence
  ```
:::
"""
PAGE = "# Page\n\nA {term}`lock`, {term}`keys <other key>`, some {term}`code`, [words](words.md).\n"
LOCK, CODE = ("term-lock", "Is opened by a key <2>."), ("term-code", None)
OTHER_KEY = ("term-other-key", "Opens a lock of W_k, “always”.")


@pytest.fixture
def build(tmp_path):
    """A function that builds a book of a glossary and a page."""
    made = book(tmp_path)

    def build_book(words: str = GLOSSARY) -> Book:
        for name, text in {"words": words, "page": PAGE}.items():
            path = tmp_path / "source" / f"{name}.md"
            if not path.exists() or path.read_text("utf-8") != text:
                path.write_text(text, "utf-8")
        return made.build(terms, myst_enable_extensions=["colon_fence", "dollarmath"])

    return build_book


def test_a_link_has_the_first_paragraph_of_what_its_term_means_now(build, monkeypatch):
    result = build()
    assert result.warnings == ""
    assert links(result.read("page")) == [LOCK, OTHER_KEY, CODE]
    assert links(result.read("words")) == [LOCK]

    # A new meaning reaches pages that did not change.
    build(GLOSSARY.replace("Is opened", "Is closed"))
    assert links(result.read("page"))[0] == ("term-lock", "Is closed by a key <2>.")

    (warning,) = build(GLOSSARY.replace("W_k", r"\frac12")).warnings.splitlines()
    assert re.search(r"words\.md:.*meaning of a term: <mfrac> has no plain text", warning)

    # Pages are written again only when a meaning changes.
    build()
    written = []
    monkeypatch.setattr(terms, "add_meanings", lambda body, _: written.append(1) or body)
    assert (build().warnings, written) == ("", [])


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\mathbf w_v^\top \tanh(\mathbf W_q \mathbf q)", "w_vᵀ tanh(W_q q)"),
        (r"\mathbf q \cdot \mathbf k", "q ⋅ k"),
        (r"-\sum_i \alpha_i \log_2 \alpha_i", "−∑ᵢ αᵢ log₂ αᵢ"),
        ("f(x,y)^2 - 1", "f(x, y)² − 1"),
    ],
)
def test_a_formula_becomes_a_line_that_can_be_read(latex, text):
    assert formula_text(latex) == text


@pytest.mark.parametrize("latex", [r"\frac12", "x_{a+b}", "e^x", r"\sqrt 2", r"\nonsense"])
def test_a_formula_that_would_be_misread_is_refused(latex):
    with pytest.raises(FormulaError):
        formula_text(latex)
