"""A plan, or a request, that an earlier Connector of the same name left behind is neither run nor kept."""

import pytest

from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow


def left(site: Site, role: str) -> list[Json]:
    """ConfigMaps of the operator for that."""
    found = site.api.list("v1", "ConfigMap", site.namespace)
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", **c}
        for c in found
        if (c["metadata"].get("labels") or {}).get("penstock.dev/role") == role
    ]


def owned(site: Site, body: Json) -> None:
    """Every plan is of this Connector, goes with it, and is where its pods read it."""
    plans = left(site, "plan")
    assert {p["metadata"]["labels"]["penstock.dev/connector-uid"] for p in plans} == {body["metadata"]["uid"]}
    assert {o["uid"] for p in plans for o in p["metadata"]["ownerReferences"]} == {body["metadata"]["uid"]}
    pods = site.kubelet.alive(site.key(body["metadata"]["name"]))
    mounted = {v["configMap"]["name"] for p in pods for v in p["spec"]["volumes"] if "configMap" in v}
    assert mounted <= {p["metadata"]["name"] for p in plans}
    assert mounted


def test_a_plan_that_was_left_behind_by_a_deletion_without_dependents_is_replaced(site: Site) -> None:
    site.operator().start()
    site.create("orders", tasksMax=2)
    old = site.settled("orders")
    path = f"/apis/penstock.dev/v1alpha1/namespaces/{site.namespace}/connectors/orders"
    site.api.call("DELETE", path, {"propagationPolicy": "Orphan"})
    site.connectors.until(lambda all_: site.key("orders") not in all_, "it is gone")
    (orphan,) = left(site, "plan")
    assert not orphan["metadata"].get("ownerReferences")
    new = site.create("orders", tasksMax=2)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    for pod in site.kubelet.alive(site.key("orders")):  # which it waits for
        if pod["metadata"]["labels"]["penstock.dev/connector-uid"] == old["metadata"]["uid"]:
            site.kubelet.vanish(f"{site.namespace}/{pod['metadata']['name']}")
    body = site.settled("orders", seconds=120)
    owned(site, body)
    assert left(site, "plan")[0]["metadata"]["name"] == orphan["metadata"]["name"]
    site.check()


@pytest.mark.parametrize("role", ["plan", "job"])
def test_what_a_backup_brought_back_or_a_neighbour_wrote_is_replaced(site: Site, role: str) -> None:
    """Under the very name that will be asked for, with another owner, and with something else in it."""
    operator = site.operator().start()
    kept: list[Json] = []
    if role == "job":
        site.kubelet.hold(lambda pod: pod["metadata"]["labels"]["penstock.dev/role"] == "job")
    site.create("orders")
    if role == "job":
        site.kubelet.pods.until(lambda pods: bool(pods), "a job pod")
        kept = left(site, "job")
        operator.freeze()
        site.delete("orders")
        site.kubelet.let_go()
        site.gone("orders")
    else:
        site.settled("orders")
        kept = left(site, "plan")
        site.delete("orders")
        site.gone("orders")
        operator.until(lambda: not left(site, "plan"), "its plan is collected")
        operator.freeze()
    new = site.create("orders")
    for body in kept:
        name = next(iter(body["data"]))
        meta = {k: body["metadata"][k] for k in ("name", "namespace", "labels")}
        meta["labels"] = {**meta["labels"], "penstock.dev/connector-uid": new["metadata"]["uid"]}
        site.api.create({**body, "metadata": meta, "data": {**body["data"], name: "{}"}})
    assert kept
    operator.thaw()
    body = site.settled("orders", seconds=120)
    owned(site, body)
    site.check()


def test_a_plan_whose_name_is_held_by_what_does_not_go_says_so(site: Site) -> None:
    operator = site.operator().start()
    site.create("orders")
    site.settled("orders")
    (plan,) = left(site, "plan")
    site.delete("orders")
    site.gone("orders")
    operator.until(lambda: not left(site, "plan"), "its plan is collected")
    meta = {**{k: plan["metadata"][k] for k in ("name", "namespace", "labels")}, "finalizers": ["example.com/backup"]}
    held = site.api.create({**plan, "metadata": meta})
    site.create("orders")
    site.until("orders", lambda b: condition(b, "Ready").startswith("False Conflict"), "it is told", 60)
    assert "finalizers" in condition(site.get("orders"), "Ready")
    site.api.merge({**plan, "metadata": held["metadata"]}, {"metadata": {"finalizers": []}})
    site.settled("orders", seconds=120)
    site.check()
