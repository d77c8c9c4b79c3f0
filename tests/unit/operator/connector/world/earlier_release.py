"""What an earlier release left in a cluster."""

import json

from penstock_operator import names
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.kubernetes.kinds import CONFIG_MAP

from ...fake_api_answers import Object
from .cluster import KEY, Cluster

__all__ = ["leave_as_an_earlier_release"]


def leave_as_an_earlier_release(cluster: Cluster) -> None:
    """Take from plans the shape, and give pods another mark, as an earlier release wrote them."""
    hashes = _rewrite_plans(cluster)
    status = cluster.status
    plan = status.get("plan", {})
    if "hash" in plan:
        plan["hash"] = hashes.get(plan["hash"], "")
    plan.pop("own", None)
    status.pop("rollout", None)
    for task in status.get("tasks", ()):
        task["life"] = f"0123456789abcd{task['id']}"
    cluster.status = status
    for name, pod in cluster.pods.items():
        if isinstance(pod, TaskPod):
            mark = {names.LIFE_ANNOTATION: f"0123456789abcd{pod.task}"}

            def change(document: Object, mark: dict[str, str] = mark) -> None:
                document["metadata"]["annotations"].update(mark)

            cluster.edit_pod(name, change)


def _rewrite_plans(cluster: Cluster) -> dict[str, str]:
    """The hashes of plans after this, by those before."""
    server, hashes = cluster.server, dict[str, str]()
    for document in server.list(CONFIG_MAP, KEY.namespace):
        if names.label(document, names.ROLE_LABEL) != "plan":
            continue
        header = json.loads(document["data"]["plan.json"])
        asked = hashes[header["hash"]] = header.get("asked") or header["hash"]
        for name in ("shape", "restarted", "digests", "asked"):
            header.pop(name, None)
        document["data"]["plan.json"] = json.dumps({**header, "hash": asked})
        server.remove(CONFIG_MAP, KEY.namespace, document["metadata"]["name"])
        document["metadata"] |= {"name": names.plan_name(KEY.name, asked), "uid": None}
        if server.get(CONFIG_MAP, KEY.namespace, document["metadata"]["name"]) is None:
            server.add(document)
    return hashes
