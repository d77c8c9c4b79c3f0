"""The status topic is deleted and made anew under running tasks: who is superseded still learns of it."""

from collections.abc import Iterator

import pytest

from penstock import RetriableError
from penstock_runtime.kafka.key_reader import KeyReader
from penstock_runtime.kafka.settings import ClientSettings

from ..lab import Lab
from ..reading import create, delete, read_all
from ..running import new_name, next_life, until
from .test_deleted_topics import topics

SUPERSEDED = 3
KEY = b"status-task-c-0"


@pytest.fixture
def tail(lab: Lab, topic: str) -> Iterator[KeyReader]:
    """Of a topic with a single partition."""
    create(lab.servers, topic)
    client = {"bootstrap.servers": lab.servers}
    made = KeyReader(ClientSettings(producer=client, consumer=client, admin=client), topic, KEY)
    yield made
    made.close()


def make_anew(lab: Lab, topic: str, partitions: int = 1) -> None:
    delete(lab.servers, topic)
    until(lambda: topic not in topics(lab.servers))
    create(lab.servers, topic, partitions)


def test_a_tail_reads_a_topic_that_was_recreated_and_holds_as_much_as_before(
    lab: Lab, topic: str, tail: KeyReader
) -> None:
    lab.produce(topic, "one", "two", key=KEY)
    assert [v for _, v in tail.news(10)] == [b"one", b"two"]
    make_anew(lab, topic)
    lab.produce(topic, "three", "four", key=KEY)
    assert [v for _, v in until(lambda: tail.news(10))] == [b"three", b"four"]
    assert tail.news(10) == []


def test_a_tail_reads_a_topic_that_was_recreated_and_holds_more_than_before_from_its_beginning(
    lab: Lab, topic: str, tail: KeyReader
) -> None:
    lab.produce(topic, "one", key=KEY)
    tail.news(10)
    make_anew(lab, topic)
    lab.produce(topic, "two", "three", key=KEY)
    assert [v for _, v in until(lambda: tail.news(10))] == [b"two", b"three"]


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_tail_finds_its_key_where_a_topic_was_recreated_with_other_partitions(
    lab: Lab, topic: str, tail: KeyReader, partitions: int
) -> None:
    make_anew(lab, topic, 4 - partitions)
    lab.produce(topic, *map(str, range(9)), key=b"status-task-c-1")  # in another one of three partitions
    lab.produce(topic, "one", partition=-1, key=KEY)
    until(lambda: b"one" in [v for _, v in tail.news(10)])
    make_anew(lab, topic, partitions)
    lab.produce(topic, "two", partition=-1, key=KEY)
    until(lambda: b"two" in [v for _, v in news_of(tail)])


def news_of(tail: KeyReader) -> list[tuple[bytes, bytes | None]]:
    """Nothing while Kafka tells of the partition that is gone."""
    try:
        return tail.news(10)
    except RetriableError:
        return []


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_a_task_that_was_superseded_leaves_though_the_status_topic_was_recreated(lab: Lab, kind: str) -> None:
    status, topic = new_name("status"), lab.topic()
    worker = {"status.storage.topic": status, "status.storage.partitions": "1"}
    resource = lab.source_manifest([["v0"]], topic) if kind == "source" else lab.sink_manifest(topic)
    spec = lab.spec(resource, worker)
    first = lab.processes.task(spec)
    if kind == "sink":
        lab.produce(topic, "v0")
    lab.journal.count("commit")
    make_anew(lab, status)
    second = lab.processes.task(next_life(spec))
    assert first.await_exit() == SUPERSEDED, first.last_words()
    second.await_state("RUNNING")
    second.stop()


def test_a_task_that_continues_writes_its_record_again_where_the_status_topic_was_recreated(lab: Lab) -> None:
    status, topic = new_name("status"), lab.topic()
    spec = lab.spec(lab.sink_manifest(topic), {"status.storage.topic": status, "status.storage.partitions": "1"})
    spec = next_life(spec, 7)
    task = lab.processes.task(spec)
    lab.produce(topic, "v0")
    lab.journal.count("commit")
    make_anew(lab, status)
    lab.produce(topic, "v1")

    def held() -> bytes:
        return b"".join(r.value or b"" for r in read_all(lab.servers, status))

    until(lambda: b'"incarnation":7' in held(), what=task.last_words)
    older = lab.processes.task(spec.for_incarnation(generation=spec.generation, incarnation=6, token="older"))
    assert older.await_exit() == SUPERSEDED, older.last_words()
    task.stop()
