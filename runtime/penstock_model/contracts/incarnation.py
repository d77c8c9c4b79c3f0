"""The incarnation record of a task: which of its lives may write (docs/decisions, 0001). Pure.

Tasks and those who prepare them write it to the status topic; the operator keeps what it has read of it for them (0021).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

__all__ = ["Incarnation", "incarnation_key", "merge_records"]


@total_ordering
@dataclass(frozen=True)
class Incarnation:
    """One life of a task, and within it one fencing: whoever acts on a smaller one than the topic's must not write.

    Ordered by generation, plan, incarnation, fence, token: a life of an older plan is older than any of a newer one,
    however often it was started again.

    Attributes:
        incarnation: raised with every start of the task.
        fence: raised within a life whenever the outcome of a batch is unknown.
        token: unique per life, to tell two lives that chose the same number apart.
        slots: how many `<id>/<slot>` transactional ids may exist, in this life and the ones before.
        generation: of the connector's configuration; raised with every plan.
        plan: unique per plan, to tell two plans that chose the same generation apart.
    """

    incarnation: int
    fence: int
    token: str
    slots: int
    generation: int = 0
    plan: str = ""

    def __lt__(self, other: "Incarnation") -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[int, str, int, int, str, int]:
        return (self.generation, self.plan, self.incarnation, self.fence, self.token, self.slots)

    @classmethod
    def of(cls, value: bytes) -> "Incarnation":
        """The incarnation of a record's value."""
        return _of(json.loads(value))

    def entry(self, connector: str, task: int, *, ids: Iterable[str] = ()) -> tuple[bytes, bytes | None]:
        """Its record.

        Args:
            connector: its name.
            task: its number.
            ids: the drivers' transactional ids, this life's and those that one before it may still hold: they contain the
                worker's `group.id`, which the next life may have another of. A worker's is one of these and `/<slot>`.
        """
        value: dict[str, object] = {
            "incarnation": self.incarnation, "fence": self.fence, "token": self.token, "slots": self.slots,
            "generation": self.generation, "plan": self.plan,
        }  # fmt: skip
        if names := sorted(ids):
            value["ids"] = names
        return incarnation_key(connector, task), _json(value)


def incarnation_key(connector: str, task: int) -> bytes:
    """The key of a task's incarnation record."""
    return _json(["penstock-incarnation", connector, task])


def merge_records(before: bytes | None, value: bytes) -> bytes:
    """One record's value in place of two of the same task: the greater one's, with the ids that either names.

    A reader of it refuses and fences all that a reader of both would. What cannot be read is taken as it came last, so
    that it is noticed where the topic itself would be read.
    """
    try:
        one, other = json.loads(value), json.loads(before or b"null")
        if other is None:
            _of(one)
            return value
        greater = max(one, other, key=_of)
        ids = sorted({*one.get("ids", ()), *other.get("ids", ())})
        return _json({**greater, "ids": ids} if ids else greater)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return value


def _of(value: dict[str, Any]) -> Incarnation:
    return Incarnation(
        value["incarnation"], value["fence"], value["token"], value["slots"], value.get("generation", 0),
        value.get("plan", ""),
    )  # fmt: skip


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
