"""MyST in plain Markdown: what each piece becomes, and what is refused."""

from __future__ import annotations

import re

import pytest

from tools import ROOT
from tools.copies.links import Book
from tools.copies.myst_text import MystError, labels
from tools.copies.plain_markdown import leftovers, lost_words, plain

REPOSITORY = "https://github.com/reader/attention-book"
SITE = "https://reader.github.io/attention-book/"
COLAB = "https://colab.research.google.com/github/reader/attention-book/blob/colab/chapters"
PAGE = "chapters/additive-attention"


@pytest.fixture(scope="module")
def unpublished():
    return Book(ROOT, REPOSITORY)


@pytest.fixture(scope="module")
def published():
    return Book(ROOT, REPOSITORY, SITE)


# What each piece becomes.


def test_a_folded_answer_keeps_markdown_and_formulas_alive(unpublished):
    text = "See:\n\n:::{dropdown} Answer\n**Two** of $n$.\n:::\n\nOn."
    assert plain(text, PAGE, unpublished) == (
        "See:\n\n<details>\n<summary>Answer</summary>\n\n**Two** of $n$.\n\n</details>\n\nOn."
    )


def test_an_answer_in_a_list_stays_in_its_item(unpublished):
    text = "1. one\n\n   :::{dropdown} `x`\n   :open:\n   two\n   :::\n2. three"
    assert plain(text, PAGE, unpublished) == (
        "1. one\n\n   <details open>\n   <summary><code>x</code></summary>\n\n"
        "   two\n\n   </details>\n2. three"
    )


def test_a_note_is_a_quotation_that_says_what_it_is(unpublished):
    text = ":::{note}\nA {term}`query`.\n\n- b\n:::"
    assert plain(text, PAGE, unpublished) == "> **Note**\n>\n> A query.\n>\n> - b"


def test_a_formula_gets_the_number_that_its_page_shows(unpublished):
    text = "```{math}\n:label: cancels\na\n\n= b,\n```\n\nHere {eq}`cancels`, there {eq}`softmax`."
    chapter = f"[Masked softmax]({COLAB}/masked-softmax.ipynb)"
    assert plain(text, PAGE, unpublished) == (
        f"$$\na\n= b, \\tag{{2}}\n$$\n\nHere (2), there (1) of {chapter}."
    )


def test_a_formula_without_a_label_has_no_number(unpublished):
    assert plain("```{math}\na\n```", PAGE, unpublished) == "$$\na\n$$"


def test_formulas_are_counted_in_answers_too():
    text = "```{math}\n:label: a\nx\n```\n\n::::{dropdown} B\n```{math}\n:label: b\nx\n```\n::::"
    assert list(labels(text)) == ["a", "b"]


def test_a_citation_reads_as_on_the_page(unpublished):
    text = "{cite:p}`bahdanau2015,watson1964`, {cite:t}`jain2019`"
    assert plain(text, PAGE, unpublished) == (
        "[Bahdanau *et al.*, 2015, Watson, 1964], Jain and Wallace (2019)"
    )


def test_a_citation_leads_to_the_published_bibliography(published):
    assert plain("{cite:p}`nadaraya1964`", PAGE, published) == (
        f'[[Nadaraya, 1964]({SITE}chapters/bibliography.html "On Estimating Regression")]'
    )


def test_a_term_is_its_text_until_the_site_is_known(unpublished, published):
    text = "{term}`Weighting <weighting>`, {term}`transformer`, {term}`attention weights`"
    glossary = f"{SITE}chapters/notation.html#term-"
    assert plain(text, PAGE, unpublished) == "Weighting, transformer, attention weights"
    assert plain(text, PAGE, published) == (
        f"[Weighting]({glossary}weighting), [transformer]({glossary}Transformer), "
        f"[attention weights]({glossary}attention-weights)"
    )


def test_a_name_of_the_package_is_code(unpublished, published):
    text = (
        "{py:func}`attnbook.pool`, {py:class}`~attnbook.Attention`, {py:func}`it <attnbook.pool>`"
    )
    reference = f"{SITE}chapters/api.html#attnbook."
    assert plain(text, PAGE, unpublished) == "`attnbook.pool()`, `Attention`, `it`"
    assert plain(text, PAGE, published) == (
        f"[`attnbook.pool()`]({reference}pool), [`Attention`]({reference}Attention), "
        f"[`it`]({reference}pool)"
    )


def test_a_link_to_a_chapter_leads_to_its_page_or_else_to_its_copy(unpublished, published):
    text = (
        "[`a` of $b$](summary.ipynb), [here](#why-tanh), [there](summary.ipynb), [w](https://x.org)"
    )
    assert plain(text, PAGE, published) == (
        f"[`a` of $b$]({SITE}chapters/summary.html), [here]({SITE}{PAGE}.html#why-tanh), "
        f"[there]({SITE}chapters/summary.html), [w](https://x.org)"
    )
    assert plain("[a](summary.ipynb)", PAGE, unpublished) == f"[a]({COLAB}/summary.ipynb)"


def test_a_link_that_would_lead_nowhere_is_only_its_text(unpublished):
    assert plain("the [glossary](notation.md)", PAGE, unpublished) == "the glossary"


def test_a_picture_is_one_that_publishing_makes(unpublished, published):
    text = "![W_q (1, 2)](../img/lookup.svg)"
    raw = "https://raw.githubusercontent.com/reader/attention-book/colab/img/lookup.svg"
    assert plain(text, PAGE, unpublished) == f"![W_q (1, 2)]({raw}?sanitize=true)"
    assert plain(text, PAGE, published) == f"![W_q (1, 2)]({SITE}_images/lookup.svg)"


@pytest.mark.parametrize(
    "text",
    [
        "`{term}` and ``{eq}`x` `` and $\\{a\\}$ and \\$5",
        "```python\n:::{dropdown} Answer\n{term}`query`\n:::\n```",
        "    {term}`query`\n    :::",
        "$$\n\\text{[a](b.ipynb)}\n$$",
        "| `a{b}` | $x$ |\n|---|---|\n| 1 | 2 |",
        "# Title\n\n- a\n  - b\n\n> c\n\n---\n\n1. d  \ne",
    ],
)
def test_code_formulas_and_plain_markdown_stay_as_they_are(text, unpublished):
    assert plain(text, PAGE, unpublished) == text


def test_a_role_in_a_table_is_found(unpublished):
    text = "| {term}`query` | `a` |\n|---|---|\n| {term}`key` | {term}`value` |"
    assert plain(text, PAGE, unpublished) == "| query | `a` |\n|---|---|\n| key | value |"


# What is refused, with the piece that stands in the way.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{sub}`x`", "the role sub"),
        ("```{figure} x.svg\n```", "{figure} x.svg"),
        (":::{exercise}\nx\n:::", "{exercise}"),
        (":::{note} A title\nx\n:::", "{note} A title"),
        (":::\nx\n:::", "without a name"),
        ("(mark)=\n# A", "(mark)="),
        ("{{ name }}", "{{ name }}"),
        ("a[^1]\n\n[^1]: b", "[^1]"),
        ("[a]{.b}", "[a]{.b}"),
        ("% a comment", "% a comment"),
        ("term\n: meaning", "term"),
        ("- :::{note}\n  x\n  :::", "beside something else"),
        ("{eq}`nonsense`", "formula nonsense"),
        ("{cite:p}`nobody1900`", "nobody1900"),
        ("{term}`nonsense`", "the term nonsense"),
        ("[a](nonsense.ipynb)", "nonsense.ipynb"),
        ("[a](#nonsense)", "#nonsense"),
        ("![a](../img/nonsense.svg)", "nonsense.svg"),
        ("![a](references.bib)", "references.bib"),
    ],
)
def test_what_has_no_plain_form_is_refused_by_name(text, told, unpublished):
    with pytest.raises(MystError, match=re.escape(told)):
        plain(text, PAGE, unpublished)


def test_a_role_that_only_the_parser_sees_is_refused(unpublished, monkeypatch):
    monkeypatch.setattr(
        "tools.copies.myst_text.SPAN", re.compile("(?P<role>x)(?P<code>x)(?P<math>x)(?P<text>x)")
    )
    with pytest.raises(MystError, match="of which only"):
        plain("{term}`query`", PAGE, unpublished)


# The guards of a finished copy can fail.


@pytest.mark.parametrize(
    "rest",
    [
        "a {term}`query`",
        "a {note} b",
        ":::{dropdown} Answer\n:::",
        "```{math}\nx\n```",
        "a ::: b",
        "<details>\n{term}`query`\n\n</details>",
        "[a](summary.ipynb)",
        "[a][b]\n\n[b]: ../img/x.svg",
        "![a](../img/lookup.svg)",
    ],
)
def test_what_is_left_of_myst_is_found(rest):
    assert list(leftovers(rest))


@pytest.mark.parametrize("fine", ["`{term}`", "```\n:::\n```", "$a_{i}$", "[a](https://b.org)"])
def test_what_only_looks_like_myst_is_left_alone(fine):
    assert list(leftovers(fine)) == []


def test_a_lost_or_moved_word_is_found():
    assert lost_words("One two three", "One three")[0] == "two"
    assert lost_words("One two three", "One three two")[0] == "three"
    assert lost_words(":::{dropdown} One\n`two`\n:::", "<summary>One</summary>")[0] == "two"


def test_what_becomes_another_word_is_not_lost():
    before = "One {term}`two <x>` $a$ {cite:p}`k` {eq}`e`\n\n:::{dropdown} Three\n:open:\nfour\n:::"
    assert lost_words(before, "One [two](y) $a$ [K, 1964] (1) Three four") == []
