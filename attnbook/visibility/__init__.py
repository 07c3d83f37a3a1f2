"""What a model sees: a map from its outputs alone, and whether it is the map of a rule."""

from attnbook.visibility.comparing import Comparison, Explanation, compare
from attnbook.visibility.pairs import visible_pairs

__all__ = ["Comparison", "Explanation", "compare", "visible_pairs"]
