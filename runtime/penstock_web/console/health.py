"""State of a Connector or a task, with its name, color and order in the console. Pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

__all__ = ["STARTING", "Health", "Tone", "condition", "health_of", "tone_of_state"]


class Tone(StrEnum):
    """Color of a state. The page always writes the state in words, too."""

    BAD = "bad"
    WARN = "warn"
    BUSY = "busy"
    GOOD = "good"
    IDLE = "idle"


class Health(NamedTuple):
    """State of a Connector.

    Attributes:
        rank: order in the list, the most urgent first.
        label: name of the state.
        tone: its color.
        cause: message of the condition that explains it; empty: none is needed.
    """

    rank: int
    label: str
    tone: Tone
    cause: str = ""


_TONES: Final = {
    "Failed": Tone.BAD,
    "Degraded": Tone.WARN,
    "Pending": Tone.BUSY,
    "Restarting": Tone.BUSY,
    "Stopping": Tone.BUSY,
    "Running": Tone.GOOD,
    "Paused": Tone.IDLE,
    "Stopped": Tone.IDLE,
}
_RANKS: Final = {"Failed": 0, "Degraded": 2, "Pending": 5, "Stopping": 6, "Running": 7, "Paused": 8, "Stopped": 9}
STARTING: Final = frozenset(
    {
        "Planning",
        "Preparing",
        "Starting",
        "Restarting",
        "Pausing",
        "Resuming",
        "Stopping",
        "Changing",
        "RestartRequested",
        "Deleting",
    }
)
"""Reasons of a Connector that is not Ready only because work is in progress."""


def health_of(connector: Mapping[str, Any]) -> Health:
    """Return the state of a Connector, with the cause of a problem."""
    status = connector.get("status") or {}
    state = str(status.get("state") or "Pending")
    ready = condition(status, "Ready")
    cause = str(ready.get("message") or "")
    if state == "Failed":
        return Health(0, state, Tone.BAD, cause)
    if condition(status, "Stalled").get("status") == "True":
        return Health(1, "Stalled", Tone.BAD, cause)
    if state == "Degraded":
        return Health(2, state, Tone.WARN, cause)
    if state in ("Running", "Paused", "Stopped"):
        if ready.get("status", "True") != "True" and ready.get("reason") not in STARTING:
            return Health(3, "Hindered", Tone.WARN, cause)
        if (lagging := condition(status, "Lagging")).get("status") == "True":
            return Health(4, "Lagging", Tone.WARN, str(lagging.get("message") or ""))
    is_explained = state == "Pending" and ready.get("status") != "True"
    return Health(_RANKS.get(state, 5), state, tone_of_state(state), cause if is_explained else "")


def tone_of_state(state: str) -> Tone:
    """Return the color of a state of a Connector or a task."""
    return _TONES.get(state, Tone.BUSY)


def condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return a condition by its type; empty: there is none."""
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    return next((c for c in conditions if c.get("type") == kind), {})
