"""Faults of Kubernetes: what it refuses, does not find, takes away."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ...place import Connector
from ..fault import Fault, Says, Scene, Steps, orders, orders_of

__all__ = ["FAULTS"]

_HUGE: Final = {"resources": {"requests": {"memory": "1Ti"}, "limits": {"memory": "1Ti"}}}
_SMALL: Final = {"resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}}


def _template(**fields: Any) -> Steps:
    """Give the pods a template of these fields alone."""
    return lambda scene: scene.connector.apply(template={**_SMALL, **fields})


def _object(kind: str, name: str, spec: Mapping[str, Any], api: str = "v1") -> Steps:
    def made(scene: Scene) -> None:
        scene.place.apply({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})

    return made


def _gone(kind: str, name: str) -> Steps:
    return lambda scene: scene.connector.kubectl("delete", kind, name)


def _among(*first: Steps, **spec: Any) -> Any:
    """A source of orders in a namespace where this is done before."""

    def made(scene: Scene) -> Connector:
        for step in first:
            step(scene)
        return orders_of(**spec)(scene)

    return made


_no_pods: Final = _object("ResourceQuota", "quota", {"hard": {"pods": "0"}})
_small_pods: Final = _object("LimitRange", "limits", {"limits": [{"type": "Container", "max": {"memory": "256Mi"}}]})
_larger_pods: Final = _object("LimitRange", "limits", {"limits": [{"type": "Container", "max": {"memory": "4Gi"}}]})

_CLAIM: Final = {
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}


def _claim_comes(scene: Scene) -> None:
    name, size = f"{scene.place.namespace}-data", {"storage": "1Gi"}
    modes = ["ReadWriteOnce"]
    scene.ends.callback(
        scene.world.cluster.kubectl, "delete", "persistentvolume", name, "--ignore-not-found", "--wait=false"
    )
    path = {"path": f"/var/lib/{name}", "type": "DirectoryOrCreate"}
    volume = {"capacity": size, "accessModes": modes, "storageClassName": "", "hostPath": path}
    claim = {"accessModes": modes, "storageClassName": "", "volumeName": name, "resources": {"requests": size}}
    scene.place.apply(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim},
    )


def _admission(scene: Scene) -> None:
    """Have a policy of the cluster refuse task pods of the namespace."""
    name, namespace = f"deny-{scene.place.namespace}", scene.place.namespace
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    validations = [{"expression": "false", "message": "pods need the label cost-centre"}]
    where = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    policy = {"matchConstraints": {"resourceRules": rules, **where}, "validations": validations}
    scene.ends.callback(_admission_ends, scene)
    scene.place.apply(
        {**kind, "kind": "ValidatingAdmissionPolicy", "spec": policy},
        {
            **kind,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        },
    )


def _admission_ends(scene: Scene) -> None:
    name = f"deny-{scene.place.namespace}"
    kinds = "validatingadmissionpolicy,validatingadmissionpolicybinding"
    scene.world.cluster.kubectl("delete", kinds, name, "--ignore-not-found")


def _denied(scene: Scene) -> None:
    _admission(scene)
    scene.connector.kubectl("delete", "pod", scene.connector.pod(), "--wait=false")


def _drained(scene: Scene) -> None:
    node = f"penstock-{scene.world.cluster.name}"
    scene.ends.callback(_node_back, scene)
    labels = f"--pod-selector=penstock.dev/connector={scene.connector.name}"
    scene.world.cluster.kubectl("drain", node, labels, "--force", "--ignore-daemonsets", "--delete-emptydir-data")


def _node_back(scene: Scene) -> None:
    scene.world.cluster.kubectl("uncordon", f"penstock-{scene.world.cluster.name}")


def _evicted(scene: Scene) -> None:
    """Ask for the eviction of the task's pod, as a drain does."""
    pod = scene.connector.pod()
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    path = f"/api/v1/namespaces/{scene.place.namespace}/pods/{pod}/eviction"
    scene.world.cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def _plans_go(scene: Scene) -> None:
    labels = f"penstock.dev/connector={scene.connector.name}"
    scene.connector.kubectl("delete", "configmap", "-l", labels)
    scene.connector.kubectl("delete", "pod", scene.connector.pod(), "--wait=false")


def _namespace_goes(scene: Scene) -> None:
    # A finalizer of another program keeps the Connector, and with it the namespace.
    patch, name = ("patch", "connector", "--type=merge", "--patch"), scene.connector.name
    scene.connector.kubectl(*patch, '{"metadata":{"finalizers":["example.com/held"]}}', name)
    scene.ends.callback(scene.connector.kubectl, *patch, '{"metadata":{"finalizers":null}}', name)
    scene.connector.kubectl("delete", "namespace", scene.place.namespace, "--wait=false")


FAULTS: Final = (
    Fault(
        "no node has room",
        "`spec.template.resources.requests` exceeds the resources of every node",
        Says("Unschedulable", ("Insufficient memory",)),
        "add nodes, or request less",
        orders_of(template=_HUGE),
        remove=_template(),
        needs_user=True,
    ),
    Fault(
        "no node has the label",
        "`spec.template.nodeSelector` matches no node",
        Says("Unschedulable", ("node",)),
        "label a node, or change the selector",
        orders_of(template={"nodeSelector": {"disk": "fast"}}),
        remove=_template(),
        needs_user=True,
    ),
    Fault(
        "a quota is used up",
        "the namespace's ResourceQuota has no room for a pod",
        Says("QuotaExceeded", ("quota",)),
        "make room, or raise the quota",
        _among(_no_pods),
        remove=_gone("resourcequota", "quota"),
        is_quick=True,
    ),
    Fault(
        "a LimitRange forbids the pods",
        "the namespace's LimitRange allows less memory than the pods request",
        Says("ResourcesRefused", ("256Mi", "job.resources")),
        "raise the LimitRange, or lower what the message names",
        _among(_small_pods),
        remove=_larger_pods,
        is_quick=True,
    ),
    Fault(
        "a volume's claim is missing",
        "`spec.template.volumes` names a PersistentVolumeClaim that does not exist",
        Says("ClaimMissing", ("data",)),
        "create the claim",
        orders_of(template=_CLAIM),
        remove=_claim_comes,
        is_quick=True,
    ),
    Fault(
        "a ConfigMap of a volume is missing",
        "`spec.template.volumes` names a ConfigMap that does not exist",
        Says("PodNotStarting|FailedMount", ('configmap "rules" not found',)),
        "create the ConfigMap",
        orders_of(
            template={
                "volumes": [{"name": "rules", "configMap": {"name": "rules"}}],
                "volumeMounts": [{"name": "rules", "mountPath": "/rules"}],
            }
        ),
        remove=lambda scene: scene.place.config_map("rules", {"a": "b"}),
        recovery=180,
    ),
    Fault(
        "a Secret of a variable is missing",
        "`spec.template.env` names a Secret that does not exist",
        Says("CreateContainerConfigError", ("tokens",)),
        "create the Secret",
        orders_of(template={"env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": "t"}}}]}),
        remove=lambda scene: scene.place.secret("tokens", t="x"),
    ),
    Fault(
        "an init container fails",
        "an init container of `spec.template` ends with an error",
        Says("InitContainerFailed|TasksLost|JobFailed", ("fetch",)),
        "correct the init container",
        lambda scene: orders_of(
            template={
                "initContainers": [
                    {
                        "name": "fetch",
                        "image": scene.world.cluster.images["runtime"],
                        "imagePullPolicy": "IfNotPresent",
                        "command": ["false"],
                    }
                ]
            }
        )(scene),
        remove=_template(),
        needs_user=True,
        watched=30,
    ),
    Fault(
        "a pod asks for more than its level of security allows",
        "`spec.template.volumes[].hostPath`",
        Says("ConfigInvalid", ("spec.template.volumes[host].hostPath",)),
        "use another volume, or have the platform team allow it (`podSecurity.level`)",
        orders_of(template={"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}),
        remove=_template(),
        needs_user=True,
    ),
    Fault(
        "the API server finds the pod invalid",
        "`spec.template.volumeMounts` names a volume that does not exist",
        Says("ConfigInvalid|Invalid", ("volumeMounts", "nowhere")),
        "correct the template",
        orders_of(template={"volumeMounts": [{"name": "nowhere", "mountPath": "/data"}]}),
        remove=_template(),
        needs_user=True,
    ),
    Fault(
        "the API server cannot read the template",
        "a field of `spec.template` has a value of another type",
        Says("ConfigInvalid", ("tolerations",), kind="ConfigValid"),
        "correct the template",
        orders_of(template={"tolerations": [{"key": "a", "tolerationSeconds": "soon"}]}),
        remove=_template(),
        needs_user=True,
    ),
    Fault(
        "an admission policy refuses the pods",
        "a rule of the cluster refuses a task's pod when it is replaced",
        Says("AdmissionDenied", ("pods need the label cost-centre",)),
        "have the platform team change the rule, or comply with it",
        orders(),
        _denied,
        _admission_ends,
        recovery=120,
    ),
    Fault(
        "a node is drained",
        "kubectl drain of a task's node",
        Says("TasksLost|Starting|Restarting|Preparing|Unschedulable", ("as a drain of the node does",)),
        "nothing: the task runs on another node, or here after `kubectl uncordon`",
        orders(),
        _drained,
        _node_back,
        is_alone=True,
    ),
    Fault(
        "a pod is evicted by the API",
        "an autoscaler removes a node, or a drain evicts a pod",
        Says("TasksLost|Starting|Restarting|Preparing", ("eviction",)),
        "nothing: it is replaced",
        orders(),
        _evicted,
    ),
    Fault(
        "the plan is deleted",
        "the ConfigMaps of a connector are deleted, and its pod",
        Says("TasksLost|Planning|Starting|Restarting|Preparing", ("",)),
        "nothing: a job pod plans again",
        orders(),
        _plans_go,
    ),
    Fault(
        "the namespace is deleted",
        "kubectl delete namespace, and something delays it",
        Says("NamespaceTerminating|Deleting", ("",)),
        "nothing: the connector is deleted with it",
        orders(),
        _namespace_goes,
        recovery=None,
    ),
)
