"""ConfigMaps that somebody labels as plans of a Connector cost the operator no memory, and hold up nobody."""

import json

from .site import Site


def test_hundreds_of_configmaps_labelled_as_plans_neither_stop_their_connector_nor_are_all_read(site: Site) -> None:
    operator = site.operator().start()
    site.create("orders")
    site.settled("orders")
    (plan,) = (
        c for c in site.api.list("v1", "ConfigMap", site.namespace)
        if (c["metadata"].get("labels") or {}).get("penstock.dev/role") == "plan"
    )  # fmt: skip
    pods = set(site.kubelet.pods.objects)
    deep = '{"hash": ' + "[" * 100_000 + "]" * 100_000 + "}"
    for n in range(200):
        text = deep if n % 2 else json.dumps({"hash": "x" * 300_000})
        site.api.create({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"plan.json": text},
            "metadata": {"name": f"a-{n}", "namespace": site.namespace, "labels": plan["metadata"]["labels"]},
        })  # fmt: skip
    operator.stop()
    operator = site.operator().start().ready()
    site.change("orders", state="Paused")
    site.until("orders", lambda b: b["status"]["state"] == "Paused", "it is paused")
    assert set(site.kubelet.pods.objects) == pods, "its tasks go on, and it is not planned again"
    assert operator.logged("or more ConfigMaps carry the labels of its plans")
    site.check()
