"""Limit bursts of events: one turn immediately, then at most one per interval, and one after the last event. Pure."""

from penstock_operator.key import Key

__all__ = ["Throttle"]


class Throttle:
    """Throttle of the events of each key. Used in one thread.

    Args:
        seconds: minimum seconds between turns of a key.
        gathered: seconds from an event to its turn, so that events that follow soon share the turn.
    """

    def __init__(self, seconds: float, gathered: float = 0.0) -> None:
        self._seconds = seconds
        self._gathered = gathered
        self._turns: dict[Key, float] = {}
        """Next turn of each key or, if there is none, the last one."""

    def delay(self, key: Key, now: float) -> float:
        """Return the seconds until the turn for an event that occurs now."""
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
