"""Executors of tasks on a real API server: they come, go, and are collected with the pod of their task."""

import base64

import pytest

from penstock_operator import names

from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow

SPARK = {"executors": {"max": 2}}


def secrets(site: Site) -> dict[str, Json]:
    """Those that tasks share with their executors, by the uid of the pod that owns them."""
    found = site.api.list("v1", "Secret", site.namespace)
    ours = [s for s in found if names.label(s, names.ROLE_LABEL) == names.EXECUTOR]
    return {s["metadata"]["ownerReferences"][0]["uid"]: s for s in ours}


def executors(site: Site, count: int, begin: str = "") -> list[str]:
    """The names of the executors of `orders`, as soon as there are so many, all with this beginning."""
    key = site.key("orders")

    def there(_: dict[str, Json]) -> list[str] | None:
        found = site.kubelet.executors(key)
        return found or ["none"] if len(found) == count and all(n.startswith(begin) for n in found) else None

    found = site.kubelet.pods.until(there, f"{count} executors {begin}")
    assert found is not None
    return found


def wants(site: Site, number: int | None) -> None:
    site.kubelet.wants_executors(f"{site.namespace}.orders", number)


def says(site: Site, *words: str) -> str:
    """The condition `ExecutorsReady`, as soon as it has these words."""
    found = site.until("orders", lambda b: all(w in condition(b, "ExecutorsReady") for w in words), " ".join(words))
    return condition(found, "ExecutorsReady")


def test_executors_come_with_a_backlog_go_after_it_and_do_not_outlive_the_pod_of_their_task(site: Site) -> None:
    site.operator().start()
    site.create("orders", spark=SPARK)
    site.settled("orders")
    (pod,) = site.kubelet.alive(site.key("orders"))
    secret = secrets(site)[pod["metadata"]["uid"]]
    assert len(base64.b64decode(secret["data"]["secret"])) == 64
    assert site.kubelet.executors(site.key("orders")) == []

    wants(site, 2)
    first = executors(site, 2)
    assert first == ["orders-0-1-e0", "orders-0-1-e1"]
    says(site, "True Connected: 2 of 2")
    path = f"/api/v1/namespaces/{site.namespace}/pods/{first[0]}"
    site.api.call("DELETE", path, {"gracePeriodSeconds": 0})
    executors(site, 2)
    says(site, "True Connected: 2 of 2")

    site.kubelet.kill(f"{site.namespace}/orders-0-1")
    executors(site, 2, "orders-0-2-")
    site.until("orders", lambda b: b["status"]["tasks"][0]["losses"] == 1, "the task is replaced")
    site.settled("orders")
    (successor,) = site.kubelet.alive(site.key("orders"))
    assert list(secrets(site)) == [successor["metadata"]["uid"]]
    assert f"{site.namespace}/orders-0-1" in site.kubelet.pods.objects  # kept for its log

    wants(site, 0)
    executors(site, 0)
    says(site, "absent")

    wants(site, 2)
    executors(site, 2)
    site.delete("orders")
    site.gone("orders")
    site.connectors.until(lambda _: not secrets(site), "the Secrets are collected")
    site.check()


def test_executors_that_the_namespace_refuses_are_named_and_keep_nobody_from_working(site: Site) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": site.namespace},
        "spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]},
    }
    site.operator(task={"resources": {"limits": {"cpu": "1"}}}, job={"resources": {"limits": {"cpu": "1"}}}).start()
    site.api.create(limits)
    large = {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}
    site.create("orders", spark={"executors": {"min": 1, "max": 2, "resources": large}})
    wants(site, 1)
    site.settled("orders")
    message = says(site, "False ResourcesRefused: task 0: 0 of 1 executors are ready: pod orders-0-1-e0 is refused")
    assert "maximum cpu usage per Pod is 2" in message
    assert "change spec.spark.executors.resources" in message
    site.change("orders", state="Paused")
    site.settled("orders", "Paused")
    site.api.delete(limits)
    executors(site, 1)
    says(site, "True Connected: 1 of 1")
    site.check()
