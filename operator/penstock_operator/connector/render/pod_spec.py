"""Render the common parts of all Penstock pods: one container of the runtime, with secure defaults. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock_model.contracts import pod_layout as layout
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_operator.connector.model.plans import PodSettings
from penstock_operator.connector.model.pod_status import SPARK_VOLUME
from penstock_operator.connector.render.plugin_volumes import plugin_volumes
from penstock_operator.settings import Settings

__all__ = ["SPARK_SECRET_KEY", "pod_spec", "with_executors"]

SPARK_SECRET_KEY: Final = "secret"  # noqa: S105 (its name)
_SCRATCH: Final = "scratch"


def pod_spec(
    settings: Settings,
    container: str,
    command: tuple[str, ...],
    pod_settings: PodSettings,
    plugins: Sequence[PluginMount],
    *,
    reports_missing: bool,
) -> dict[str, Any]:
    """Return the spec of a pod, without the volume of its plan or request.

    Args:
        settings: settings of the release.
        container: name of the container.
        command: Python module that it runs, and its arguments.
        pod_settings: pod settings, such as image and resources.
        plugins: images of PluginVersions that it mounts.
        reports_missing: whether its process reports missing Secrets; if not, the pod does not start without them.
    """
    mounts: list[dict[str, Any]] = [{"name": _SCRATCH, "mountPath": "/tmp"}]  # noqa: S108 (the pod's own)
    size = settings.task.temporary_size
    volumes: list[dict[str, Any]] = [{"name": _SCRATCH, "emptyDir": {"sizeLimit": size} if size else {}}]
    for number, name in enumerate(pod_settings.secrets):
        volumes.append({"name": f"secret-{number}", "secret": {"secretName": name, "optional": reports_missing}})
        mounts.append({"name": f"secret-{number}", "mountPath": f"{layout.SECRETS_DIR}/{name}", "readOnly": True})
    runtime = {
        "image": pod_settings.image,
        "imagePullPolicy": pod_settings.pull_policy,
        "resources": {k: dict(v) for k, v in pod_settings.resources.items()},
        "securityContext": pod_settings.security_context,
    }
    images = plugin_volumes(plugins, settings.plugins.mount, runtime, size)
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_settings.pod_security_context,
        **({"imagePullSecrets": [{"name": n} for n in pod_settings.pull_secrets]} if pod_settings.pull_secrets else {}),
        **({"initContainers": images.init_containers} if images.init_containers else {}),
        "containers": [
            {
                **runtime,
                "name": container,
                "command": ["python3", "-m", *command],
                "env": [
                    _field(layout.POD_NAME_VARIABLE, "metadata.name"),
                    _field(layout.POD_UID_VARIABLE, "metadata.uid"),
                    _field(layout.NODE_VARIABLE, "spec.nodeName"),
                ],
                "volumeMounts": [*mounts, *images.places],
            }
        ],
        "volumes": [*volumes, *images.volumes],
        "tolerations": _lost_node(settings.task.node_lost_seconds),
    }


def with_executors(spec: Mapping[str, Any], secret: str, ports: Mapping[str, int]) -> dict[str, Any]:
    """Return the spec of a task pod or executor with the parts for the connection between them.

    Args:
        spec: result of `pod_spec`.
        secret: name of the Secret that both share.
        ports: ports of its container, by name.
    """
    (container,) = spec["containers"]
    mount = {"name": SPARK_VOLUME, "mountPath": layout.SPARK_SECRET_FILE.rpartition("/")[0], "readOnly": True}
    item = {"key": SPARK_SECRET_KEY, "path": layout.SPARK_SECRET_FILE.rpartition("/")[2]}
    opened = [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()]
    container = {
        **container,
        "ports": [*container.get("ports", ()), *opened],
        "env": [*container["env"], _field(layout.POD_IP_VARIABLE, "status.podIP")],
        "volumeMounts": [*container["volumeMounts"], mount],
    }
    volume = {"name": SPARK_VOLUME, "secret": {"secretName": secret, "items": [item]}}
    return {**spec, "containers": [container], "volumes": [*spec["volumes"], volume]}


def _lost_node(seconds: int) -> list[dict[str, Any]]:
    """Return the tolerations that limit how long a pod stays on a node that is not ready or unreachable."""
    return [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        for key in ("not-ready", "unreachable")
    ]


def _field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
