"""Lines that repeat: a random beginning, then one phrase until the end."""

from __future__ import annotations

import random
from typing import NamedTuple

from attnbook.checks import check_size, describe_value, is_whole
from attnbook.models.checks import check_seed, is_pair

SYMBOLS = "abcdefghijklmnop"


class Repeat(NamedTuple):
    """A sequence: `start` random tokens, then a phrase of `period` different ones to the end.

    Example:
        >>> from attnbook.models.transformer.repeats import Repeat
        >>> line = Repeat("gbdkafdka", start=2, period=4)
        >>> line.copied
        range(7, 9)
    """

    text: str
    start: int
    period: int

    @property
    def copied(self) -> range:
        """Positions whose tokens can be predicted, as they and the ones before are copies."""
        return range(self.start + self.period + 1, len(self.text))


def make_repeats(
    count: int, length: int = 24, periods: tuple[int, int] = (4, 10), seed: int = 0
) -> list[Repeat]:
    """Draw sequences that end in a repeated phrase; more from one seed begin with the same ones.

    The phrase occurs at least twice if the sequence is long enough. Nothing in it marks
    its length or where it begins.

    Args:
        count: how many, at least 1.
        length: tokens of a sequence, at least 1.
        periods: the shortest phrase and the longest, within 1 and 16.
        seed: of all that is random.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Example:
        >>> from attnbook.models.transformer.repeats import make_repeats
        >>> lines = make_repeats(3, length=12)
        >>> [len(line.text) for line in lines]
        [12, 12, 12]
    """
    check_size("count", count)
    check_size("length", length)
    check_seed(seed)
    if not (is_pair(periods) and all(map(is_whole, periods))):
        raise TypeError(f"periods must be two whole numbers, got {describe_value(periods)}")
    shortest, longest = periods
    if not 1 <= shortest <= longest <= len(SYMBOLS):
        raise ValueError(f"periods must lie in [1, {len(SYMBOLS)}], shorter first, got {periods}")
    rng = random.Random(seed)  # noqa: S311 - no secret
    return [_draw(rng, length, shortest, longest) for _ in range(count)]


def _draw(rng: random.Random, length: int, shortest: int, longest: int) -> Repeat:
    period = rng.randint(shortest, longest)
    start = rng.randint(0, max(0, length - 2 * period))
    beginning, phrase = rng.choices(SYMBOLS, k=start), rng.sample(SYMBOLS, period)
    tokens = [*beginning, *(phrase[i % period] for i in range(length - start))]
    return Repeat("".join(tokens[:length]), start, period)
