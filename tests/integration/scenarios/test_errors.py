"""Scenarios of area errors, on a real broker: tolerance, retries, log lines, the dead letter queue."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient

from penstock_runtime.task.context import task_context

from ..lab import LOG, Lab, failed
from ..reading import Read
from ..running import Processes, new_name, next_life

DLQ: Final = "errors.deadletterqueue.topic.name"
CONTEXT: Final = {"errors.deadletterqueue.context.headers.enable": "true", "errors.tolerance": "all"}
JSON: Final = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "true"}
PREFIX: Final = "__connect.errors."
NAMES: Final = [
    "topic",
    "partition",
    "offset",
    "connector.name",
    "task.id",
    "stage",
    "class.name",
    "exception.class.name",
    "exception.message",
    "exception.stacktrace",
]
REFUSING: Final = {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "boom"}
VALID: Final = json.dumps({"schema": {"type": "string"}, "payload": "good"})


def context(record: Read) -> dict[str, str]:
    """The context headers of a dead letter."""
    return {k.removeprefix(PREFIX): (v or b"").decode() for k, v in record.headers if k.startswith(PREFIX)}


def dead_letters(lab: Lab, **config: Any) -> tuple[str, dict[str, Any]]:
    """The name of a dead letter queue, and the properties that ask for it."""
    topic = lab.topic("dlq")
    return topic, {DLQ: topic, **CONTEXT, **config}


@pytest.mark.scenario("errors-dlq-headers")
@pytest.mark.scenario("errors-log-line")
def test_a_dead_letter_is_the_record_as_it_was_and_what_happened_to_it(lab: Lab, processes: Processes) -> None:
    topic, name, dlq = lab.topic(), new_name("sk"), new_name("dlq")
    lab.produce(topic, VALID, key="k1")
    lab.produce(topic, "not json", key="k2", headers={"h1": "x"}, timestamp=1_600_000_000_001)
    resource = lab.sink_manifest(
        topic,
        name=name,
        **JSON,
        **CONTEXT,
        **LOG,
        **{DLQ: dlq, "errors.deadletterqueue.topic.replication.factor": "1"},
    )
    run = processes.run([resource], lab.servers)
    line = run.await_log("Error encountered in task")
    lab.journal.count("commit")
    run.stop()

    assert lab.journal.values(1) == ["good"]
    (letter,) = lab.records(dlq)
    assert (letter.partition, letter.key, letter.value) == (0, b"k2", b"not json")
    assert lab.timestamp(dlq, 0) == 1_600_000_000_001
    assert [k for k, _ in letter.headers] == ["h1", *(PREFIX + n for n in NAMES)]
    found = context(letter)
    assert dict(letter.headers)["h1"] == b"x"
    java = "org.apache.kafka.connect.json.JsonConverter"
    expected = [topic, "0", "1", name, "0", "VALUE_CONVERTER", java, "penstock.errors.DataError"]
    assert [found[n] for n in NAMES[:-2]] == expected
    assert found["exception.message"] in found["exception.stacktrace"]
    assert lab.committed(name, topic) == 2

    assert json.loads(line[line.index("{") :])["message"].startswith(
        f"Error encountered in task {name}-0. Executing stage 'VALUE_CONVERTER' with class '{java}', where consumed record "
        f"is {{topic='{topic}', partition=0, offset=1, timestamp=1600000000001, timestampType=CreateTime}}."
    )


@pytest.mark.scenario("errors-log-line")
@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_the_line_names_the_type_of_the_timestamp_that_the_topic_has(lab: Lab, kind: str) -> None:
    topic = lab.topic(message_timestamp_type=kind)
    lab.produce(topic, "boom")
    more = {"value.converter": "scripted_steps:Picky", "value.converter.on": "boom", "errors.tolerance": "all"}
    _, task = lab.sink(topic, **more, **LOG)
    line = task.await_log("Error encountered")
    task.stop()
    assert f"offset=0, timestamp={lab.timestamp(topic, 0)}, timestampType={kind}}}" in line


@pytest.mark.scenario("errors-log-line")
@pytest.mark.parametrize("where", ["key", "value"])
@pytest.mark.parametrize(
    "converter", ["JsonConverter", "IntegerConverter", "LongConverter", "DoubleConverter", "BooleanConverter"]
)
def test_no_line_of_a_sink_shows_key_or_value(lab: Lab, converter: str, where: str) -> None:
    topic = lab.topic()
    lab.produce(topic, "s3cret-value", key="s3cret-key", headers={"h": "s3cret-header"})
    _, task = lab.sink(topic, **{f"{where}.converter": converter, "errors.tolerance": "all", **LOG})
    line = json.loads(task.await_log("Error encountered"))["message"]
    task.stop()
    assert f"Executing stage '{where.upper()}_CONVERTER'" in line
    assert f"topic='{topic}', partition=0, offset=0" in line
    assert "s3cret" not in task.log_text()


@pytest.mark.scenario("errors-log-line")
def test_without_include_messages_the_line_ends_after_the_class(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "boom")
    more = {"value.converter": "scripted_steps:Picky", "value.converter.on": "boom"}
    name, task = lab.sink(topic, **more, **{"errors.log.enable": "true", "errors.tolerance": "all"})
    line = json.loads(task.await_log("Error encountered"))
    task.stop()
    assert line["level"] == "error"
    start = f"Error encountered in task {name}-0. Executing stage 'VALUE_CONVERTER' with class 'scripted_steps.Picky'. "
    assert line["message"] == f"{start}DataError: converter refused boom"


@pytest.mark.scenario("errors-dlq-transform-and-put")
@pytest.mark.parametrize("how", ["report", "copy"])
def test_dead_letters_of_a_transform_and_of_the_sink_hold_the_bytes_of_the_source(lab: Lab, how: str) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab)
    lab.produce(topic, "ok", "boom1", "bad2", "ok3")
    chain = {
        "transforms": "f,r",
        "transforms.f.type": "scripted_steps:Refusing",
        "transforms.f.on": "boom1",
        "transforms.r.type": "RegexRouter",
        "transforms.r.regex": ".*",
        "transforms.r.replacement": "x",
    }
    name, task = lab.sink(topic, on={"bad2": {"do": how, "message": "bad for sink"}}, **chain, **more)
    lab.journal.count("commit")
    task.stop()
    first, second = lab.records(dlq)
    assert [first.value, second.value] == [b"boom1", b"bad2"]
    one, two = context(first), context(second)
    assert [one[k] for k in ("topic", "offset", "stage", "class.name", "exception.message")] == [
        topic,
        "1",
        "TRANSFORMATION",
        "scripted_steps.Refusing",
        "transform refused boom1",
    ]
    assert [two[k] for k in ("topic", "offset", "stage", "class.name", "exception.message")] == [
        topic,
        "2",
        "TASK_PUT",
        "org.apache.kafka.connect.sink.SinkTask",
        "bad for sink",
    ]
    assert lab.committed(name, topic) == 4


def test_headers_of_the_same_name_are_kept_and_ours_are_the_last(lab: Lab) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab)
    lab.produce(topic, "boom", headers={f"{PREFIX}topic": "earlier"})
    _, task = lab.sink(topic, **{"value.converter": "scripted_steps:Picky", "value.converter.on": "boom"}, **more)
    lab.journal.count("commit")
    task.stop()
    (letter,) = lab.records(dlq)
    assert [v for k, v in letter.headers if k == f"{PREFIX}topic"] == [b"earlier", topic.encode()]


@pytest.mark.scenario("errors-dlq-creation-fails")
def test_a_dead_letter_queue_that_cannot_be_made_is_reported_before_anything_is_read(
    lab: Lab, processes: Processes
) -> None:
    topic, dlq = lab.topic(), new_name("dlq")
    lab.produce(topic, "a")
    run = processes.run([lab.sink_manifest(topic, **{DLQ: dlq, **CONTEXT})], lab.servers)
    assert run.await_exit() != 0
    assert f"Could not initialize dead letter queue with topic={dlq}" in run.log_text()
    assert "errors.deadletterqueue.topic.replication.factor" in run.log_text()  # what to do
    assert lab.journal.kinds() == []


@pytest.mark.scenario("errors-converter-order")
def test_a_record_is_reported_by_the_first_stage_that_fails(lab: Lab) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab)
    for key, value, header in (("bad", "bad", "bad"), ("k", "bad", "bad"), ("k", "v", "bad"), ("k", "v", "h")):
        lab.produce(topic, value, key=key, headers={"h": header})
    picky: dict[str, Any] = {f"{side}.converter": "scripted_steps:Picky" for side in ("key", "value")}
    picky |= {f"{side}.converter.on": "bad" for side in ("key", "value", "header")}
    name, task = lab.sink(topic, **{**picky, "header.converter": "scripted_steps:PickyHeaders"}, **more)
    lab.journal.count("commit")
    task.stop()
    stages = [context(r)["stage"] for r in lab.records(dlq)]
    assert stages == ["KEY_CONVERTER", "VALUE_CONVERTER", "HEADER_CONVERTER"]
    assert [r[2:4] for r in lab.journal.put(1)] == [[3, "v"]]
    assert lab.committed(name, topic) == 4


@pytest.mark.scenario("errors-backoff-deadline")
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_transform_is_tried_again_until_the_deadline(lab: Lab, kind: str) -> None:
    topic = lab.topic()
    more = {
        "transforms": "f",
        "transforms.f.type": "scripted_steps:Refusing",
        "transforms.f.on": "a",
        "transforms.f.error": "retriable",
        "transforms.f.journal": lab.journal.path,
        "errors.retry.timeout": "1500",
    }
    if kind == "sink":
        lab.produce(topic, "a")
        _, task = lab.sink(topic, **more)
    else:
        _, task = lab.source([["a"]], topic, **more)
    message = failed(task)
    assert message.startswith("Tolerance exceeded in error handler: ")
    assert "RetriableError: transform refused a" in message
    tries = [e["at"] for e in lab.journal.of("apply")]
    assert len(tries) == 4
    late = [t - tries[0] - planned for t, planned in zip(tries, (0.0, 0.3, 0.9, 1.5), strict=True)]
    assert all(-0.01 <= x < 0.5 for x in late), late


@pytest.mark.scenario("errors-reporter-tolerance-none")
@pytest.mark.parametrize("how", ["report", "swallow"])
def test_a_record_that_the_sink_hands_back_fails_the_task_where_nothing_is_tolerated(lab: Lab, how: str) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab, **{"errors.tolerance": "none"})
    lab.produce(topic, "a", "ERR", "b")
    name, task = lab.sink(topic, on={"ERR": {"do": how, "message": "bad"}}, **LOG, **more)
    message = failed(task)
    assert message.startswith(
        f"Tolerance exceeded in error handler: record at {topic}-0 offset 1 failed in task {name}-0"
    )
    assert "TASK_PUT" in message
    assert "DataError: bad" in message
    assert lab.committed(name, topic) is None
    assert f"where consumed record is {{topic='{topic}', partition=0, offset=1," in task.log_text()
    (letter,) = lab.records(dlq)
    assert (letter.value, context(letter)["stage"]) == (b"ERR", "TASK_PUT")


def test_a_failure_in_a_batch_keeps_all_of_it_from_the_sink_where_nothing_is_tolerated(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "a", "boom", "b")
    name, task = lab.sink(topic, **{"value.converter": "scripted_steps:Picky", "value.converter.on": "boom"})
    message = failed(task)
    assert (
        f"record at {topic}-0 offset 1 failed in task {name}-0 at stage VALUE_CONVERTER (scripted_steps.Picky)"
        in message
    )
    assert lab.journal.of("put") == []
    assert lab.committed(name, topic) is None
    assert "converter refused boom" in lab.status(f"status-task-{name}-0")[-1]["trace"]  # the cause


@pytest.mark.scenario("errors-predicate-throws")
def test_a_predicate_that_fails_counts_as_its_transform(lab: Lab) -> None:
    topic = lab.topic()
    chain = {
        "transforms": "f",
        "transforms.f.type": "scripted_steps:Refusing",
        "transforms.f.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "scripted_steps:Unsure",
        "predicates.p.on": "odd",
    }
    name, task = lab.source([["a", "odd", "b"]], topic, **chain, **LOG, **{"errors.tolerance": "all"})
    lab.journal.count("commit")
    line = task.await_log("Error encountered")
    task.stop()
    assert lab.values(topic) == ["a", "b"]
    assert lab.offsets(name) == [{"i": 0}]
    assert (
        "Executing stage 'TRANSFORMATION' with class 'scripted_steps.Refusing', where source record is = SourceRecord{"
        in line
    )
    assert "value='odd'" in line
    assert "DataError: predicate refused odd" in line


def test_records_that_were_handed_back_before_the_sink_asked_to_wait_are_buried_once(lab: Lab) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab)
    lab.produce(topic, "bad", "wait", "c")
    on = {"bad": {"do": "report"}, "wait": {"do": "retriable", "times": 2, "after": 0.05}}
    name, task = lab.sink(topic, on=on, **more)
    lab.journal.count("commit")
    task.stop()
    assert len(lab.journal.of("put")) == 3
    assert [r.value for r in lab.records(dlq)] == [b"bad"]
    assert lab.committed(name, topic) == 3


def test_reported_record_fails_the_task_without_tolerance_even_if_the_sink_then_asks_to_wait(
    lab: Lab,
) -> None:
    topic = lab.topic()
    lab.produce(topic, "bad", "wait")
    on = {"bad": {"do": "swallow"}, "wait": {"do": "retriable", "times": 1, "after": 0.05}}
    name, task = lab.sink(topic, on=on)
    assert f"record at {topic}-0 offset 0 failed" in failed(task)
    assert len(lab.journal.of("put")) == 1  # a second might not name the record
    assert lab.committed(name, topic) is None


def test_a_batch_all_of_whose_records_fail_is_passed_over(lab: Lab) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab)
    lab.produce(topic, "a", "b")
    name, task = lab.sink(
        topic, **more, **{"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "*"}
    )
    lab.wait_committed(name, topic, 2)
    task.stop()
    assert [r.value for r in lab.records(dlq)] == [b"a", b"b"]
    assert lab.journal.of("put") == []


def test_a_dead_letter_that_kafka_refuses_is_not_passed_over(lab: Lab) -> None:
    topic, dlq = lab.topic(), lab.topic("dlq", max_message_bytes="300")
    lab.produce(topic, "x" * 1000)
    picky = {"value.converter": "scripted_steps:Picky", "value.converter.on": "x" * 1000}
    name, task = lab.sink(topic, **picky, **{DLQ: dlq, "errors.tolerance": "all"})
    message = failed(task)
    assert "cannot write" in message
    assert f"to the dead letter queue '{dlq}'" in message
    assert "larger than the topic accepts (max.message.bytes=300)" in message
    assert lab.committed(name, topic) is None


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
@pytest.mark.parametrize("polling", [False, True])
def test_a_source_has_a_dead_letter_queue_too(lab: Lab, guarantee: str, polling: bool) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab, **{"delivery.guarantee": guarantee})
    boom = {"value": "boom", "key": "k", "headers": {"h": "x"}, "timestamp": 1_600_000_000_001}
    name, task = lab.source([["a", boom, "b"], ["boom"]], topic, polling=polling, **REFUSING, **more)
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.values(topic) == ["a", "b"]
    first, second = lab.records(dlq)
    assert (first.key, first.value, first.headers[0]) == (b"k", b"boom", ("h", b"x"))
    assert lab.timestamp(dlq, 0) == 1_600_000_000_001
    assert [k for k, _ in first.headers[1:]] == [PREFIX + n for n in NAMES if n not in ("partition", "offset")]
    assert [context(first)[k] for k in ("topic", "connector.name", "task.id", "stage", "class.name")] == [
        topic,
        name,
        "0",
        "TRANSFORMATION",
        "scripted_steps.Refusing",
    ]
    # Exactly once it lies in the transaction of its batch, whose end takes an offset.
    assert second.offset == (2 if guarantee == "exactly-once" else 1)
    assert lab.offsets(name)[-1] == {"i": 1}


@pytest.mark.parametrize("properties", [{}, {"errors.tolerance": "all"}])
def test_a_source_has_no_dead_letter_queue_unless_it_is_asked_for(lab: Lab, properties: dict[str, str]) -> None:
    resource = lab.source_manifest([["a"]], lab.topic(), **properties)
    assert task_context(lab.spec(resource), slots_dir=Path()).policy.dead_letter_topic is None


@pytest.mark.parametrize("kind", ["sink", "exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_where_nothing_is_tolerated_the_record_is_buried_and_the_task_fails_at_each_restart(
    lab: Lab, kind: str
) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab, **{"errors.tolerance": "none"}, **REFUSING)
    if kind == "sink":
        lab.produce(topic, "a", "boom", "boom")
        spec = lab.spec(lab.sink_manifest(topic, **more))
    else:
        more["delivery.guarantee"] = kind
        spec = lab.spec(lab.source_manifest([["a", "boom", "boom"]], topic, **more))
    for life in (1, 2):
        message = failed(lab.processes.task(spec if life == 1 else next_life(spec)))
        assert message.startswith("Tolerance exceeded in error handler: record ")
        assert "stage TRANSFORMATION (scripted_steps.Refusing): DataError: transform refused boom" in message
        letters = lab.records(dlq)
        assert [r.value for r in letters] == [b"boom"] * life
        assert [context(r)["stage"] for r in letters] == ["TRANSFORMATION"] * life
    if kind == "sink":
        assert f"record at {topic}-0 offset 1 failed" in message
        assert lab.committed(spec.connector, topic) is None
        assert lab.journal.of("put") == []
    else:
        assert lab.values(topic) == []
        assert lab.offsets(spec.connector) == []


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_the_queue_is_made_with_one_partition_and_one_that_is_there_stays_as_it_is(lab: Lab, kind: str) -> None:
    topic, new, there = lab.topic(), new_name("dlq"), lab.topic("dlq", partitions=3)
    for dlq in (new, there):
        more = {DLQ: dlq, "errors.deadletterqueue.topic.replication.factor": "1"}
        resource = lab.source_manifest([], topic, **more) if kind == "source" else lab.sink_manifest(topic, **more)
        lab.spec(resource)
    topics = AdminClient({"bootstrap.servers": lab.servers}).list_topics(timeout=30).topics
    assert [len(topics[dlq].partitions) for dlq in (new, there)] == [1, 3]
    assert [len(p.replicas) for p in topics[new].partitions.values()] == [1]


STEPS: Final = {
    "transform": ("transforms.f", {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing"}),
    "predicate": (
        "predicates.p",
        {
            "transforms": "f",
            "transforms.f.type": "Filter",
            "transforms.f.negate": "true",
            "transforms.f.predicate": "p",
            "predicates": "p",
            "predicates.p.type": "scripted_steps:Unsure",
        },
    ),
    "key": ("key.converter", {"key.converter": "scripted_steps:Picky"}),
    "value": ("value.converter", {"value.converter": "scripted_steps:Picky"}),
    "header": ("header.converter", {"header.converter": "scripted_steps:PickyHeaders"}),
}


@pytest.mark.scenario("errors-backoff-deadline")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_every_stage_is_tried_again(lab: Lab, kind: str, step: str) -> None:
    topic = lab.topic()
    prefix, more = STEPS[step]
    more = {
        **more,
        f"{prefix}.on": "boom",
        f"{prefix}.error": "retriable",
        f"{prefix}.times": "2",
        f"{prefix}.journal": lab.journal.path,
        "errors.retry.timeout": "10000",
    }
    key, value, header = (
        "boom" if step == s or (step in ("transform", "predicate") and s == "value") else s
        for s in ("key", "value", "header")
    )
    if kind == "sink":
        lab.produce(topic, "first")
        lab.produce(topic, value, key=key, headers={"h": header})
        _, task = lab.sink(topic, **more)
        assert lab.journal.values(2) == ["first", value]
    else:
        _, task = lab.source([["first", {"value": value, "key": key, "headers": {"h": header}}]], topic, **more)
        lab.journal.count("commit")
        assert lab.values(topic) == ["first", value]
    task.stop()
    tries = [e["at"] for e in lab.journal.of("apply") if e["value"] == "boom"]
    assert len(tries) == 3
    late = [t - tries[0] - planned for t, planned in zip(tries, (0.0, 0.3, 0.9), strict=True)]
    assert all(-0.01 <= x < 0.5 for x in late), late


def test_a_record_that_fails_for_good_is_the_last_that_is_tried_where_nothing_is_tolerated(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "boom", *("boom" for _ in range(20)))
    more = {
        **REFUSING,
        "transforms.f.error": "retriable",
        "transforms.f.journal": lab.journal.path,
        "errors.retry.timeout": "300",
    }
    _, task = lab.sink(topic, **more)
    assert f"record at {topic}-0 offset 0 failed" in failed(task)
    assert len(lab.journal.of("apply")) == 2


@pytest.mark.parametrize("polling", [False, True])
def test_error_of_the_source_fails_the_task_even_if_errors_are_tolerated(lab: Lab, polling: bool) -> None:
    topic = lab.topic()
    dlq, more = dead_letters(lab, **{"errors.retry.timeout": "-1"})
    script = [["v0"], {"raise": "data", "message": "poll refused"}]
    name, task = lab.source(script, topic, polling=polling, **more)
    assert "poll refused" in failed(task)
    assert lab.values(topic) == ["v0"]
    assert lab.offsets(name) == [{"i": 0}]
    assert lab.records(dlq) == []
