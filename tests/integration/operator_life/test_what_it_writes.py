"""Nothing is written but what changes something, and only by those who are to write it."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.connector.reconciler import Reconciler
from penstock_operator.context import Context
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.metrics import Metrics
from penstock_operator.operator import Operator
from penstock_operator.settings import Settings

from ..operator.faults import expire
from .world.processes import KEY, configuration
from .world.proxy import Proxy
from .world.site import STATUS_MANAGER, Site

pytestmark = pytest.mark.slow


def test_whoever_watches_only_reads(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start()
    site.create("orders", tasksMax=2, deletion={"offsets": "Reset"})
    site.settled("orders")
    site.change("orders", config={"file": "/data/b"})
    site.settled("orders")
    site.delete("orders")
    site.gone("orders")
    watching = [r for r in proxy.requests if r.watches]
    assert {r.method for r in watching} == {"GET"}
    assert {r.path.rpartition("/")[2] for r in watching if "watch=" in r.query} == {
        "connectors",
        "pods",
        "secrets",
        "topiccreationpolicies",
        "pluginversions",
    }
    assert {r.method for r in proxy.requests if r.agent == "penstock-operator/watch"} == {"GET"}  # all that kopf sends
    assert {r.agent for r in proxy.requests} == {"penstock-operator", "penstock-operator/watch"}
    for change in proxy.changes():
        assert not change.watches, change
        if change.method == "PATCH":
            assert "fieldManager=penstock" in change.query, change
    site.check()


def test_a_stored_plan_is_read_once_however_often_its_connector_is_looked_at(site: Site, proxy: Proxy) -> None:
    operator = site.operator(proxy.kubeconfig).start()
    site.create("orders")
    site.settled("orders")

    def looks() -> int:
        return sum(map(int, re.findall(r"reconcile_seconds_count\{[^}]*\} (\d+)", operator.metrics())))

    def more_than(before: int) -> bool:
        return looks() > before

    for n in range(5):
        before = looks()
        site.annotate("orders", looked=str(n))
        operator.until(partial(more_than, before), "the connector is looked at")
    plans = [r.path for r in proxy.requests if r.method == "GET" and re.search("/configmaps/orders-", r.path)]
    assert len(plans) == len(set(plans)) == 1
    site.check()


def test_a_connector_carries_nothing_of_the_operator_but_its_status(site: Site) -> None:
    site.operator().start()
    created = site.create("orders", tasksMax=2)
    site.settled("orders")
    site.change("orders", state="Paused")
    body = site.settled("orders", "Paused")
    assert body["metadata"].get("annotations") is None
    assert body["metadata"].get("finalizers") is None
    assert body["metadata"].get("labels") == created["metadata"].get("labels")
    managers = {(m["manager"], m.get("subresource", "")) for m in body["metadata"]["managedFields"]}
    assert (STATUS_MANAGER, "status") in managers
    assert {m for m in managers if "penstock" in m[0]} == {(STATUS_MANAGER, "status")}
    site.check()


def test_a_password_that_is_in_a_connector_is_in_no_log_event_status_or_annotation(site: Site) -> None:
    operator = site.operator().start()
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="s3cr3t-as-it-is";'
    site.create("orders", config={"file": "/data/a", "topic": "orders", "producer.override.sasl.jaas.config": jaas})
    body = site.settled("orders")
    maps, pods, events = (
        site.api.list(version, kind, site.namespace)
        for version, kind in (("v1", "ConfigMap"), ("v1", "Pod"), ("events.k8s.io/v1", "Event"))
    )
    assert "s3cr3t-as-it-is" in json.dumps(maps)  # as in the Connector itself: nothing else brings it to its tasks
    told = [body["status"], body["metadata"].get("annotations"), pods, events, operator.lines(), site.kubelet.logs()]
    assert all(told[i] for i in (0, 2, 3, 4, 5))
    assert [text for text in map(json.dumps, told) if "s3cr3t-as-it-is" in text] == []
    site.check()


def test_a_finalizer_is_the_only_field_next_to_status_that_is_ever_the_operators(site: Site) -> None:
    site.operator().start()
    site.create("orders", deletion={"offsets": "Reset"})
    body = site.until("orders", lambda b: b["metadata"].get("finalizers"), "a finalizer")
    assert body["metadata"].get("annotations") is None
    ours = [m for m in body["metadata"]["managedFields"] if m["manager"] == "penstock"]
    assert len(ours) == 1
    assert set(ours[0]["fieldsV1"]) == {"f:metadata"}
    assert set(ours[0]["fieldsV1"]["f:metadata"]) == {"f:finalizers"}


class InProcess:
    """An operator in a thread, whose reconciliations are counted."""

    def __init__(self, settings: dict[str, Any], kubeconfig: Path) -> None:
        self.reconciled: list[Key] = []
        self._settings = Settings.of(settings)
        self._kubeconfig = kubeconfig
        self._changed = threading.Condition()
        self._begun = threading.Event()
        self._reconciler = Reconciler()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="operator")
        self._thread.start()
        assert self._begun.wait(60)

    async def _run(self) -> None:
        kube = Kube.connect(kubeconfig=self._kubeconfig)
        try:
            self.operator = Operator(self._settings, kube, KEY, self._counted, Metrics())
            self.loop = asyncio.get_running_loop()
            self._begun.set()
            await self.operator.run()
        finally:
            kube.close()

    async def _counted(self, key: Key, context: Context) -> float | None:
        try:
            return await self._reconciler(key, context)
        finally:
            with self._changed:
                self.reconciled.append(key)
                self._changed.notify_all()

    def again(self, key: Key, times: int) -> None:
        """Reconcile so many times more, one after the other."""
        for _ in range(times):
            before = len(self.reconciled)
            self.loop.call_soon_threadsafe(self.operator.queue.add, key)
            with self._changed:
                assert self._changed.wait_for(lambda: len(self.reconciled) > before, 60)  # noqa: B023 (called at once)

    def quiet(self, seconds: float) -> int:
        """How often something was reconciled until nothing was for so many seconds."""
        count = 0
        with self._changed:
            while True:
                before = len(self.reconciled)
                if not self._changed.wait_for(lambda: len(self.reconciled) > before, seconds):  # noqa: B023
                    return count
                count += 1

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.operator.stop)
        self._thread.join(60)
        assert not self._thread.is_alive()


@contextmanager
def in_process(site: Site, proxy: Proxy) -> Iterator[InProcess]:
    settings = configuration(
        namespace=site.namespace, name="penstock", servers=site.servers, topic=site.topic, watch=site.namespaces
    )
    operator = InProcess(settings, proxy.kubeconfig)
    try:
        yield operator
    finally:
        operator.stop()


def test_a_settled_connector_is_never_written_again(site: Site, proxy: Proxy) -> None:
    with in_process(site, proxy) as operator:
        for name, spec in (("runs", {"tasksMax": 2}), ("rests", {"state": "Stopped"}), ("waits", {"state": "Paused"})):
            site.create(name, **spec)
        site.settled("runs")
        site.settled("rests", "Stopped")
        site.settled("waits", "Paused")
        operator.quiet(3.0)
        before = proxy.quiet()
        versions = {k: b["metadata"]["resourceVersion"] for k, b in site.connectors.objects.items()}
        for name in ("runs", "rests", "waits"):
            operator.again(Key(site.namespace, name), 20)
        assert proxy.changes()[before:] == []
        assert {k: b["metadata"]["resourceVersion"] for k, b in site.connectors.objects.items()} == versions
    site.check()


def test_a_write_of_status_causes_no_further_reconciliation(site: Site, proxy: Proxy) -> None:
    with in_process(site, proxy) as operator:
        site.create("orders", state="Stopped")
        site.settled("orders", "Stopped")
        operator.quiet(3.0)
        count = len(operator.reconciled)
        assert count <= 2  # it was created; what was written came back and was no news
        body = site.get("orders")
        site.api.merge(
            body, {"status": {"offsetsActions": [{"token": "a", "action": "list", "result": "Succeeded"}]}}, "status"
        )
        site.until("orders", lambda b: b["status"].get("offsetsActions"), "somebody's status")
        assert operator.quiet(3.0) == 0
        assert site.get("orders")["status"]["offsetsActions"][0]["token"] == "a"  # and it is not touched


def test_a_relist_of_everything_writes_nothing(site: Site, proxy: Proxy) -> None:
    site.operator(proxy.kubeconfig).start()
    for n in range(5):
        site.create(f"c{n}", tasksMax=2)
    for n in range(5):
        site.settled(f"c{n}")
    changes = proxy.quiet()
    seen, before = site.connectors.events, proxy.mark()
    proxy.spoil(expire(), method="GET", path=r"/connectors\?.*watch=", times=1)
    proxy.hang_up()
    proxy.wait_for(lambda a: a.path.endswith("/connectors") and "watch" not in a.query and a.method == "GET")
    site.operators[0].until(
        lambda: sum(r.method == "GET" and "/connectors/c" in r.path for r in proxy.requests[before:]) >= 5,
        "every connector is looked at again",
    )
    assert proxy.changes()[changes:] == []
    assert site.connectors.events == seen
    site.check()


def test_a_restart_of_the_operator_writes_nothing(site: Site, proxy: Proxy) -> None:
    operator = site.operator(proxy.kubeconfig).start()
    for n in range(5):
        site.create(f"c{n}", tasksMax=2, state="Paused" if n % 2 else "Running")
    for n in range(5):
        site.settled(f"c{n}", "Paused" if n % 2 else "Running")
    changes = proxy.quiet()
    operator.kill()
    operator.ended()
    before = proxy.mark()
    operator.start().ready()
    operator.until(
        lambda: sum(r.method == "GET" and "/connectors/c" in r.path for r in proxy.requests[before:]) >= 5,
        "every connector is looked at",
    )
    operator.stop()
    assert proxy.changes()[changes:] == []
    site.check()
