"""Stories of people who go from place to place, and a question: where is one of them?"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from attnbook.checks import check_size, check_whole_number, describe_value, is_whole
from attnbook.models.checks import check_kind, check_list, check_seed, is_pair
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.vocabulary import check_some

if TYPE_CHECKING:
    from torch import Tensor, nn

NAMES = ("anna", "ben", "carla", "dan")
PLACES = ("garden", "kitchen", "library", "market", "park", "school")
WORDS = (*NAMES, *PLACES, "goes", "to", "the", "where", "is", "in", ".", "?")
SENTENCE_LENGTH = ANSWER_LENGTH = 6  # tokens, with the full stop

Move = tuple[str, str]
"""A name, and the place that this person goes to."""


class Story(NamedTuple):
    """Sentences, and a question about a person in them.

    Args:
        moves: who goes where, in their order.
        who: the person asked about.

    Example:
        >>> from attnbook.models.transformer.stories import Story
        >>> story = Story([("anna", "park"), ("ben", "school")], who="anna")
        >>> story.text
        'anna goes to the park . ben goes to the school . where is anna ?'
        >>> story.answer
        'anna is in the park .'
    """

    moves: Sequence[tuple[str, str]]
    who: str

    @property
    def text(self) -> str:
        """The sentences and the question, as a model reads them."""
        return " ".join([*(tell(*move) for move in self.moves), ask(self.who)])

    @property
    def place(self) -> str:
        """The place that the person went to last."""
        return [place for who, place in self.moves if who == self.who][-1]

    @property
    def answer(self) -> str:
        """What a model should write."""
        return answer(self.who, self.place)


def tell(who: str, place: str) -> str:
    """Say where a person goes."""
    return f"{who} goes to the {place} ."


def ask(who: str) -> str:
    """Ask where a person is."""
    return f"where is {who} ?"


def answer(who: str, place: str) -> str:
    """Say where a person is."""
    return f"{who} is in the {place} ."


def check_moves(moves: Iterable[Move]) -> None:
    """Refuse moves that no story tells: somebody goes where they are, or a word is unknown.

    Raises:
        TypeError, ValueError: there is such a move.
    """
    at = dict[str, str]()
    for index, move in enumerate(check_list("moves", moves, "pairs")):
        got = f"got {describe_value(move)} at index {index}"
        if not (is_pair(move) and all(isinstance(word, str) for word in move)):
            raise TypeError(f"moves must be pairs of a name and a place, {got}")
        who, place = move
        if who not in NAMES or place not in PLACES:
            raise ValueError(
                f"moves must have one of {', '.join(NAMES)} and one of {', '.join(PLACES)}, {got}"
            )
        if at.get(who) == place:
            raise ValueError(f"moves must not lead to where somebody is, {got}")
        at[who] = place


def check_who(moves: Iterable[Sequence[str]], who: str) -> None:
    """Refuse a person who is in no move.

    Raises:
        ValueError: there is no move of this person.
    """
    people = list(dict.fromkeys(name for name, _ in moves))
    if who not in people:
        raise ValueError(
            f"who must be in the story, one of {', '.join(people)}, got {describe_value(who)}"
        )


def draw_moves(rng: random.Random, count: int, *, distinct: bool = False) -> list[Move]:
    """Draw who goes where; nobody goes where they are already.

    Args:
        rng: what decides.
        count: how many sentences.
        distinct: whether each person occurs once at most; `count` is at most 4 then.
    """
    names = rng.sample(NAMES, count) if distinct else rng.choices(NAMES, k=count)
    at, moves = dict[str, str](), list[Move]()
    for name in names:
        at[name] = rng.choice([place for place in PLACES if place != at.get(name)])
        moves.append((name, at[name]))
    return moves


def make_stories(count: int, sentences: tuple[int, int] = (2, 8), seed: int = 0) -> list[Story]:
    """Draw stories, each with a question about a person who occurs in it.

    Args:
        count: how many, at least 1.
        sentences: the fewest and the most, at least 1.
        seed: of all that is random.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Example:
        >>> from attnbook.models.transformer.stories import make_stories
        >>> [len(story.moves) for story in make_stories(3, sentences=(4, 4))]
        [4, 4, 4]
    """
    check_size("count", count)
    check_seed(seed)
    if not (is_pair(sentences) and all(map(is_whole, sentences))):
        raise TypeError(f"sentences must be two whole numbers, got {describe_value(sentences)}")
    fewest, most = sentences
    if not 1 <= fewest <= most:
        raise ValueError(f"sentences must be at least 1, fewest first, got {sentences}")
    rng = random.Random(seed)  # noqa: S311 - no secret
    stories = []
    for _ in range(count):
        moves = draw_moves(rng, rng.randint(fewest, most))
        stories.append(Story(moves, rng.choice(sorted({who for who, _ in moves}))))
    return stories


def answers(model: Decoder, stories: Sequence[Story]) -> list[str]:
    """Let a model answer: it writes one word at a time, up to the full stop.

    Raises:
        TypeError, ValueError: there are no stories, or the model does not know their words.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.stories import Story, answers
        >>> answers(book_decoder("story"), [Story([("anna", "park"), ("ben", "school")], "ben")])
        ['ben is in the school .']
    """
    check_kind("model", model, Decoder)
    stories = check_list("stories", stories, "stories", "moves")
    check_some("stories", stories)
    texts = [story.text for story in stories]
    # Without a cache, which `window_of` refuses.
    written = model.generate(
        texts, ANSWER_LENGTH, cache=False, stop=".", report=lambda _share: None
    )
    return [whole[len(text) + 1 :] for text, whole in zip(texts, written, strict=True)]


def share_right(model: Decoder, stories: Sequence[Story]) -> float:
    """Give the share of stories whose answer ends with the right place; guessing gives 1 in 6.

    Raises:
        TypeError, ValueError: as `answers`.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.stories import make_stories, share_right
        >>> share_right(book_decoder("story"), make_stories(50))
        1.0
    """
    given = answers(model, stories)
    right = [text.endswith(f" {story.place} .") for text, story in zip(given, stories, strict=True)]
    return sum(right) / len(right)


@contextmanager
def window_of(model: Decoder, count: int) -> Iterator[None]:
    """Let each position of a model attend to a few positions only: itself and those before it.

    Args:
        model: a decoder; unchanged afterwards. Its attention refuses a cache meanwhile.
        count: how many: 1 is the position itself, 2 also the one before it; 0 means that there
            is no attention.

    Raises:
        TypeError, ValueError: `count` is no whole number of at least 0.

    Example:
        >>> from attnbook.models.transformer.checkpoints import book_decoder
        >>> from attnbook.models.transformer.stories import make_stories, share_right, window_of
        >>> model = book_decoder("story")
        >>> with window_of(model, 0):
        ...     without_attention = share_right(model, make_stories(50))
        >>> without_attention < 0.5
        True
    """
    check_kind("model", model, Decoder)
    check_whole_number("count", count)
    if count < 0:
        raise ValueError(f"count must be at least 0, got {count}")

    def narrow(num_positions: int, mask: Tensor | None) -> dict[str, Any]:
        at = torch.arange(num_positions, device=model.device)
        near = (at[:, None] - at < count) & (at[:, None] >= at)
        return {"mask": near if mask is None else mask & near}

    with changing_calls(model, narrow):
        yield


@contextmanager
def changing_calls(
    model: Decoder, change: Callable[[int, Tensor | None], dict[str, Any]]
) -> Iterator[None]:
    """Give each attention of a model other arguments.

    Args:
        model: a decoder; unchanged afterwards.
        change: gets the number of positions and the mask of a call; returns arguments by name.
    """

    def hook(_attention: nn.Module, given: tuple[Tensor, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401 - torch's own type of a hook
        return given, {**options, **change(given[0].shape[1], options["mask"])}

    with ExitStack() as stack:
        for attention in model.attentions:
            added = attention.register_forward_pre_hook(hook, with_kwargs=True)
            stack.callback(added.remove)
        yield
