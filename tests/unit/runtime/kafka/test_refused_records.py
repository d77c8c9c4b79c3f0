"""What is known of records that Kafka does not take, before they are sent."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, Producer

from penstock import RetriableError
from penstock_runtime.kafka import batch_limits
from penstock_runtime.kafka.producer_losses import Losses
from penstock_runtime.kafka.producer_records import Outgoing
from penstock_runtime.kafka.refused_records import Refusals
from penstock_runtime.kafka.settings import ClientSettings


class Brokers:
    """Tell limits and partitions, and count how often they are asked."""

    def __init__(self) -> None:
        self.limits: dict[str, int] = {}
        self.partitions: dict[str, int] = {}
        self.asked: list[list[str]] = []

    def batch_limits(self, settings: ClientSettings, topics: Iterable[str]) -> dict[str, int]:
        self.asked.append(list(topics))
        return {t: self.limits[t] for t in topics if t in self.limits}

    def list_topics(self, topic: str, timeout: float) -> Any:
        found = SimpleNamespace(error=None, partitions=dict.fromkeys(range(self.partitions.get(topic, 0))))
        return SimpleNamespace(topics={topic: found})


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    brokers = Brokers()
    monkeypatch.setattr(batch_limits, "batch_limits", brokers.batch_limits)
    return brokers


def refusals(**properties: str) -> Refusals:
    return Refusals(ClientSettings(producer=properties, consumer={}, admin={}))


def known(of: Refusals, brokers: Brokers, seconds: float = 0.0, **columns: Any) -> dict[int, str]:
    columns = {"topic": "t", "value": [b"v"], **columns}
    found = of.known(Outgoing(length=len(columns["value"]), **columns), cast("Producer", brokers), seconds)
    return {r.row: str(r.error) for r in found}


def test_all_new_topics_are_asked_for_together_and_once(brokers: Brokers) -> None:
    one = refusals()
    for _ in range(3):
        assert known(one, brokers, topic=["a", "b"], value=[b"1", b"2"]) == {}
    assert brokers.asked == [["a", "b"]]


def test_a_record_larger_than_its_topic_takes_is_known_by_its_row(brokers: Brokers) -> None:
    brokers.limits = {"t": 1_000, "wide": 9_000}
    values = [b"x", b"x" * 2_000, b"x" * 2_000]
    found = known(refusals(), brokers, topic=["t", "t", "wide"], value=values, partition=[None, 3, None], seconds=0)
    assert found.keys() == {1}
    assert "topic 't' partition 3: a record of 2070 bytes is larger than the topic accepts" in found[1]


def test_sizes_say_nothing_about_records_that_are_compressed(brokers: Brokers) -> None:
    brokers.limits = {"t": 1_000}
    assert known(refusals(**{"compression.type": "zstd"}), brokers, value=[b"x" * 2_000]) == {}


def test_batches_are_made_for_the_topic_that_takes_least(brokers: Brokers) -> None:
    brokers.limits = {"a": 1_048_588, "b": 50_000}
    one = refusals()
    assert one.fit({"batch.size": 1 << 20})["batch.size"] == 1 << 20
    known(one, brokers, topic=["a", "b"], value=[b"1", b"2"])
    assert one.outdates(1 << 20, isolating=False)
    assert one.fit({"batch.size": 1 << 20})["batch.size"] == 50_000
    assert one.fit({"batch.size": 16_384})["batch.size"] == 16_384
    assert not one.outdates(50_000, isolating=False)


def test_where_no_limit_is_reported_batches_become_smaller_with_each_refusal(brokers: Brokers) -> None:
    one, sizes = refusals(), []
    for _ in range(6):
        size = one.fit({"batch.size": 1 << 20})["batch.size"]
        sizes.append(size)
        one.isolate({"t"}, size)
    assert sizes == [1 << 20, 1 << 16, 1 << 12, 1 << 8, 1 << 4, 1]


def test_a_limit_that_has_shrunk_is_found_by_the_refusal(brokers: Brokers) -> None:
    brokers.limits = {"t": 1_048_588}
    one = refusals()
    known(one, brokers)
    brokers.limits = {"t": 50_000}
    one.isolate({"t"}, 1 << 20)
    assert one.limits.least == 50_000


@pytest.mark.parametrize("name", ["a b", "ä", ".", "..", "", "x" * 250])
def test_a_name_that_kafka_does_not_take_is_known(brokers: Brokers, name: str) -> None:
    found = known(refusals(), brokers, topic=[name, "t"], value=[b"1", b"2"])
    assert found.keys() == {0}
    assert "the name is not valid in Kafka" in found[0]
    assert brokers.asked == [["t"]]


def test_a_partition_that_does_not_exist_is_known_by_its_row(brokers: Brokers) -> None:
    brokers.partitions = {"t": 2}
    found = known(refusals(), brokers, value=[b"1", b"2", b"3"], partition=[1, 2, None])
    assert found.keys() == {1}
    assert (
        "Partition 2 of topic 't' does not exist: the topic's partition count is still 2 after 0 s (max.block.ms)"
        in found[1]
    )
    assert known(refusals(), brokers, value=[b"1", b"2"], partition=5).keys() == {0, 1}


def test_a_topic_that_is_not_there_is_no_matter_of_partitions(brokers: Brokers) -> None:
    assert known(refusals(), brokers, partition=5) == {}


def test_the_wait_for_a_partition_ends_with_the_task(brokers: Brokers) -> None:
    brokers.partitions = {"t": 1}
    one = Refusals(ClientSettings(producer={}, consumer={}, admin={}), lambda: True)
    with pytest.raises(RetriableError, match="Stopped while waiting for partition 1 of topic 't'"):
        known(one, brokers, 60.0, partition=1)


def test_what_was_refused_separately_is_known_until_its_batch_is_written(brokers: Brokers) -> None:
    one = refusals()
    out = Outgoing(length=2, topic="t", value=[b"good", b"bad"], timestamp=[1, 2])
    one.isolate(set(), 1 << 20)
    one.refused(out, 1, KafkaError(KafkaError.INVALID_RECORD), 0)
    assert known(one, brokers, value=[b"good", b"bad", b"bad"], timestamp=[1, 2, 3]).keys() == {1}
    one.settled()
    assert known(one, brokers, value=[b"good", b"bad"], timestamp=[1, 2]) == {}


def test_what_is_said_of_a_topic_holds_for_all_its_records(brokers: Brokers) -> None:
    one = refusals()
    one.isolate(set(), 1 << 20)
    one.refused(Outgoing(1, "t", [b"x"]), 0, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), 0)
    found = known(one, brokers, topic=["t", "u"], value=[b"1", b"2"])
    assert found.keys() == {0}
    assert "Grant the principal" in found[0]


@pytest.mark.parametrize(
    ("code", "of_records"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, True),
        (KafkaError.INVALID_RECORD, True),
        (KafkaError.INVALID_TIMESTAMP, True),
        (KafkaError._UNKNOWN_PARTITION, True),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, True),
        (KafkaError._MSG_TIMED_OUT, False),
        (KafkaError._PURGE_QUEUE, False),
        (KafkaError.PRODUCER_FENCED, False),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, False),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, False),
        (KafkaError.NOT_ENOUGH_REPLICAS, False),
    ],
)
def test_only_what_waiting_and_others_do_not_mend_is_the_fault_of_a_record(code: int, of_records: bool) -> None:
    assert Losses.of_records(KafkaError(code)) is of_records
