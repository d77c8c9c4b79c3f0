"""Whatever the API server refuses, or does not answer, stands in the Connector's status within seconds, and goes with its
cause. Whoever has kubectl, and not the operator's log, sees why nothing moves; tasks that run go on.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_operator.names import TASK_LABEL

from ..operator.faults import fail
from .obstacles import obstacle, policy, quota, webhook
from .world.chart import Chart
from .world.proxy import Proxy
from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow

WITHIN = 30.0
"""Seconds in which a cause is told; it takes four on a machine that has nothing else to do."""
AFTER = 120.0
"""Seconds in which it is gone: tries are a minute apart by and by."""


def alive(site: Site, name: str = "orders") -> list[str]:
    return [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(name))]


def running(site: Site, proxy: Proxy) -> list[str]:
    """A connector that runs; the uids of its pods."""
    site.operator(proxy.kubeconfig).start()
    site.create("orders", tasksMax=2)
    site.settled("orders")
    return alive(site)


def told(site: Site, *words: str, name: str = "orders") -> Json:
    """The connector, as soon as its status has these words."""
    return site.until(
        name, lambda b: all(w in condition(b, "Ready") for w in words), f"told: {' '.join(words)}", WITHIN
    )


def stays(site: Site, proxy: Proxy, *, tries: Callable[[], int], name: str = "orders") -> None:
    """It is tried again three times more, and the status is not written again."""
    before, seen = tries(), site.get(name)
    proxy.closing.wait(1.0)  # nobody tells of what does not happen
    deadline = 60
    while tries() < before + 3 and deadline:
        proxy.closing.wait(1.0)
        deadline -= 1
    assert tries() >= before + 3
    assert site.get(name)["status"] == seen["status"]
    assert site.get(name)["metadata"]["resourceVersion"] == seen["metadata"]["resourceVersion"]


def refusals(proxy: Proxy, method: str, *ends: str) -> Callable[[], int]:
    """How many requests were refused so far."""
    return lambda: sum(
        a.method == method and a.code >= 400 and any(e in a.path for e in ends) for a in list(proxy.asked)
    )


@pytest.mark.parametrize(
    ("make", "resource", "words"),
    [
        pytest.param(
            lambda s: quota(s, "configmaps", room=1),
            "configmaps",
            ("False QuotaExceeded", "ResourceQuota"),
            id="quota-when-a-plan-is-kept",
        ),
        pytest.param(
            lambda s: quota(s, "configmaps"),
            "configmaps",
            ("False QuotaExceeded", "count/configmaps"),
            id="quota-when-something-is-asked",
        ),
        pytest.param(
            lambda s: policy(s, "configmaps"),
            "configmaps",
            ("False AdmissionDenied", "not on Fridays"),
            id="policy-at-configmaps",
        ),
        pytest.param(
            lambda s: webhook(s, "configmaps"),
            "configmaps",
            ("False AdmissionUnavailable", "refused"),
            id="webhook-that-is-away-at-configmaps",
        ),
        pytest.param(
            lambda s: policy(s, "pods"), "pods", ("False AdmissionDenied", "not on Fridays"), id="policy-at-pods"
        ),
        pytest.param(
            lambda s: webhook(s, "pods"),
            "pods",
            ("False AdmissionUnavailable", "refused"),
            id="webhook-that-is-away-at-pods",
        ),
    ],
)
def test_an_edit_that_the_cluster_lets_nothing_come_of_says_why_and_ends_no_task(
    site: Site, proxy: Proxy, make: Callable[[Site], list[Json]], resource: str, words: tuple[str, ...]
) -> None:
    before = running(site, proxy)
    with obstacle(site, make(site), resource):
        site.change("orders", config={"file": "/data/b"})
        body = told(site, *words)
        assert condition(body, "Reconciling").startswith("True")
        assert condition(body, "Stalled") == "False NotStalled: "
        assert body["status"]["state"] == "Running"
        assert alive(site) == before
    body = site.settled("orders", seconds=AFTER)
    assert condition(body, "Reconciling") == "False NotReconciling: "
    assert len(alive(site)) == 2
    assert not set(alive(site)) & set(before)
    site.check()


@pytest.mark.parametrize("make", [policy, webhook])
def test_a_status_that_may_not_be_written_is_reported_by_an_event(
    site: Site, proxy: Proxy, make: Callable[[Site, str], list[Json]]
) -> None:
    before = running(site, proxy)
    with obstacle(site, make(site, "connectors/status"), "connectors/status"):
        site.change("orders", config={"file": "/data/b"})

        def event() -> bool:
            found = site.api.list("events.k8s.io/v1", "Event", site.namespace)
            return any(
                e["reason"].startswith("Admission") and "Writing the status of Connector" in e["note"] for e in found
            )

        site.operators[0].until(event, "an Event", WITHIN)
        assert alive(site) == before
    site.settled("orders", seconds=AFTER)
    assert not set(alive(site)) & set(before)
    site.check()


def without(site: Site, chart: Chart, resource: str, verb: str) -> tuple[Json, Json]:
    """The chart's Role, and the same without a right."""
    role = next(d for d in chart.documents if d["kind"] == "Role" and any("pods" in r["resources"] for r in d["rules"]))
    rules = [
        {**r, "verbs": [v for v in r["verbs"] if v != verb]} if resource in r["resources"] else r for r in role["rules"]
    ]
    return role, {**role, "rules": rules}


def test_a_right_to_read_secrets_that_is_revoked_is_reported_and_ends_no_task(site: Site, tmp_path: Path) -> None:
    chart = Chart(site, [site.namespace])
    role, less = without(site, chart, "secrets", "get")
    meta = {"name": "db", "namespace": site.namespace}
    site.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"pw": "hunter2"}})
    with Proxy(chart.kubeconfig(), tmp_path) as proxy:
        site.operator(proxy.kubeconfig).start()
        config = {"file": "/data/a", "topic": "orders", "password": "${secret:db:pw}"}
        site.create("orders", tasksMax=2, config=config)
        site.settled("orders")
        before = alive(site)
        site.api.apply(less)
        site.change("orders", config={"file": "/data/b"})
        body = told(site, "Unknown Forbidden", "Reading Secret", 'cannot get resource "secrets"', "Role")
        assert body["status"]["observedGeneration"] == 1  # nothing was decided for the second
        ready = next(c for c in body["status"]["conditions"] if c["type"] == "Ready")
        assert ready["observedGeneration"] == 2
        stays(site, proxy, tries=refusals(proxy, "GET", "/secrets/db"))
        site.create("others", config=config)  # of which nothing was ever decided
        other = told(site, "Unknown Forbidden", "Reading Secret", name="others")
        assert other["status"]["state"] == "Pending"
        assert alive(site) == before
        site.operators[0].kill()
        site.operators[0].ended()
        site.operators[0].start().ready()
        stays(site, proxy, tries=refusals(proxy, "GET", "/secrets/db"))
        site.api.apply(role)
        for name in ("orders", "others"):
            site.settled(name, seconds=AFTER)
        assert "hunter2" not in "".join(str(site.get(n)["status"]) for n in ("orders", "others"))
    site.check()


def test_a_connector_that_is_made_while_the_api_server_fails_at_its_pods_says_so(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start().ready()
    fault = fail(500, message="etcdserver: request timed out")
    rule = proxy.spoil(fault, method="GET", path=r"/pods\?(?!.*watch=)", times=None)
    site.create("orders")
    told(site, "Unknown ApiServerUnavailable", "Listing pods", "etcdserver")
    rule.times = 0
    site.settled("orders", seconds=AFTER)
    site.check()


def test_pods_of_tasks_that_are_refused_are_tried_more_and_more_seldom_and_immediately_after_an_edit(
    site: Site, proxy: Proxy
) -> None:
    running(site, proxy)
    with obstacle(site, policy(site, "pods"), "pods"):
        site.kubelet.vanish(f"{site.namespace}/orders-0-1")
        told(site, "Admission")
        tries = refusals(proxy, "POST", "/pods")
        stays(site, proxy, tries=tries)
        before = tries()
        site.change("orders", template={"labels": {"team": "a"}})
        operator = site.operators[0]
        operator.until(lambda: tries() > before, "tried at once", WITHIN)
    site.settled("orders", seconds=AFTER)
    site.check()


def test_one_task_whose_pod_is_not_accepted_keeps_no_other_from_being_replaced_and_paused(
    site: Site, proxy: Proxy
) -> None:
    site.operator(proxy.kubeconfig).start()
    site.create("orders", tasksMax=3)
    site.settled("orders")
    first = {TASK_LABEL: "0"}
    with obstacle(site, policy(site, "pods", first), "pods", first):
        for number in range(3):
            site.kubelet.vanish(f"{site.namespace}/orders-{number}-1")
        anew = [("Pending", 2), ("Running", 2), ("Running", 2)]
        site.until("orders", lambda b: lives(b) == anew, "the others run", WITHIN)
        told(site, "Admission")
        site.change("orders", state="Paused")
        paused = [("Pending", 2), ("Paused", 2), ("Paused", 2)]
        site.until("orders", lambda b: lives(b) == paused, "the others are paused", AFTER)
    site.settled("orders", "Paused", seconds=AFTER)
    site.check()


def lives(body: Json) -> list[tuple[str, int]]:
    return [(t["state"], t["incarnation"]) for t in (body.get("status") or {}).get("tasks", ())]


def test_a_pod_that_goes_makes_room_for_one_that_a_quota_refused(site: Site, proxy: Proxy) -> None:
    """Whoever has it: nobody waits for minutes, and the one that was restarted keeps its place."""
    running(site, proxy)
    site.create("others")
    site.settled("others")
    (full,) = quota(site, "pods")
    with obstacle(site, [full], "pods"):
        site.kubelet.vanish(f"{site.namespace}/others-0-1")
        told(site, "False QuotaExceeded", "ResourceQuota", name="others")
        tries = refusals(proxy, "POST", "/pods")
        stays(site, proxy, tries=tries, name="others")
        site.change("orders", tasksMax=1)  # its job pod has no room either, but stopping needs none
        site.change("orders", state="Stopped")
        count = {"status": {"used": {"count/pods": "1"}}}  # as the quota controller does
        site.kubelet.pods.until(lambda pods: not any("/orders-" in k for k in pods), "its pods are gone")
        site.api.merge({**full, "metadata": full["metadata"]}, count, part="status")
        site.settled("others", seconds=AFTER)
    site.check()


def test_a_connector_that_is_recreated_under_its_name_inherits_no_refusal(site: Site) -> None:
    operator = site.operator().start().ready()
    with obstacle(site, policy(site, "pods"), "pods"):
        site.create("orders")
        old = told(site, "AdmissionDenied")
        operator.freeze()
        site.delete("orders")
        site.gone("orders")
    new = site.create("orders")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    said: list[str] = []

    def settled(body: Json) -> bool:
        said.append(condition(body, "Ready"))
        return said[-1].startswith("True Running")

    operator.thaw()
    site.until("orders", settled, "settled", AFTER)
    assert not [s for s in said if "AdmissionDenied" in s]
    site.check()
