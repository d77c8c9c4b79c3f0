"""What the operator remembers of a connector: its own words in `status`, read back leniently. Pure.

Everything else is looked up anew each time; only what cannot be seen in pods, plans and reports stands here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock_model.contracts.pod_identity import Standing
from penstock_operator.connector.observe.pod_status import instant, timestamp
from penstock_operator.reasons import ConditionType, Reason
from penstock_operator.rollout.share import Record

__all__ = ["EXPECTED", "Handled", "JobMemory", "Memory", "TaskMemory", "last_restart"]

EXPECTED: Final = frozenset((Reason.SPEC_CHANGED, Reason.RESTART_REQUESTED, Reason.STOPPED, Reason.PREPARING))
"""Reasons for which the operator itself ends a pod: its end is no loss."""


@dataclass(frozen=True, slots=True)
class TaskMemory:
    """One task.

    Attributes:
        id: its number.
        state: Pending, Running, Paused, Restarting, Failed or Stopping.
        since: when the state began, seconds since 1970.
        incarnation: the lives so far; raised before the pod is created.
        pod, pod_uid: of the present life; the uid is unknown until the pod was seen.
        over: the present life has ended, and what follows is decided (`retry_at`).
        restarts: how often it was started again after a failure or a loss.
        failures, losses, unavailable: ends in a row: by its own fault, by the infrastructure's, for want of what it needs.
        retry_at: when the next life may begin; None with `over`: not by itself.
        reason: in one word, why it is not running.
        message: in a sentence; no secret in it.
        trace: of the last failure.
        life: what the present life was made from.
        started: when its container started.
        versions: of its plugins, by place.
    """

    id: int
    state: str = "Pending"
    since: float = 0.0
    incarnation: int = 0
    pod: str = ""
    pod_uid: str = ""
    over: bool = False
    restarts: int = 0
    failures: int = 0
    losses: int = 0
    unavailable: int = 0
    retry_at: float | None = None
    reason: str = ""
    message: str = ""
    trace: str | None = None
    life: str = ""
    started: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    def to(self, state: str, now: float, reason: str = "", message: str = "", **more: Any) -> "TaskMemory":
        """The same task in a state; `since` changes only with the state."""
        since = self.since if state == self.state and self.since else float(int(now))
        return replace(self, state=state, since=since, reason=reason, message=message, **more)


@dataclass(frozen=True, slots=True)
class JobMemory:
    """The last short pods for one key that brought no answer: how many, when the next may start, and why."""

    key: str = ""
    attempts: int = 0
    retry_at: float | None = None
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Handled:
    """An action that an annotation asked for, once per token."""

    action: str
    token: str
    result: str
    message: str
    at: float


def last_restart(handled: Sequence[Handled]) -> Handled | None:
    """The last request that restarted the whole connector."""
    return next((h for h in reversed(handled) if h.action == "restart" and h.result == "Succeeded"), None)


@dataclass(frozen=True, slots=True)
class Memory:
    """A connector.

    Attributes:
        plan: the hash of the plan that its tasks are made from.
        standing, fence: of the last preparation, and what it was for (`Plan.fence`).
        tasks: by number.
        refused: the hash of the facts that a plan was refused for.
        refusal: the sentences.
        job: short pods that failed.
        handled: restarts, the latest last.
        offsets: actions on offsets and topics, likewise.
        conditions: by type, as they stand.
        state: of the connector.
        own: the hash of what was the Connector's own in what its tasks are made from (`plans.own`).
        rollout: its last restart for a change of the release, as long as that is followed.
        observed: the generation that was decided for last.
    """

    plan: str = ""
    standing: Standing | None = None
    fence: str = ""
    tasks: Mapping[int, TaskMemory] = field(default_factory=dict)
    refused: str = ""
    refusal: tuple[str, ...] = ()
    job: JobMemory = JobMemory()
    handled: tuple[Handled, ...] = ()
    offsets: tuple[Handled, ...] = ()
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state: str = ""
    own: str = ""
    rollout: Record | None = None
    observed: int = -1

    @property
    def has_run(self) -> bool:
        """Whether tasks were ever about to start."""
        return self.standing is not None or any(t.incarnation for t in self.tasks.values())

    @property
    def reason(self) -> str:
        """Of the condition Ready, as it stands."""
        return str(self.conditions.get(ConditionType.READY, {}).get("reason", ""))

    def task(self, number: int) -> TaskMemory:
        """One task, whatever is known of it."""
        return self.tasks.get(number, TaskMemory(number))

    @property
    def restarted(self) -> str:
        """The last token that restarted the whole connector."""
        last = last_restart(self.handled)
        return last.token if last is not None else ""

    @classmethod
    def of(cls, status: Mapping[str, Any] | None) -> "Memory":
        """Read a status; what is not there, or not as expected, is not remembered."""
        status = status or {}
        plan = status.get("plan") or {}
        standing = plan.get("standing")
        job = status.get("job") or {}
        return cls(
            plan=plan.get("hash", ""),
            standing=None if not standing else Standing(generation=standing["generation"], plan=standing["plan"]),
            fence=plan.get("fence", ""),
            tasks={t["id"]: _task(t) for t in status.get("tasks") or ()},
            refused=plan.get("refused", ""),
            refusal=tuple(plan.get("problems") or ()),
            job=JobMemory(
                job.get("key", ""), job.get("attempts", 0), instant(job.get("retryAt")), job.get("reason", ""),
                job.get("message", ""),
            ),
            handled=tuple(map(_handled, status.get("restartActions") or ())),
            offsets=tuple(map(_handled, status.get("offsetsActions") or ())),
            conditions={c["type"]: c for c in status.get("conditions") or ()},
            state=status.get("state", ""),
            own=plan.get("own", ""),
            rollout=_record(status.get("rollout") or {}),
            observed=status.get("observedGeneration", -1),
        )  # fmt: skip

    def plan_status(self) -> dict[str, Any]:
        """`status.plan`."""
        standing = None
        if self.standing is not None:
            standing = {"generation": self.standing.generation, "plan": self.standing.plan}
        return without_empty(
            {"hash": self.plan, "standing": standing, "fence": self.fence, "refused": self.refused,
             "problems": list(self.refusal), "own": self.own}
        )  # fmt: skip

    def rollout_status(self) -> dict[str, Any]:
        """`status.rollout`."""
        if self.rollout is None:
            return {}
        record = self.rollout
        return without_empty({"release": record.release, "since": timestamp(record.since), "wasReady": record.counts})

    def job_status(self) -> dict[str, Any]:
        """`status.job`."""
        job = self.job
        if not job.key:
            return {}
        return without_empty(
            {"key": job.key, "attempts": job.attempts, "reason": str(job.reason), "message": job.message,
             "retryAt": None if job.retry_at is None else timestamp(job.retry_at)}
        )  # fmt: skip


def _handled(status: Mapping[str, Any]) -> Handled:
    return Handled(
        status["action"], status["token"], status.get("result", ""), status.get("message", ""),
        instant(status.get("at")) or 0.0,
    )  # fmt: skip


def _record(status: Mapping[str, Any]) -> Record | None:
    if not status:
        return None
    return Record(status.get("release", ""), instant(status.get("since")) or 0.0, bool(status.get("wasReady")))


def _task(status: Mapping[str, Any]) -> TaskMemory:
    return TaskMemory(
        id=status["id"],
        state=status.get("state", "Pending"),
        since=instant(status.get("since")) or 0.0,
        incarnation=status.get("incarnation", 0),
        pod=status.get("pod", ""),
        pod_uid=status.get("podUid", ""),
        over=status.get("over", False),
        restarts=status.get("restarts", 0),
        failures=status.get("failures", 0),
        losses=status.get("losses", 0),
        unavailable=status.get("unavailable", 0),
        retry_at=instant(status.get("retryAt")),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        trace=status.get("trace"),
        life=status.get("life", ""),
        started=instant(status.get("startedAt")),
        versions=_versions(status.get("versions") or {}),
    )


def task_status(task: TaskMemory) -> dict[str, Any]:
    """One of `status.tasks`."""
    found = {
        "id": task.id,
        "state": task.state,
        "since": timestamp(task.since) if task.since else None,
        "pod": task.pod,
        "podUid": task.pod_uid,
        "incarnation": task.incarnation,
        "over": task.over,
        "failures": task.failures,
        "losses": task.losses,
        "unavailable": task.unavailable,
        "retryAt": None if task.retry_at is None else timestamp(task.retry_at),
        "reason": str(task.reason),
        "message": task.message,
        "versions": _grouped(task.versions),
        "trace": task.trace,
        "life": task.life,
        "startedAt": None if task.started is None else timestamp(task.started),
    }
    return {**without_empty(found), "id": task.id, "restarts": task.restarts}


_PLACES: Final = {"connector": "connector", "key.converter": "keyConverter", "value.converter": "valueConverter",
                  "header.converter": "headerConverter"}  # fmt: skip


def _grouped(versions: Mapping[str, str]) -> dict[str, Any]:
    """Versions by place as status shows them: `transforms.hoist` becomes `transforms: {hoist: ...}`."""
    found: dict[str, Any] = {}
    for place, version in versions.items():
        group, dot, alias = place.partition(".")
        if place in _PLACES:
            found[_PLACES[place]] = version
        elif dot:
            found.setdefault(group, {})[alias] = version
    return found


def _versions(grouped: Mapping[str, Any]) -> dict[str, str]:
    places = {name: place for place, name in _PLACES.items()}
    found: dict[str, str] = {}
    for name, value in grouped.items():
        if name in places:
            found[places[name]] = value
        elif isinstance(value, Mapping):
            found.update({f"{name}.{alias}": version for alias, version in value.items()})
    return found


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that say something: server-side apply keeps what is named, and empty values would be noise."""
    return {k: v for k, v in values.items() if v or v is True}
