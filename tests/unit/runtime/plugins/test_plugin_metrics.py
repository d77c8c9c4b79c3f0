"""What plugins measure: by name and place, told by workers once, shown by the driver."""

import copy
import logging
import pickle
import threading
from fractions import Fraction

import pytest
from prometheus_client import generate_latest

from penstock import PluginContext, PluginMetrics, Record, Transform
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.pipeline.summary import Summary, decode, encode
from penstock_runtime.plugins.plugin_metrics import Measure, MetricsByPlace
from penstock_runtime.task.metrics import TaskMetrics


def spec() -> TaskSpec:
    ref = {"alias": "A", "reference": "m:A", "version": "1"}
    return TaskSpec.model_validate(
        {
            "connector": "orders",
            "task": 1,
            "tasks": 2,
            "kind": "source",
            "config": {},
            "worker": {},
            "plugins": {"connector": ref},
        }
    )


def shown(metrics: TaskMetrics) -> list[str]:
    text = generate_latest(metrics.registry).decode()
    return [line for line in text.splitlines() if "kafka_connect_plugins_" in line]


def test_a_counter_and_a_gauge_are_at_the_endpoint_with_connector_task_and_place() -> None:
    plugins = MetricsByPlace()
    metrics = TaskMetrics(spec(), plugins)
    assert shown(metrics) == []
    plugins.of("transforms.a").counter("rows", "Rows that were seen.").add(3)
    plugins.of("connector").counter("rows", "Rows that were seen.")
    plugins.of("connector").gauge("queue_length", "Messages that wait.").set(-1.5)
    assert shown(metrics) == [
        "# HELP kafka_connect_plugins_rows_total Rows that were seen.",
        "# TYPE kafka_connect_plugins_rows_total counter",
        'kafka_connect_plugins_rows_total{connector="orders",plugin="transforms.a",task="1"} 3.0',
        'kafka_connect_plugins_rows_total{connector="orders",plugin="connector",task="1"} 0.0',
        "# HELP kafka_connect_plugins_queue_length Messages that wait.",
        "# TYPE kafka_connect_plugins_queue_length gauge",
        'kafka_connect_plugins_queue_length{connector="orders",plugin="connector",task="1"} -1.5',
    ]


def test_a_worker_reports_what_was_added_since_it_reported_last_and_the_driver_adds_it_up() -> None:
    worker, driver = MetricsByPlace(), MetricsByPlace()
    counter = worker.of("connector").counter("rows", "Rows.")
    gauge = worker.of("connector").gauge("open", "Open files.")
    driver.of("connector").counter("rows", "Rows.").add(100)
    told = []
    for added, now in ((0, 0), (5, 7), (0, 7), (2, 0)):
        counter.add(added)
        gauge.set(now)
        told.append(worker.changes())
        driver.add(decode(encode(Summary(measures=told[-1]))).measures)
    assert [{m.name: m.value for m in measures} for measures in told] == [
        {"rows": 0},
        {"rows": 5, "open": 7},
        {},
        {"rows": 2, "open": 0},
    ]
    assert driver.of("connector").counter("rows", "").value == 107
    assert driver.of("connector").gauge("open", "").value == 0


def test_many_threads_count_what_they_count() -> None:
    counter = PluginMetrics().counter("rows", "Rows.")

    def count() -> None:
        for _ in range(5_000):
            counter.add()

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 40_000


@pytest.mark.parametrize("name", ["", "Rows", "rows-seen", "1st", "rows seen", "zeilen_größe"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"cannot create metric .*: use lower-case letters"):
        PluginMetrics().gauge(name, "x")


def test_a_name_is_of_one_kind_and_a_counter_only_rises() -> None:
    metrics = PluginMetrics()
    counter = metrics.counter("rows", "Rows.")
    assert metrics.counter("rows_total", "Rows.") is counter
    with pytest.raises(ValueError, match="cannot create metric rows: a counter has this name"):
        metrics.gauge("rows", "Rows.")
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="counters only increase; use a gauge"):
            counter.add(wrong)
    counter.add(Fraction(3))  # type: ignore[arg-type]
    assert type(counter.value) is float
    with pytest.raises(ValueError, match="the suffix _total is reserved for counters"):
        metrics.gauge("rows_total", "Rows.")
    with pytest.raises(ValueError, match="doc must be a description"):
        metrics.counter("others", None)  # type: ignore[arg-type]


def test_a_name_that_two_plugins_use_for_two_kinds_is_shown_once_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plugins = MetricsByPlace()
    metrics = TaskMetrics(spec(), plugins)
    plugins.of("connector").counter("rows", "Rows.").add(2)
    plugins.of("transforms.a").gauge("rows", "Rows.").set(7)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            (row,) = [line for line in shown(metrics) if not line.startswith("#")]
            assert row.endswith(" 2.0")
            plugins.add([Measure("connector", "gauge", "rows", "Rows.", 1.0)])
    assert len(caplog.records) == 1


def test_what_a_worker_never_set_takes_nothing_from_what_the_driver_has_set() -> None:
    worker, driver = MetricsByPlace(), MetricsByPlace()
    worker.of("connector").gauge("open", "Open files.")
    driver.of("connector").gauge("open", "Open files.").set(5)
    driver.add(worker.changes())
    assert driver.of("connector").gauge("open", "").value == 5


def test_a_context_goes_to_another_process_without_what_belongs_to_this_one() -> None:
    asked: list[str] = []
    context = PluginContext("orders", "connector", "1.0", 0, 2, on_request=asked.append)
    context.metrics.counter("rows", "Rows.").add()
    for other in (pickle.loads(pickle.dumps(context)), copy.deepcopy(context)):
        assert other == context
        other.request_task_reconfiguration("a")
        assert other.metrics.counter("rows", "").value == 0
    assert asked == []


def test_a_plugin_of_a_test_has_metrics_of_its_own() -> None:
    class Counting(Transform):
        def apply(self, record: Record) -> Record | None:
            self.context.metrics.counter("seen", "Seen.").add()
            return record

    first, second = Counting(), Counting()
    first.apply(Record(topic="t", value=1))
    assert [t.context.metrics.counter("seen", "").value for t in (first, second)] == [1, 0]
    assert PluginContext() == PluginContext()
