"""Determine from its manifest how a pod ended; `decide/end_classification` classifies that for its task. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.pod_layout import EXECUTOR_CONTAINER, JOB_CONTAINER, TASK_CONTAINER
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.texts import joined
from penstock_operator.kubernetes.times import instant
from penstock_operator.reasons import Reason

__all__ = ["DISRUPTIONS", "OUT_OF_MEMORY", "Ended", "disruption_of", "end_of", "last_word_due", "main_container"]

OUT_OF_MEMORY: Final = "OOMKilled"
"""Reason that Kubernetes reports when the kernel kills a process that exceeds the container's memory limit."""

_MEMORY_OF: Final = {
    TASK_CONTAINER: ("task", "spec.template.resources.limits.memory"),
    JOB_CONTAINER: ("job pod", "job.resources.limits.memory of the release"),
    EXECUTOR_CONTAINER: ("executor", "spec.spark.executors.resources.limits.memory"),
}
"""By main container: the name of its process, and the setting of its memory limit."""
_KILLED: Final = 137  # exit code after SIGKILL
_SILENCE: Final = 60.0
"""Minimum seconds without readiness before a task counts as killed for a failed health check, which takes 180 s."""
_EVICTIONS: Final = frozenset(
    (
        Reason.EVICTED,
        Reason.NODE_LOST,
        "NodeShutdown",
        "Terminated",
        "Preempting",
        "NodeAffinity",
        "Shutdown",
        "UnexpectedAdmissionError",
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
    )
)
_NOT_BEGUN: Final = frozenset(
    (Reason.START_ERROR, "ContainerCannotRun", Reason.RUN_CONTAINER_ERROR, Reason.CREATE_CONTAINER_ERROR)
)
"""Reasons of a container whose process never started, so that its exit code is that of the container runtime."""

_LAST_WORD: Final = 10.0
"""Seconds after the end of a pod's last container within which the kubelet reports why it ended the pod."""
DISRUPTIONS: Final[Mapping[str, str]] = {
    Reason.EVICTION_BY_EVICTION_API: "the eviction API removed pod {pod} from node {node}, as a drain of the node does",
    Reason.DELETION_BY_TAINT_MANAGER: "pod {pod} does not tolerate a taint of node {node}",
    Reason.DELETION_BY_POD_GC: "node {node} of pod {pod} no longer exists",
    Reason.PREEMPTION_BY_SCHEDULER: "a pod with a higher priority took the place of pod {pod} on node {node}",
    Reason.TERMINATION_BY_KUBELET: "the kubelet of node {node} stopped pod {pod}",
}
"""Messages for Kubernetes' reasons of a `DisruptionTarget` condition."""
_SAYS_NOTHING: Final = frozenset((None, "", "Completed", "Error", Reason.HEALTH_CHECK_FAILED))
"""Reasons of a container that do not show who stopped it."""
_SCRATCH_FULL: Final = 'EmptyDir volume "scratch"'


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a pod's container.

    Attributes:
        code: its exit code; None: Kubernetes ended the pod without one.
        reason: a reason of Kubernetes (`OOMKilled`, `Evicted`, `Error`, `Completed`), or a `Reason`.
        message: message of Kubernetes.
        word: termination message of the process; None: it wrote none.
        at: when it ended, in seconds since 1970.
        memory_limit: memory limit of the container in Kubernetes' notation; empty: it has none.
        container: name of the container.
    """

    code: int | None
    reason: str
    message: str
    word: TerminationMessage | None
    at: float
    memory_limit: str = ""
    container: str = TASK_CONTAINER

    @property
    def lost(self) -> bool:
        """Return whether the infrastructure stopped the process, rather than the process itself."""
        if self.code is None or self.reason == OUT_OF_MEMORY or self.reason in _NOT_BEGUN:
            return True
        return self.code > 128 or self.code == ExitCode.LOST

    @property
    def cause(self) -> str:
        """Return the reason for the status; a process may report that the kernel killed its child process."""
        return OUT_OF_MEMORY if self.word is not None and self.word.reason == OUT_OF_MEMORY else self.reason

    @property
    def is_unexplained(self) -> bool:
        """Return whether its process exited normally and nothing shows who requested that."""
        return self.code == ExitCode.OK and self.reason in _SAYS_NOTHING

    def describe(self) -> str:
        """Return a message that describes the end."""
        if self.reason == OUT_OF_MEMORY:
            return self._out_of_memory()
        if self.reason == Reason.HEALTH_CHECK_FAILED:
            return "the task did not answer its health check for minutes: its process was frozen, and was killed"
        if self.code is None or self.reason in _EVICTIONS or self.reason in _NOT_BEGUN:
            text = f"{self.reason}: {self.message}" if self.message else self.reason
            return joined(text, "raise task.temporarySize of the release") if _SCRATCH_FULL in self.message else text
        if self.word is not None and self.word.message:
            return self.word.message
        if self.code > 128:
            return f"the process was killed by signal {self.code - 128}"
        text = self.message if self.message and not self.message.startswith("{") else ""
        return f"exit code {self.code}" + (f": {text}" if text else "")

    def _out_of_memory(self) -> str:
        """Return the message of the process, if the kernel killed only its child process, or else a generic one."""
        if self.word is not None and self.word.reason == OUT_OF_MEMORY and self.word.message:
            return f"{OUT_OF_MEMORY}: {self.word.message}"
        limit = f"its limit of {self.memory_limit}" if self.memory_limit else "its limit, or than its node has"
        who, setting = _MEMORY_OF[self.container]
        return f"{OUT_OF_MEMORY}: the {who} used more memory than {limit}; raise {setting}"


def main_container(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of the container in which Penstock's process runs; empty: it does not exist yet."""
    containers: Sequence[Mapping[str, Any]] = status.get("containerStatuses") or ()
    return next((c for c in containers if c["name"] in _MEMORY_OF), {})


def end_of(manifest: Mapping[str, Any], created: float) -> Ended | None:
    """Return how the pod ended; None: it has not ended.

    Args:
        manifest: manifest of the pod.
        created: creation time in seconds since 1970, used if the time of the end is missing.
    """
    status = manifest.get("status") or {}
    terminated = (main_container(status).get("state") or {}).get("terminated")
    is_over = status.get("phase") in ("Failed", "Succeeded")
    if terminated is None and not is_over:
        return None
    terminated = terminated or {}
    pod_reason = status.get("reason") or ""
    is_evicted = is_over and pod_reason != ""
    message = terminated.get("message") or ""
    is_unknown = terminated.get("reason") == "ContainerStatusUnknown"
    if not terminated and not is_evicted and (failed := _failed_init(status)):
        return Ended(None, Reason.INIT_CONTAINER_FAILED, failed, None, created)
    is_silent = "deletionTimestamp" not in manifest["metadata"] and _was_silent(status, terminated)
    code = terminated.get("exitCode")
    reason = pod_reason or (Reason.HEALTH_CHECK_FAILED if is_silent else terminated.get("reason"))
    word = TerminationMessage.of(message.encode()) if message.startswith("{") else None
    if is_evicted:
        message = status.get("message") or ""
    disruption = disruption_of(manifest) if reason in _SAYS_NOTHING and _may_be_disrupted(code) else None
    if disruption is not None:
        reason, message = disruption
    return Ended(
        code=None if is_evicted or is_unknown or disruption is not None else code,
        reason=reason or Reason.LOST,
        message=message.strip(),
        word=word,
        at=instant(terminated.get("finishedAt")) or created,
        memory_limit=_memory_limit(manifest),
        container=main_container(status).get("name", TASK_CONTAINER),
    )


def last_word_due(manifest: Mapping[str, Any], now: float) -> float | None:
    """Return the deadline for the kubelet to report why it ended a pod; None: no report is awaited.

    The kubelet first writes that the containers have ended. If it evicted the pod, it writes this and the reason a moment
    later.
    """
    status = manifest.get("status") or {}
    states = [(c.get("state") or {}).get("terminated") for c in status.get("containerStatuses") or ()]
    is_over = status.get("phase") in ("Failed", "Succeeded")
    if is_over or not states or not all(states) or "deletionTimestamp" in manifest["metadata"]:
        return None
    terminated = main_container(status).get("state", {}).get("terminated") or {}
    if terminated.get("reason") not in _SAYS_NOTHING or not _may_be_disrupted(terminated.get("exitCode")):
        return None
    due = (instant(terminated.get("finishedAt")) or 0.0) + _LAST_WORD
    return due if now < due else None


def disruption_of(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return reason and message why Kubernetes stops a pod; None: it does not."""
    for condition in (manifest.get("status") or {}).get("conditions") or ():
        if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            reason = str(condition.get("reason") or Reason.DISRUPTED)
            node = (manifest.get("spec") or {}).get("nodeName") or "unknown"
            text = DISRUPTIONS.get(reason, "").format(pod=manifest["metadata"]["name"], node=node)
            given = str(condition.get("message") or "")
            if reason == Reason.TERMINATION_BY_KUBELET and given:
                return reason, f"{text}: {given}"
            return reason, text or given
    return None


def _may_be_disrupted(code: int | None) -> bool:
    """Return whether SIGTERM or SIGKILL may have ended the process, judging by its exit code; None: it has none."""
    return code is None or code == ExitCode.OK or code > 128


def _memory_limit(manifest: Mapping[str, Any]) -> str:
    containers = (manifest.get("spec") or {}).get("containers") or ()
    main: Mapping[str, Any] = next((c for c in containers if c["name"] in _MEMORY_OF), {})
    return str(((main.get("resources") or {}).get("limits") or {}).get("memory") or "")


def _failed_init(status: Mapping[str, Any]) -> str:
    """Return a message about the init container that failed before the main container started; empty: none."""
    for container in status.get("initContainerStatuses") or ():
        terminated = (container.get("state") or {}).get("terminated") or {}
        if terminated.get("exitCode"):
            text = f": {terminated['message']}" if terminated.get("message") else ""
            return f"init container {container['name']} exited with code {terminated['exitCode']}{text}"
    return ""


def _was_silent(status: Mapping[str, Any], terminated: Mapping[str, Any]) -> bool:
    """Return whether the kubelet killed a task that had been ready and then failed its health check.

    Kubernetes reports that only in an Event. The status shows that the pod was not ready for some time before its end.
    """
    if terminated.get("exitCode") != _KILLED or terminated.get("reason") != "Error":
        return False
    ready: Mapping[str, Any] = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), {})
    since, begun = instant(ready.get("lastTransitionTime")), instant(terminated.get("startedAt"))
    ended = instant(terminated.get("finishedAt"))
    if ready.get("status") != "False" or since is None or begun is None or ended is None:
        return False
    return begun < since <= ended - _SILENCE
