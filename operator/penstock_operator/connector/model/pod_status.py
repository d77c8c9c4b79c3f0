"""Extract from a pod's manifest the data that decisions need. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from penstock_model.contracts.pod_layout import EXECUTOR_CONTAINER, JOB_CONTAINER, TASK_CONTAINER
from penstock_model.contracts.texts import joined
from penstock_operator import names
from penstock_operator.connector.model.pod_end import Ended, disruption_of, end_of, last_word_due, main_container
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import ConditionType, Reason, Use

__all__ = [
    "SPARK_VOLUME",
    "ExecutorPod",
    "JobPod",
    "Phase",
    "Pod",
    "TaskPod",
    "executor_of",
    "pod_of",
    "without_source_ports",
]

_LASTING: Final = frozenset(r for r in Reason if r.use is Use.POD_START)
"""Reasons of a waiting container that persist until something changes."""
_REMEDIES: Final = {str(r): r.do for r in _LASTING if r.do}
"""Remedies by reason for a pod that does not start; it starts automatically once the cause is fixed."""
_DIGITS: Final = 19
_SLOW: Final = 10.0
"""Seconds after which a slow start of a pod is reported."""
_LOOK: Final = 30.0
"""Seconds between checks of a pod that starts slowly."""
_LITTLE_CPU: Final = 0.5
"""CPU cores below which a limit makes the start of a process slow."""
_SOURCE_PORT: Final = re.compile(r":[0-9]{1,5}->")
SPARK_VOLUME: Final = "penstock-spark"
"""Name of the volume with the secret that a task pod and its executors share."""


class Phase(StrEnum):
    """Phase of a pod."""

    WAITING = "Waiting"
    RUNNING = "Running"
    ENDED = "Ended"


@dataclass(frozen=True, slots=True)
class Pod:
    """Pod of a Connector. Times are in seconds since 1970.

    Attributes:
        name, uid: of the pod.
        owner: uid of its Connector.
        role: `task`, `job` or `names.EXECUTOR`; for a pod that verifies a PluginVersion, `names.VERIFYING`.
        phase: its phase.
        created: when it was created.
        started: when its container started; None: not yet.
        leaving: when its deletion was requested; None: it was not.
        leaves_by: when the grace period of its deletion ends; None: it is not being deleted.
        hindrance: reason and message why it does not start; None: there is nothing to report (yet).
        ended: how its container ended; None: it has not.
        node: node that it runs on; empty: it is not scheduled.
        disruption: reason and message why Kubernetes stops it; None: it does not.
        cpu_limit: CPU limit of its container in Kubernetes' notation; empty: it has none.
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
    disruption: tuple[str, str] | None = None
    cpu_limit: str = ""

    @property
    def has_little_cpu(self) -> bool:
        """Return whether its CPU limit slows down the start of its process, which needs seconds of CPU time."""
        try:
            cores = float(self.cpu_limit.removesuffix("m")) / (1_000 if self.cpu_limit.endswith("m") else 1)
        except ValueError:  # no limit, or in a unit that is unusual for CPU
            return False
        return cores < _LITTLE_CPU

    def look_after(self, now: float) -> float | None:
        """Return the seconds after which to check it again, since no event reports a slow start.

        Returns:
            Seconds; None: it has started, or its status shows why it has not.
        """
        if (
            self.phase is not Phase.WAITING
            or (self.hindrance or (Reason.POD_NOT_STARTING,))[0] != Reason.POD_NOT_STARTING
        ):
            return None
        left = self.created + _SLOW - now
        return left if left > 0 else _LOOK

    def is_on_lost_node(self, now: float, node_timeout: float) -> bool:
        """Return whether its node is lost: it still exists `node_timeout` seconds after the grace period of its deletion."""
        return self.leaves_by is not None and now >= self.leaves_by + node_timeout

    def lives(self, now: float, node_timeout: float) -> bool:
        """Return whether its process may still run and its end will be reported.

        The end of a pod on a lost node is not reported.
        """
        return self.phase is not Phase.ENDED and not self.is_on_lost_node(now, node_timeout)


@dataclass(frozen=True, slots=True)
class TaskPod(Pod):
    """Pod of a task.

    Attributes:
        task: number of the task.
        incarnation: number of this start of the task; a higher one supersedes lower ones.
        pod_hash: hash of everything from which it was created (`render.pod_hash`).
        generation: `metadata.generation` of the Connector for which it was created.
        state: its initial state, `Running` or `Paused`.
        image: image of its container.
        plugin_versions: PluginVersions whose images it mounts.
        address: its IP address; empty: it has none yet.
        unready_since: when its readiness probe started to fail after it had succeeded; None: it succeeds, or never did.
        last_word_due: deadline for its kubelet to report why its process ended; None: no report is awaited.
        spark_secret: name of the Secret that it shares with its executors; empty: it cannot have executors.
    """

    task: int = 0
    incarnation: int = 0
    pod_hash: str = ""
    generation: int = 0
    state: str = "Running"
    image: str = ""
    plugin_versions: tuple[str, ...] = ()
    address: str = ""
    unready_since: float | None = None
    last_word_due: float | None = None
    spark_secret: str = ""


@dataclass(frozen=True, slots=True)
class JobPod(Pod):
    """Job pod, or a pod that verifies a PluginVersion, which has no action.

    Attributes:
        action: action of the job.
        key: identifies its work: equal work has an equal key.
        accepted: when the kubelet accepted it, in seconds since 1970; None: not yet.
        image: image of its container.
    """

    action: str = ""
    key: str = ""
    accepted: float | None = None
    image: str = ""

    def due(self, deadline: float, node_timeout: float) -> float:
        """Return when the operator deletes it, since the pod's own deadline only starts on a node with a working kubelet.

        Args:
            deadline: maximum seconds from its creation until it is scheduled, and from then on until its end.
            node_timeout: seconds after which its node counts as lost.
        """
        if not self.node:
            return self.created + deadline
        return (self.accepted or self.created) + deadline + node_timeout

    @property
    def takes_slot(self) -> bool:
        """Return whether this pod occupies a job slot."""
        return self.phase is not Phase.ENDED and self.leaving is None


@dataclass(frozen=True, slots=True)
class ExecutorPod(Pod):
    """Pod of a Spark executor of one task.

    Attributes:
        number: its number, which may be reused once the pod no longer exists.
        task: number of its task.
        task_pod: UID of its task's pod; empty: unknown.
        quick_ends: number of consecutive executors before it that ended soon after their start.
        last_end: reason and message of the end of the executor that it replaces; None: it replaces none.
    """

    number: int = 0
    task: int = 0
    task_pod: str = ""
    quick_ends: int = 0
    last_end: tuple[str, str] | None = None


def executor_of(manifest: Mapping[str, Any], now: float) -> ExecutorPod | None:
    """Return the executor in a pod's manifest; None: the pod is not an executor."""
    metadata = manifest["metadata"]
    if names.label(manifest, names.ROLE_LABEL) != names.EXECUTOR:
        return None
    annotations, task = metadata.get("annotations") or {}, names.label(manifest, names.TASK_LABEL) or ""
    owners = (o for o in metadata.get("ownerReferences") or () if o.get("kind") == "Pod")
    reason, _, message = str(annotations.get(names.LAST_END_ANNOTATION, "")).partition(": ")
    return ExecutorPod(
        **_common(manifest, now, None),
        number=names.executor_number(metadata["name"]),
        task=_number(task),
        task_pod=next((str(o.get("uid")) for o in owners), ""),
        quick_ends=_number(annotations.get(names.QUICK_ENDS_ANNOTATION, "")),
        last_end=(reason, message) if reason else None,
    )


def pod_of(manifest: Mapping[str, Any], now: float) -> TaskPod | JobPod | None:
    """Return the task pod or job pod in a manifest; None: it is an executor or does not belong to Penstock."""
    metadata = manifest["metadata"]
    annotations = metadata.get("annotations") or {}
    status = manifest.get("status") or {}
    match names.label(manifest, names.ROLE_LABEL):
        case "task":
            task, incarnation = names.task_and_incarnation(metadata["name"])
            due = last_word_due(manifest, now)
            common = _common(manifest, now, due)
            return TaskPod(
                **common,
                task=task,
                incarnation=incarnation,
                pod_hash=annotations.get(names.POD_HASH_ANNOTATION, ""),
                generation=_number(annotations.get(names.GENERATION_ANNOTATION, "")),
                state=annotations.get(names.STATE_ANNOTATION, "Running"),
                image=_image(manifest),
                plugin_versions=tuple(filter(None, annotations.get(names.PLUGIN_VERSIONS_ANNOTATION, "").split(","))),
                address=status.get("podIP") or "",
                unready_since=_unready_since(status, common["started"]),
                last_word_due=due,
                spark_secret=_spark_secret(manifest),
            )
        case "job" | names.VERIFYING:
            return JobPod(
                **_common(manifest, now, None),
                action=annotations.get(names.ACTION_ANNOTATION, ""),
                key=annotations.get(names.KEY_ANNOTATION, ""),
                accepted=instant(status.get("startTime")),
                image=_image(manifest),
            )
        case _:
            return None


def _common(manifest: Mapping[str, Any], now: float, due: float | None) -> dict[str, Any]:
    """Return the fields of `Pod`; `due` is `TaskPod.last_word_due`."""
    metadata, status = manifest["metadata"], manifest.get("status") or {}
    labels = metadata.get("labels") or {}
    created = instant(metadata.get("creationTimestamp")) or now
    ended = end_of(manifest, created) if due is None else None
    started = _started(status)
    leaving, grace = instant(metadata.get("deletionTimestamp")), metadata.get("deletionGracePeriodSeconds") or 0
    is_job = labels.get(names.ROLE_LABEL) in ("job", names.VERIFYING)  # its deadline may pass before it starts
    return {
        "name": metadata["name"],
        "uid": metadata["uid"],
        "owner": labels.get(names.UID_LABEL, ""),
        "role": labels.get(names.ROLE_LABEL, ""),
        "phase": Phase.ENDED if ended is not None else Phase.RUNNING if started is not None else Phase.WAITING,
        "created": created,
        "started": started,
        # `deletionTimestamp` is the end of the grace period.
        "leaving": None if leaving is None else leaving - grace,
        "leaves_by": leaving,
        "hindrance": _hindrance(manifest, status, now) if started is None and (ended is None or is_job) else None,
        "ended": ended,
        "node": (manifest.get("spec") or {}).get("nodeName", ""),
        "disruption": disruption_of(manifest),
        "cpu_limit": _cpu_limit(manifest),
    }


def _started(status: Mapping[str, Any]) -> float | None:
    state = main_container(status).get("state") or {}
    return instant((state.get("running") or state.get("terminated") or {}).get("startedAt"))


def _unready_since(status: Mapping[str, Any], started: float | None) -> float | None:
    """Return when condition Ready became False after it was True; it is also False before the container starts."""
    ready: Mapping[str, Any] = next((c for c in status.get("conditions") or () if c["type"] == ConditionType.READY), {})
    since = instant(ready.get("lastTransitionTime"))
    if started is None or since is None or since <= started or ready["status"] == "True":
        return None
    return since


def _spark_secret(manifest: Mapping[str, Any]) -> str:
    """Return the name of the mounted Secret if it is the one that the operator generates; the operator uses no other."""
    name = names.spark_secret_name(manifest["metadata"]["name"], names.label(manifest, names.UID_LABEL) or "")
    volumes = (manifest.get("spec") or {}).get("volumes") or ()
    mounted = (v["secret"].get("secretName") for v in volumes if v["name"] == SPARK_VOLUME and "secret" in v)
    return name if name in mounted else ""


def _number(text: str) -> int:
    """Return the number in an annotation or label; 0: it is not a number, for example because a user changed it."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < _DIGITS else 0


def _main(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    containers: Sequence[Mapping[str, Any]] = (manifest.get("spec") or {}).get("containers") or ()
    return next((c for c in containers if c["name"] in (TASK_CONTAINER, JOB_CONTAINER, EXECUTOR_CONTAINER)), {})


def _image(manifest: Mapping[str, Any]) -> str:
    return str(_main(manifest).get("image", ""))


def _cpu_limit(manifest: Mapping[str, Any]) -> str:
    return str(((_main(manifest).get("resources") or {}).get("limits") or {}).get("cpu") or "")


def _hindrance(manifest: Mapping[str, Any], status: Mapping[str, Any], now: float) -> tuple[str, str] | None:
    """Return reason and message why a pod does not start; None: it has started, or may start within seconds."""
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for container in containers:
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _LASTING:
            message = without_source_ports(waiting.get("message") or f"container {container['name']} cannot start")
            return _with_remedy(waiting["reason"], message)
    age = now - (instant(manifest["metadata"].get("creationTimestamp")) or now)
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message = condition.get("message") or "no node accepts the pod"
            if "persistentvolumeclaim" in message.lower():
                return _with_remedy(Reason.CLAIM_MISSING, f"{message}{_claims(manifest)}")
            return _with_remedy(condition.get("reason") or Reason.UNSCHEDULABLE, message)
    if age >= _SLOW and containers:
        reason = ((containers[-1].get("state") or {}).get("waiting") or {}).get("reason")
        if reason:
            name = manifest["metadata"]["name"]
            message = f"{reason} for more than {_SLOW:.0f} s; kubectl describe pod {name} shows more"
            return Reason.POD_NOT_STARTING, message
    return None


def without_source_ports(text: str) -> str:
    """Return a message of the kubelet without the source ports of connections, which differ at each attempt."""
    return _SOURCE_PORT.sub("->", text)


def _claims(manifest: Mapping[str, Any]) -> str:
    """Return the claims that a pod mounts, with their volumes, in parentheses: the scheduler does not always name them."""
    volumes = (manifest.get("spec") or {}).get("volumes") or ()
    claimed = {
        v["name"]: v["persistentVolumeClaim"].get("claimName") for v in volumes if v.get("persistentVolumeClaim")
    }
    claimed |= {v["name"]: f"{manifest['metadata']['name']}-{v['name']}" for v in volumes if v.get("ephemeral")}
    text = ", ".join(f"volume {volume} mounts claim {claim}" for volume, claim in claimed.items())
    return f" ({text})" if text else ""


def _with_remedy(reason: str, message: str) -> tuple[str, str]:
    remedy = _REMEDIES.get(reason)
    return reason, message if remedy is None else joined(message, remedy)
