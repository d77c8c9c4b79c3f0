"""Check the Pod Security Standards, control by control, like Kubernetes' Pod Security admission (1.36). Pure.

A field that the level does not allow is a `Violation` with its path in the pod. `template_policy` has the other
restrictions on a template.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock_operator.settings import Level

__all__ = ["Violation", "items", "mapping", "violations"]


@dataclass(frozen=True, slots=True)
class Violation:
    """Field whose value the level does not allow: its path, and the allowed values."""

    path: str
    message: str


Pod = Mapping[str, Any]
Check = Callable[[Pod], Iterator[Violation]]

# Tuples rather than sets, since the value that is searched for may be unhashable.
_CAPABILITIES: Final = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
_SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
_SELINUX: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_VOLUMES: Final = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def violations(pod: Pod, level: Level) -> tuple[Violation, ...]:
    """Return the fields of a pod (its `metadata` and `spec`) that violate a level, each once."""
    checks = {Level.UNRESTRICTED: (), Level.BASELINE: _BASELINE, Level.RESTRICTED: (*_BASELINE, *_RESTRICTED)}[level]
    violations: dict[str, Violation] = {}
    for check in checks:
        for v in check(pod):
            violations.setdefault(v.path, v)
    return tuple(violations.values())


# Common to both kinds of security contexts


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, otherwise an empty one: the API server refuses such a value."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> Sequence[Any]:
    """Return the value if it is a list, otherwise an empty sequence."""
    return value if isinstance(value, (list, tuple)) else ()


def containers(pod: Pod) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every container, with its path."""
    for kind in _CONTAINERS:
        for number, container in enumerate(items(mapping(pod.get("spec")).get(kind))):
            name = mapping(container).get("name", number)
            yield f"{kind}[{name}]", mapping(container)


def _contexts(pod: Pod) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every security context with its path, the pod's first."""
    yield "securityContext", _pod_context(pod)
    for path, container in containers(pod):
        yield f"{path}.securityContext", mapping(container.get("securityContext"))


def _pod_context(pod: Pod) -> Mapping[str, Any]:
    return mapping(mapping(pod.get("spec")).get("securityContext"))


# Baseline


def _host_process(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        if mapping(context.get("windowsOptions")).get("hostProcess"):
            yield Violation(f"{path}.windowsOptions.hostProcess", "must not be true")


def _host_namespaces(pod: Pod) -> Iterator[Violation]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if mapping(pod.get("spec")).get(field):
            yield Violation(field, "must not be true")


def _privileged(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        if context.get("privileged"):
            yield Violation(f"{path}.privileged", "must not be true")


def _capabilities(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        if added := [str(c) for c in items(mapping(context.get("capabilities")).get("add")) if c not in _CAPABILITIES]:
            yield Violation(f"{path}.capabilities.add", f"must not contain {', '.join(added)}")


def _host_paths(pod: Pod) -> Iterator[Violation]:
    for path, volume in _volumes(pod):
        if volume.get("hostPath") is not None:
            yield Violation(f"{path}.hostPath", "is not an allowed volume type")


def _host_ports(pod: Pod) -> Iterator[Violation]:
    for path, container in containers(pod):
        for port in items(container.get("ports")):
            if mapping(port).get("hostPort"):
                yield Violation(f"{path}.ports[{mapping(port).get('containerPort')}].hostPort", "must not be set")


def _host_probes(pod: Pod) -> Iterator[Violation]:
    for path, container in containers(pod):
        lifecycle = mapping(container.get("lifecycle"))
        asked = [(name, container.get(name)) for name in _PROBES]
        asked += ((f"lifecycle.{name}", lifecycle.get(name)) for name in _HOOKS)
        for name, probe in asked:
            for kind in ("httpGet", "tcpSocket"):
                if mapping(mapping(probe).get(kind)).get("host"):
                    yield Violation(f"{path}.{name}.{kind}.host", "must not be set")


def _apparmor(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        profile = context.get("appArmorProfile")
        if profile is not None and mapping(profile).get("type") not in _PROFILES:
            yield Violation(f"{path}.appArmorProfile.type", f"must be {' or '.join(_PROFILES)}")
    for name, value in mapping(mapping(pod.get("metadata")).get("annotations")).items():
        if name.startswith(_APPARMOR) and not (value in ("", "runtime/default") or str(value).startswith("localhost/")):
            yield Violation(f"annotations.{name}", "must be runtime/default or localhost/...")


def _selinux(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        options = mapping(context.get("seLinuxOptions"))
        if options.get("type", "") not in _SELINUX:
            allowed = ", ".join(sorted(filter(None, _SELINUX)))
            yield Violation(f"{path}.seLinuxOptions.type", f"must be one of {allowed}")
        for field in ("user", "role"):
            if options.get(field):
                yield Violation(f"{path}.seLinuxOptions.{field}", "must not be set")


def _proc_mount(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        if context.get("procMount") not in (None, "Default"):
            yield Violation(f"{path}.procMount", "must be Default")


def _seccomp(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        profile = context.get("seccompProfile")
        if profile is not None and mapping(profile).get("type") not in _PROFILES:
            yield Violation(f"{path}.seccompProfile.type", f"must be {' or '.join(_PROFILES)}")


def _sysctls(pod: Pod) -> Iterator[Violation]:
    for sysctl in items(_pod_context(pod).get("sysctls")):
        name = mapping(sysctl).get("name")
        if name not in _SYSCTLS:
            yield Violation(f"securityContext.sysctls[{name}]", "is not an allowed sysctl")


# Restricted


def _volumes(pod: Pod) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, volume in enumerate(items(mapping(pod.get("spec")).get("volumes"))):
        yield f"volumes[{mapping(volume).get('name', number)}]", mapping(volume)


def _volume_types(pod: Pod) -> Iterator[Violation]:
    for path, volume in _volumes(pod):
        for kind in sorted(k for k, v in volume.items() if k not in {"name", *_VOLUMES} and v is not None):
            yield Violation(f"{path}.{kind}", "is not an allowed volume type; use a PersistentVolumeClaim instead")


def _escalation(pod: Pod) -> Iterator[Violation]:
    for path, container in containers(pod):
        if mapping(container.get("securityContext")).get("allowPrivilegeEscalation") is not False:
            yield Violation(f"{path}.securityContext.allowPrivilegeEscalation", "must be false")


def _non_root(pod: Pod) -> Iterator[Violation]:
    whole = _pod_context(pod).get("runAsNonRoot")
    if whole is False:
        yield Violation("securityContext.runAsNonRoot", "must be true")
    for path, container in containers(pod):
        own = mapping(container.get("securityContext")).get("runAsNonRoot")
        if own is None and whole is None:
            yield Violation("securityContext.runAsNonRoot", "must be true")
        elif own is False:
            yield Violation(f"{path}.securityContext.runAsNonRoot", "must be true")


def _user(pod: Pod) -> Iterator[Violation]:
    for path, context in _contexts(pod):
        if context.get("runAsUser") is not None and not context["runAsUser"]:
            yield Violation(f"{path}.runAsUser", "must not be 0, which is root")


def _seccomp_required(pod: Pod) -> Iterator[Violation]:
    if _pod_context(pod).get("seccompProfile") is not None:
        return
    for _, container in containers(pod):
        if mapping(container.get("securityContext")).get("seccompProfile") is None:
            yield Violation("securityContext.seccompProfile.type", f"must be {' or '.join(_PROFILES)}")


def _capabilities_dropped(pod: Pod) -> Iterator[Violation]:
    for path, container in containers(pod):
        capabilities = mapping(mapping(container.get("securityContext")).get("capabilities"))
        if "ALL" not in items(capabilities.get("drop")):
            yield Violation(f"{path}.securityContext.capabilities.drop", "must contain ALL")
        if added := [str(c) for c in items(capabilities.get("add")) if c != "NET_BIND_SERVICE"]:
            yield Violation(f"{path}.securityContext.capabilities.add", f"must not contain {', '.join(added)}")


_BASELINE: Final[tuple[Check, ...]] = (
    _host_process,
    _host_namespaces,
    _privileged,
    _capabilities,
    _host_paths,
    _host_ports,
    _host_probes,
    _apparmor,
    _selinux,
    _proc_mount,
    _seccomp,
    _sysctls,
)
_RESTRICTED: Final[tuple[Check, ...]] = (
    _volume_types,
    _escalation,
    _non_root,
    _user,
    _seccomp_required,
    _capabilities_dropped,
    _proc_mount,
)
