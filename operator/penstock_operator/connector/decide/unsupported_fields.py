"""Fields that the resource has and this release does not carry out yet: refused with the reason, never in silence. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_model.resources.connector import ConnectorSpec
from penstock_operator.connector.persisted_state import Handled, Memory

__all__ = ["ACTIONS", "NOT_YET", "answered", "not_yet"]

NOT_YET: Final[Mapping[str, str]] = {
    "topicCreationPolicy": "policies are not applied in this release; remove it, and write topic.creation.* into "
    "spec.config, or create the topics",
    "rollout": "other plugin versions come to all tasks at once in this release; remove it",
    "offsets": "offsets are not listed or altered by the operator in this release; remove it, and use Kafka's own tools "
    "while spec.state is Stopped",
}
"""By field of the spec: what there is instead."""

ACTIONS: Final[Mapping[str, str]] = {
    "list-offsets": "read them with Kafka's own tools: a sink's with kafka-consumer-groups, a source's in the offsets topic",
    "alter-offsets": "stop the connector (spec.state: Stopped) and alter them with Kafka's own tools",
    "reset-offsets": "stop the connector (spec.state: Stopped) and reset them with Kafka's own tools, or delete it with "
    "spec.deletion.offsets: Reset",
    "reset-topics": "active topics are forgotten when the connector is deleted",
}
"""By annotation: what there is instead."""

_KEPT: Final = 10
_SHOWN: Final = 100


def not_yet(spec: ConnectorSpec) -> Iterator[Problem]:
    """What is asked for that would not be done."""
    for name, field in type(spec).model_fields.items():
        if (field.alias or name) in NOT_YET and name in spec.model_fields_set and getattr(spec, name) is not None:
            yield Problem(f"spec.{field.alias or name}", NOT_YET[field.alias or name])
    if spec.spark.executors:
        yield Problem("spec.spark.executors", "Spark runs in the task's own pod in this release; remove it, or write 0")


def answered(annotations: Mapping[str, str], memory: Memory, now: float) -> tuple[Handled, ...]:
    """Actions that annotations ask for, those of this time among them: each is refused once, and its token is used up.

    A later release, which can do them, so does not begin with what was asked for long ago.
    """
    asked = {
        (action.removesuffix("-offsets"), annotations.get(f"penstock.dev/{action}", "").strip()[:_SHOWN]): instead
        for action, instead in ACTIONS.items()
    }
    known = {(h.action, h.token) for h in memory.offsets}
    new = [
        Handled(action, token, "Refused", f"is not done in this release: {instead}", float(int(now)))
        for (action, token), instead in asked.items()
        if token and (action, token) not in known
    ]
    every = (*memory.offsets, *new)
    old = [h for h in every if (h.action, h.token) not in asked]
    gone = old[: max(0, len(every) - _KEPT)]
    return tuple(h for h in every if h not in gone)
