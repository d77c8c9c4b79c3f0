"""Measure how long Kafka has been unreachable for the operator, so that statuses report only lasting outages. Pure."""

from typing import Final

__all__ = ["KafkaTrouble"]

_LASTS: Final = 15.0
"""Seconds after which an outage is reported. A report of a shorter one, such as a broker's restart, costs two writes for
every connector.
"""


class KafkaTrouble:
    """Timer of a Kafka outage."""

    def __init__(self) -> None:
        self._since: float | None = None

    def lasting(self, trouble: str | None, now: float) -> tuple[str | None, float | None]:
        """Return the trouble if it has lasted long enough, and otherwise the seconds until it will have.

        Args:
            trouble: the current trouble; None: there is none.
            now: seconds since 1970.
        """
        if trouble is None:
            self._since = None
            return None, None
        self._since = now if self._since is None else self._since
        left = self._since + _LASTS - now
        return (trouble, None) if left <= 0 else (None, left)
