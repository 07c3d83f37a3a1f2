"""Characters as tokens: encoding, decoding, padding, refusals."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.models.vocabulary import (
    BEGIN,
    END,
    MAX_LENGTH,
    PAD,
    Vocabulary,
    WordVocabulary,
    pad,
)


def test_characters_are_numbered_in_their_order_after_the_special_three():
    vocabulary = Vocabulary("cab")
    assert vocabulary.encode("abc") == [3, 4, 5]
    assert vocabulary.characters == "abc"
    assert len(vocabulary) == 6


@given(st.text(alphabet="9. März", min_size=1, max_size=20))
def test_decoding_is_the_inverse_of_encoding(text):
    vocabulary = Vocabulary("9. März")
    assert vocabulary.decode(vocabulary.encode(text)) == text


def test_decoding_stops_at_the_first_end_and_skips_other_special_tokens():
    assert Vocabulary("ab").decode([BEGIN, 4, PAD, 3, END, 3]) == "ba"


def test_order_and_repetition_of_the_characters_do_not_matter():
    assert Vocabulary("abba") == Vocabulary("ba")
    assert Vocabulary("ab") != Vocabulary("abc")
    assert hash(Vocabulary("abba")) == hash(Vocabulary("ba"))
    assert Vocabulary.of(["ab", "bc"]) == Vocabulary("abc")
    assert repr(Vocabulary("ba")) == "Vocabulary('ab')"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("9 ∂", ValueError, r"characters of the vocabulary, got '∂' \(U\+2202\) at index 2"),
        ("9" * 257, ValueError, "text must hold at most 256 characters, got 257; pass a part"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_read_is_refused(text, error, message):
    vocabulary = Vocabulary("0123456789 ")
    assert len(vocabulary.encode("9" * MAX_LENGTH)) == MAX_LENGTH
    with pytest.raises(error, match=message):
        vocabulary.encode(text)


def test_words_are_tokens_with_a_space_between_them():
    vocabulary = WordVocabulary.of(["where is anna ?", "anna is in the park ."])
    assert vocabulary.symbols == [".", "?", "anna", "in", "is", "park", "the", "where"]
    assert vocabulary.encode("where  is anna ?") == [10, 7, 5, 4]
    assert vocabulary.decode([BEGIN, 5, 7, END, 4]) == "anna is"
    assert vocabulary != Vocabulary("".join(".?"))
    assert eval(repr(vocabulary)) == vocabulary  # noqa: S307 - our own text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("where is annna ?", "text must hold words of the vocabulary, got 'annna' at index 2 of"),
        ("anna " * 257, "text must hold at most 256 words, got 257; pass a part"),
        (" ", "text must hold at least one word, got ' '"),
    ],
)
def test_words_that_cannot_be_read_are_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        WordVocabulary(["where", "is", "anna", "?"]).encode(text)


@pytest.mark.parametrize("words", [[], ["the park"], [""], [3]])
def test_words_that_no_text_can_hold_are_refused(words):
    with pytest.raises((TypeError, ValueError), match=r"^words? must "):
        WordVocabulary(words)


def test_rows_are_padded_to_the_right():
    tokens, lengths = pad([[3, 4, 5], [6], [7, 8]])
    assert tokens.tolist() == [[3, 4, 5], [6, 0, 0], [7, 8, 0]]
    assert torch.equal(lengths, torch.tensor([3, 1, 2]))


@pytest.mark.parametrize("rows", [[], [[3], []]])
def test_no_rows_and_empty_rows_are_refused(rows):
    with pytest.raises(ValueError, match="rows must be at least one row of at least one token"):
        pad(rows)
