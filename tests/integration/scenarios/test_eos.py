"""Scenarios of area eos: records and offsets together or not at all. `runtime.md` says how; kills are tested elsewhere."""

import json
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock import ConfigError
from penstock_cli.embedded import EmbeddedKafka
from penstock_kafka.murmur2 import partition_of

from ..lab import Lab, failed
from ..reading import Reader, create, read_all
from ..running import new_name

KEY = '["{}",{{"p":"a0"}}]'
BOOM = {"transforms": "f", "transforms.f.type": "scripted_steps:Refusing", "transforms.f.on": "boom"}


@pytest.mark.scenario("eos-poll-transactions")
@pytest.mark.parametrize("polling", [False, True])
def test_each_batch_is_a_transaction_with_its_offset(lab: Lab, polling: bool) -> None:
    topic = lab.topic()
    name, task = lab.source([["v0", "v1"], ["v2"]], topic, polling=polling, worker={"group.id": "lab-eos"})
    lab.journal.count("commit", 2)
    task.stop()
    found = lab.records(topic)
    assert [(r.offset, r.value) for r in found] == [(0, b"v0"), (1, b"v1"), (3, b"v2")]  # 2 and 4 are markers
    records = lab.offset_records(name)
    assert [(r.offset - records[0].offset, r.value) for r in records] == [(0, b'{"i":0}'), (2, b'{"i":1}')]
    ids = lab.transactional_ids(f"lab-eos-{name}-")
    assert f"lab-eos-{name}-0" in ids
    assert all(i == f"lab-eos-{name}-0" or i.startswith(f"lab-eos-{name}-0/") for i in ids)  # those of workers' slots


@pytest.mark.scenario("eos-failure-aborts")
@pytest.mark.parametrize("polling", [False, True])
def test_a_batch_that_fails_leaves_nothing_behind(lab: Lab, polling: bool) -> None:
    topic = lab.topic()
    name, task = lab.source([["f0"], ["f1", "boom", "f3"]], topic, polling=polling, **BOOM)
    message = failed(task)
    assert message.startswith("Tolerance exceeded in error handler: ")
    assert "transform refused boom" in message
    assert lab.values(topic) == ["f0"]
    assert lab.offsets(name) == [{"i": 0}]


def test_at_least_once_a_batch_that_fails_does_not_advance_either(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source([["f0"], ["f1", "boom", "f3"]], topic, **BOOM, **{"delivery.guarantee": "at-least-once"})
    failed(task)
    assert lab.values(topic)[:1] == ["f0"]
    assert lab.offsets(name) == [{"i": 0}]


@pytest.mark.scenario("eos-own-offsets-topic-refused")
def test_a_record_for_the_offsets_topic_is_refused(lab: Lab) -> None:
    name, task = lab.source([[{"value": "v", "topic": "connect-offsets"}]], "t")
    expected = "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
    assert expected in failed(task)
    assert lab.offsets(name) == []


def problems(lab: Lab, worker: Any = None, **config: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as e:
        lab.spec(lab.source_manifest([["v"]], "t", **config), worker)
    return {p.property: p.message for p in e.value.problems}


@pytest.mark.scenario("eos-required-refused")
def test_exactly_once_that_is_required_and_cannot_be_had_is_refused(lab: Lab) -> None:
    required = {"exactly.once.support": "required"}
    off = problems(lab, {"exactly.once.source.support": "disabled"}, **required)
    assert off == {"exactly.once.support": "This worker does not have exactly-once source support enabled."}
    resource = lab.source_manifest([["v"]], "t", **required)
    resource["spec"]["class"] = "scripted_sources:InexactSource"
    with pytest.raises(ConfigError, match="The connector does not support exactly-once semantics with the provided"):
        lab.spec(resource)


ENDED = [
    ["c0", {"value": "c1", "end": "commit"}, "c2"],
    ["c3", {"value": "c4", "end": "abort"}],
    [{"value": "c5", "end": "commit"}],
    ["c6"],
]


@pytest.mark.scenario("eos-connector-boundary")
def test_a_plugin_ends_its_transactions(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source(ENDED, topic, polling=True, defines=True, **{"transaction.boundary": "connector"})
    with Reader(lab.servers, topic, isolation="read_uncommitted") as sent:
        sent.until(lambda: sent.values()[-1:] == [b"c6"])
    task.stop()
    assert lab.values(topic) == ["c0", "c1", "c5"]
    assert lab.offsets(name) == [{"i": 0}, {"i": 1}, {"i": 2}]
    assert len(lab.journal.of("commit")) == 3


def test_a_batch_may_hold_several_transactions(lab: Lab) -> None:
    topic = lab.topic()
    batch = ["a", {"value": "b", "end": "commit"}, "c", {"value": "d", "end": "commit"}]
    _, task = lab.source([batch], topic, polling=True, defines=True, **{"transaction.boundary": "connector"})
    lab.journal.count("commit", 2)
    task.stop()
    assert [(r.offset, r.value) for r in lab.records(topic)] == [(0, b"a"), (1, b"b"), (3, b"c"), (4, b"d")]


def test_the_ends_that_a_plugin_marks_count_only_where_it_is_asked_to(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source(ENDED, topic, polling=True, defines=True)
    lab.journal.count("commit", 4)
    task.stop()
    assert lab.values(topic) == [f"c{n}" for n in range(7)]
    assert lab.offsets(name) == [{"i": n} for n in range(4)]


def test_a_plugin_that_cannot_end_transactions_is_refused_with_the_reason(lab: Lab) -> None:
    (message,) = problems(lab, **{"transaction.boundary": "connector"}).values()
    assert message.startswith("The connector does not support connector-defined transaction boundaries")


def test_offsets_are_written_once_where_another_address_names_the_workers_own_cluster(lab: Lab) -> None:
    """Twice would be once outside the transaction, where nothing fences a zombie."""
    topic, elsewhere = lab.topic(), lab.servers.replace("127.0.0.1", "localhost")
    assert elsewhere != lab.servers
    name, task = lab.source([["v0"], ["v1"]], topic, **{"producer.override.bootstrap.servers": elsewhere})
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.offsets(name) == [{"i": 0}, {"i": 1}]


@pytest.mark.slow
def test_offsets_of_a_connector_on_another_cluster_are_on_both_and_its_own_take_precedence(
    lab: Lab, own_kafka: EmbeddedKafka
) -> None:
    topic, name, there = lab.topic(), new_name("far"), own_kafka.bootstrap_servers
    key = KEY.format(name).encode()
    create(there, topic)
    elsewhere = {"producer.override.bootstrap.servers": there}
    for life in (1, 2):
        _, task = lab.source([["v0"], ["v1"]][:life], topic, name=name, **elsewhere)
        lab.journal.count("commit", life)
        task.stop()
        lab.produce("connect-offsets", '{"i":7}', key=key, partition=partition_of(key, 25))
    assert [e["offset"] for e in lab.journal.of("start")] == [None, {"i": 0}]  # not the 7
    assert [r.value for r in read_all(there, topic)] == [b"v0", b"v1"]
    assert lab.values(topic) == []
    own = [r.value for r in read_all(there, "connect-offsets") if r.key == key]
    assert own == [b'{"i":0}', b'{"i":1}']
    assert lab.offsets(name) == [{"i": 0}, {"i": 7}, {"i": 1}, {"i": 7}]


@pytest.mark.slow
def test_a_stranger_with_the_tasks_transactional_id_is_named_and_nothing_is_lost_or_doubled(lab: Lab) -> None:
    topic = lab.topic()
    name, task = lab.source([[f"v{n}"] for n in range(1_000)], topic, every=0.05)
    lab.journal.count("commit", 2)
    for _ in range(3):  # a Kafka Connect worker on which the connector still runs, say
        stranger = Producer({"bootstrap.servers": lab.servers, "transactional.id": f"penstock-{name}-0"})
        stranger.init_transactions(30)
        lab.journal.count("commit", len(lab.journal.of("commit")) + 3)
        stranger.close()
    line = json.loads(task.await_log("is not a later incarnation of this task"))
    assert line["level"] == "warning"
    assert f"took its transactional id penstock-{name}-0" in line["message"]
    assert (
        f"a Kafka Connect worker with group.id penstock still runs connector {name}, stop it there" in line["message"]
    )
    task.stop()
    values = lab.values(topic)
    assert values == [f"v{n}" for n in range(len(values))]
    assert lab.offsets(name)[-1] == {"i": len(values) - 1}
    assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["RUNNING", "UNASSIGNED"]
