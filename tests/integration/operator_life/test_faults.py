"""Whatever the API server does, the operator comes to the same end: no pod lost or doubled, no fault in its log."""

import time
from typing import Any, Final

import pytest

from ..operator.faults import Fault, cut, drop, expire, fail, slow
from .world.proxy import Proxy
from .world.site import Site, condition

pytestmark = pytest.mark.slow


def live(site: Site, name: str = "orders") -> list[str]:
    """The uids of its task pods."""
    return [p["metadata"]["uid"] for p in site.kubelet.alive(site.key(name))]


def whole_life(site: Site, name: str = "orders") -> None:
    """Begin, change, rest, begin, be deleted."""
    site.create(name, tasksMax=2, deletion={"offsets": "Reset"})
    site.settled(name, seconds=120)
    site.change(name, config={"file": "/data/b"})
    site.settled(name, seconds=120)
    site.change(name, state="Stopped")
    site.settled(name, "Stopped", seconds=120)
    site.change(name, state="Running")
    site.settled(name, seconds=120)
    assert len(live(site, name)) == 2
    site.delete(name)
    site.gone(name, seconds=120)


@pytest.mark.parametrize(
    ("fault", "method", "path"),
    [
        pytest.param(fail(409, reason="Conflict"), "PATCH", "/status", id="conflict-on-status"),
        pytest.param(fail(409, reason="Conflict"), "PATCH", r"/connectors/[^/]+\?", id="conflict-on-the-finalizer"),
        pytest.param(fail(429, retry_after=1), "POST", "/pods", id="patience-when-a-pod-is-made"),
        pytest.param(fail(429, retry_after=1), "PATCH", "/status", id="patience-on-status"),
        pytest.param(fail(500), "POST", "/configmaps", id="500-when-a-plan-is-kept"),
        pytest.param(fail(503), "GET", "/log", id="503-in-place-of-a-log"),
        pytest.param(fail(500), "DELETE", "/pods", id="500-when-a-pod-is-deleted"),
        pytest.param(drop(), "POST", "", id="reset-before-a-create"),
        pytest.param(cut(), "POST", "", id="reset-after-a-create"),
        pytest.param(cut(), "PATCH", "/status", id="reset-after-a-status"),
        pytest.param(cut(), "DELETE", "/pods", id="reset-after-a-delete"),
        pytest.param(drop(), "GET", "/pods", id="reset-while-pods-are-listed"),
    ],
)
def test_a_life_continues_through(site: Site, proxy: Proxy, fault: Fault, method: str, path: str) -> None:
    rule = proxy.spoil(fault, method=method, path=path, times=3)
    site.operator(proxy.kubeconfig).start()
    whole_life(site)
    assert rule.hits >= 2
    site.check()


def missing(kind: str, name: str) -> Fault:
    """The API server's answer where that is not there."""
    details = {"name": name, "kind": kind}
    return fail(404, reason="NotFound", message=f'{kind} "{name}" not found', details=details)


@pytest.mark.parametrize("kind", ["namespaces", "connectors"])
def test_a_connector_that_cannot_be_written_is_tried_more_and_more_seldom(site: Site, proxy: Proxy, kind: str) -> None:
    """Its namespace may be gone, and it stayed behind."""
    rule = proxy.spoil(missing(kind, "orders"), method="PATCH", path="/status", times=None)
    site.operator(proxy.kubeconfig).start()
    site.create("orders")
    proxy.wait_for(lambda a: a.code == 404 and "/status" in a.path, count=4)
    before = rule.hits
    proxy.closing.wait(10)  # nobody tells of what does not happen
    assert rule.hits - before < 30
    rule.times = 0
    site.settled("orders", seconds=120)


def test_a_pod_that_was_deleted_while_the_watch_had_a_gap_is_replaced(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start()
    site.create("orders", tasksMax=2)
    site.settled("orders")
    before = live(site)
    rule = proxy.spoil(fail(503), method="GET", path="watch=", times=None)
    proxy.hang_up()
    proxy.wait_for(lambda a: "watch" in a.query and a.code == 503)
    pod = site.kubelet.alive(site.key("orders"))[0]["metadata"]["name"]
    site.kubelet.vanish(f"{site.namespace}/{pod}")
    site.server.cluster("compact")  # what was, is forgotten: the watch gets 410 Gone
    rule.times = 0
    site.until("orders", lambda b: b["status"]["tasks"][0]["incarnation"] == 2, "another life", 120)
    site.settled("orders")
    assert live(site)[1] == before[1]
    site.check()


def test_a_connector_that_was_deleted_while_the_watch_had_a_gap_is_forgotten(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start()
    for name in ("orders", "others"):
        site.create(name)
        site.settled(name)
    rule = proxy.spoil(fail(503), method="GET", path=r"/connectors\?.*watch=", times=None)
    proxy.hang_up()
    proxy.wait_for(lambda a: "watch" in a.query and a.code == 503)
    site.delete("orders")
    site.gone("orders")
    site.server.cluster("compact")
    rule.times = 0
    site.kubelet.records.until(
        lambda: not site.kubelet.records.of(f"{site.namespace}.orders"), "its records are forgotten", 120
    )
    assert site.kubelet.records.of(f"{site.namespace}.others")
    site.check()


def test_a_watch_that_has_expired_is_started_again(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start().ready()
    rule = proxy.spoil(expire(), method="GET", path="watch=", times=5)
    proxy.hang_up()
    whole_life(site)
    assert rule.hits == 5
    site.check()


def test_a_watch_that_falls_silent_is_noticed(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start().ready()
    rule = proxy.spoil(slow(300), method="GET", path=r"/connectors\?.*watch=", times=1)
    proxy.hang_up()
    proxy.wait_for(lambda a: a.path.endswith("/connectors"), count=2)
    site.create("orders")
    site.settled("orders", seconds=180)  # a stream is dropped after 70 s of silence
    assert rule.hits == 1
    site.check()


def test_the_api_server_is_killed_and_comes_back(site: Site) -> None:
    site.operator().start()
    site.create("orders", tasksMax=2)
    site.settled("orders")
    before = live(site)
    site.server.cluster("restart", "--kill", "kube-apiserver")
    site.create("others")
    site.settled("others", seconds=120)
    site.change("orders", config={"file": "/data/b"})
    site.settled("orders", seconds=120)
    assert len(live(site)) == 2
    assert not set(live(site)) & set(before)
    site.check()


def test_the_api_server_is_unavailable_for_a_minute(site: Site) -> None:
    operator = site.operator().start()
    site.create("orders", tasksMax=2)
    site.settled("orders")
    before = live(site)
    site.server.cluster("stop", "--kill", "kube-apiserver")
    try:
        operator.until(lambda: operator.logged("Cannot renew the Lease"), "it is noticed")
        begun = time.monotonic()
        operator.until(lambda: time.monotonic() - begun > 60, "a minute", 90)  # and it does not end meanwhile
        assert operator.probe("healthz")[0] == 200
    finally:
        site.server.cluster("start", "kube-apiserver")
    site.create("others")
    site.settled("others", seconds=180)
    assert live(site) == before
    site.check()


def test_a_burst_of_refusals_from_the_start_on_is_outlived(site: Site, proxy: Proxy) -> None:
    proxy.spoil(fail(500), times=20)
    proxy.spoil(fail(429, retry_after=1), times=10)
    site.operator(proxy.kubeconfig).start()
    site.create("orders")
    site.settled("orders", seconds=180)
    site.check()


def test_two_changes_during_one_reconciliation_are_both_followed(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start()
    site.create("orders", tasksMax=1)
    site.settled("orders")
    proxy.spoil(slow(2), method="PATCH", path="/status", times=1)
    site.change("orders", config={"file": "/data/b"})
    site.change("orders", config={"file": "/data/c"})
    site.change("orders", tasksMax=3)
    body = site.settled("orders")
    assert len(body["status"]["tasks"]) == 3
    site.check()


def senseless() -> Fault:
    """Answer with what no API server answers."""

    def fault(handler: Any) -> bool:
        handler.answer(200, b'{"kind": "List", "metadata": {}, "items": [{}]}', {})
        return True

    return fault


LOOKS: Final = {
    "its-pods": (r"/pods\?.*connector%3Dorders", fail(500), "ApiServerUnavailable"),
    "its-plans": (r"/configmaps\?.*role%3Dplan", fail(500), "ApiServerUnavailable"),
    "nonsense": (r"/pods\?.*connector%3Dorders", senseless(), "OperatorFault"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_connector_that_cannot_be_looked_at_is_not_ready_in_status_and_metrics(
    site: Site, proxy: Proxy, look: str
) -> None:
    path, fault, reason = LOOKS[look]
    operator = site.operator(proxy.kubeconfig).start()
    site.create("orders")
    site.settled("orders")
    row = f'penstock_connector_ready{{connector="{site.namespace}.orders",name="orders",namespace="{site.namespace}",reason='
    good, bad = f'{row}"Running"}} 1.0', f'{row}"{reason}"}} 0.0'
    operator.until(lambda: good in operator.metrics(), "it is ready")
    rule = proxy.spoil(fault, method="GET", path=path, times=None)
    site.change("orders", tasksMax=2)
    site.until("orders", lambda b: condition(b, "Ready").startswith(f"Unknown {reason}"), "it is told")
    operator.until(lambda: bad in operator.metrics(), "the metrics tell it")
    operator.kill()
    operator.ended()
    operator.start()
    operator.until(lambda: row in operator.metrics(), "an operator shows it that has never looked at it")
    assert f"{row}" in operator.metrics()
    assert good not in operator.metrics()
    rule.times = 0
    site.settled("orders", seconds=120)
    operator.until(lambda: good in operator.metrics(), "it is ready again")


def test_a_connector_that_cannot_even_be_read_is_not_ready_in_the_metrics(site: Site, proxy: Proxy) -> None:
    operator = site.operator(proxy.kubeconfig).start()
    site.create("orders")
    site.settled("orders")
    row = f'penstock_connector_ready{{connector="{site.namespace}.orders",name="orders",namespace="{site.namespace}",reason='
    good, bad = f'{row}"Running"}} 1.0', f'{row}"ApiServerUnavailable"}} 0.0'
    operator.until(lambda: good in operator.metrics(), "it is ready")
    rule = proxy.spoil(fail(500), method="GET", path=r"/connectors/orders$", times=None)
    site.change("orders", tasksMax=2)
    operator.until(lambda: bad in operator.metrics(), "the metrics tell it")
    rule.times = 0
    site.settled("orders", seconds=120)
    operator.until(lambda: good in operator.metrics(), "it is ready again")
    site.check()
