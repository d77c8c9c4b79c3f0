"""What the operator keeps beside its work: events told, streams that live, logs, figures, slots."""

import io
import json
import logging
import socket
import time
import urllib.error
import urllib.request
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock_operator import logs, probes
from penstock_operator.key import Key
from penstock_operator.kubernetes.event_recorder import RecentEvents, event_manifest
from penstock_operator.kubernetes.kinds import CONNECTOR, NAMESPACE, POD, SECRET, kind_of
from penstock_operator.kubernetes.watch_health import WatchHealth
from penstock_operator.metrics import ConnectorFigures, Metrics, QueueFigures
from penstock_operator.operator import identity
from penstock_operator.probes import Heartbeat, Server, metrics_page, probe_page
from penstock_operator.queue.resync import spread
from penstock_operator.queue.workqueue import current_key

A, B = Key("shop", "a"), Key("shop", "b")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_paths_are_the_api_s() -> None:
    assert POD.path("shop", "a-0-1", "log") == "/api/v1/namespaces/shop/pods/a-0-1/log"
    assert CONNECTOR.path() == "/apis/penstock.dev/v1alpha1/connectors"
    assert NAMESPACE.path("ignored", "n1") == "/api/v1/namespaces/n1"
    assert SECRET.path("a/b", "../c") == "/api/v1/namespaces/a%2Fb/secrets/..%2Fc"
    assert kind_of({"apiVersion": "v1", "kind": "Pod"}) is POD


def test_an_event_is_reported_once_in_ten_minutes() -> None:
    memory = RecentEvents()
    mark = ("uid", "TaskFailed", "boom")
    assert memory.add(mark, 1000.0)
    assert not memory.add(mark, 1599.0)
    assert memory.add(mark, 1600.0)
    memory.remove(mark)
    assert memory.add(mark, 1601.0)


def test_events_that_are_remembered_are_bounded() -> None:
    memory = RecentEvents()
    for n in range(10_000):
        memory.add((str(n), "", ""), 0.0)
    assert len(memory._written) == 2_000


def test_a_note_keeps_to_a_kibibyte_of_whole_characters() -> None:
    involved = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop", "uid": "u"}}
    note = event_manifest(
        involved, type_="Warning", reason="R", message="ü" * 2_000, action="A", controller="c", instance="i", now=0.0
    )["note"]
    assert len(note.encode()) <= 1_024
    assert note.endswith("ü...")


def test_streams_are_ready_when_each_has_been_listed() -> None:
    done: list[str] = []
    streams = WatchHealth([POD, CONNECTOR], ["shop"], on_listed=lambda: done.append("listed"))
    pods, connectors = POD.path("shop"), CONNECTOR.path("shop")
    streams.lists(pods)
    streams.lists(connectors)
    streams.watches(pods)
    assert streams.check_ready() == f"not listed yet: {connectors}"
    assert not done
    streams.watches(connectors)
    streams.watches(connectors)
    assert streams.check_ready() is None
    assert done == ["listed"]


def test_a_list_that_is_read_again_is_a_gap() -> None:
    gaps: list[str] = []
    streams = WatchHealth([POD], on_gap=lambda: gaps.append("gap"))
    streams.lists(POD.path())
    streams.lists(POD.path())  # the first attempt failed
    streams.watches(POD.path())
    assert not gaps
    streams.lists(POD.path())
    assert gaps == ["gap"]


def test_a_namespace_that_may_not_be_listed_is_not_waited_for() -> None:
    clock, done = Clock(), list[str]()
    streams = WatchHealth([CONNECTOR], ["shop", "gone"], clock=clock, on_listed=lambda: done.append("listed"))
    shop, gone = CONNECTOR.path("shop"), CONNECTOR.path("gone")
    streams.refuses(gone)
    streams.watches(shop)
    assert streams.check_ready() == f"not listed yet: {gone}"
    clock.now = 12.0
    streams.refuses(gone)
    assert streams.check_ready() is None
    streams.refuses(gone)
    streams.watches(gone)  # the rights are there again
    assert "listed" in done
    assert streams.check_ready() is None


def test_an_operator_that_may_list_nothing_is_not_ready() -> None:
    clock, done = Clock(), list[str]()
    streams = WatchHealth([CONNECTOR, POD], clock=clock, on_listed=lambda: done.append("listed"))
    for clock.now in (0.0, 20.0, 40.0):
        for kind in (CONNECTOR, POD):
            streams.refuses(kind.path())
    assert not done
    assert streams.check_ready() is not None
    streams.watches(CONNECTOR.path())
    assert not done  # rights may come one after the other
    clock.now = 55.0
    streams.refuses(POD.path())
    assert done == ["listed"]
    assert streams.check_ready() is None


def test_a_stream_without_a_sign_of_life_is_reported() -> None:
    clock = Clock()
    streams = WatchHealth([POD, SECRET], clock=clock, most=240.0)
    clock.now = 200.0
    streams.heard(POD.path())
    streams.heard("/somewhere/else")
    clock.now = 300.0
    assert streams.check_alive() == "nothing received from /api/v1/secrets for 300 s"


def test_a_heart_that_is_frozen_is_reported_but_not_before_its_first_beat() -> None:
    clock = Clock()
    heart = Heartbeat("event loop", 30.0, clock)
    clock.now = 100.0
    assert heart.check() is None
    heart.beat()
    clock.now = 131.0
    assert heart.check() == "the event loop has been blocked for 31 s"


def fetched(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read().decode()


def test_a_probe_says_everything_that_is_wrong_also_when_a_check_breaks(caplog: pytest.LogCaptureFixture) -> None:
    wrong: dict[str, str | None] = {"queue": None}

    def broken() -> str | None:
        if wrong["queue"] is None:
            return None
        raise ZeroDivisionError("oh")

    server = Server(0, {"/healthz": probe_page({"queue": lambda: wrong["queue"], "broken": broken})})
    try:
        assert fetched(server.port, "/healthz") == (200, '{"status": "ok"}\n')
        wrong["queue"] = "a reconciliation has been running for 300 s"
        status, text = fetched(server.port, "/healthz?verbose")
        assert status == 503
        assert json.loads(text)["wrong"] == {
            "queue": "a reconciliation has been running for 300 s",
            "broken": "the check raised an error: oh",
        }
        assert fetched(server.port, "/")[0] == 404
    finally:
        server.close()


def test_what_the_kubelet_will_restart_the_operator_for_is_in_its_log_once_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong: list[str | None] = [None]
    page = probe_page({"queue": lambda: wrong[0]}, fatal=True)
    for said in (
        None,
        "a reconciliation has been running for 300 s",
        "a reconciliation has been running for 310 s",
        None,
        "it takes 400 s",
    ):
        wrong[0] = said
        assert page()[0] == (503 if said else 200)
    assert [r.getMessage().rpartition(": ")[2] for r in caplog.records] == [
        "a reconciliation has been running for 300 s",
        "it takes 400 s",
    ]


def test_connectors_have_rows_while_they_live_and_none_after() -> None:
    metrics = Metrics(version="0.1.0", release="ns.penstock")
    metrics.connector(
        A,
        ConnectorFigures(
            class_name="FileStreamSource",
            type="source",
            version="1",
            connector="shop.a",
            state="Running",
            tasks={"Running": 2, "Failed": 1},
            restarts=3,
            ready=True,
            reason="Running",
        ),
    )
    metrics.connector(B, ConnectorFigures(connector="elsewhere", state="Stopped"))
    server = Server(0, {"/metrics": metrics_page(metrics.page)})
    try:
        text = fetched(server.port, "/metrics")[1]
    finally:
        server.close()
    for line in (
        'penstock_connector_info{class="FileStreamSource",connector="shop.a",name="a",namespace="shop",'
        'type="source",version="1"} 1.0',
        'penstock_connector_state{connector="shop.a",name="a",namespace="shop",state="Running"} 1.0',
        'penstock_connector_state{connector="shop.a",name="a",namespace="shop",state="Failed"} 0.0',
        'penstock_connector_state{connector="elsewhere",name="b",namespace="shop",state="Stopped"} 1.0',
        'penstock_connector_tasks{connector="shop.a",name="a",namespace="shop",state="Running"} 2.0',
        'penstock_connector_restarts_total{connector="shop.a",name="a",namespace="shop"} 3.0',
        'penstock_connector_ready{connector="shop.a",name="a",namespace="shop",reason="Running"} 1.0',
        'penstock_operator_build_info{release="ns.penstock",version="0.1.0"} 1.0',
    ):
        assert line in text
    families = [f.name for f in text_string_to_metric_families(text)]
    assert len(families) == len(set(families)), "Prometheus refuses a page that has a metric twice"
    metrics.forget(A)
    metrics.forget(B)
    assert 'name="' not in metrics.page().decode()


def test_a_name_with_quotes_and_line_breaks_is_one_row_of_a_page_that_can_be_read() -> None:
    metrics = Metrics()
    odd = 'a"b\\c\n# HELP d'
    metrics.connector(A, ConnectorFigures(class_name=odd, state="Running"))
    samples = {s.name: s for f in text_string_to_metric_families(metrics.page().decode()) for s in f.samples}
    assert samples["penstock_connector_info"].labels["class"] == odd


def test_a_connector_that_changes_has_its_new_rows_only() -> None:
    metrics = Metrics()
    metrics.connector(A, ConnectorFigures(state="Running", tasks={"Running": 2, "Odd": 1}))
    metrics.connector(A, ConnectorFigures(state="Failed", tasks={"Failed": 2}))
    text = metrics.page().decode()
    assert 'penstock_connector_state{connector="",name="a",namespace="shop",state="Failed"} 1.0' in text
    assert 'penstock_connector_state{connector="",name="a",namespace="shop",state="Running"} 0.0' in text
    assert "Odd" not in text


def test_the_queue_and_requests_are_counted() -> None:
    metrics = Metrics()
    metrics.queue(lambda: QueueFigures(waiting=3, oldest_running=7.5))
    metrics.requested("apply", "Connector", 200)
    metrics.requested("apply", "Connector", 200)
    metrics.requested("get", "Pod", 0)
    metrics.reconciled("timeout", 120.0)
    text = metrics.page().decode()
    assert 'penstock_operator_queue_keys{state="waiting"} 3.0' in text
    assert "penstock_operator_queue_oldest_running_seconds 7.5" in text
    assert 'penstock_operator_reconcile_seconds_count{outcome="timeout"} 1.0' in text
    assert metrics.requests() == {("apply", "Connector", "200"): 2, ("get", "Pod", "0"): 1}


def test_log_lines_are_json_with_the_connector_and_no_secret() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines(lambda text: text.replace("hunter22", "[hidden]")))
    log = logging.getLogger("penstock_operator.x")
    log.addHandler(handler)
    log.propagate = False
    token = current_key.set(A)
    try:
        log.error("cannot log in as %s", "hunter22", extra={"task": 3})
    finally:
        current_key.reset(token)
        log.removeHandler(handler)
        log.propagate = True
    line: dict[str, Any] = json.loads(stream.getvalue())
    del line["time"]
    assert line == {
        "level": "error",
        "logger": "penstock_operator.x",
        "message": "cannot log in as [hidden]",
        "connector": "shop/a",
        "task": 3,
    }


def test_what_libraries_repeat_is_logged_seldom_and_what_we_say_always() -> None:
    clock = Clock()
    seldom = logs.RepetitionFilter(30.0, clock)

    def passes(name: str, text: str) -> bool:
        return seldom.filter(logging.LogRecord(name, logging.ERROR, "", 0, text, (), None))

    assert passes("kopf._cogs", "Request attempt #1 failed")
    assert not passes("kopf._cogs", "Request attempt #2 failed")
    assert passes("penstock_operator", "the same")
    assert passes("penstock_operator", "the same")
    clock.now = 31.0
    assert passes("kopf._cogs", "Request attempt #3 failed")


def test_resyncs_are_spread_over_their_period() -> None:
    keys = [Key("shop", str(n)) for n in range(1_000)]
    delays = dict(spread(keys, 600.0))
    assert set(delays) == set(keys)
    assert all(0 <= d <= 600 for d in delays.values())
    buckets = [sum(60 * n <= d < 60 * (n + 1) for d in delays.values()) for n in range(10)]
    assert all(95 <= b <= 105 for b in buckets)


def test_a_container_that_starts_again_in_its_pod_is_the_same_operator() -> None:
    pod = {"PENSTOCK_POD_NAME": "penstock-0", "PENSTOCK_POD_UID": "1234"}
    assert identity(pod) == identity(pod) == "penstock-0_1234"
    assert identity({}) != identity({})


def test_a_page_of_thousands_of_connectors_is_sent_whole_to_a_reader_that_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that reads nothing at all is let go."""
    monkeypatch.setattr(probes, "_SECONDS", 2.0)
    body = b"x" * (16 << 20)
    server = Server(0, {"/metrics": lambda: (200, "text/plain", body)})
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            read = 0
            while piece := client.recv(256 << 10, socket.MSG_WAITALL):
                read += len(piece)
                time.sleep(0.05)
        assert read > len(body)
    finally:
        server.close()
