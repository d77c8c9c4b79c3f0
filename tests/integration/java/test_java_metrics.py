"""What Java plugins measure, at the endpoint of their task: by Kafka Connect's metrics, and by beans in JMX."""

import logging
import re
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psutil
import pytest
from connectors.sql.tests.conftest import Database
from prometheus_client import CollectorRegistry, generate_latest

from penstock import PluginContext, Record
from penstock.schema import STRING
from penstock_runtime.java_plugins.classes import class_of
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.plugins.plugin_metrics import MetricsByPlace
from penstock_runtime.plugins.plugin_ref import make
from penstock_runtime.task.plugin_collector import PluginCollector

from ..reading import Reader, create, produce
from ..running import Processes, manifest, new_name, until
from .capture import CLASS, capture, json_converters
from .plugins import apache_connectors, debezium
from .probe_plugin import (
    CONVERTER,
    PREDICATE,
    TRANSFORM,
    Probe,
    ProbeLab,
    host_jvms,
    planned,
    probe,
    probe_lab,
    scraped,
    sink_lab,
)
from .test_apache_connectors import BYTES, MIRROR

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

_HELD: Final = "probe_beans_held_Never"


@pytest.fixture(autouse=True)
def ended_jvm() -> Iterator[None]:
    yield
    close_host()


def made(probe: Probe, kind: str, place: str, class_name: str) -> Any:
    cls = class_of(f"java:{kind}:{probe.folder / 'probe'}#{class_name}")
    return make(cls, PluginContext("c", place, "1.0.0", task=3))


def transform(probe: Probe, **properties: str) -> Any:
    plugin = made(probe, "transform", "transforms.x", TRANSFORM)
    plugin.configure(plugin.Config.parse(properties, "transforms.x."))
    return plugin


def shown(plugins: MetricsByPlace | None = None) -> dict[str, float]:
    """The lines of a page of metrics, by their names and labels."""
    registry = CollectorRegistry()
    registry.register(PluginCollector("c", 3, plugins or MetricsByPlace()))
    lines = generate_latest(registry).decode().splitlines()
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    return {name: float(value) for name, _, value in (x.rpartition(" ") for x in lines if not x.startswith("#"))}


def of_probe(labels: str, name: str = "calls_total") -> str:
    return f'kafka_connect_plugins_{name}{{connector="c",{labels}}}'


TEXT: Final = Record(topic="t", value="a", value_schema=STRING)


def test_metrics_of_transforms_predicates_and_converters_have_kafka_connects_tags(probe: Probe) -> None:
    assert shown() == {}
    step = transform(probe, does="nothing")
    predicate = made(probe, "predicate", "predicates.p", PREDICATE)
    predicate.configure(predicate.Config.parse({"pattern": "a"}, "predicates.p."))
    key = made(probe, "converter", "key.converter", CONVERTER)
    key.configure(key.Config.parse({}, "key.converter."), is_key=True)
    header = made(probe, "headerconverter", "header.converter", CONVERTER)
    header.configure(header.Config.parse({}, "header.converter."))
    for _ in range(2):
        step.apply(TEXT)
    predicate.test(TEXT)
    key.from_connect("t", STRING, "a")
    expected = {
        of_probe('probe="yes",task="3",transformation="x"'): 2,
        of_probe('predicate="p",probe="yes",task="3"'): 1,
        of_probe('converter="key",probe="yes",task="3"'): 1,
        of_probe('converter="header",probe="yes",task="3"'): 0,
    }
    assert shown() == expected
    step.close()
    assert shown() == {name: value for name, value in expected.items() if "transformation" not in name}


def test_metrics_of_java_and_python_plugins_may_have_one_name(probe: Probe) -> None:
    transform(probe, does="nothing")
    plugins = MetricsByPlace()
    plugins.of("connector").counter("calls", "Of Python.").add(5)
    assert shown(plugins) == {
        'kafka_connect_plugins_calls_total{connector="c",plugin="connector",task="3"}': 5,
        of_probe('probe="yes",task="3",transformation="x"'): 0,
    }


def test_numbers_of_beans_are_shown_by_the_names_of_the_jmx_exporter_and_of_debezium(probe: Probe) -> None:
    transform(probe, does="beans", on="1")
    own = 'connector="c"'
    queue = f'{own},exported_task="main",name="a,b",task="3"'
    other = 'context="streaming",exported_task="0",name="shop",plugin="probe"'
    found = shown()
    assert {name: value for name, value in found.items() if "calls_total" not in name} == {
        f"probe_beans_queue_Length{{{queue}}}": 7,
        f"probe_beans_queue_Full{{{queue}}}": 1,
        f"probe_beans_queue_Usage_used{{{queue}}}": 5,
        f'probe_beans_queue_Sizes{{{own},exported_task="main",key="t0",name="a,b",task="3"}}': 0,
        f'probe_beans_queue_Sizes{{{own},exported_task="main",key="t1",name="a,b",task="3"}}': 1,
        f'debezium_metrics_Length{{{own},{other},task="3"}}': 7,
        f'debezium_metrics_Full{{{own},{other},task="3"}}': 1,
        f'debezium_metrics_Usage_used{{{own},{other},task="3"}}': 5,
        f'debezium_metrics_Sizes{{{own},{other},table="t0",task="3"}}': 0,
    }


def test_a_bean_that_does_not_return_is_left_out_and_holds_up_nothing(
    probe: Probe, caplog: pytest.LogCaptureFixture
) -> None:
    step = transform(probe, does="beans", on="1")
    for _ in range(3):
        found = shown()
        assert any(name.startswith("probe_beans_queue_Length") for name in found)
        assert not any(name.startswith(_HELD) for name in found)
        assert step.apply(TEXT).value == "a"
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert warnings == [
        "the JMX bean probe.beans:type=held has not returned its metrics within 500 ms: they are missing until it does"
    ]


def test_too_many_metrics_are_cut_entries_of_maps_first(probe: Probe, caplog: pytest.LogCaptureFixture) -> None:
    transform(probe, does="beans", on="3000")
    for _ in range(2):
        found = shown()
        assert len(found) == 2_000
        for name in ("debezium_metrics_Length", "probe_beans_queue_Length", "kafka_connect_plugins_calls_total"):
            assert any(each.startswith(name) for each in found), name
    cut = [r.getMessage() for r in caplog.records if "more than" in r.getMessage()]
    assert cut == ["Java plugins have more than 2000 metrics: the rest is omitted, entries of maps first"]


def test_a_jvm_that_is_frozen_has_no_metrics_and_is_left_untouched(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock_runtime.java_plugins.jvm_metrics._SECONDS", 0.2)
    step = transform(probe, does="nothing")
    (jvm,) = (p for p in psutil.Process().children() if "dev.penstock.host.Main" in p.cmdline())
    jvm.send_signal(signal.SIGSTOP)
    try:
        for _ in range(3):
            assert shown() == {}
    finally:
        jvm.send_signal(signal.SIGCONT)
    until(shown, what=lambda: "no metrics")
    assert step.apply(TEXT).value == "a"


def test_a_frozen_jvm_that_takes_no_request_and_a_dead_one_hold_up_no_scrape(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock_runtime.java_plugins.jvm_metrics._SECONDS", 0.2)
    step = transform(probe, does="nothing")
    (jvm,) = (p for p in psutil.Process().children() if "dev.penstock.host.Main" in p.cmdline())
    jvm.send_signal(signal.SIGSTOP)
    long = Record(topic="t", value="a" * (1 << 20), value_schema=STRING)  # no pipe holds it
    with ThreadPoolExecutor() as pool:
        try:
            applied = pool.submit(step.apply, long)
            for scrape in [pool.submit(shown) for _ in range(3)]:
                assert scrape.result(20) == {}
            assert not applied.done()
        finally:
            jvm.send_signal(signal.SIGCONT)
        assert applied.result(20).value == long.value
    until(shown, what=lambda: "no metrics")
    jvm.kill()
    until(lambda: not jvm.is_running() or jvm.status() == psutil.STATUS_ZOMBIE, what="it is dead")
    assert shown() == {}


CHAIN: Final[Mapping[str, str]] = {
    "transforms": "x",
    "transforms.x.type": TRANSFORM,
    "transforms.x.does": "nothing",
    "value.converter": CONVERTER,
}


def calls(metrics: Mapping[str, float], name: str) -> dict[str, float]:
    """The values of `calls_total` of the probe's plugins, by their labels without those of all."""
    common = re.compile(f'^kafka_connect_plugins_calls_total{{connector="{name}",(.*)}}$')
    found = {match[1]: value for each, value in metrics.items() if (match := common.match(each))}
    return {labels.replace('probe="yes"', "").replace(",,", ",").strip(","): value for labels, value in found.items()}


@pytest.mark.slow
def test_a_source_its_connector_and_its_chain_are_measured_at_the_tasks_endpoint(
    probe_lab: ProbeLab, topic: str
) -> None:
    task = probe_lab.processes.task(probe_lab.spec(topic, {**CHAIN, "total": 250}))
    with Reader(probe_lab.servers, topic) as reader:
        reader.count(250)
    found = calls(scraped(task), probe_lab.name)
    assert found.pop('task="0"') >= 3
    assert found == {"": 1, 'task="0",transformation="x"': 250, 'converter="value",task="0"': 250}


@pytest.mark.slow
def test_a_java_task_listens_only_at_its_metrics_port_and_connects_to_nothing_but_kafka(
    probe_lab: ProbeLab, topic: str
) -> None:
    """So the chart's NetworkPolicies, which open that port and what connectors are given, hold up none."""
    task = probe_lab.processes.task(probe_lab.spec(topic, {**CHAIN, "pause": 50}))
    with Reader(probe_lab.servers, topic) as reader:
        reader.count(250)
    metrics = task.await_event(lambda e: e["event"] == "metrics")["port"]
    assert host_jvms(task)
    sockets = [s for process in task.tree() for s in process.net_connections("inet")]
    assert {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN} == {metrics}
    kafka = int(probe_lab.servers.rpartition(":")[2])
    assert {s.raddr.port for s in sockets if s.status == psutil.CONN_ESTABLISHED} == {kafka}


@pytest.mark.slow
def test_a_sink_is_measured_also_while_its_put_does_not_return(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, [b"1"])
    config = {**CHAIN, "transforms.x.does": "beans", "transforms.x.on": "1", "put.action": "block"}
    task = sink_lab.processes.task(sink_lab.spec(topic, config))
    until(lambda: "put 1" in sink_lab.journal, what=task.last_words)
    for _ in range(2):
        found = scraped(task)
        assert calls(found, sink_lab.name) == {
            'task="0"': 1,
            'task="0",transformation="x"': 1,
            'converter="value",task="0"': 1,
        }
        assert any(name.startswith("probe_beans_queue_Length{") for name in found)
        assert not any(name.startswith(_HELD) for name in found)


@pytest.mark.slow
def test_the_lag_of_debezium_is_at_the_endpoint_as_its_dashboards_name_it(
    kafka: str, database: Database, processes: Processes
) -> None:
    database.run("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    database.run("INSERT INTO orders VALUES (1, 'pump'), (2, 'valve')")
    prefix = new_name("shop")
    connector = manifest(prefix, CLASS, {**capture(database, prefix), **json_converters(schemas=False)})
    task = processes.task(planned(connector, kafka, debezium("postgres")))
    with Reader(kafka, f"{prefix}.public.orders") as reader:
        reader.count(2)
        database.run("UPDATE orders SET item = 'gate' WHERE id = 2")
        reader.count(3)
    found = scraped(task)

    def metric(name: str, context: str, **labels: str) -> float:
        """The value of a metric of Debezium, as its dashboards ask for it."""
        of = {"connector": prefix, "context": context, "name": prefix, "plugin": "postgres", "task": "0", **labels}
        written = ",".join(f'{label}="{text}"' for label, text in sorted(of.items()))
        return found[f"debezium_metrics_{name}{{{written}}}"]

    assert 0 <= metric("MilliSecondsBehindSource", "streaming") < 3_600_000
    assert metric("TotalNumberOfEventsSeen", "streaming") == 1
    assert metric("Connected", "streaming") == 1
    assert metric("SnapshotCompleted", "snapshot") == 1
    assert metric("RowsScanned", "snapshot", table="public.orders") == 2


@pytest.mark.slow
def test_mirrormaker_is_measured_for_each_partition(kafka: str, processes: Processes, topic: str) -> None:
    create(kafka, topic)
    produce(kafka, topic, [b"1", b"2"])
    config = {
        "source.cluster.alias": topic,
        "target.cluster.alias": "new",
        "source.cluster.bootstrap.servers": kafka,
        "target.cluster.bootstrap.servers": kafka,
        "topics": topic,
        "metric.names.formats": "legacy,new",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
    }
    connector = manifest(new_name("mirror"), MIRROR, config)
    task = processes.task(planned(connector, kafka, apache_connectors()))
    with Reader(kafka, f"{topic}.{topic}") as reader:
        reader.count(2)
    labels = f'partition="0",source="{topic}",target="new",task="0",topic="{topic}.{topic}"}}'
    names = ("kafka_connect_mirror_MirrorSourceConnector_byte_count{", "kafka_connect_plugins_byte_count{")
    found = [x for x in scraped(task) if x.startswith(names)]
    assert len(found) == 2
    assert all(labels in each for each in found)
