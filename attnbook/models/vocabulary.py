"""Characters as tokens, whole numbers that a model reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from attnbook.checks import check_whole_number
from attnbook.models.checks import check_kind, check_list

PAD, BEGIN, END = 0, 1, 2
SPECIAL = 3  # tokens that are no characters
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

    def __init__(self, characters: str) -> None:
        if not isinstance(characters, str):
            raise TypeError(f"characters must be a string, got {type(characters).__name__}")
        if not characters:
            raise ValueError("characters must hold at least one character, got ''")
        self.characters = "".join(sorted(set(characters)))
        self._tokens = {c: SPECIAL + i for i, c in enumerate(self.characters)}

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """Collect the characters of texts.

        Raises:
            TypeError, ValueError: `texts` holds something else than strings, or no character.
        """
        texts = check_list("texts", texts, "strings") if not isinstance(texts, str) else [texts]
        for text in texts:
            check_kind("text", text, str)
        return cls("".join({character for text in texts for character in text}))

    def __len__(self) -> int:
        return SPECIAL + len(self.characters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.characters == other.characters

    def __hash__(self) -> int:
        return hash(self.characters)

    def __repr__(self) -> str:
        return f"Vocabulary({self.characters!r})"

    def encode(self, text: str) -> list[int]:
        """Turn a text into one token per character.

        Raises:
            TypeError, ValueError: `text` is no string, is empty, is longer than
                256 characters, or holds a character that the vocabulary lacks.
        """
        check_text(text)
        tokens = [self._tokens.get(character, PAD) for character in text]
        if PAD in tokens:
            index = tokens.index(PAD)
            raise ValueError(
                f"text must hold characters of the vocabulary, got {text[index]!r} "
                f"(U+{ord(text[index]):04X}) at index {index} of {text!r}"
            )
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Turn tokens into text, up to the first end; padding and beginnings are skipped.

        Raises:
            TypeError, ValueError: `tokens` holds something else than tokens.
        """
        characters = []
        for token in check_list("tokens", tokens, "whole numbers"):
            check_whole_number("tokens", token, "a list of whole numbers")
            if not 0 <= token < len(self):
                raise ValueError(f"tokens must lie in [0, {len(self)}), got {token}")
            if token == END:
                break
            if token >= SPECIAL:
                characters.append(self.characters[token - SPECIAL])
        return "".join(characters)


def check_text(text: str) -> None:
    """Refuse what no model here can read: no string, nothing, or more than 256 characters."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}")
    if not text:
        raise ValueError("text must hold at least one character, got ''")
    if len(text) > MAX_LENGTH:
        raise ValueError(
            f"text must hold at most {MAX_LENGTH} characters, got {len(text)}; pass a part of it"
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
