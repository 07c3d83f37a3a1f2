"""Each check of a finished copy can fail."""

import pytest

from tools.colab.leftovers import leftovers, lost_words


@pytest.mark.parametrize(
    "text",
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
def test_raw_myst_is_reported(text):
    assert list(leftovers(text))


@pytest.mark.parametrize("fine", ["`{term}`", "```\n:::\n```", "$a_{i}$", "[a](https://b.org)"])
def test_text_that_only_looks_like_myst_is_allowed(fine):
    assert list(leftovers(fine)) == []


def test_a_lost_or_moved_word_is_reported():
    assert lost_words("One two three", "One three")[0] == "two"
    assert lost_words("One two three", "One three two")[0] == "three"
    assert lost_words(":::{dropdown} One\n`two`\n:::", "<summary>One</summary>")[0] == "two"


def test_a_word_that_is_replaced_is_not_lost():
    before = "One {term}`two <x>` $a$ {cite:p}`k` {eq}`e`\n\n:::{dropdown} Three\n:open:\nfour\n:::"
    assert lost_words("(a-label)=\n# One", "# One") == []
    assert lost_words(before, "One [two](y) $a$ [K, 1964] (1) Three four") == []
