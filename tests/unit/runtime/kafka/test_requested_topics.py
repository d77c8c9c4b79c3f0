"""How topics are divided among requests: Kafka refuses one that makes more than 10,000 partitions, whole."""

from penstock_runtime.kafka.admin import RequestedTopic, requests


def topic(partitions: int) -> RequestedTopic:
    return RequestedTopic("t", partitions, 1, {}, "default")


def test_a_thousand_topics_of_one_partition_are_one_request() -> None:
    assert [len(r) for r in requests([topic(1)] * 1_000)] == [1_000]


def test_topics_of_many_partitions_are_several_requests_of_less_than_kafka_refuses() -> None:
    given = [topic(12)] * 1_000
    sent = [*requests(given)]
    assert sum(map(len, sent)) == 1_000
    assert len(sent) == 3
    assert max(sum(t.partitions for t in r) for r in sent) <= 5_000


def test_the_brokers_own_number_is_taken_to_be_large_and_one_topic_is_never_divided() -> None:
    assert [len(r) for r in requests([topic(-1)] * 250)] == [100, 100, 50]
    assert [len(r) for r in requests([topic(20_000), topic(1)])] == [1, 1]
