"""Reduce garbage collection for processes that make a hundred thousand short-lived dicts a second, without cycles."""

import gc
from typing import Final

__all__ = ["tune_gc"]

_YOUNG: Final = 50_000


def tune_gc() -> None:
    """Exclude all loaded objects from collection, and search for cycles every 50,000 new objects instead of every 700."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
