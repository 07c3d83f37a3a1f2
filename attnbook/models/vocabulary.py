"""Characters or words as tokens, whole numbers that a model reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from attnbook.checks import check_whole_number
from attnbook.models.checks import check_kind, check_list

PAD, BEGIN, END = 0, 1, 2
SPECIAL = 3  # tokens that are no symbols
MAX_LENGTH = 256


class Vocabulary:
    """The characters that a model knows, each with its token.

    Tokens 0, 1 and 2 are padding, the beginning and the end of a text.

    Args:
        characters: what the model knows; order and repetition do not matter.

    Raises:
        TypeError, ValueError: `characters` is no string, or is empty.

    Example:
        >>> from attnbook.models.vocabulary import Vocabulary
        >>> vocabulary = Vocabulary("ab")
        >>> vocabulary.encode("ba"), vocabulary.decode([4, 3])
        ([4, 3], 'ba')
    """

    kind = "characters"  # what its symbols are

    def __init__(self, characters: str) -> None:
        if not isinstance(characters, str):
            raise TypeError(f"characters must be a string, got {type(characters).__name__}")
        if not characters:
            raise ValueError("characters must hold at least one character, got ''")
        self.characters = "".join(sorted(set(characters)))
        self._number(self.characters)

    def _number(self, symbols: Iterable[str]) -> None:
        self.symbols = list(symbols)
        self._tokens = {symbol: SPECIAL + i for i, symbol in enumerate(self.symbols)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """Collect the characters of texts.

        Raises:
            TypeError, ValueError: `texts` holds something else than strings, or no character.
        """
        return cls("".join(_check_strings(texts)))

    def __len__(self) -> int:
        return SPECIAL + len(self.symbols)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(tuple(self.symbols))

    def __repr__(self) -> str:
        return f"Vocabulary({self.characters!r})"

    def split(self, text: str) -> list[str]:
        """Split a text into the symbols that are a token each."""
        return list(text)

    def join(self, symbols: Iterable[str]) -> str:
        """Join symbols to a text."""
        return "".join(symbols)

    def encode(self, text: str) -> list[int]:
        """Turn a text into one token per symbol.

        Raises:
            TypeError, ValueError: `text` is no string, is empty, is longer than
                256 symbols, or holds a symbol that the vocabulary lacks.
        """
        check_text(text, self)
        symbols = self.split(text)
        tokens = [self._tokens.get(symbol, PAD) for symbol in symbols]
        if PAD in tokens:
            index = tokens.index(PAD)
            symbol = symbols[index]
            code = f" (U+{ord(symbol):04X})" if len(symbol) == 1 else ""
            raise ValueError(
                f"text must hold {self.kind} of the vocabulary, got {symbol!r}{code} at index "
                f"{index} of {text!r}"
            )
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Turn tokens into text, up to the first end; padding and beginnings are skipped.

        Raises:
            TypeError, ValueError: `tokens` holds something else than tokens.
        """
        symbols = []
        for token in check_list("tokens", tokens, "whole numbers"):
            check_whole_number("tokens", token, "a list of whole numbers")
            if not 0 <= token < len(self):
                raise ValueError(f"tokens must lie in [0, {len(self)}), got {token}")
            if token == END:
                break
            if token >= SPECIAL:
                symbols.append(self.symbols[token - SPECIAL])
        return self.join(symbols)


class WordVocabulary(Vocabulary):
    """The words that a model knows, each with its token; a text has spaces between its words.

    Args:
        words: what the model knows, such as "anna" and "."; order and repetition do not matter.

    Raises:
        TypeError, ValueError: `words` is no list of strings, is empty, or holds a space.

    Example:
        >>> from attnbook.models.vocabulary import WordVocabulary
        >>> vocabulary = WordVocabulary(["where", "is", "anna", "?"])
        >>> vocabulary.encode("where is anna ?"), vocabulary.decode([4, 5])
        ([6, 5, 4, 3], 'anna is')
    """

    kind = "words"

    def __init__(self, words: Iterable[str]) -> None:
        words = check_list("words", words, "strings")
        check_some("words", words)
        for word in words:
            check_kind("word", word, str)
            if word.split() != [word]:
                raise ValueError(f"words must hold no spaces and must not be empty, got {word!r}")
        self._number(sorted(set(words)))

    @classmethod
    def of(cls, texts: Iterable[str]) -> WordVocabulary:
        """Collect the words of texts.

        Raises:
            TypeError, ValueError: `texts` holds something else than strings, or no word.
        """
        return cls(word for text in _check_strings(texts) for word in text.split())

    def __repr__(self) -> str:
        return f"WordVocabulary({self.symbols!r})"

    def split(self, text: str) -> list[str]:
        """Split a text into words."""
        return text.split()

    def join(self, symbols: Iterable[str]) -> str:
        """Join words to a text, with a space between them."""
        return " ".join(symbols)


def _check_strings(texts: Iterable[str]) -> list[str]:
    texts = check_list("texts", texts, "strings") if not isinstance(texts, str) else [texts]
    for text in texts:
        check_kind("text", text, str)
    return texts


def check_text(text: str, vocabulary: Vocabulary | None = None) -> None:
    """Refuse what no model here can read: no string, nothing, or more than 256 symbols."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}")
    kind = Vocabulary.kind if vocabulary is None else vocabulary.kind
    count = len(text if vocabulary is None else vocabulary.split(text))
    if not count:
        raise ValueError(f"text must hold at least one {kind[:-1]}, got {text!r}")
    if count > MAX_LENGTH:
        raise ValueError(
            f"text must hold at most {MAX_LENGTH} {kind}, got {count}; pass a part of it"
        )


def check_some(name: str, given: Sequence[object]) -> None:
    """Refuse an empty list."""
    if not given:
        raise ValueError(f"{name} must hold at least one, got none")


def pad(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Stack rows of tokens, `(batch, longest)`, padding to the right; and their lengths.

    Raises:
        ValueError: there are no rows, or a row is empty.
    """
    if not rows or not all(rows):
        raise ValueError("rows must be at least one row of at least one token each")
    lengths = torch.tensor([len(row) for row in rows], device="cpu")
    tokens = torch.full((len(rows), int(lengths.max())), PAD, device="cpu")
    for row, given in zip(tokens, rows, strict=True):
        row[: len(given)] = torch.tensor(given, device="cpu")
    return tokens, lengths
