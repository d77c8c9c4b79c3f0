"""The metrics of a task, by Connect's names."""

import importlib.metadata
import re
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from ..lab import LOG, STRING, Lab
from ..running import Running, manifest, new_name, until

# connect-semantics 13, where it has a meaning: the metric there, its name here.
COMMON: Final = {
    "connector-task-metrics status": "kafka_connect_connector_task_status",
    "connector-task-metrics running-ratio": "kafka_connect_connector_task_running_ratio",
    "connector-task-metrics pause-ratio": "kafka_connect_connector_task_pause_ratio",
    "connector-task-metrics batch-size-avg": "kafka_connect_connector_task_batch_size_sum",
    "task-error-metrics total-record-failures": "kafka_connect_task_error_total_record_failures_total",
    "task-error-metrics total-record-errors": "kafka_connect_task_error_total_record_errors_total",
    "task-error-metrics total-records-skipped": "kafka_connect_task_error_total_records_skipped_total",
    "task-error-metrics total-retries": "kafka_connect_task_error_total_retries_total",
    "task-error-metrics total-errors-logged": "kafka_connect_task_error_total_errors_logged_total",
    "task-error-metrics deadletterqueue-produce-requests": "kafka_connect_task_error_deadletterqueue_produce_requests_total",
    "task-error-metrics deadletterqueue-produce-failures": "kafka_connect_task_error_deadletterqueue_produce_failures_total",
    "task-error-metrics last-error-timestamp": "kafka_connect_task_error_last_error_timestamp",
}
SINK: Final = {
    "sink-record-read-total": "kafka_connect_sink_task_sink_record_read_total",
    "sink-record-send-total": "kafka_connect_sink_task_sink_record_send_total",
    "sink-record-active-count": "kafka_connect_sink_task_sink_record_active_count",
    "put-batch-avg-time-ms": "kafka_connect_sink_task_put_batch_seconds_count",
    "partition-count": "kafka_connect_sink_task_partition_count",
    "offset-commit-seq-no": "kafka_connect_sink_task_offset_commit_seq_no",
    "offset-commit-completion-total": "kafka_connect_sink_task_offset_commit_completion_total",
}
SOURCE: Final = {
    "source-record-poll-total": "kafka_connect_source_task_source_record_poll_total",
    "source-record-write-total": "kafka_connect_source_task_source_record_write_total",
    "poll-batch-avg-time-ms": "kafka_connect_source_task_poll_batch_seconds_count",
    "transaction-size-avg": "kafka_connect_source_task_transaction_size_sum",
}


def scraped(task: Running) -> dict[str, float]:
    """The value of each metric of the task's own; a state's under the metric's name where the task is in it."""
    port = task.await_event(lambda e: e["event"] == "metrics")["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    samples = [x.rpartition(" ") for x in lines if not x.startswith("#")]
    found = {name.replace(',state="running"', ""): float(value) for name, _, value in samples}
    assert all('connector="' in name and 'task="0"' in name for name in found)
    return {re.sub(r'\{connector="[^"]*",task="0"\}$', "", name): value for name, value in found.items()}


def labels(found: Mapping[str, float], metric: str) -> dict[str, str]:
    """The labels of the only row of a metric."""
    (row,) = (name for name in found if name.startswith(f"{metric}{{"))
    return dict(re.findall(r'(\w+)="([^"]*)"', row))


def test_a_sink_counts_what_it_reads_writes_commits_and_fails_to(lab: Lab) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq")
    lab.produce(topic, "a", "boom", "b", "slow")
    more = {**LOG, "errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq}
    name, task = lab.sink(
        topic,
        worker={"offset.flush.interval.ms": "200"},
        value_converter="scripted_steps:Picky",
        on={"slow": {"do": "retriable", "times": 1}},
        **{
            "value.converter.on": "boom",
            **more,
            "transforms": "f",
            "transforms.f.type": "Filter",
            "transforms.f.predicate": "p",
            "predicates": "p",
            "predicates.p.type": "RecordIsTombstone",
        },
    )
    lab.journal.count("commit")
    task.await_event(lambda e: e["event"] == "progress" and e.get("lag") == 0)
    lab.wait_committed(name, topic, 4)
    found = scraped(task)
    value = {k: found[v] for k, v in {**COMMON, **SINK}.items()}
    assert value["connector-task-metrics status"] == 1
    assert 0 < value["connector-task-metrics running-ratio"] <= 1
    assert value["connector-task-metrics pause-ratio"] == 0
    assert [value[f"sink-record-{n}-total"] for n in ("read", "send")] == [4, 3]
    assert value["partition-count"] == 1
    assert value["offset-commit-seq-no"] == value["offset-commit-completion-total"] >= 1
    assert value["sink-record-active-count"] == 0
    errors = {k.removeprefix("task-error-metrics "): v for k, v in value.items() if k.startswith("task-error")}
    assert errors.pop("last-error-timestamp") > 1_600_000_000_000
    assert errors == {
        "total-record-failures": 2,
        "total-record-errors": 1,
        "total-records-skipped": 1,
        "total-retries": 1,
        "total-errors-logged": 1,
        "deadletterqueue-produce-requests": 1,
        "deadletterqueue-produce-failures": 0,
    }
    assert found["kafka_connect_sink_task_lag"] == 0
    version = importlib.metadata.version("penstock")
    described = labels(found, "kafka_connect_connector_task_info")
    assert (described["connector_type"], described["connector"], described["task"]) == ("sink", name, "0")
    assert described["connector_class"]
    converters = {place: described[f"{place}_converter_class"] for place in ("key", "value", "header")}
    assert converters["value"] == "Picky"
    assert described["key_converter_version"] == described["header_converter_version"] == version
    of_f = labels(found, "kafka_connect_connector_transform_info")
    assert (of_f["transform"], of_f["transform_class"], of_f["transform_version"]) == ("f", "Filter", version)
    of_p = labels(found, "kafka_connect_connector_predicate_info")
    assert (of_p["predicate"], of_p["predicate_class"]) == ("p", "RecordIsTombstone")
    assert of_p["predicate_version"] == version
    task.stop()


def test_a_source_counts_what_it_reads_and_writes(lab: Lab) -> None:
    topic = lab.topic()
    _, task = lab.source([["a", "b", "c"], ["d"]], topic)
    lab.journal.count("commit", 2)
    found = scraped(task)
    value = {k: found[v] for k, v in {**COMMON, **SOURCE}.items()}
    task.stop()
    assert [value[f"source-record-{n}-total"] for n in ("poll", "write")] == [4, 4]
    assert value["poll-batch-avg-time-ms"] == 2
    assert value["transaction-size-avg"] == value["connector-task-metrics batch-size-avg"] == 4
    assert value["task-error-metrics last-error-timestamp"] == 0


def test_a_source_counts_what_fails(lab: Lab) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq")
    chain = {
        "transforms": "f",
        "transforms.f.type": "scripted_steps:Refusing",
        "transforms.f.on": "boom",
        "transforms.f.error": "retriable",
        "errors.retry.timeout": "300",
    }
    more = {**LOG, "errors.tolerance": "all", "errors.deadletterqueue.topic.name": dlq}
    _, task = lab.source([["a", "boom", "b"]], topic, **chain, **more)
    lab.journal.count("commit")
    found = scraped(task)
    value = {k: found[v] for k, v in COMMON.items() if k.startswith("task-error-metrics")}
    written = found[SOURCE["source-record-write-total"]]
    task.stop()
    assert value.pop("task-error-metrics last-error-timestamp") > 1_600_000_000_000
    assert {k.removeprefix("task-error-metrics "): v for k, v in value.items()} == {
        "total-record-failures": 2,
        "total-record-errors": 1,
        "total-records-skipped": 1,
        "total-retries": 1,
        "total-errors-logged": 1,
        "deadletterqueue-produce-requests": 1,
        "deadletterqueue-produce-failures": 0,
    }
    assert written == 2


@pytest.mark.parametrize("behind", [0, 3])
def test_the_lag_is_what_lies_in_kafka_and_is_not_written(lab: Lab, behind: int) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", *("wait" for _ in range(behind)))
    _, task = lab.sink(topic, on={"wait": {"do": "retriable"}}, **{"consumer.override.max.poll.records": "1"})
    task.await_event(lambda e: e["event"] == "progress" and e.get("lag") == behind)
    task.stop()


def test_the_lag_grows_while_the_sink_asks_to_wait(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "wait")
    _, task = lab.sink(topic, on={"wait": {"do": "retriable"}})
    lab.journal.count("put", 2)
    lab.produce(topic, "b", "c")
    task.await_event(lambda e: e["event"] == "progress" and e.get("lag") == 3)
    task.stop()


@pytest.mark.slow
def test_the_lag_is_measured_while_a_write_does_not_return(lab: Lab, tmp_path: Path) -> None:
    topic, hold = lab.topic(), tmp_path / "hold"
    _, task = lab.start(manifest(new_name(), "stalling:StallingSink", {**STRING, "topics": topic, "hold": str(hold)}))
    lab.produce(topic, "a")
    until(lambda: scraped(task).get("kafka_connect_sink_task_lag") == 0, what=task.last_words)
    hold.touch()
    lab.produce(topic, "b", "c", "d")
    until(lambda: scraped(task).get("kafka_connect_sink_task_lag") == 3, what=task.last_words)
    lab.produce(topic, "e")
    until(lambda: scraped(task).get("kafka_connect_sink_task_lag") == 4, what=task.last_words)
    hold.unlink()
    until(lambda: scraped(task).get("kafka_connect_sink_task_lag") == 0, what=task.last_words)
    task.stop()


@pytest.mark.slow
def test_what_a_plugin_counts_is_at_the_endpoint_also_what_it_counts_in_sparks_workers(lab: Lab) -> None:
    topic = lab.topic(partitions=2)
    chain = {"transforms": "m", "transforms.m.type": "measuring:Measuring"}
    resource = manifest(new_name(), "numbers_source:Numbers", {**STRING, "topic": topic, "partitions": "2", **chain})
    _, task = lab.start(resource)
    task.await_batch_on_spark()
    found = {name: value for name, value in scraped(task).items() if 'plugin="transforms.m"' in name}
    value = {name.partition("{")[0].removeprefix("kafka_connect_plugins_"): v for name, v in found.items()}
    assert 0 < value["records_seen_on_spark_total"] < value["records_seen_total"]
    assert value["last_batch"] > 0
    task.stop()
