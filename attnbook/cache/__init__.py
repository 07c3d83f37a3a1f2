"""Caches of keys and values, so that each token is projected once while a text is generated."""

from attnbook.cache.cross import CrossCache
from attnbook.cache.key_value import KeyValueCache
from attnbook.cache.layer import CacheStep, LayerCache

__all__ = ["CacheStep", "CrossCache", "KeyValueCache", "LayerCache"]
