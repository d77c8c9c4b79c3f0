"""A job pod that lists the offsets of a Connector in KIP-875's JSON, on a real Kafka: by name, and beside its tasks."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from penstock_model.contracts.job import LIST_BYTES, Action, JobAnswer, Outcome

from ..pods import Pods, pods, write
from ..reading import create
from ..running import new_name
from .test_jobs import sink, source, started
from .test_offsets_actions import OFFSETS, reset

__all__ = ["pods"]

pytestmark = pytest.mark.usefixtures("offsets_topic")
ORD = b'{"zeta":1,"alpha":"x","b":true,"c":1.5,"n":null}'
"""A source partition of several fields, in the order of insertion."""


@pytest.fixture(scope="module")
def offsets_topic(kafka: str) -> None:
    """Compacted, as the first start of a release makes it; a record would make another one."""
    with suppress(KafkaException):  # it is there
        create(kafka, OFFSETS, 25, cleanup_policy="compact")


def answer_of(pods: Pods, resource: dict[str, Any], kind: str | None, **more: Any) -> JobAnswer:
    return pods.answer(Action.LIST_OFFSETS, resource, kind=kind, **more)


def listed(pods: Pods, resource: dict[str, Any], kind: str | None, **more: Any) -> str:
    answer = answer_of(pods, resource, kind, **more)
    assert (answer.outcome, answer.message) == (Outcome.DONE, "")
    assert answer.offsets is not None
    return answer.offsets


def name_of(resource: dict[str, Any]) -> str:
    return f"shop.{resource['metadata']['name']}"


def store(pods: Pods, name: str, partition: bytes, offset: bytes | None, topic: str = OFFSETS) -> None:
    write(pods.lab.servers, topic, b'["%s",%s]' % (name.encode(), partition), offset)


@pytest.mark.scenario("offsets-file-source-format")
def test_a_sources_positions_are_reported_in_connects_format_and_those_of_others_are_not(pods: Pods) -> None:
    resource = source(pods, "t")
    name = name_of(resource)
    store(pods, name, b'{"filename":"/data/in.txt"}', b'{"position":35}')
    store(pods, f"{name}2", b'{"filename":"/data/other.txt"}', b'{"position":7}')
    store(pods, name, b'{"filename":"/data/gone.txt"}', b'{"position":7}')
    store(pods, name, b'{"filename":"/data/gone.txt"}', None)
    assert listed(pods, resource, "source") == (
        '{"offsets":[\n{"partition":{"filename":"/data/in.txt"},"offset":{"position":35}}\n]}'
    )


@pytest.mark.scenario("offsets-field-order-of-partition")
def test_a_partition_of_several_fields_is_reported_once_with_the_position_that_the_task_will_read(pods: Pods) -> None:
    resource = source(pods, "t")
    name = name_of(resource)
    store(pods, name, ORD, b'{"pos":3}')
    assert json.loads(listed(pods, resource, "source")) == {
        "offsets": [{"partition": json.loads(ORD), "offset": {"pos": 3}}]
    }
    store(pods, name, json.dumps(json.loads(ORD), sort_keys=True).encode(), b'{"pos":4}')
    (entry,) = json.loads(listed(pods, resource, "source"))["offsets"]
    assert entry["offset"] == {"pos": 4}
    assert reset(pods, resource).outcome is Outcome.DONE
    assert listed(pods, resource, "source") == '{"offsets":[]}'


def test_values_are_in_the_list_as_they_are_in_kafka(pods: Pods) -> None:
    resource = source(pods, "t")
    offset = '{"long":9223372036854775807,"text":"ä\\u0001","flag":false,"none":null,"half":0.5}'
    store(pods, name_of(resource), b"{}", offset.encode())
    assert f'{{"partition":{{}},"offset":{offset}}}' in listed(pods, resource, "source")


def test_what_json_cannot_hold_is_reported_as_kafka_connect_reports_it_or_escaped(pods: Pods) -> None:
    resource = source(pods, "t")
    store(pods, name_of(resource), b'{"half":"\\ud800"}', b'{"a":NaN,"b":-Infinity,"c":1e400}')
    text = listed(pods, resource, "source")
    assert '{"partition":{"half":"\\ud800"},"offset":{"a":"NaN","b":"-Infinity","c":"Infinity"}}' in text


@pytest.mark.scenario("offsets-own-topic-reset")
def test_where_both_topics_have_a_position_that_of_the_connectors_own_holds(pods: Pods) -> None:
    own = pods.lab.topic("own", cleanup_policy="compact")
    resource = source(pods, "t", config={"offsets.storage.topic": own})
    name = name_of(resource)
    store(pods, name, b'{"p":"a0"}', b'{"i":9}')
    store(pods, name, b'{"p":"zz"}', b'{"i":1}')
    store(pods, name, b'{"p":"a0"}', b'{"i":2}', own)
    entries = json.loads(listed(pods, resource, "source"))["offsets"]
    assert [(e["partition"]["p"], e["offset"]["i"]) for e in entries] == [("a0", 2), ("zz", 1)]
    assert reset(pods, resource).outcome is Outcome.DONE
    assert listed(pods, resource, "source") == '{"offsets":[]}'


@pytest.mark.scenario("offsets-sink-list-and-alter")
@pytest.mark.scenario("offsets-commit-without-joining")
def test_a_sinks_committed_offsets_are_reported_in_connects_format_with_those_of_topics_of_before(pods: Pods) -> None:
    before, topic = sorted((pods.lab.topic(), pods.lab.topic(partitions=2)))
    resource = sink(pods, topic)
    group = f"connect-{name_of(resource)}"
    assert listed(pods, resource, "sink") == '{"offsets":[]}'
    for name, offset in ((before, 3), (topic, 8)):
        with pods.lab.member(group, name) as member:
            member.commit(offset)
    assert listed(pods, resource, "sink") == (
        f'{{"offsets":[\n{{"partition":{{"kafka_topic":"{before}","kafka_partition":0}},"offset":{{"kafka_offset":3}}}},\n'
        f'{{"partition":{{"kafka_topic":"{topic}","kafka_partition":0}},"offset":{{"kafka_offset":8}}}}\n]}}'
    )


@pytest.mark.scenario("offsets-sink-overridden-group")
def test_the_group_is_that_of_the_override(pods: Pods) -> None:
    topic, group = pods.lab.topic(), new_name("group")
    resource = sink(pods, topic, **{"consumer.override.group.id": group})
    with pods.lab.member(group, topic) as member:
        member.commit(1)
    (entry,) = json.loads(listed(pods, resource, "sink"))["offsets"]
    assert entry["offset"] == {"kafka_offset": 1}


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_tasks_that_run_are_listed_and_neither_fenced_nor_disturbed(pods: Pods, kind: str) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, *("abc" if kind == "sink" else ""))
    resource = sink(pods, topic) if kind == "sink" else source(pods, topic)
    task = started(pods, resource)
    name = task.spec.connector
    if kind == "sink":
        pods.lab.wait_committed(name, topic, 3)
    else:
        pods.lab.journal.count("commit", 2)
    (entry,) = json.loads(listed(pods, resource, kind))["offsets"]
    assert entry["offset"] == ({"kafka_offset": 3} if kind == "sink" else {"i": 1})
    task.await_report("RUNNING")
    task.process.stop()


@pytest.mark.parametrize("wrong", ["the plugin is missing", "no property of the connector is right"])
def test_a_configuration_that_is_wrong_is_no_obstacle_and_both_kinds_are_listed_where_none_is_known(
    pods: Pods, wrong: str
) -> None:
    topic = pods.lab.topic()
    resource = sink(pods, topic)
    if wrong == "the plugin is missing":
        resource["spec"]["class"] = "gone_plugins:GoneSink"
    else:
        resource["spec"]["config"] = {"tasks.max": "two", "value.converter": "Nope", "topics": "", "x": "${secret:a:b}"}
    name = name_of(resource)
    store(pods, name, b'{"p":"a0"}', b'{"i":2}')
    with pods.lab.member(f"connect-{name}", topic) as member:
        member.commit(1)
    assert [e["offset"] for e in json.loads(listed(pods, resource, None))["offsets"]] == [{"i": 2}, {"kafka_offset": 1}]
    assert [e["offset"] for e in json.loads(listed(pods, resource, "sink"))["offsets"]] == [{"kafka_offset": 1}]


def test_no_code_of_the_plugin_runs(pods: Pods, tmp_path: Path) -> None:
    (tmp_path / "ill_plugin.py").write_text("import os\nos._exit(99)\n")
    resource = source(
        pods, "t", **{"class": "ill_plugin:Source", "config": {"transforms": "t", "transforms.t.type": "ill_plugin:T"}}
    )
    env = {"PYTHONPATH": str(tmp_path)}
    assert pods.job(Action.PLAN, resource, env=env).code == 99
    job = pods.job(Action.LIST_OFFSETS, resource, kind="source", env=env)
    assert job.answer is not None
    assert (job.answer.outcome, job.answer.offsets) == (Outcome.DONE, '{"offsets":[]}')


@pytest.mark.parametrize("kind", ["source", "sink", None])
def test_what_says_where_the_offsets_are_is_right_or_nothing_is_listed(pods: Pods, kind: str | None) -> None:
    """Else a Connector that the policy refuses could show offsets of others, or send passwords to a broker of its own."""
    overrides = {
        "consumer.override.group.id": "connect-shop.other",
        "producer.override.bootstrap.servers": "127.0.0.1:1",
    }
    resource = sink(pods, "t", **overrides)
    answer = answer_of(pods, resource, kind, worker={"connector.client.config.override.policy": "None"})
    assert answer.outcome is Outcome.INVALID
    forbidden = {"sink": ["consumer.override.group.id"]}.get(str(kind), sorted(overrides))
    assert sorted(p.property for p in answer.problems) == forbidden
    assert "The 'None' policy does not allow" in answer.problems[0].message
    resource = sink(pods, "t", **{"consumer.override.fetch.min.bytes": "many"})
    answer = answer_of(pods, resource, "sink")
    assert (answer.outcome, [p.property for p in answer.problems]) == (
        Outcome.INVALID,
        ["consumer.override.fetch.min.bytes"],
    )
    resource = source(pods, "t", config={"offsets.storage.topic": "${secret:gone:topic}"})
    answer = answer_of(pods, resource, "source")
    assert (answer.outcome, [p.property for p in answer.problems]) == (Outcome.INVALID, ["offsets.storage.topic"])


def test_before_the_first_start_of_a_release_there_is_nothing_to_list(pods: Pods) -> None:
    fresh = {"status.storage.topic": new_name("status"), "offset.storage.topic": new_name("offsets")}
    assert listed(pods, source(pods, "t"), None, worker=fresh) == '{"offsets":[]}'


def test_a_list_that_no_config_map_holds_is_refused_with_what_to_do(pods: Pods) -> None:
    resource = source(pods, "t")
    name = name_of(resource)
    producer = Producer({"bootstrap.servers": pods.lab.servers, "acks": "all"})
    for number in range(LIST_BYTES // 1000 + 1):
        key = json.dumps([name, {"file": f"{number:01000}"}], separators=(",", ":"))
        producer.produce(OFFSETS, key=key, value=b'{"i":1}')
    assert producer.flush(30) == 0
    producer.close()
    answer = answer_of(pods, resource, "source")
    assert (answer.outcome, answer.offsets) == (Outcome.REFUSED, None)
    assert answer.message.startswith("cannot list 922 positions: they take 9")
    assert "the list in a ConfigMap holds at most 900 KiB; run `penstock offsets list`" in answer.message
    assert f"spec.connectName set to {name}" in answer.message
    store(pods, name, json.dumps({"file": f"{0:01000}"}).encode(), None)  # the others are few enough by then
    reset(pods, resource)


@pytest.mark.slow
def test_kafka_that_is_unavailable_is_reported(pods: Pods) -> None:
    answer = answer_of(pods, source(pods, "t"), "source", worker={"bootstrap.servers": "127.0.0.1:1"})
    assert (answer.outcome, answer.offsets) == (Outcome.UNAVAILABLE, None)
    assert "127.0.0.1:1" in answer.message
