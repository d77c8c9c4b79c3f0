"""Limit bursts of events: the first is due immediately, then one per interval, including the last event. Pure."""

from penstock_operator.key import Key

__all__ = ["Throttle"]


class Throttle:
    """Times at which keys are due again. Used in one thread.

    Args:
        seconds: between two turns of a key.
        gathered: seconds from the first event to its turn, so that others that come soon share it.
    """

    def __init__(self, seconds: float, gathered: float = 0.0) -> None:
        self._seconds = seconds
        self._gathered = gathered
        self._turns: dict[Key, float] = {}
        """Last turn of each key, or the next one that is due."""

    def delay(self, key: Key, now: float) -> float:
        """Return the seconds until the turn for an event that has come now."""
        turn = self._turns.get(key)
        if turn is None or now - turn >= self._seconds:
            turn = now + self._gathered
        elif turn <= now:
            turn = max(turn + self._seconds, now + self._gathered)
        self._turns[key] = turn
        return turn - now

    def forget(self, key: Key) -> None:
        """Remove a deleted key."""
        self._turns.pop(key, None)
