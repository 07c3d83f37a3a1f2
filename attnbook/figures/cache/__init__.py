"""A model writes from a cache, right or with a bug, next to recomputing."""
