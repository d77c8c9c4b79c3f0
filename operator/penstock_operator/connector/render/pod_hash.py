"""Hash of everything from which a task pod is created. A pod with another hash is outdated, and is replaced. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.policy.strategic_merge import merged
from penstock_operator.names import digest

__all__ = ["pod_hash"]

_FORM: Final = "2."
"""Prefix of each hash: the version of the hashed contents. A new version makes all pods outdated."""


def pod_hash(plan: Plan, task: int, pod_settings: PodSettings, template: Mapping[str, Any]) -> str:
    """Return the hash of a task's pod, for annotation `penstock.dev/pod-hash` and `podHash` in `status.operatorState.tasks`.

    Only settings that affect the task are hashed. A change of anything else in the manifest (labels, tolerations, how an
    image is pulled, additions of a later operator) is applied to the next pod, and does not restart a running one.

    Args:
        plan: plan of the task.
        task: number of the task.
        pod_settings: settings from the release.
        template: `spec.template`.
    """
    fields = dict(template)
    resources = merged(pod_settings.resources, fields.pop("resources", None) or {})
    return _FORM + digest(
        plan.digests[task],
        plan.secrets,
        pod_settings.image,
        pod_settings.secrets,
        resources,
        pod_settings.contexts,
        fields,
    )
