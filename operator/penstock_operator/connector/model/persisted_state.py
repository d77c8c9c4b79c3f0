"""State of a connector that the operator persists in the status and reads back. Pure.

It contains only data that cannot be derived from pods, plans and reports; everything else is observed at each run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_operator.connector.model.autoscaling import AutoscaledTasks
from penstock_operator.reasons import ConditionType, Reason
from penstock_operator.rollout.progress import RolloutRestart
from penstock_operator.status_fields import in_status, read, without_empty, write, write_own

__all__ = [
    "EXPECTED_RESTARTS",
    "FailedJob",
    "HandledRequest",
    "OffsetsAction",
    "PersistedCanary",
    "PersistedState",
    "PersistedTask",
    "last_restart",
]

EXPECTED_RESTARTS: Final = frozenset((Reason.SPEC_CHANGED, Reason.RESTART_REQUESTED, Reason.STOPPED, Reason.PREPARING))
"""Reasons for which the operator itself stops a pod; such an end is not a loss."""

_OWN: Final = in_status(is_own=True)
_PLACES: Final = {
    "connector": "connector",
    "key.converter": "keyConverter",
    "value.converter": "valueConverter",
    "header.converter": "headerConverter",
}


def _grouped(versions: Mapping[str, str]) -> dict[str, Any]:
    """Return versions in the form of the status: `transforms.hoist` becomes `transforms: {hoist: ...}`."""
    groups: dict[str, Any] = {}
    for place, version in versions.items():
        group, dot, alias = place.partition(".")
        if place in _PLACES:
            groups[_PLACES[place]] = version
        elif dot:
            groups.setdefault(group, {})[alias] = version
    return groups


def _by_place(groups: Mapping[str, Any]) -> dict[str, str]:
    """Return versions by place: the inverse of `_grouped`."""
    places = {name: place for place, name in _PLACES.items()}
    versions: dict[str, str] = {}
    for name, value in groups.items():
        if name in places:
            versions[places[name]] = value
        elif isinstance(value, Mapping):
            versions.update({f"{name}.{alias}": version for alias, version in value.items()})
    return versions


@dataclass(frozen=True, slots=True)
class PersistedTask:
    """State of one task. Times are in seconds since 1970.

    Attributes:
        id: number of the task.
        state: Pending, Running, Paused, Restarting, Failed, Stopping or Stopped.
        since: when the state began.
        incarnation: incarnation of the current pod; incremented before the pod is created.
        pod, pod_uid: name and uid of its pod; the uid is empty until the pod was observed.
        has_ended: whether the incarnation has ended, so that `retry_at` determines the next start.
        restarts: number of restarts after a failure or a loss.
        failures, losses, unavailable: consecutive ends caused by the task, the infrastructure, or an unavailable service.
        retry_at: when the next incarnation may start; None if `has_ended`: only on request.
        reason: why it does not run, in one word.
        message: message for the reason, without secrets.
        trace: stack trace of the last failure.
        pod_hash: hash of the current pod.
        started: when the container of the current pod started.
        last_record: when its last known record was delivered, by any incarnation.
        last_loop: when its loop last completed, for a hindered task.
        versions: versions of its plugins, by the property that configures each.
    """

    id: int
    state: str = "Pending"
    since: float = 0.0
    incarnation: int = 0
    pod: str = ""
    pod_uid: str = field(default="", metadata=in_status(name="podUID"))
    has_ended: bool = field(default=False, metadata=in_status(name="over", is_own=True))
    restarts: int = 0
    failures: int = 0
    losses: int = 0
    unavailable: int = 0
    retry_at: float | None = None
    reason: str = ""
    message: str = ""
    trace: str | None = None
    pod_hash: str = field(default="", metadata=_OWN)
    started: float | None = field(default=None, metadata=in_status(name="startedAt"))
    last_record: float | None = field(default=None, metadata=in_status(name="lastRecordTime"))
    last_loop: float | None = field(default=None, metadata=in_status(name="lastLoopTime"))
    versions: Mapping[str, str] = field(default_factory=dict, metadata=in_status(read=_by_place, write=_grouped))

    def to(self, state: str, now: float, reason: str = "", message: str = "", **more: Any) -> "PersistedTask":
        """Return the task in another state; `since` changes only with the state."""
        since = self.since if state == self.state and self.since else float(int(now))
        return replace(self, state=state, since=since, reason=reason, message=message, **more)


@dataclass(frozen=True, slots=True)
class FailedJob:
    """Job pods of one key that ended without an answer: their number, the cause, and when the next one may start."""

    key: str = ""
    attempts: int = 0
    retry_at: float | None = None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class HandledRequest:
    """Restart that an annotation requested, once per token."""

    action: str
    token: str
    result: str = ""
    message: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class OffsetsAction:
    """Action on offsets or topics that an annotation requested, once per token.

    Attributes:
        action: `reset`, `list`, `alter` or `reset-topics`.
        token: the value of the annotation, or its beginning.
        content: for alter: hash of the JSON that follows the token.
        result: Pending, Succeeded, Refused or Failed. All but Pending are final.
        message: message for the result.
        at: when it got this result, in seconds since 1970.
        began: since when its pod may exist; None: it does not exist.
        generation: if `began` is set: the greatest plan generation that may be recorded in Kafka when the pod runs.
        pod_uid: UID of its pod; empty until the pod was observed.
    """

    action: str
    token: str
    result: str = ""
    message: str = ""
    at: float = 0.0
    began: float | None = field(default=None, metadata=_OWN)
    generation: int = field(default=0, metadata=_OWN)
    pod_uid: str = field(default="", metadata=in_status(name="podUID", is_own=True))
    content: str = field(default="", metadata=_OWN)

    @property
    def is_pending(self) -> bool:
        return self.result == "Pending"


@dataclass(frozen=True, slots=True)
class PersistedCanary:
    """First tasks, which run different plugin versions from the other tasks.

    Attributes:
        plan: hash of their plan.
        tasks: number of these tasks.
        failure: message of their last failure; empty: none has failed.
    """

    plan: str = ""
    tasks: int = 0
    failure: str = ""


def last_restart(handled: Sequence[HandledRequest]) -> HandledRequest | None:
    """Return the last request that restarted the whole connector."""
    return next((h for h in reversed(handled) if h.action == "restart" and h.result == "Succeeded"), None)


@dataclass(frozen=True, slots=True)
class PersistedState:
    """Persisted state of one Connector.

    Attributes:
        plan: hash of the plan of its tasks.
        epoch, fence: epoch of the last preparation, and the set of tasks that was prepared (`Plan.fence`).
        tasks: states of its tasks, by number.
        refused: hash of the configuration that was refused; empty: none.
        refusal: problems of that configuration.
        job: failed attempts of a job pod.
        handled: handled restart requests, the latest last.
        offsets: actions on offsets and topics, the latest last.
        conditions: the current conditions, by type.
        state: state of the connector.
        own_hash: hash of the Connector's own part of its tasks' inputs (`plan_hashes.own_hash`).
        reconfiguration: the last request of its plugin for a task reconfiguration, as in reports (`Report.asked`).
        rollout: its last restart for a change of the release, until its result is known.
        canary: the first tasks, if they run other plugin versions than the others; None: they do not.
        autoscaling: the number of tasks that autoscaling has chosen; None: there is no autoscaling.
        observed: the `metadata.generation` of the last decision.
    """

    plan: str = ""
    epoch: PlanEpoch | None = None
    fence: str = ""
    tasks: Mapping[int, PersistedTask] = field(default_factory=dict)
    refused: str = ""
    refusal: tuple[str, ...] = ()
    job: FailedJob = FailedJob()
    handled: tuple[HandledRequest, ...] = ()
    offsets: tuple[OffsetsAction, ...] = ()
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state: str = ""
    own_hash: str = ""
    reconfiguration: str = ""
    rollout: RolloutRestart | None = None
    canary: PersistedCanary | None = None
    autoscaling: AutoscaledTasks | None = None
    observed: int = -1

    @property
    def has_run(self) -> bool:
        """Return whether any task was ever started or about to start."""
        return self.epoch is not None or any(t.incarnation for t in self.tasks.values())

    @property
    def reason(self) -> str:
        """Return the reason of the current condition `Ready`."""
        return str(self.conditions.get(ConditionType.READY, {}).get("reason", ""))

    def task(self, number: int) -> PersistedTask:
        return self.tasks.get(number, PersistedTask(number))

    @property
    def restarted(self) -> str:
        """Return the last token that restarted the whole connector."""
        last = last_restart(self.handled)
        return last.token if last is not None else ""

    @classmethod
    def of(cls, status: Mapping[str, Any] | None) -> "PersistedState":
        """Return the state in a status; absent fields have their defaults."""
        status = status or {}
        own: Mapping[str, Any] = status.get("operatorState") or {}
        own_tasks = {t["id"]: t for t in own.get("tasks") or ()}
        own_actions = dict(enumerate(own.get("offsetsActions") or ()))
        plan: Mapping[str, Any] = own.get("plan") or {}
        epoch = plan.get("epoch")
        return cls(
            **{attribute: plan[name] for attribute, name in _PLAN.items() if name in plan},
            epoch=None if not epoch else PlanEpoch(generation=epoch["generation"], plan=epoch["plan"]),
            refusal=tuple(plan.get("problems") or ()),
            tasks={
                t["id"]: read(PersistedTask, {**t, **own_tasks.get(t["id"], {})}) for t in status.get("tasks") or ()
            },
            job=read(FailedJob, own.get("job") or {}),
            handled=tuple(read(HandledRequest, a) for a in status.get("restartActions") or ()),
            offsets=tuple(
                read(OffsetsAction, {**a, **own_actions.get(n, {})})
                for n, a in enumerate(status.get("offsetsActions") or ())
            ),
            conditions={c["type"]: c for c in status.get("conditions") or ()},
            state=status.get("state", ""),
            rollout=read(RolloutRestart, own["rollout"]) if own.get("rollout") else None,
            canary=read(PersistedCanary, own["canary"]) if own.get("canary") else None,
            autoscaling=read(AutoscaledTasks, {**status["autoscaling"], **(own.get("autoscaling") or {})})
            if status.get("autoscaling")
            else None,
            observed=status.get("observedGeneration", -1),
        )

    def operator_state(self) -> dict[str, Any]:
        """Return `status.operatorState`, which has the fields that only the operator uses."""
        tasks = ({"id": n, **write_own(self.tasks[n])} for n in sorted(self.tasks))
        actions = [write_own(a) for a in self.offsets]
        return without_empty(
            {
                "plan": self._plan_status(),
                "job": write(self.job) if self.job.key else {},
                "rollout": write(self.rollout) if self.rollout is not None else {},
                "canary": write(self.canary) if self.canary is not None else {},
                "autoscaling": write_own(self.autoscaling) if self.autoscaling is not None else {},
                "tasks": [t for t in tasks if len(t) > 1],
                "offsetsActions": actions if any(actions) else [],
            }
        )

    def _plan_status(self) -> dict[str, Any]:
        epoch = None
        if self.epoch is not None:
            epoch = {"generation": self.epoch.generation, "plan": self.epoch.plan}
        texts = {name: getattr(self, attribute) for attribute, name in _PLAN.items()}
        return without_empty({**texts, "epoch": epoch, "problems": list(self.refusal)})


_PLAN: Final = {"plan": "hash", "fence": "fence", "refused": "refused", "own_hash": "own", "reconfiguration": "asked"}
"""Strings in `status.operatorState.plan`: names of fields of `PersistedState`, and their names there."""


def task_status(task: PersistedTask) -> dict[str, Any]:
    """Return an entry of `status.tasks`."""
    return {**write(task), "id": task.id, "restarts": task.restarts}
