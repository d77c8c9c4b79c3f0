"""Rule that decides when an idle Spark session ends."""

import time

__all__ = ["IdleEnd"]


class IdleEnd:
    """Rule that ends a session when no backlog has needed it for a while.

    Args:
        seconds: time without a backlog; None: the session never ends.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._used_at = time.monotonic()

    def use(self) -> None:
        """Restart the idle time, because a job starts or ends, or because the session has started."""
        self._used_at = time.monotonic()

    def prevent(self) -> None:
        """Never end the session from now on."""
        self._seconds = None

    @property
    def idle_seconds(self) -> float:
        """Seconds since the session was used."""
        return time.monotonic() - self._used_at

    @property
    def is_due(self) -> bool:
        """Return whether the session must end now."""
        return self._seconds is not None and self.idle_seconds >= self._seconds
