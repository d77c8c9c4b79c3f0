"""Names and labels of the objects that the operator creates for a Connector. Pure.

Names are deterministic, so that creating an object twice is a harmless 409.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = [
    "ACTION_ANNOTATION",
    "CONNECTOR_LABEL",
    "DEFINITIONS",
    "EXECUTOR",
    "FINALIZER",
    "GENERATION_ANNOTATION",
    "INCARNATION_ANNOTATION",
    "KEY_ANNOTATION",
    "LAST_END_ANNOTATION",
    "MANAGED_BY",
    "OPERATOR_LABEL",
    "PLUGIN_VERSIONS_ANNOTATION",
    "PLUGIN_VERSION_LABEL",
    "POD_HASH_ANNOTATION",
    "QUICK_ENDS_ANNOTATION",
    "ROLE_LABEL",
    "STATE_ANNOTATION",
    "TASK_LABEL",
    "UID_LABEL",
    "VERIFYING",
    "digest",
    "executor_name",
    "executor_number",
    "job_name",
    "label",
    "labels",
    "list_name",
    "operator_of",
    "owner_reference",
    "plan_name",
    "pod_name",
    "request_name",
    "spark_secret_name",
    "task_and_incarnation",
]

MANAGED_BY: Final = ("app.kubernetes.io/managed-by", "penstock")
OPERATOR_LABEL: Final = "penstock.dev/operator"
CONNECTOR_LABEL: Final = "penstock.dev/connector"
UID_LABEL: Final = "penstock.dev/connector-uid"
ROLE_LABEL: Final = "penstock.dev/role"
PLUGIN_VERSION_LABEL: Final = "penstock.dev/plugin-version-uid"
"""Label of a verifying pod, whose `ROLE_LABEL` is `VERIFYING`, and of the ConfigMap with its definitions, where it is
`DEFINITIONS`.
"""
VERIFYING: Final = "verify"
DEFINITIONS: Final = "definitions"
EXECUTOR: Final = "executor"
"""`ROLE_LABEL` of the pods of a task's Spark executors, which belong to the task's pod."""
TASK_LABEL: Final = "penstock.dev/task"
INCARNATION_ANNOTATION: Final = "penstock.dev/incarnation"
GENERATION_ANNOTATION: Final = "penstock.dev/generation"
STATE_ANNOTATION: Final = "penstock.dev/state"
ACTION_ANNOTATION: Final = "penstock.dev/action"
KEY_ANNOTATION: Final = "penstock.dev/key"
POD_HASH_ANNOTATION: Final = "penstock.dev/pod-hash"
"""Annotation of a task pod: the hash of everything it was created from; a pod with another hash is outdated."""
PLUGIN_VERSIONS_ANNOTATION: Final = "penstock.dev/plugin-versions"
"""Annotation of a task pod: the PluginVersions whose images it mounts, separated by commas."""
QUICK_ENDS_ANNOTATION: Final = "penstock.dev/quick-ends"
"""Annotation of an executor: how many executors before it, in a row, ended soon after their start."""
LAST_END_ANNOTATION: Final = "penstock.dev/last-end"
"""Annotation of an executor: how the one that it replaces ended, as a reason, a colon and a sentence."""
FINALIZER: Final = "penstock.dev/reset-offsets"
"""Finalizer of a Connector with `deletion.offsets: Reset`, and of no other."""

_HASH: Final = 16
_SHORT: Final = 10


def digest(*parts: Any) -> str:
    """Return a hash of these JSON values."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH]


def labels(*, operator: str, connector: str, uid: str, role: str, task: int | None = None) -> dict[str, str]:
    """Return the labels of an object of a Connector."""
    common = {
        MANAGED_BY[0]: MANAGED_BY[1],
        OPERATOR_LABEL: operator,
        CONNECTOR_LABEL: connector,
        UID_LABEL: uid,
        ROLE_LABEL: role,
    }
    return common if task is None else {**common, TASK_LABEL: str(task)}


def pod_name(connector: str, task: int, incarnation: int) -> str:
    """Return the name of a task pod."""
    return f"{connector}-{task}-{incarnation}"


def task_and_incarnation(pod: str) -> tuple[int, int]:
    """Return task and incarnation of a task pod, from its name, which no user can change; (-1, 0): not a task pod."""
    _, task, incarnation = ["", "", *pod.rsplit("-", 2)][-3:]
    if not (task.isdecimal() and incarnation.isdecimal()):
        return -1, 0
    return int(task), int(incarnation)


def executor_name(task_pod: str, number: int) -> str:
    """Return the name of an executor of a task's pod: `orders-in-0-1-e0`."""
    return f"{task_pod}-e{number}"


def executor_number(executor: str) -> int:
    """Return the number of an executor, from its name; -1: it is not the name of an executor."""
    number = executor.rpartition("-e")[2]
    return int(number) if number.isdecimal() and number.isascii() else -1


def spark_secret_name(task_pod: str, connector_uid: str) -> str:
    """Return the name of the Secret of a task's pod and its executors.

    A Connector that was deleted may have had a pod of the same name, whose Secret Kubernetes has not removed yet.
    """
    return f"{task_pod}-spark-{digest(connector_uid)[:_SHORT]}"


def job_name(connector: str, action: str, key: str) -> str:
    """Return the name of a job pod: `orders-in-plan-1a2b3c4d5e`."""
    return f"{connector}-{action}-{key[:_SHORT]}"


def request_name(job: str) -> str:
    """Return the name of the ConfigMap with the request of a job pod."""
    return f"{job}-request"


def plan_name(connector: str, plan: str) -> str:
    """Return the name of the ConfigMap that stores a plan."""
    return f"{connector}-plan-{plan[:_SHORT]}"


def list_name(connector: str) -> str:
    """Return the name of the ConfigMap with the list of a Connector's offsets."""
    return f"{connector}-offsets"


def label(manifest: Mapping[str, Any], name: str) -> str | None:
    """Return the value of a label."""
    value = (manifest.get("metadata", {}).get("labels") or {}).get(name)
    return None if value is None else str(value)


def operator_of(objects: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the operator that created the oldest of these pods and plans of one Connector; None: there are none.

    If two releases watch one namespace by mistake, both get the same answer.
    """

    def age(manifest: Mapping[str, Any]) -> tuple[str, str]:
        return str(manifest["metadata"].get("creationTimestamp") or ""), str(manifest["metadata"].get("uid") or "")

    oldest = min(objects, key=age, default=None)
    return None if oldest is None else label(oldest, OPERATOR_LABEL)


def owner_reference(api_version: str, kind: str, name: str, uid: str | None) -> dict[str, Any]:
    """Return the reference to the controller of an object; Kubernetes deletes the object with its owner."""
    own = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {**own, "controller": True, "blockOwnerDeletion": False}
