"""Incarnation record of a task, which determines the incarnation that may write (decision 0001). Pure.

Tasks and job pods that prepare them write it to the status topic. The operator keeps the records that it has read, and
passes them to tasks and job pods (decision 0021).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from penstock_model.contracts.pod_identity import PlanEpoch

__all__ = ["Incarnation", "incarnation_key", "merge_records"]


@total_ordering
@dataclass(frozen=True)
class Incarnation:
    """One incarnation of a task, and the count of fencings within it.

    A process whose incarnation is smaller than that in the topic must not write.
    Incarnations are ordered by generation, plan, incarnation, fence, token: one of an older plan is smaller than all of a
    newer plan, regardless of the number of restarts.

    Attributes:
        incarnation: incremented with every start of the task.
        fence: incremented within an incarnation whenever the outcome of a batch is unknown.
        token: unique, so that two processes with the same number differ.
        slots: maximum number of transactional ids `<id>/<slot>`, in this and earlier incarnations.
        generation: the plan generation.
        plan: the plan id, so that two plans of the same generation differ.
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

    @property
    def epoch(self) -> PlanEpoch:
        """Return plan generation and plan id."""
        return PlanEpoch(generation=self.generation, plan=self.plan)

    @classmethod
    def of(cls, value: bytes) -> "Incarnation":
        """Return the incarnation in the value of a record."""
        return _of(json.loads(value))

    def entry(self, connector: str, task: int, *, ids: Iterable[str] = ()) -> tuple[bytes, bytes | None]:
        """Return the key and value of the incarnation record.

        Args:
            connector: the Connect name.
            task: task number.
            ids: transactional ids of the drivers, of this incarnation and of earlier ones that may still run. They
                contain the `group.id` of the worker configuration, which may change with an incarnation. A Spark worker
                uses one of these ids followed by `/<slot>`.
        """
        value: dict[str, object] = {
            "incarnation": self.incarnation,
            "fence": self.fence,
            "token": self.token,
            "slots": self.slots,
            "generation": self.generation,
            "plan": self.plan,
        }
        if names := sorted(ids):
            value["ids"] = names
        return incarnation_key(connector, task), _json(value)


def incarnation_key(connector: str, task: int) -> bytes:
    """Return the key of a task's incarnation record."""
    return _json(["penstock-incarnation", connector, task])


def merge_records(before: bytes | None, value: bytes) -> bytes:
    """Merge the values of two records of the same task: the greater incarnation, with the ids of both.

    A reader of the result rejects and fences the same incarnations as a reader of both records. If one cannot be read, the
    result is `value` unchanged, so that a reader of the result detects this, like a reader of the topic.

    Args:
        before: value of the earlier record, or None.
        value: value of the later record.
    """
    try:
        later, earlier = json.loads(value), json.loads(before or b"null")
        if earlier is None:
            _of(later)
            return value
        greater = max(later, earlier, key=_of)
        ids = sorted({*later.get("ids", ()), *earlier.get("ids", ())})
        return _json({**greater, "ids": ids} if ids else greater)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return value


def _of(value: dict[str, Any]) -> Incarnation:
    return Incarnation(
        value["incarnation"],
        value["fence"],
        value["token"],
        value["slots"],
        value.get("generation", 0),
        value.get("plan", ""),
    )


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
