"""`StoryFigure`: a small model answers a question about a story, and shows where it looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import traitlets

from attnbook.checks import check_whole_number
from attnbook.figures.shared.base import check_count, module, stylesheet
from attnbook.figures.shared.trained import TrainedFigure
from attnbook.figures.story.reading import compute_stored, describe, sentences_of
from attnbook.figures.tokens.figure import SHEETS
from attnbook.figures.tokens.packing import pack_model
from attnbook.messages import Messages
from attnbook.models.transformer.stories import (
    ANSWER_LENGTH,
    NAMES,
    PLACES,
    Move,
    Story,
    check_moves,
    check_who,
)

TEXT = Messages(__file__)
MOST = 8  # sentences: the longest story of the model's training


class StoryFigure(TrainedFigure):
    """A story, a question, and the answer of a small Transformer, with lines to where it looked.

    The reader chooses names, places and the person asked about. The model answers at once: on
    the book's pages in the page itself, from the same weights. Lines lead from a word of the
    answer to the words before it, as thick as the mean weights of the heads that find the place.

    Args:
        moves: one to eight sentences: who goes where.
        who: the person asked about, one of the story.
        name: a decoder of stories of `attnbook.models.transformer.checkpoints`.
        word: the word of the answer whose lines are drawn, from 0.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `moves`, `who` and `word`.

    Raises:
        TypeError: `moves` are no pairs of strings, or `word` is no whole number.
        ValueError: there is no such model, name or place; somebody goes where they are; `who` is
            not in the story; `word` is not in the answer.
        traitlets.TraitError: the same, of a trait that is set later.

    Example:
        >>> from attnbook.figures import StoryFigure
        >>> figure = StoryFigure([("anna", "park"), ("ben", "school")], "ben")
        >>> figure.answer
        'ben is in the school .'
    """

    _esm = module("story/figure.js")
    _css = stylesheet(*SHEETS, "story/style.css")

    names = traitlets.List([*NAMES]).tag(sync=True)
    places = traitlets.List([*PLACES]).tag(sync=True)
    heads: traitlets.List[list[int]] = traitlets.List().tag(sync=True)
    moves: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    who = traitlets.Unicode().tag(sync=True)
    word = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        moves: Sequence[Move],
        who: str,
        *,
        name: str = "story",
        word: int = 4,
        action: str = "",
        caption: str = "",
    ) -> None:
        heads = drawn_heads(name)
        _check_length(moves)
        check_who(moves, who)
        check_word(word)
        super().__init__(
            kind="story",
            name=name,
            heads=heads,
            moves=[[*move] for move in moves],
            who=who,
            word=word,
            late=[name],
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def story(self) -> Story:
        """The story and the question, as the model's training has them."""
        return Story([(who, place) for who, place in self.moves], self.who)

    @property
    def answer(self) -> str:
        """What the model writes."""
        return " ".join(self.shown["answer"])

    def _packed(self) -> dict[str, Any]:
        return pack_model(self.name)

    @traitlets.validate("moves", "who", "word")
    def _check(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        return self._accept(proposal)

    def _refuse(self, trait: str, value: Any) -> None:  # noqa: ANN401 - any trait's
        if trait == "moves":
            _check_length(value)
            check_who(value, self.who)
        elif trait == "who":
            check_who(self.moves, value)
        else:
            check_word(value)

    @traitlets.observe("moves", "who", "word")
    def _describe(self, _change: object = None) -> None:
        if not self.kind:
            return
        self.shown = compute_stored(self.name, self.heads, self.story)
        self._write_text(self._lines())

    def _lines(self) -> Iterator[str]:
        yield TEXT("title", name=self.name)
        for sentence in sentences_of(self.story):
            yield " ".join(sentence)
        yield self.answer
        yield describe(self.story, self.shown, self.word)


def drawn_heads(name: str) -> list[list[int]]:
    """The heads whose weights are drawn: the model's checkpoint names them.

    Raises:
        ValueError: there is no such model, or its checkpoint names no heads.
    """
    # Imported here, because other figures need no safetensors.
    from attnbook.models.transformer.checkpoints import (  # noqa: PLC0415
        FOLDER,
        decoder_steps,
        read_notes,
    )

    decoder_steps(name)  # refuses another name
    heads: list[list[int]] = read_notes(FOLDER / f"{name}.safetensors").get("heads", [])
    if not heads:
        raise ValueError(f"name must be a story model with heads that find places, got {name!r}")
    return heads


def _check_length(moves: Sequence[Move]) -> None:
    """Refuse a story that the grammar never tells, or that is too long to be seen."""
    check_moves(moves)
    check_count("sentences", len(moves), MOST)


def check_word(word: int) -> None:
    """Refuse a word that no answer has."""
    check_whole_number("word", word)
    if not 0 <= word < ANSWER_LENGTH:
        raise ValueError(f"word must lie in [0, {ANSWER_LENGTH}), got {word}")
