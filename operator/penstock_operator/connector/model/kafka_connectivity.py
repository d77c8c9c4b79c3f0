"""Measure whether Kafka is unreachable for the operator; statuses report it only once it has lasted. Pure."""

from typing import Final

__all__ = ["KafkaTrouble"]

_LASTS: Final = 15.0
"""Seconds; reporting a shorter outage, such as a broker's restart, would cost two writes for every connector."""


class KafkaTrouble:
    """Measurement of how long Kafka has been unreachable."""

    def __init__(self) -> None:
        self._since: float | None = None

    def lasting(self, trouble: str | None, now: float) -> tuple[str | None, float | None]:
        """Return the trouble, if it has lasted, and else in how many seconds it will have.

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
