"""Render the pod that verifies a PluginVersion, without Secrets and token, and with limits of memory and time. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from penstock_model.contracts import pod_layout as layout
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.verification import VerificationRequest
from penstock_operator import names
from penstock_operator.connector.model.plans import PodSettings
from penstock_operator.connector.model.pod_resources import job_resources
from penstock_operator.connector.render.pod_spec import pod_spec
from penstock_operator.settings import Settings

__all__ = ["labels_of", "name_of", "verifying_pod"]

_REQUEST_ANNOTATION: Final = "penstock.dev/verification"
_HOST_NAME: Final = 63
_END: Final = "-verify-"


def name_of(document: Mapping[str, Any], settings: Settings) -> str:
    """Return the name of the first verifying pod of a PluginVersion for this release and its runtime image."""
    metadata = document["metadata"]
    end = _END + names.digest(metadata["uid"], settings.release.label, settings.images.runtime)[:10]
    begin: str = metadata["name"].replace(".", "-")[: _HOST_NAME - len(end) - 3]
    return begin.strip("-") + end


def labels_of(document: Mapping[str, Any], settings: Settings) -> dict[str, str]:
    """Return the labels of the verifying pods of a PluginVersion for this release."""
    return {
        names.MANAGED_BY[0]: names.MANAGED_BY[1],
        names.OPERATOR_LABEL: settings.release.label,
        names.PLUGIN_VERSION_LABEL: document["metadata"]["uid"],
        names.ROLE_LABEL: names.VERIFYING,
    }


def verifying_pod(name: str, document: Mapping[str, Any], offer: PluginMount, settings: Settings) -> dict[str, Any]:
    """Return the manifest of a verifying pod.

    Args:
        name: name of the pod.
        document: the PluginVersion, with which Kubernetes deletes the pod.
        offer: the plugins that it declares.
        settings: settings of the release.
    """
    own, deadline = document["metadata"], settings.job.deadline_seconds
    mount = offer.numbered(0, ("connector",))
    # Half of the time is reserved for pulling the image.
    request = VerificationRequest(mount=mount, seconds=deadline / 2)
    pod_settings = replace(PodSettings.of(settings, ()), resources=job_resources(settings))
    command = layout.VERIFY_MODULE, layout.VERIFY_FILE
    spec = pod_spec(settings, layout.JOB_CONTAINER, command, pod_settings, (mount,), reports_missing=False)
    folder, _, file = layout.VERIFY_FILE.rpartition("/")
    # An annotation, since it belongs to the pod; 64 classes may be too long for an environment variable.
    item = {"path": file, "fieldRef": {"fieldPath": f"metadata.annotations['{_REQUEST_ANNOTATION}']"}}
    spec["volumes"].insert(0, {"name": "request", "downwardAPI": {"items": [item]}})
    spec["containers"][0]["volumeMounts"].insert(0, {"name": "request", "mountPath": folder})
    spec["activeDeadlineSeconds"] = deadline
    spec["terminationGracePeriodSeconds"] = 1
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": own["namespace"],
            "labels": labels_of(document, settings),
            "annotations": {_REQUEST_ANNOTATION: request.to_json()},
            "ownerReferences": [
                names.owner_reference(document["apiVersion"], document["kind"], own["name"], own["uid"]),
            ],
        },
        "spec": spec,
    }
