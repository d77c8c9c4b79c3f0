"""The hash of what a task's pod is made from. A pod with another hash is outdated, and is replaced. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from penstock_operator.connector.model.plans import Plan, Shape
from penstock_operator.connector.policy.strategic_merge import merged
from penstock_operator.names import digest

__all__ = ["pod_hash"]

_FORM: Final = "2."
"""The beginning of each hash: what is hashed, and how. Another form makes all pods outdated."""


def pod_hash(plan: Plan, task: int, shape: Shape, template: Mapping[str, Any]) -> str:
    """The hash of the pod of a task; its annotation is `penstock.dev/pod-hash`, its field of `status.tasks` is `podHash`.

    Only what the task itself notices is hashed. A change of anything else in the manifest (labels, tolerations, how an
    image is pulled, what a later operator adds) comes with the next pod, and ends no running one.

    Args:
        plan: that the task belongs to.
        task: its number.
        shape: of the release, for the pod.
        template: `spec.template`.
    """
    fields = dict(template)
    resources = merged(shape.resources, fields.pop("resources", None) or {})
    return _FORM + digest(
        plan.digests[task], plan.secrets, shape.image, shape.secrets, resources, shape.contexts, fields
    )
