"""Faults of a task's process and pod."""

from typing import Any, Final

from ...faulty_plugin import breaks, faulty_source
from ...place import Connector
from ..fault import Fault, Says, Scene, Steps, copies, orders, orders_of

__all__ = ["FAULTS"]


def _resources(**limits: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": limits}}


def _given(**template: Any) -> Steps:
    """Give the pods another template."""
    return lambda scene: scene.connector.apply(template={**scene.connector.spec["template"], **template})


def _container_dies(scene: Scene) -> None:
    (pod,) = scene.connector.pods().values()
    scene.world.cluster.kill_pod(pod["metadata"]["uid"])


def _pod_is_deleted(scene: Scene) -> None:
    scene.connector.kubectl("delete", "pod", scene.connector.pod(), "--wait=false")


def _hungry(scene: Scene) -> Connector:
    found = faulty_source(scene.place, "read", "grows", at_once=True)
    found.spec["template"] |= _resources(memory="300Mi")
    return found


def _exits(scene: Scene) -> Connector:
    return faulty_source(scene.place, "read", "exits")


def _small_volume(scene: Scene) -> Connector:
    found = orders()(scene)
    volume = {"name": "work", "emptyDir": {"sizeLimit": "1Mi"}}
    found.spec["template"] |= {"volumes": [volume], "volumeMounts": [{"name": "work", "mountPath": "/scratch"}]}
    return found


def _volume_overflows(scene: Scene) -> None:
    pod = scene.connector.pod()
    scene.connector.kubectl("exec", pod, "--", "sh", "-c", "head -c 8000000 /dev/zero > /scratch/large")


FAULTS: Final = (
    Fault(
        "a task's process is frozen",
        "the process of a task makes no progress: a stalled node, or a library that holds Python's global lock",
        Says("Hindered", ("is not ready: it does not respond",)),
        "nothing: the kubelet ends it after three minutes, and it is replaced; check the node",
        orders(),
        lambda scene: scene.connector.freeze(),
        recovery=330,
        watched=30,
    ),
    Fault(
        "a task's process is killed",
        "kill -9 of the process",
        Says("TasksLost|Starting|Restarting|Preparing", ("signal 9",)),
        "nothing: it is replaced; if it is killed again, find out what uses up the node's memory",
        orders(),
        lambda scene: scene.connector.kill(),
        is_quick=True,
    ),
    Fault(
        "a task's container dies",
        "all processes of the container are killed, as when a container runtime restarts",
        Says("TasksLost|Starting|Restarting|Preparing", ("137|signal 9",)),
        "nothing: it is replaced",
        orders(),
        _container_dies,
    ),
    Fault(
        "a task's pod is deleted",
        "kubectl delete pod",
        Says("TasksLost|Starting|Restarting|Preparing", ("was deleted",)),
        "nothing: it is replaced",
        orders(),
        _pod_is_deleted,
        is_quick=True,
    ),
    Fault(
        "a task exceeds its memory",
        "the kernel kills a task at its memory limit, repeatedly",
        Says("Starting|TasksLost", ("OOMKilled", "spec.template.resources.limits.memory")),
        "raise `spec.template.resources.limits.memory`",
        _hungry,
        remove=lambda scene: scene.connector.configure(how=""),
        needs_user=True,
        watched=60,
    ),
    Fault(
        "a plugin ends the process",
        "a library calls exit",
        Says("TasksFailed", ("exited with code 3",)),
        "correct the plugin",
        _exits,
        lambda scene: breaks(scene.connector),
    ),
    Fault(
        "a CPU limit makes a start take minutes",
        "`spec.template.resources.limits.cpu: 10m`",
        Says("Starting|Planning|Preparing|Hindered|PodNotStarting", ("limits.cpu",)),
        "raise `spec.template.resources.limits.cpu`, or omit it",
        orders_of(template=_resources(cpu="10m", memory="1Gi")),
        remove=_given(**_resources(memory="1Gi")),
        needs_user=True,
        bears=30,
    ),
    Fault(
        "a memory limit is too small to start",
        "`spec.template.resources.limits.memory: 40Mi`",
        Says("TasksLost", ("spec.template.resources.limits.memory",)),
        "raise `spec.template.resources.limits.memory`",
        orders_of(template={"resources": {"requests": {"memory": "16Mi"}, "limits": {"memory": "40Mi"}}}),
        remove=_given(**_resources(memory="1Gi")),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "a pod is evicted for the size of a volume",
        "a task writes more to an `emptyDir` than its `sizeLimit`",
        Says("TasksLost|Starting|Restarting|Preparing", ("Evicted|evicted", "work")),
        "nothing if it happens once; otherwise raise the limit",
        _small_volume,
        _volume_overflows,
        bears=120,
    ),
    Fault(
        "a sink's file cannot be written",
        "the path of a FileStreamSink is on the container's read-only root",
        Says("TasksFailed", ("/etc/out.txt",)),
        "use a path that the pod may write to",
        copies(file="/etc/out.txt"),
        remove=lambda scene: scene.connector.configure(file="/tmp/out.txt"),
        needs_user=True,
        watched=60,
    ),
)
