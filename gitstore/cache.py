"""The LRU cache of `content.cache`, under the name that the store uses."""

from content.cache import LruCache

__all__ = ["LruCache"]
