"""Annotations that this release does not support: each is refused with what there is instead. Pure."""

from collections.abc import Mapping
from typing import Final

from penstock_operator.connector.persisted_state import HandledRequest, Memory

__all__ = ["ACTIONS", "refused_actions"]

ACTIONS: Final[Mapping[str, str]] = {
    "list-offsets": "read them with Kafka's own tools: a sink's with kafka-consumer-groups, a source's in the offsets topic",
    "alter-offsets": "stop the connector (spec.state: Stopped) and alter them with Kafka's own tools",
    "reset-offsets": "stop the connector (spec.state: Stopped) and reset them with Kafka's own tools, or delete it with "
    "spec.deletion.offsets: Reset",
    "reset-topics": "active topics are forgotten when the connector is deleted",
}
"""What there is instead, by annotation."""

_ACTIONS_KEPT: Final = 10
_TOKEN_LENGTH: Final = 100


def refused_actions(annotations: Mapping[str, str], memory: Memory, now: float) -> tuple[HandledRequest, ...]:
    """The actions on offsets that annotations have asked for, for the status. Each is refused once per token.

    So a later release, which can do them, does not begin with what was asked for long ago.
    """
    asked = {
        (
            action.removesuffix("-offsets"),
            annotations.get(f"penstock.dev/{action}", "").strip()[:_TOKEN_LENGTH],
        ): instead
        for action, instead in ACTIONS.items()
    }
    known = {(h.action, h.token) for h in memory.offsets}
    new = [
        HandledRequest(action, token, "Refused", f"is not done in this release: {instead}", float(int(now)))
        for (action, token), instead in asked.items()
        if token and (action, token) not in known
    ]
    every = (*memory.offsets, *new)
    old = [h for h in every if (h.action, h.token) not in asked]
    gone = old[: max(0, len(every) - _ACTIONS_KEPT)]
    return tuple(h for h in every if h not in gone)
