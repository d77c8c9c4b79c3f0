"""A cluster in memory with one Connector, its pods and their kubelet, played as far as the operator sees it."""

from collections.abc import Callable
from typing import Any, Final

from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.pod_layout import POD_IDENTITY_VARIABLE
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_operator import names
from penstock_operator.connector.model.plan_config_map import plan_of
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import (
    SPARK_VOLUME,
    ExecutorPod,
    JobPod,
    Pod,
    TaskPod,
    executor_of,
    pod_of,
)
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR, NAMESPACE, POD, SECRET
from penstock_operator.kubernetes.times import timestamp

from ...fake_api_answers import Object
from ...fake_api_server import FakeApiServer

__all__ = ["KEY", "UID", "Cluster"]

KEY: Final = Key("shop", "orders-in")
UID: Final = "uid-1"
_AWAY: Final = "away"
_SIGKILL: Final = 137
_SILENT: Final = 180
"""Seconds for which a task has not answered when the kubelet ends it."""


class Cluster:
    """The API server with the Connector, and what scheduler and kubelet do with the Connector's pods.

    Args:
        spec: spec of the Connector.
        finalizer: whether the Connector carries Penstock's.
        now: seconds since 1970.
    """

    def __init__(self, spec: dict[str, Any], *, finalizer: bool, now: float) -> None:
        self.now = now
        self.server = FakeApiServer(lambda: self.now)
        self.unpullable: tuple[str, ...] = ()
        """Images with which no job pod starts."""
        self.lives: list[str] = []
        """The names of all task pods that were ever created."""
        self._observed: set[str] = set()
        """The names of pods that the operator has seen."""
        self._pods: dict[str, TaskPod | JobPod] = {}
        self._pods_of: tuple[int, float] | None = None
        self.server.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KEY.namespace}})
        metadata: Object = {"name": KEY.name, "namespace": KEY.namespace, "uid": UID}
        if finalizer:
            metadata["finalizers"] = [names.FINALIZER]
        self.server.add(
            {"apiVersion": CONNECTOR.api_version, "kind": CONNECTOR.kind, "metadata": metadata, "spec": spec}
        )

    # The Connector

    @property
    def document(self) -> Object:
        """The Connector as it stands, or stood last; a copy."""
        document = self.server.get(CONNECTOR, *KEY) or self.server.removed.get((CONNECTOR, *KEY))
        assert document is not None
        return document

    @property
    def uid(self) -> str:
        return UID

    @property
    def generation(self) -> int:
        return int(self.document["metadata"]["generation"])

    @property
    def finalizer(self) -> bool:
        """Whether Penstock's holds the Connector."""
        document = self.server.get(CONNECTOR, *KEY)
        return document is not None and names.FINALIZER in (document["metadata"].get("finalizers") or ())

    @property
    def status(self) -> dict[str, Any]:
        """The status as it stands, or stood last; a copy."""
        status: dict[str, Any] = self.document.get("status") or {}
        return status

    @status.setter
    def status(self, status: dict[str, Any]) -> None:
        self.server.edit(CONNECTOR, *KEY, lambda document: document.update(status=status))

    def condition(self, kind: str) -> str:
        """`True Running: ...` of the status as written."""
        conditions = {c["type"]: c for c in self.status.get("conditions", ())}
        condition = conditions.get(kind)
        return "absent" if condition is None else f"{condition['status']} {condition['reason']}: {condition['message']}"

    def end_namespace(self) -> None:
        """A user deletes the namespace."""
        self.server.delete(NAMESPACE, "", KEY.namespace)

    # Pods and plans

    @property
    def pods(self) -> dict[str, TaskPod | JobPod]:
        """The Connector's pods as the operator reads them, by name."""
        state = self.server.revision, self.now
        if state != self._pods_of:
            manifests = [m for m in self.server.list(POD, KEY.namespace) if names.label(m, names.UID_LABEL) == UID]
            pods = [pod_of(m, self.now) for m in manifests]
            self._pods, self._pods_of = {p.name: p for p in pods if p is not None}, state
        return dict(self._pods)

    @property
    def executors(self) -> dict[str, ExecutorPod]:
        """The pods of executors of the Connector as the operator reads them, by name."""
        manifests = [m for m in self.server.list(POD, KEY.namespace) if names.label(m, names.UID_LABEL) == UID]
        return {e.name: e for e in (executor_of(m, self.now) for m in manifests) if e is not None}

    @property
    def spark_secrets(self) -> dict[str, Object]:
        """The Secrets that tasks share with their executors, by name."""
        found = self.server.list(SECRET, KEY.namespace)
        return {s["metadata"]["name"]: s for s in found if names.label(s, names.ROLE_LABEL) == names.EXECUTOR}

    @property
    def plans(self) -> list[Plan]:
        """The plans that are kept, the oldest first."""
        maps = [m for m in self.server.list(CONFIG_MAP, KEY.namespace) if names.label(m, names.ROLE_LABEL) == "plan"]
        return sorted((p for p in map(plan_of, maps) if p is not None), key=lambda p: p.created)

    def task(self, number: int) -> TaskPod:
        """The pod of a task that counts."""
        return max(
            (p for p in self.pods.values() if isinstance(p, TaskPod) and p.task == number), key=lambda p: p.incarnation
        )

    def identity(self, pod: str) -> PodIdentity:
        """The identity in the environment of a task's pod."""
        env = {e["name"]: e.get("value", "") for e in self.manifest(pod)["spec"]["containers"][0]["env"]}
        return PodIdentity.from_json(env[POD_IDENTITY_VARIABLE])

    def manifest(self, pod: str) -> Object:
        """A pod as it stands."""
        manifest = self.server.get(POD, KEY.namespace, pod)
        assert manifest is not None, pod
        return manifest

    # What users and nodes do

    def delete_pod(self, name: str) -> None:
        """A user deletes a pod, which ends in its grace period."""
        self.server.delete(POD, KEY.namespace, name)

    def evict(self, name: str, reason: str) -> None:
        """Kubernetes marks a pod and deletes it; its process ends at once, as a stop asks it to."""
        target = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        self.edit_pod(name, lambda pod: pod["status"].setdefault("conditions", []).append(target))
        self.delete_pod(name)

    def end_silently(self, name: str) -> None:
        """The container of a pod has ended on a SIGTERM, and the kubelet has not yet said why it sent it."""
        self.end(name, 0, "Completed")
        self.edit_pod(name, lambda pod: pod["status"].update(phase="Running"))

    def lose_node(self, name: str) -> None:
        """The node of a pod is away: nothing ends the pod when it is deleted."""
        self.edit_pod(name, lambda pod: pod["spec"].update(nodeName=_AWAY))

    def hold(self, name: str) -> None:
        """A finalizer of others holds a pod."""
        self.edit_pod(name, lambda pod: pod["metadata"].update(finalizers=["example.com/held"]))

    def mark(self, name: str, mark: str, text: str) -> None:
        """Somebody changes a mark of the operator on a pod."""
        self.edit_pod(name, lambda pod: pod["metadata"]["annotations"].update({f"penstock.dev/{mark}": text}))

    def vanish(self, name: str) -> None:
        """A user deletes a pod by force, or its node is gone."""
        self.server.remove(POD, KEY.namespace, name)
        if name in self.lives and name not in self._observed:
            # The operator cannot tell it from a pod that was never created. If it runs on somewhere, it and the next have
            # one number, and one of them leaves: see the tests of second runs.
            self.lives.remove(name)

    # Scheduler and kubelet

    def start(self, name: str) -> None:
        """The kubelet starts a pod."""
        container = {"name": self._container(name), "state": {"running": {"startedAt": timestamp(self.now)}}}

        def change(pod: Object) -> None:
            pod["spec"]["nodeName"] = "node-1"
            pod["status"] = {"phase": "Running", "startTime": timestamp(self.now), "containerStatuses": [container]}
            if any(v["name"] == SPARK_VOLUME for v in pod["spec"].get("volumes", ())):
                pod["status"]["podIP"] = "10.1.0.7"

        self.edit_pod(name, change)

    def hinder(self, name: str, reason: str, message: str) -> None:
        """A pod does not start."""
        unplaced = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        waiting = {"name": self._container(name), "state": {"waiting": {"reason": reason, "message": message}}}
        status: Object = {"phase": "Pending"}
        status |= {"conditions": [unplaced]} if reason == "Unschedulable" else {"containerStatuses": [waiting]}
        self.edit_pod(name, lambda pod: pod.update(status=status))

    def end(
        self,
        name: str,
        code: int | None,
        reason: str = "Error",
        message: str = "",
        trace: str | None = None,
        reported: str | None = None,
    ) -> None:
        """A pod's container ends, with a reason that its process reports; the code None: Kubernetes ends the pod."""
        container = self._container(name)

        def change(pod: Object) -> None:
            pod["spec"].setdefault("nodeName", "node-1")
            states = [c["state"] for c in pod["status"].get("containerStatuses", ())]
            started = next((s["running"]["startedAt"] for s in states if "running" in s), timestamp(self.now))
            terminated = {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": timestamp(self.now)}
            containers = [{"name": container, "state": {"terminated": terminated}}]
            if code is None:
                terminated |= {"exitCode": _SIGKILL, "reason": "Error"}
                pod["status"] = {
                    "phase": "Failed",
                    "reason": reason,
                    "message": message,
                    "containerStatuses": containers,
                }
                return
            present = pod["status"].get("conditions") or ()
            conditions = [c for c in present if c["type"] == "DisruptionTarget"]
            if reason == "HealthCheckFailed":  # Kubernetes says so in an Event only
                terminated |= {"reason": "Error", "startedAt": min(started, timestamp(self.now - _SILENT - 60))}
                since = timestamp(self.now - _SILENT)
                conditions += [{"type": "Ready", "status": "False", "lastTransitionTime": since}]
            elif code <= 128 or message or trace:
                word = TerminationMessage(exit_code=code, message=message or None, trace=trace, reason=reported)
                terminated["message"] = word.to_message()
            phase = "Failed" if code else "Succeeded"
            pod["status"] = {"phase": phase, "conditions": conditions, "containerStatuses": containers}

        self.edit_pod(name, change)

    def finish_deletion(self, pod: Pod) -> bool:
        """A pod that was deleted ends; False: its node is away, or a finalizer holds it still."""
        if pod.node == _AWAY:
            return False
        before = self.manifest(pod.name)
        self.server.delete(POD, KEY.namespace, pod.name, grace=0)
        return self.server.get(POD, KEY.namespace, pod.name) != before

    def edit_pod(self, name: str, change: Callable[[Object], None]) -> None:
        """Change a pod."""
        self.server.edit(POD, KEY.namespace, name, change)

    def _container(self, pod: str) -> str:
        return str(self.manifest(pod)["spec"]["containers"][0]["name"])
