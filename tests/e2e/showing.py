"""What a failed test leaves to read: everything of its namespace that tells why, and the operator's log."""

from .cluster import Cluster, Failed
from .release import Release

__all__ = ["show"]

_MOST = 60_000
_LOG_LINES = 150


def show(cluster: Cluster, namespace: str, release: Release) -> str:
    """The namespace and the operator, in words."""
    parts = [
        _asked(cluster, "get", "connectors,pods,configmaps", "-n", namespace, "-o", "wide"),
        _asked(cluster, "get", "connectors", "-n", namespace, "-o", "yaml"),
        _asked(cluster, "get", "events.events.k8s.io", "-n", namespace, "--sort-by=.metadata.creationTimestamp"),
        _asked(cluster, "describe", "pods", "-n", namespace),
    ]
    parts += [
        _asked(cluster, "logs", "-n", namespace, pod, "--all-containers", "--tail=60")
        for pod in _pods(cluster, namespace)
    ]
    parts.append("the operator's log:\n" + "\n".join(release.log.lines[-_LOG_LINES:]))
    return "\n\n".join(p if len(p) <= _MOST else p[:_MOST] + "\n..." for p in parts)


def _pods(cluster: Cluster, namespace: str) -> list[str]:
    try:
        return cluster.kubectl("get", "pods", "-n", namespace, "-o", "name").split()
    except Failed:
        return []


def _asked(cluster: Cluster, *words: str) -> str:
    try:
        return f"$ kubectl {' '.join(words)}\n{cluster.kubectl(*words)}"
    except Failed as e:
        return f"$ kubectl {' '.join(words)}\n{e}"
