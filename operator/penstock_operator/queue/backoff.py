"""How long to wait before what failed is tried again."""

from typing import Final

__all__ = ["FIRST_BACKOFF", "LONGEST_BACKOFF", "backoff"]

FIRST_BACKOFF: Final = 0.5
LONGEST_BACKOFF: Final = 60.0
_JITTER: Final = 0.25


def backoff(failures: int, chance: float) -> float:
    """Seconds to wait after so many failures in a row; `chance` from 0 to 1 spreads them by a quarter."""
    plain: float = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** min(failures - 1, 16))
    return plain * (1 - _JITTER + _JITTER * chance)
