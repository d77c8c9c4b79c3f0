"""ConfigMaps that somebody labels as plans of a Connector cost no memory, hold up nobody, and give a pod nothing."""

import json

import pytest

from .world.site import Site

pytestmark = pytest.mark.slow


def test_hundreds_of_configmaps_labelled_as_plans_neither_stop_their_connector_nor_are_all_read(site: Site) -> None:
    operator = site.operator().start()
    site.create("orders")
    site.settled("orders")
    (plan,) = (
        c
        for c in site.api.list("v1", "ConfigMap", site.namespace)
        if (c["metadata"].get("labels") or {}).get("penstock.dev/role") == "plan"
    )
    pods = set(site.kubelet.pods.objects)
    deep = '{"hash": ' + "[" * 100_000 + "]" * 100_000 + "}"
    for n in range(200):
        text = deep if n % 2 else json.dumps({"hash": "x" * 300_000})
        site.api.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "data": {"plan.json": text},
                "metadata": {"name": f"a-{n}", "namespace": site.namespace, "labels": plan["metadata"]["labels"]},
            }
        )
    operator.stop()
    operator = site.operator().start().ready()
    site.change("orders", state="Paused")
    site.until("orders", lambda b: b["status"]["state"] == "Paused", "it is paused")
    assert set(site.kubelet.pods.objects) == pods, "its tasks go on, and it is not planned again"
    assert operator.logged("or more ConfigMaps have the labels of its plans")
    site.check()


def test_a_plan_that_somebody_made_up_gives_a_task_no_image_and_no_rights(site: Site) -> None:
    operator = site.operator().start()
    site.create("orders")
    site.settled("orders")
    operator.kill()
    operator.ended()
    (plan,) = (c for c in site.api.list("v1", "ConfigMap", site.namespace) if "plan.json" in (c.get("data") or {}))
    about = json.loads(plan["data"]["plan.json"])
    about["shape"] |= {"image": "miner", "podSecurityContext": {}, "securityContext": {"privileged": True}}
    kept = {k: v for k, v in plan["metadata"].items() if k in ("name", "namespace", "labels", "ownerReferences")}
    site.api.delete({"apiVersion": "v1", "kind": "ConfigMap", **plan})
    data = {**plan["data"], "plan.json": json.dumps(about)}
    site.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "data": data})
    site.kubelet.vanish(f"{site.namespace}/orders-0-1")
    operator.start()
    site.kubelet.pods.until(lambda all_: f"{site.namespace}/orders-0-2" in all_, "the lost task comes back")
    container = site.kubelet.pods.objects[f"{site.namespace}/orders-0-2"]["spec"]["containers"][0]
    assert container["image"] == "penstock-runtime:test"
    assert "privileged" not in container["securityContext"]
    site.settled("orders")
    (now,) = (c for c in site.api.list("v1", "ConfigMap", site.namespace) if "plan.json" in (c.get("data") or {}))
    assert "miner" not in now["data"]["plan.json"]
    site.check()
