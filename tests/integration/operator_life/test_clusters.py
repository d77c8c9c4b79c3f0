"""Releases of one name in two clusters, with one Kafka; clusters that were rebuilt; two releases of one namespace."""

import time
from collections.abc import Callable

import pytest

from penstock_model.contracts.task_reports import Claim, claim_key, report_key

from .world.chart import Chart
from .world.site import Site, condition

pytestmark = pytest.mark.slow

OTHER = "0f0f0f0f-other-cluster"
OLD = "2020-01-01T00:00:00Z"


def claim_of(
    site: Site,
    *,
    cluster: str,
    name: str = "far",
    created: str = OLD,
    uid: str = "uid-elsewhere",
    installation: str = "another-lease",
) -> Claim:
    """What a release of this one's name and namespace says that it owns, in another cluster."""
    return Claim(
        connector_uid=uid,
        namespace=site.namespace,
        name=name,
        created=created,
        operator=f"{site.namespace}/penstock",
        cluster=cluster,
        installation=installation,
    )


def stand(site: Site, name: str, claim: Claim) -> list[bytes]:
    """Have a Connector of elsewhere own a name, with a task that has told of itself."""
    records = site.kubelet.records
    records.make()
    records.write(claim_key(name), claim.to_value())
    records.write(report_key(name, 0), b"{}")
    records.until(lambda: records.claim(name) is not None and len(records.of(name)) == 2, "its records")
    return records.of(name)


def test_claims_carry_the_cluster(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    records, name = site.kubelet.records, f"{site.namespace}.orders"
    records.until(lambda: records.claim(name), "a claim")
    claim = records.claim(name)
    system = site.api.call("GET", "/api/v1/namespaces/kube-system")
    assert claim is not None
    assert claim.cluster == system["metadata"]["uid"]
    site.check()


def test_records_of_another_cluster_are_no_orphans(site: Site) -> None:
    there = stand(site, "theirs", claim_of(site, cluster=OTHER))
    operator = site.operator().start().ready()
    site.create("orders")
    site.settled("orders")
    gone = f"{site.namespace}.orders"
    site.kubelet.records.until(lambda: site.kubelet.records.claim(gone), "a claim")
    operator.kill()
    operator.ended()
    site.delete("orders")
    site.gone("orders")
    operator.start().ready()
    site.kubelet.records.until(lambda: not site.kubelet.records.of(gone), "its own orphans are forgotten")
    assert site.kubelet.records.of("theirs") == there
    site.check()


def test_a_name_of_another_cluster_is_refused_and_taken_over_by_its_name(
    site: Site, request: pytest.FixtureRequest
) -> None:
    name = f"{site.namespace}.orders"
    there = stand(site, name, claim_of(site, cluster=OTHER, name="orders"))
    stand(site, f"{site.namespace}.gone", claim_of(site, cluster=OTHER, name="gone"))
    first = site.operator().start()
    site.create("orders", deletion={"offsets": "Reset"})
    refused = site.until("orders", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused")
    told = condition(refused, "Stalled")
    assert f"Connector {site.namespace}/orders of operator {site.namespace}/penstock in cluster {OTHER}" in told
    assert f"if that cluster no longer exists, set clusterId of this release to {OTHER}" in told
    assert site.kubelet.records.of(name) == there
    assert site.kubelet.jobs == []
    assert first.stop() == 0

    chart = Chart(site, [site.namespace], clusterId=OTHER)  # as docs/installing.md says
    request.addfinalizer(chart.remove)
    chart.operator().start()
    site.change("orders", deletion={"offsets": "Keep"})
    body = site.settled("orders", seconds=150)
    records = site.kubelet.records
    records.until(
        lambda: (c := records.claim(name)) and c.connector_uid == body["metadata"]["uid"], "a claim of its own"
    )
    claim = records.claim(name)
    assert claim is not None
    assert claim.cluster == OTHER
    assert len(records.of(f"{site.namespace}.gone")) == 2  # of a Connector that was not created again: it does no harm
    site.check()


def test_of_two_releases_that_watch_one_namespace_one_leaves_it_to_the_other(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=3)
    shared, one, two = site.namespaces
    first = site.operator(watch=[shared], namespace=one, name="one", images={"runtime": "runtime:one"}).start().ready()
    for n in range(3):
        site.create(f"orders-{n}")
        site.settled(f"orders-{n}")
    pods = {n: [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(f"orders-{n}"))] for n in range(3)}
    jobs = list(site.kubelet.jobs)
    second = site.operator(watch=[shared], namespace=two, name="two", images={"runtime": "runtime:two"}).start().ready()
    second.until(lambda: second.logged(f"operator {one}.one runs this Connector"), "it says so")
    site.change("orders-0", state="Paused")
    site.settled("orders-0", "Paused")
    assert {n: [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(f"orders-{n}"))] for n in pods} == pods
    assert site.kubelet.jobs == jobs
    events = site.api.list("events.k8s.io/v1", "Event", shared)
    assert [e for e in events if e["reason"] == "OtherOperator"]
    assert not [e for e in events if e["reason"] == "TaskLost"]

    assert first.stop() == 0  # handed over, as the message says
    for kind, path in (("pods", "v1"), ("configmaps", "v1")):
        selector = f"labelSelector=penstock.dev/operator%3D{one}.one"
        site.api.call("DELETE", f"/api/{path}/namespaces/{shared}/{kind}?{selector}")
    second.stop()
    second.start()
    site.until(
        "orders-1",
        lambda b: any(
            p["metadata"]["labels"]["penstock.dev/operator"] == f"{two}.two"
            for p in site.kubelet.alive(site.key("orders-1"))
        ),
        "taken over",
    )
    site.settled("orders-1")


def test_two_releases_that_begin_together_in_one_namespace_come_to_one(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=3)
    shared, one, two = site.namespaces
    for space, name in ((one, "one"), (two, "two")):
        site.operator(watch=[shared], namespace=space, name=name, images={"runtime": f"runtime:{name}"}).start().ready()
    for n in range(6):
        site.create(f"orders-{n}")
    for n in range(6):
        site.settled(f"orders-{n}")

    def runners() -> list[set[str]]:
        return [
            {p["metadata"]["labels"]["penstock.dev/operator"] for p in site.kubelet.alive(site.key(f"orders-{n}"))}
            for n in range(6)
        ]

    site.kubelet.pods.until(lambda _: all(len(r) == 1 for r in runners()), "one operator for each")


def test_a_name_of_a_release_that_was_uninstalled_is_taken_over_once_its_connector_is_gone(
    make_site: Callable[..., Site],
) -> None:
    site = make_site(spaces=2)
    own, elsewhere = site.namespaces
    far = site.create("far", namespace=elsewhere)  # which no operator watches any more
    cluster = site.api.call("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
    claim = claim_of(site, cluster=cluster, uid=far["metadata"]["uid"])
    claim = claim.model_copy(update={"namespace": elsewhere, "operator": f"{elsewhere}/gone"})
    stand(site, "moved", claim)
    site.operator(watch=[own]).start()
    site.create("orders", connectName="moved")
    refused = site.until("orders", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused")
    assert f"belongs to Connector {elsewhere}/far of operator {elsewhere}/gone" in condition(refused, "Stalled")
    assert site.kubelet.jobs == []
    site.delete("far", namespace=elsewhere)
    site.until("orders", lambda b: "that Connector was deleted" in condition(b, "Stalled"), "it says so")
    assert site.kubelet.jobs == []
    body = site.settled("orders", seconds=150)
    records = site.kubelet.records
    records.until(lambda: (c := records.claim("moved")) and c.connector_uid == body["metadata"]["uid"], "its own claim")
    site.check()


NEW = "2099-01-01T00:00:00Z"


def twins(site: Site, name: str, created: str) -> list[tuple[str, Claim]]:
    """What a release says in a cluster that goes by this one's name: its values were copied. Of a Connector, and another."""
    cluster = site.api.call("GET", "/api/v1/namespaces/kube-system")["metadata"]["uid"]
    found = []
    for of in (name, "lonely"):
        claim = claim_of(site, cluster=cluster, name=of, created=created)
        found.append((f"{site.namespace}.{of}", claim))
        stand(site, *found[-1])
    return found


@pytest.mark.parametrize("created", [OLD, NEW])
def test_a_name_of_a_cluster_that_lives_and_is_called_the_same_is_refused(site: Site, created: str) -> None:
    (name, claim), (lonely, _) = twins(site, "orders", created)
    records = site.kubelet.records
    operator = site.operator().start()
    site.create("orders", deletion={"offsets": "Reset"})
    records.until(lambda: claim_key(name) in records.tombstones, "it is asked whether it lives")
    records.write(claim_key(name), claim.to_value())  # as an operator does that finds its claim gone
    refused = site.until("orders", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "refused")
    told = condition(refused, "Stalled")
    assert f"in another cluster with clusterId {claim.cluster}" in told
    assert "two running clusters must not have the same clusterId" in told
    begun = time.monotonic()
    operator.until(lambda: time.monotonic() - begun > 75, "the time after which nobody would have answered", 120)
    assert records.claim(name) == claim
    assert records.tombstones.count(claim_key(name)) == 1
    assert site.kubelet.jobs == []
    operator.kill()  # and the next one asks again, and takes nothing
    operator.ended()
    operator.start()
    records.until(lambda: records.tombstones.count(claim_key(name)) == 2, "it is asked again")
    records.write(claim_key(name), claim.to_value())
    site.delete("orders")
    site.gone("orders")
    records.until(lambda: records.claim(name) == claim, "its claim")
    assert len(records.of(name)) == len(records.of(lonely)) == 2
    assert site.kubelet.jobs == []
    site.check()


def test_a_name_of_a_cluster_that_was_rebuilt_under_its_name_is_taken_over(site: Site) -> None:
    (name, _), (lonely, _) = twins(site, "orders", OLD)
    site.operator().start()
    site.create("orders")
    site.until("orders", lambda b: condition(b, "Stalled").startswith("True NameConflict"), "it asks first")
    body = site.settled("orders", seconds=150)
    records = site.kubelet.records
    records.until(
        lambda: (c := records.claim(name)) and c.connector_uid == body["metadata"]["uid"], "a claim of its own"
    )
    assert len(records.of(lonely)) == 2
    site.check()


def test_an_operator_that_is_asked_by_a_cluster_of_its_name_keeps_its_names(site: Site) -> None:
    site.operator().start()
    for name in ("orders", "stopped"):
        site.create(name)
        site.settled(name)
    site.change("stopped", state="Stopped")
    site.settled("stopped", "Stopped")
    records, jobs = site.kubelet.records, len(site.kubelet.jobs)
    for name in ("orders", "stopped"):
        key = claim_key(f"{site.namespace}.{name}")
        records.until(lambda k=key: k in records.latest, "its claim")  # type: ignore[misc]
        before = records.latest[key]
        records.write(key, None)
        records.until(lambda k=key: k in records.tombstones and k in records.latest, "it answers")  # type: ignore[misc]
        assert records.latest[key] == before
    twins(site, "orders", NEW)
    own = site.get("orders")["metadata"]["uid"]
    site.annotate("orders", look="now")
    site.change("orders", config={"file": "/data/b"})
    records.until(lambda: (c := records.claim(f"{site.namespace}.orders")) and c.connector_uid == own, "its own again")
    site.settled("orders")
    assert len(site.kubelet.jobs) > jobs
