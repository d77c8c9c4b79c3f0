"""What a cluster may have against the operator's writes, in one namespace: quotas, policies, webhooks that are away."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from ..cluster_api.api import ApiRefused
from ..ports import free_port
from .world.site import API_VERSION, Site

__all__ = ["count", "obstacle", "policy", "quota", "webhook"]

Json = dict[str, Any]
Labels = Mapping[str, str]
NONE: Final[Labels] = {}
_GROUPS: Final = {"configmaps": ("", "v1"), "pods": ("", "v1"), "connectors/status": ("penstock.dev", "v1alpha1")}


def quota(site: Site, resource: str, *, room: int = 0) -> list[Json]:
    """So many more of a resource than there are, and no more."""
    there = len(site.api.list("v1", {"configmaps": "ConfigMap", "pods": "Pod"}[resource], site.namespace))
    meta = {"name": "full", "namespace": site.namespace}
    return [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": meta,
            "spec": {"hard": {f"count/{resource}": str(there + room)}},
        }
    ]


def policy(site: Site, resource: str, labels: Labels = NONE) -> list[Json]:
    """A ValidatingAdmissionPolicy against all writes of a resource, or of objects with these labels."""
    group, version = _GROUPS[resource]
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    api, name = "admissionregistration.k8s.io/v1", f"no-{site.namespace}"
    own = {"matchLabels": {"kubernetes.io/metadata.name": site.namespace}}
    return [
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "false", "message": "not on Fridays"}],
            },
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": own, "objectSelector": {"matchLabels": dict(labels)}},
            },
        },
    ]


def webhook(site: Site, resource: str) -> list[Json]:
    """A webhook that is asked of all writes of a resource, and whose server is down."""
    group, version = _GROUPS[resource]
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    own = {"matchLabels": {"kubernetes.io/metadata.name": site.namespace}}
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": f"away-{site.namespace}"},
            "webhooks": [
                {
                    "name": "away.example.com",
                    "rules": [rule],
                    "namespaceSelector": own,
                    "failurePolicy": "Fail",
                    "clientConfig": {"url": f"https://127.0.0.1:{free_port()}/"},
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "timeoutSeconds": 2,
                }
            ],
        },
    ]


@contextmanager
def obstacle(site: Site, objects: list[Json], resource: str, labels: Labels = NONE) -> Iterator[None]:
    """These objects while it lasts, from when the API server goes by them until it does no more."""
    try:
        for body in objects:
            made = site.api.create(body)
            if body["kind"] == "ResourceQuota":
                count(site, made)
        _in_force(site, objects, resource, labels, holds=True)
        yield
    finally:
        for body in objects:
            site.api.delete(body)
    _in_force(site, objects, resource, labels, holds=False)


def count(site: Site, quota: Json) -> None:
    """As the quota controller does, which is not there."""
    (resource,) = quota["spec"]["hard"]
    there = len(site.api.list("v1", {"count/configmaps": "ConfigMap", "count/pods": "Pod"}[resource], site.namespace))
    status = {"hard": quota["spec"]["hard"], "used": {resource: str(there)}}
    site.api.merge({**quota, "apiVersion": "v1", "kind": "ResourceQuota"}, {"status": status}, part="status")


def _in_force(site: Site, objects: list[Json], resource: str, labels: Labels, *, holds: bool) -> None:
    """It goes by what was written a moment later, and tells nobody."""
    deadline = time.monotonic() + 60
    while _stands_in_the_way(site, objects, resource, labels) != holds:
        assert time.monotonic() < deadline, f"in force: {not holds}"
        time.sleep(0.1)


def _stands_in_the_way(site: Site, objects: list[Json], resource: str, labels: Labels) -> bool:
    if objects[0]["kind"] == "ResourceQuota":  # dry runs count nothing
        return any("hard" in q.get("status", {}) for q in site.api.list("v1", "ResourceQuota", site.namespace))
    try:
        if resource == "connectors/status":
            body = next(iter(site.connectors.objects.values()))
            path = f"/apis/{API_VERSION}/namespaces/{site.namespace}/connectors/{body['metadata']['name']}/status"
            patch = {"status": {"taskSummary": "0/0"}}
            site.api.call("PATCH", path, patch, "application/merge-patch+json", dryRun="All")
        else:
            spec = {"spec": {"containers": [{"name": "c", "image": "x"}]}} if resource == "pods" else {}
            kind = {"pods": "Pod", "configmaps": "ConfigMap"}[resource]
            asked = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "asked", "labels": dict(labels)}, **spec}
            site.api.call("POST", f"/api/v1/namespaces/{site.namespace}/{resource}", asked, dryRun="All")
    except ApiRefused:
        return True
    return False
