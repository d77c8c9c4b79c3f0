"""A connector whose clients are on another Kafka cluster than the worker's (`*.override.bootstrap.servers`)."""

import json
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from penstock.sink import TopicPartition
from penstock_cli.embedded.broker import EmbeddedKafka
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, OffsetsVerb, OffsetsWork, Outcome
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.kafka.settings import ClientSettings

from ..pods import Pods, pods
from ..reading import create, produce, read_all
from ..running import new_name, until
from .test_jobs import sink, source, started
from .test_offsets_actions import HUGE, OFFSETS
from .test_offsets_altered import altered, position

__all__ = ["pods"]

pytestmark = pytest.mark.slow  # each starts a broker of its own

RULES = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}


def on(servers: str) -> dict[str, str]:
    """Overrides of a connector whose clients are all on this cluster."""
    return {f"{client}.override.bootstrap.servers": servers for client in ("producer", "consumer", "admin")}


def last(servers: str, name: str) -> Any:
    """The position of a source in the offsets topic of a cluster."""
    key = f'["{name}",{{"p":"a0"}}]'.encode()
    values = [r.value for r in read_all(servers, OFFSETS) if r.key == key]
    return json.loads(values[-1]) if values and values[-1] else None


def partitions(servers: str, topic: str) -> int:
    topics = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=30).topics
    return len(topics[topic].partitions) if topic in topics else 0


def test_a_sources_records_topics_and_offsets_are_there_and_its_changes_on_both(
    pods: Pods, own_kafka: EmbeddedKafka
) -> None:
    here, there, topic = pods.lab.servers, own_kafka.bootstrap_servers, new_name("far")
    resource = source(pods, topic, config={**RULES, **on(there)})
    name = f"shop.{resource['metadata']['name']}"
    task = started(pods, resource)
    pods.lab.journal.count("commit", 2)
    assert (partitions(there, topic), partitions(here, topic)) == (3, 0)
    assert sorted(r.value or b"" for r in read_all(there, topic)) == [b"a", b"b"]
    until(lambda: (last(there, name), last(here, name)) == ({"i": 1}, {"i": 1}))

    answer = altered(pods, resource, ({"p": "a0"}, {"i": 0}))  # beside the task, which is fenced
    assert answer.outcome is Outcome.DONE, answer
    assert task.process.await_exit() == ExitCode.SUPERSEDED
    assert (last(there, name), last(here, name)) == ({"i": 0}, {"i": 0})
    work = OffsetsWork(verb=OffsetsVerb.RESET, generation=HUGE)
    assert pods.answer(Action.OFFSETS, resource, offsets=work).outcome is Outcome.DONE
    assert (last(there, name), last(here, name)) == (None, None)


def test_a_sinks_group_is_there_and_its_changes_too(pods: Pods, own_kafka: EmbeddedKafka) -> None:
    there, topic = own_kafka.bootstrap_servers, pods.lab.topic()
    create(there, topic, 2)
    produce(there, topic, [b"a", b"b"])
    resource = sink(pods, topic, **on(there))
    group = f"connect-shop.{resource['metadata']['name']}"
    far = {"bootstrap.servers": there}
    groups, first = Groups(ClientSettings(producer=far, consumer=far, admin=far)), TopicPartition(topic, 0)
    assert altered(pods, resource, position(topic, 0, 0), position(topic, 1, 0)).outcome is Outcome.DONE
    assert groups.committed(group) == {first: 0, TopicPartition(topic, 1): 0}
    assert altered(pods, resource, (position(topic, 1, 0)[0], None)).outcome is Outcome.DONE
    assert groups.committed(group) == {first: 0}
    assert pods.lab.committed(group.removeprefix("connect-"), topic) is None
    task = started(pods, resource)
    assert sorted(pods.lab.journal.values(2)) == ["a", "b"]
    task.process.stop()
    work = OffsetsWork(verb=OffsetsVerb.RESET, generation=HUGE)
    assert pods.answer(Action.OFFSETS, resource, offsets=work).outcome is Outcome.DONE
    assert groups.committed(group) == {}
