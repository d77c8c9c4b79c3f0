"""Executors of tasks on a real API server: they come, go, and are collected with the pod of their task."""

import base64
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from penstock_operator import names

from ...bench.operator_figures import created, samples, settled_all
from .obstacles import count, obstacle, quota
from .world.processes import OperatorProcess
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
    assert f"{site.namespace}/orders-0-1" in site.kubelet.pods.objects, "kept for its log, and its Secret with it"
    assert set(secrets(site)) == {pod["metadata"]["uid"], successor["metadata"]["uid"]}

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


def pods_created(operator: OperatorProcess) -> int:
    """The requests for new pods, refused ones too."""
    found = (
        v for n, labels, v in samples(operator) if n == "penstock_operator_api_requests_total" and _creates(labels)
    )
    return int(sum(found))


def _creates(labels: Mapping[str, str]) -> bool:
    return (labels["verb"], labels["kind"]) == ("create", "Pod")


def executors_of_all(site: Site, least: int) -> Counter[str]:
    """How many executors each Connector has, as soon as there are so many in all."""

    def there(pods: dict[str, Json]) -> Counter[str] | None:
        of_executors = (p for p in pods.values() if names.label(p, names.ROLE_LABEL) == names.EXECUTOR)
        found = Counter(names.label(p, names.CONNECTOR_LABEL) or "" for p in of_executors)
        return found if found.total() >= least else None

    found = site.kubelet.pods.until(there, f"{least} executors")
    assert found is not None
    return found


def test_twenty_connectors_that_want_executors_at_once_cost_few_requests_and_keep_nobody_from_working(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(workers=8)
    operator = site.operator().start().ready()
    connectors = [f"c{n}" for n in range(20)]
    begun = created(site, connectors, spark={"executors": {"max": 4}})
    settled_all(site, operator, connectors, "Running", begun, 180)
    operator.stop()
    for name in connectors:
        site.kubelet.wants_executors(f"{site.namespace}.{name}", 4)
    with obstacle(site, quota(site, "pods", room=30), "pods"):
        operator.start().ready()
        site.change("c0", state="Paused")
        found = executors_of_all(site, 30)
        assert found.total() == 30
        site.settled("c0", "Paused")
        refused = [n for n in connectors if found[n] < 4]
        for name in refused:
            site.until(name, lambda b: "QuotaExceeded" in condition(b, "ExecutorsReady"), f"{name} says why")
        assert pods_created(operator) <= 30 + 4 * len(connectors)
        for name in connectors[1:]:
            site.settled(name)
    site.check()


def test_executors_of_one_connector_make_room_in_a_quota_for_the_task_of_another_one(site: Site) -> None:
    site.operator().start()
    site.create("orders", spark=SPARK)
    site.settled("orders")
    full = quota(site, "pods", room=2)
    with obstacle(site, full, "pods"):
        wants(site, 2)
        executors(site, 2)
        site.create("other")
        executors(site, 0)
        message = (
            "False QuotaExceeded: task 0: 0 of 2 executors are ready: executors make room in a ResourceQuota for pod"
        )
        says(site, message)
        count(site, {**full[0], "apiVersion": "v1", "kind": "ResourceQuota"})
        site.settled("other")
        assert condition(site.get("orders"), "Ready").startswith("True")
    executors(site, 2)
    site.check()
