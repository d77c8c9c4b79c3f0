"""Kafka out of the operator's reach, which statuses report only once it has lasted. Pure."""

from typing import Final

__all__ = ["KafkaTrouble"]

_LASTS: Final = 10.0
"""Seconds; what passes sooner would be two writes for every connector, and no news."""


class KafkaTrouble:
    """Measures how long Kafka has been out of reach."""

    def __init__(self) -> None:
        self._since: float | None = None

    def lasting(self, trouble: str | None, now: float) -> tuple[str | None, float | None]:
        """The trouble, if it has lasted, and else in how many seconds it will have.

        Args:
            trouble: as of now; None: there is none.
            now: seconds since 1970.
        """
        if trouble is None:
            self._since = None
            return None, None
        self._since = now if self._since is None else self._since
        left = self._since + _LASTS - now
        return (trouble, None) if left <= 0 else (None, left)
