"""Each control of the Pod Security Standards with a template that breaks it, and one that keeps to it.

The tests of the operator's own check and of its agreement with Kubernetes' admission go by the same table.
"""

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["CONTROLS", "Control"]


def inside(**fields: Any) -> dict[str, Any]:
    """A template with one init container, which is fine but for these fields."""
    return {"initContainers": [{"name": "first", "image": "x", **fields}]}


def context(**fields: Any) -> dict[str, Any]:
    return inside(securityContext=fields)


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}]}


FIRST: Final = "initContainers[first]"
CONTEXT: Final = f"{FIRST}.securityContext"
HTTP: Final = {"httpGet": {"port": 80, "host": "10.0.0.1"}}


@dataclass(frozen=True)
class Control:
    """A template, the level that refuses it first (empty: none), and the fields that are named."""

    name: str
    template: dict[str, Any]
    refused_by: str = ""
    fields: tuple[str, ...] = ()


CONTROLS: Final = (
    Control("a container that is privileged", context(privileged=True), "Baseline", (f"{CONTEXT}.privileged",)),
    Control("a container that is not", context(privileged=False)),
    Control(
        "a capability beyond the usual",
        context(capabilities={"add": ["SYS_ADMIN"]}),
        "Baseline",
        (f"{CONTEXT}.capabilities.add",),
    ),
    Control("all capabilities", context(capabilities={"add": ["ALL"]}), "Baseline", (f"{CONTEXT}.capabilities.add",)),
    Control(
        "a usual capability", context(capabilities={"add": ["CHOWN"]}), "Restricted", (f"{CONTEXT}.capabilities.add",)
    ),
    Control("the one capability of Restricted", context(capabilities={"add": ["NET_BIND_SERVICE"]})),
    Control(
        "capabilities that stay",
        context(capabilities={"drop": ["CHOWN"]}),
        "Restricted",
        (f"{CONTEXT}.capabilities.drop",),
    ),
    Control("a folder of the host", volume(hostPath={"path": "/"}), "Baseline", ("volumes[data].hostPath",)),
    Control(
        "a share that names its server", volume(nfs={"server": "a", "path": "/"}), "Restricted", ("volumes[data].nfs",)
    ),
    Control("a claim", volume(persistentVolumeClaim={"claimName": "a"})),
    Control(
        "an ephemeral claim",
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                }
            }
        ),
    ),
    Control("a driver", volume(csi={"driver": "secrets.example"})),
    Control(
        "a port of the host",
        inside(restartPolicy="Always", ports=[{"containerPort": 80, "hostPort": 80}]),
        "Baseline",
        (f"{FIRST}.ports[80].hostPort",),
    ),
    Control("a port", inside(restartPolicy="Always", ports=[{"containerPort": 80}])),
    Control(
        "a probe of another host",
        inside(restartPolicy="Always", livenessProbe=HTTP),
        "Baseline",
        (f"{FIRST}.livenessProbe.httpGet.host",),
    ),
    Control(
        "a hook at another host",
        inside(restartPolicy="Always", lifecycle={"preStop": HTTP}),
        "Baseline",
        (f"{FIRST}.lifecycle.preStop.httpGet.host",),
    ),
    Control(
        "no AppArmor for the pod",
        {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
        "Baseline",
        ("securityContext.appArmorProfile.type",),
    ),
    Control(
        "no AppArmor for a container",
        context(appArmorProfile={"type": "Unconfined"}),
        "Baseline",
        (f"{CONTEXT}.appArmorProfile.type",),
    ),
    Control(
        "no AppArmor by annotation",
        {"annotations": {"container.apparmor.security.beta.kubernetes.io/task": "unconfined"}},
        "Baseline",
        ("annotations.container.apparmor.security.beta.kubernetes.io/task",),
    ),
    Control(
        "a type of SELinux",
        {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}},
        "Baseline",
        ("securityContext.seLinuxOptions.type",),
    ),
    Control(
        "a user and a role of SELinux",
        context(seLinuxOptions={"user": "u", "role": "r"}),
        "Baseline",
        (f"{CONTEXT}.seLinuxOptions.user", f"{CONTEXT}.seLinuxOptions.role"),
    ),
    Control("a level of SELinux", {"securityContext": {"seLinuxOptions": {"type": "container_t", "level": "s0:c1"}}}),
    Control("all of /proc", context(procMount="Unmasked"), "Baseline", (f"{CONTEXT}.procMount",)),
    Control(
        "no seccomp for the pod",
        {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
        "Baseline",
        ("securityContext.seccompProfile.type",),
    ),
    Control(
        "no seccomp for a container",
        context(seccompProfile={"type": "Unconfined"}),
        "Baseline",
        (f"{CONTEXT}.seccompProfile.type",),
    ),
    Control("a profile of the node", context(seccompProfile={"type": "Localhost", "localhostProfile": "a.json"})),
    Control(
        "a seccomp profile taken away",
        {"securityContext": {"seccompProfile": None}},
        "Restricted",
        ("securityContext.seccompProfile.type",),
    ),
    Control(
        "a sysctl of the node",
        {"securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
        "Baseline",
        ("securityContext.sysctls[net.core.somaxconn]",),
    ),
    Control(
        "a sysctl of the pod",
        {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_keepalive_time", "value": "60"}]}},
    ),
    Control(
        "more privileges on the way",
        context(allowPrivilegeEscalation=True),
        "Restricted",
        (f"{CONTEXT}.allowPrivilegeEscalation",),
    ),
    Control("root for the pod", {"securityContext": {"runAsUser": 0}}, "Restricted", ("securityContext.runAsUser",)),
    Control("root for a container", context(runAsUser=0), "Restricted", (f"{CONTEXT}.runAsUser",)),
    Control("another user", {"securityContext": {"runAsUser": 1000}}),
    Control(
        "perhaps root for the pod",
        {"securityContext": {"runAsNonRoot": False}},
        "Restricted",
        ("securityContext.runAsNonRoot",),
    ),
    Control(
        "perhaps root, where nobody says it",
        {"securityContext": {"runAsNonRoot": None}},
        "Restricted",
        ("securityContext.runAsNonRoot",),
    ),
    Control("perhaps root for a container", context(runAsNonRoot=False), "Restricted", (f"{CONTEXT}.runAsNonRoot",)),
    Control(
        "a Windows pod with its host's rights",
        {"securityContext": {"windowsOptions": {"hostProcess": True}}},
        "Baseline",
        ("securityContext.windowsOptions.hostProcess",),
    ),
    Control("a sidecar that says nothing", inside(restartPolicy="Always")),
    Control("groups", {"securityContext": {"fsGroup": 0, "supplementalGroups": [0], "runAsGroup": 0}}),
)
