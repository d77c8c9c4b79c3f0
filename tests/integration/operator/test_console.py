"""The console of an operator, on a real API server and a real broker: what it shows, and who serves it."""

import asyncio
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Report, report_key
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.settings import Settings

from ..answers import ask
from ..api_servers import ApiServer
from ..cluster_api.api import Api
from ..ports import free_port
from ..running import until
from .test_console_access import account, token_for
from .test_kube import connector
from .test_operator import Running, document
from .test_status_topic import make, put

Start = Callable[..., Running]


def shown(port: int, namespace: str) -> set[str]:
    """The Connectors that the REST API has; empty if it does not answer."""
    status, body = ask(port, f"/connect/{namespace}/connectors")
    return set(json.loads(body)) if status == 200 else set()


@pytest.fixture
def start(
    api_server: ApiServer, kafka: str, topic: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Start an operator with a console."""
    made: list[Running] = []
    monkeypatch.setenv("PENSTOCK_POD_IP", "127.0.0.1")

    def begin(name: str = "first", **console: Any) -> Running:
        given = {"console": {"enabled": True, "port": free_port(), **console}}
        settings = Settings.of({**document(kafka, topic, namespace), **given})
        made.append(Running(api_server.kubeconfig, settings, name))
        return made[-1]

    yield begin
    for running in made:
        running.stop()


def port_of(running: Running) -> int:
    return running.settings.console.port


def test_the_console_shows_connectors_as_they_come_and_go(start: Start, api: Api, namespace: str) -> None:
    api.create(connector(namespace))
    port = port_of(start())
    until(lambda: shown(port, namespace) == {"orders-in"}, what="it is shown")
    assert "orders-in" in ask(port)[1]
    status, page = ask(port, f"/connectors/{namespace}/orders-in")
    assert status == 200
    assert "orders-in" in page
    other = connector(namespace)
    other["metadata"]["name"] = "second"
    api.create(other)
    until(lambda: shown(port, namespace) == {"orders-in", "second"}, what="another one is shown")
    api.delete(connector(namespace))
    until(lambda: shown(port, namespace) == {"second"}, what="the deleted one is not")
    assert ask(port, f"/connectors/{namespace}/orders-in")[0] == 404


def test_a_connector_whose_deletion_was_missed_is_not_shown(start: Start, api: Api, namespace: str) -> None:
    api.create(connector(namespace))
    running = start()
    until(lambda: shown(port_of(running), namespace) == {"orders-in"}, what="it is shown")
    running.key()
    console = running.operator._console
    assert console is not None
    api.delete(connector(namespace))
    until(lambda: not shown(port_of(running), namespace), what="it is not shown")
    stale = {"type": "MODIFIED", "object": {"metadata": {"namespace": namespace, "name": "orders-in", "uid": "u"}}}
    console.source.documents.seen(CONNECTOR, stale)  # as if the event of the deletion had not come
    running.loop.call_soon_threadsafe(running.operator.queue.add, running.keys.get(timeout=60))
    until(lambda: not shown(port_of(running), namespace), what="a reconciliation finds that it is gone")


def test_the_last_hour_is_there_although_the_operator_has_just_started(
    start: Start, api: Api, kafka: str, topic: str, namespace: str
) -> None:
    """The topic keeps earlier reports until it is compacted."""
    made = api.create(connector(namespace))
    make(kafka, topic)
    name, now = f"{namespace}.orders-in", time.time()
    for minute in range(5):
        value = Report(
            connector=name,
            connector_uid=made["metadata"]["uid"],
            pod_uid="p",
            task=0,
            epoch=PlanEpoch(generation=1, plan="x"),
            incarnation=1,
            state="RUNNING",
            acted=1,
            since=0,
            delivered=minute * 600,
            lag=minute,
            figures_at=int((now - 300 + 60 * minute) * 1000),
        ).to_value()
        put(kafka, topic, (report_key(name, 0), value))
    running = start()
    console = running.operator._console
    assert console is not None
    until(lambda: len(console.source.history(namespace, "orders-in")) == 4, what="it was read")
    found = console.source.history(namespace, "orders-in")
    assert [(round(m.records_per_second, 3), m.lag) for m in found] == [(10.0, n) for n in (1, 2, 3, 4)]
    until(lambda: console.source.kafka_cluster_id() is not None, what="the cluster is known")


def test_events_and_offsets_are_read_when_a_page_asks(start: Start, api: Api, namespace: str) -> None:
    made = api.create(connector(namespace))
    uid = made["metadata"]["uid"]
    running = start()
    console = running.operator._console
    assert console is not None
    until(lambda: console.source.connector(namespace, "orders-in") is not None, what="it is shown")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": "e1"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "type": "Warning",
        "reason": "TaskFailed",
        "action": "Run",
        "note": "it failed",
        "reportingController": "test",
        "reportingInstance": "test",
    }
    about = {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "namespace": namespace, "name": "orders-in"}
    api.create({**event, "regarding": {**about, "uid": uid}})
    pod = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "orders-in-0-1"}
    api.create({**event, "metadata": {"namespace": namespace, "name": "e2"}, "reason": "BackOff", "regarding": pod})
    offsets = {"offsets": [{"partition": {"filename": "a"}, "offset": {"position": 7}}]}
    labels = {
        "penstock.dev/connector": "orders-in",
        "penstock.dev/connector-uid": uid,
        "penstock.dev/role": "offsets",
    }
    listed = {"name": "orders-in-offsets", "namespace": namespace, "labels": labels}
    data = {"offsets.json": json.dumps(offsets)}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": listed, "data": data})

    async def read() -> tuple[Any, Any, Any]:
        source = console.source
        return (
            await source.events(namespace, "orders-in"),
            await source.offsets(namespace, "orders-in"),
            await source.offsets(namespace, "unknown"),
        )

    events, found, unknown = asyncio.run(read())
    assert {(e.about, e.reason) for e in events} == {("orders-in", "TaskFailed"), ("orders-in-0-1", "BackOff")}
    assert found == offsets
    assert unknown is None


def test_an_operator_on_standby_leads_users_to_the_other_and_serves_after_it(
    start: Start, api: Api, namespace: str
) -> None:
    api.create(connector(namespace))
    first = start("first").until_ready()
    until(lambda: shown(port_of(first), namespace) == {"orders-in"}, what="the first one serves")
    second = start("second")
    port = port_of(second)
    until(lambda: shown(port, namespace) == {"orders-in"}, what="the second one passes on")
    refused = first.metrics.registry.get_sample_value("penstock_operator_console_requests_total", {"code": "4xx"})
    for each in (port_of(first), port):
        assert ask(each, headers={"Host": "evil.example"})[0] == 421
    counted = first.metrics.registry.get_sample_value("penstock_operator_console_requests_total", {"code": "4xx"})
    assert (refused, counted) == (0, 2)
    stream = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    stream.request("GET", "/stream")
    events = stream.getresponse()
    assert events.status == 200
    assert first.metrics.registry.get_sample_value("penstock_operator_console_streams") == 1
    first.stop()
    with suppress(http.client.IncompleteRead):  # it ends, and the browser connects again
        events.read()
    events.close()
    stream.close()
    until(lambda: shown(port, namespace) == {"orders-in"}, what="the second one serves")
    assert ask(port_of(first))[0] == 0


def test_while_nobody_leads_users_are_told_so(start: Start, api: Api, namespace: str) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": "penstock-operator"},
        "spec": {"holderIdentity": "gone", "leaseDurationSeconds": 15},
    }
    api.create(lease)
    running = start()
    status, text = 0, ""
    deadline = time.monotonic() + 20
    while not status and time.monotonic() < deadline:
        status, text = ask(port_of(running))
    assert (status, text) == (
        503,
        "No operator leads this release at the moment. This page retries in 5 seconds.\n",
    )


def test_with_users_only_nobody_else_reads(start: Start, api: Api, namespace: str) -> None:
    account(api, namespace, "vic")
    running = start(requireUser=True).until_ready()
    until(lambda: ask(port_of(running))[0] == 401, what="it serves")
    assert ask(port_of(running), f"/connect/{namespace}/connectors")[0] == 401
    assert ask(port_of(running), headers={"Authorization": "Bearer wrong"})[0] == 401
    token = token_for(api, namespace, "vic")
    assert ask(port_of(running), headers={"Authorization": f"Bearer {token}"})[0] == 200


def test_a_port_that_is_taken_does_not_end_the_operator(
    start: Start, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("", 0)) as taken:
        running = start(port=taken.getsockname()[1]).until_ready()
        until(lambda: "choose another port" in caplog.text, what="it says so")
        assert running.probe("/healthz") == (200, {"status": "ok"})
    running.stop()
    assert running.error is None
