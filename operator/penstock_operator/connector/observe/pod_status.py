"""What a pod's status says, in the few words that decisions need. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.pod_layout import TASK_CONTAINER
from penstock_model.contracts.task_reports import LastWord
from penstock_operator.connector.render import names
from penstock_operator.reasons import Reason, Use

__all__ = ["Ended", "JobPod", "Phase", "Pod", "TaskPod", "instant", "pod_of"]

_TELLING: Final = frozenset(r for r in Reason if r.use is Use.POD_START)
"""Reasons of a waiting container that do not pass by themselves in a second."""
_DIGITS: Final = 19  # of the greatest generation
_SLOW: Final = 10.0
"""So many seconds a pod may be made ready without a word about it."""
_KILLED: Final = 137  # by SIGKILL
_SILENCE: Final = 60.0
"""So many seconds before its end a task was no more ready that was killed for its silence; it takes three minutes."""
_EVICTIONS: Final = frozenset(("Evicted", Reason.NODE_LOST, "NodeShutdown", "Terminated", "Preempting", "NodeAffinity",
                               "Shutdown", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "OutOfpods"))  # fmt: skip


_NOT_BEGUN: Final = frozenset(
    (Reason.START_ERROR, "ContainerCannotRun", Reason.RUN_CONTAINER_ERROR, Reason.CREATE_CONTAINER_ERROR)
)
"""Reasons of a container whose process never began: its exit code is the container runtime's."""
_REMEDIES: Final = {str(r): r.do for r in _TELLING if r.do}
"""What to do about a pod that does not start; it starts by itself then."""


class Phase(StrEnum):
    """Where a pod stands."""

    WAITING = "Waiting"
    RUNNING = "Running"
    ENDED = "Ended"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pod's container ended.

    Attributes:
        code: its exit code; None when Kubernetes ended the pod without one.
        reason: Kubernetes' word (`OOMKilled`, `Evicted`, `Error`, `Completed`).
        message: Kubernetes' sentence.
        word: what the process said last.
        at: when, seconds since 1970.
        memory_limit: of its container, as Kubernetes writes it; empty: it has none.
    """

    code: int | None
    reason: str
    message: str
    word: LastWord | None
    at: float
    memory_limit: str = ""

    @property
    def lost(self) -> bool:
        """Whether the infrastructure ended it, and not the process itself."""
        if self.code is None or self.reason == "OOMKilled" or self.reason in _NOT_BEGUN:
            return True
        return self.code > 128 or self.code == ExitCode.LOST

    def told(self) -> str:
        """What happened, in a sentence."""
        if self.reason == "OOMKilled":
            limit = f"its limit of {self.memory_limit}" if self.memory_limit else "its limit, or than its node has"
            return f"OOMKilled: the task used more memory than {limit}; raise spec.template.resources.limits.memory"
        if self.reason == Reason.HEALTH_CHECK_FAILED:
            return "the task did not answer its health check for minutes: its process stood still, and was killed"
        if self.code is None or self.reason in _EVICTIONS or self.reason in _NOT_BEGUN:
            return f"{self.reason}: {self.message}" if self.message else self.reason
        if self.word is not None and self.word.message:
            return self.word.message
        if self.code > 128:
            return f"the process was ended by signal {self.code - 128}"
        text = self.message if self.message and not self.message.startswith("{") else ""
        return f"exit code {self.code}" + (f": {text}" if text else "")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of ours.

    Attributes:
        name, uid: its own.
        owner: the Connector's uid.
        role: `task` or `job`.
        phase: where it stands.
        created: seconds since 1970.
        started: of its container; None: not yet.
        leaving: when it was asked to go (deletion); None: it was not.
        leaves_by: when that should have been carried out.
        hindrance: a reason and a sentence, why it does not start; None: nothing to tell (yet).
        ended: how its container ended.
        node: where it runs.
    """

    name: str
    uid: str
    owner: str
    role: str
    phase: Phase
    created: float
    started: float | None = None
    leaving: float | None = None
    leaves_by: float | None = None
    hindrance: tuple[str, str] | None = None
    ended: Ended | None = None
    node: str = ""

    def given_up(self, now: float, patience: float) -> bool:
        """Whether it was told to go and should long have gone: its node is away."""
        return self.leaves_by is not None and now >= self.leaves_by + patience

    def lives(self, now: float, patience: float) -> bool:
        """Whether it may still do something, as far as anybody will tell.

        A pod that was told to go, and has not for that long, is on a node that is away: nobody will tell of its end.
        """
        return self.phase is not Phase.ENDED and not self.given_up(now, patience)


@dataclass(frozen=True, slots=True)
class TaskPod(Pod):
    """A task's pod: `life` is the hash of what it was made from, `image` its container's."""

    task: int = 0
    incarnation: int = 0
    life: str = ""
    generation: int = 0
    state: str = "Running"
    image: str = ""


@dataclass(frozen=True, slots=True)
class JobPod(Pod):
    """A job pod: `key` tells what for, `accepted` when the node's kubelet took it on."""

    action: str = ""
    key: str = ""
    accepted: float | None = None

    @property
    def takes_slot(self) -> bool:
        """Whether it counts among those that live at once."""
        return self.phase is not Phase.ENDED and self.leaving is None


def pod_of(manifest: Mapping[str, Any], now: float) -> TaskPod | JobPod | None:
    """A pod of ours; None for any other."""
    metadata = manifest["metadata"]
    annotations = metadata.get("annotations") or {}
    marks = metadata.get("labels") or {}
    status = manifest.get("status") or {}
    ended = _ended(manifest, status, instant(metadata.get("creationTimestamp")) or now)
    started = _started(status)
    leaving, grace = instant(metadata.get("deletionTimestamp")), metadata.get("deletionGracePeriodSeconds") or 0
    is_job = marks.get(names.ROLE_LABEL) == "job"  # it may have run out of time before it started
    common: dict[str, Any] = {
        "name": metadata["name"],
        "uid": metadata["uid"],
        "owner": marks.get(names.UID_LABEL, ""),
        "role": marks.get(names.ROLE_LABEL, ""),
        "phase": Phase.ENDED if ended is not None else Phase.RUNNING if started is not None else Phase.WAITING,
        "created": instant(metadata.get("creationTimestamp")) or now,
        "started": started,
        # `deletionTimestamp` is when the grace period ends.
        "leaving": None if leaving is None else leaving - grace,
        "leaves_by": leaving,
        "hindrance": _hindrance(manifest, status, now) if started is None and (ended is None or is_job) else None,
        "ended": ended,
        "node": (manifest.get("spec") or {}).get("nodeName", ""),
    }
    match common["role"]:
        case "task":
            task, incarnation = names.place_of(metadata["name"])
            return TaskPod(
                **common,
                task=task,
                incarnation=incarnation,
                life=annotations.get(names.LIFE_ANNOTATION, ""),
                generation=_generation(annotations.get(names.GENERATION_ANNOTATION, "")),
                state=annotations.get(names.STATE_ANNOTATION, "Running"),
                image=_image(manifest),
            )
        case "job":
            return JobPod(
                **common,
                action=annotations.get(names.ACTION_ANNOTATION, ""),
                key=annotations.get(names.KEY_ANNOTATION, ""),
                accepted=instant(status.get("startTime")),
            )
        case _:
            return None


def instant(text: str | None) -> float | None:
    """Kubernetes' time as seconds since 1970."""
    return None if not text else datetime.fromisoformat(text).timestamp()


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as Kubernetes' time."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _generation(text: str) -> int:
    """That of an annotation, which whoever may change pods may have changed."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < _DIGITS else 0


def _image(manifest: Mapping[str, Any]) -> str:
    containers = (manifest.get("spec") or {}).get("containers") or ()
    return next((str(c.get("image", "")) for c in containers if c["name"] == TASK_CONTAINER), "")


def _main_container(status: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Sequence[Mapping[str, Any]] = status.get("containerStatuses") or ()
    return next((c for c in found if c["name"] in ("task", "job")), {})


def _started(status: Mapping[str, Any]) -> float | None:
    state = _main_container(status).get("state") or {}
    return instant((state.get("running") or state.get("terminated") or {}).get("startedAt"))


def _ended(manifest: Mapping[str, Any], status: Mapping[str, Any], created: float) -> Ended | None:
    terminated = (_main_container(status).get("state") or {}).get("terminated")
    over = status.get("phase") in ("Failed", "Succeeded")
    if terminated is None and not over:
        return None
    terminated = terminated or {}
    pod_reason = status.get("reason") or ""
    evicted = over and pod_reason != ""
    message = terminated.get("message") or ""
    killed = terminated.get("reason") == "ContainerStatusUnknown"
    if not terminated and not evicted and (failed := _failed_init(status)):
        return Ended(None, Reason.INIT_CONTAINER_FAILED, failed, None, created)
    silent = "deletionTimestamp" not in manifest["metadata"] and _was_silent(status, terminated)
    own_reason = Reason.HEALTH_CHECK_FAILED if silent else terminated.get("reason")
    return Ended(
        code=None if evicted or killed else terminated.get("exitCode"),
        reason=pod_reason or own_reason or _disruption(status) or Reason.LOST,
        message=(status.get("message") if evicted else message) or "",
        word=LastWord.of(message.encode()) if message.startswith("{") else None,
        at=instant(terminated.get("finishedAt")) or created,
        memory_limit=_memory_limit(manifest),
    )


def _memory_limit(manifest: Mapping[str, Any]) -> str:
    containers = (manifest.get("spec") or {}).get("containers") or ()
    main: Mapping[str, Any] = next((c for c in containers if c["name"] in ("task", "job")), {})
    return str(((main.get("resources") or {}).get("limits") or {}).get("memory") or "")


def _failed_init(status: Mapping[str, Any]) -> str:
    """Which of the init containers ended the pod before its own container began; empty: none."""
    for container in status.get("initContainerStatuses") or ():
        terminated = (container.get("state") or {}).get("terminated") or {}
        if terminated.get("exitCode"):
            text = f": {terminated['message']}" if terminated.get("message") else ""
            return f"init container {container['name']} ended with exit code {terminated['exitCode']}{text}"
    return ""


def _was_silent(status: Mapping[str, Any], terminated: Mapping[str, Any]) -> bool:
    """Whether the kubelet killed a task that had been ready and then gave no answer any more.

    Kubernetes tells so in an Event only. What remains in the status is that the pod was not ready long before its end.
    """
    if terminated.get("exitCode") != _KILLED or terminated.get("reason") != "Error":
        return False
    ready: Mapping[str, Any] = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), {})
    since, begun = instant(ready.get("lastTransitionTime")), instant(terminated.get("startedAt"))
    ended = instant(terminated.get("finishedAt"))
    if ready.get("status") != "False" or since is None or begun is None or ended is None:
        return False
    return begun < since <= ended - _SILENCE


def _disruption(status: Mapping[str, Any]) -> str:
    for condition in status.get("conditions") or ():
        if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            return str(condition.get("reason") or Reason.DISRUPTED)
    return ""


def _hindrance(manifest: Mapping[str, Any], status: Mapping[str, Any], now: float) -> tuple[str, str] | None:
    """Why it does not start. What passes by itself within seconds is no hindrance."""
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for container in containers:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _TELLING:
            return _with_remedy(
                waiting["reason"], waiting.get("message") or f"container {container['name']} cannot start"
            )
    age = now - (instant(manifest["metadata"].get("creationTimestamp")) or now)
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return _with_remedy(
                condition.get("reason") or Reason.UNSCHEDULABLE, condition.get("message") or "no node takes the pod"
            )
    if age > _SLOW and containers:
        reason = ((containers[-1].get("state") or {}).get("waiting") or {}).get("reason")
        if reason:
            name = manifest["metadata"]["name"]
            message = f"{reason} for more than {_SLOW:.0f} s; kubectl describe pod {name} tells more"
            return Reason.POD_NOT_STARTING, message
    return None


def _with_remedy(reason: str, message: str) -> tuple[str, str]:
    remedy = _REMEDIES.get(reason)
    return reason, message if remedy is None else f"{message}; {remedy}"
