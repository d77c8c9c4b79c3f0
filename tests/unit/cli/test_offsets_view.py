"""Tables of offsets, as `penstock offsets` prints them."""

from typing import Any

from penstock.offsets import SourcePartition
from penstock.sink import TopicPartition
from penstock_cli.offsets.view import change_table, list_table


def sink(topic: str, number: int, offset: int) -> dict[str, Any]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": number}, "offset": {"kafka_offset": offset}}


def test_a_sinks_partitions_have_their_ends_and_what_is_left_and_those_that_are_gone_say_so() -> None:
    ends = {TopicPartition("orders", 0): 120, TopicPartition("orders", 10): 5}
    assert list_table([sink("orders", 0, 100), sink("orders", 10, 7), sink("old", 0, 3)], ends).splitlines() == [
        "TOPIC    PARTITION   OFFSET   END    LAG",
        "orders   0           100      120    20",
        "orders   10          7        5      0",
        "old      0           3        gone",
    ]


def test_both_kinds_have_tables_of_their_own_and_nothing_has_none() -> None:
    source = {"partition": {"p": "é"}, "offset": {"i": 1.0}}
    assert [line.split()[0] for line in list_table([source, sink("t", 0, 1)], {}).splitlines()] == [
        "SOURCE",
        '{"p":"é"}',
        "TOPIC",
        "t",
    ]
    assert list_table([], {}) == ""


def test_a_change_shows_what_is_before_and_what_comes() -> None:
    kafka = SourcePartition({"kafka_topic": "t", "kafka_partition": 3})
    own = SourcePartition({"p": 1})
    assert change_table({kafka: {"kafka_offset": 9}}, {kafka: {"kafka_offset": 7}}, is_sink=True).splitlines() == [
        "PARTITION   BEFORE   AFTER",
        "t-3         9        7",
    ]
    assert change_table(
        {own: {"i": 1}}, {own: None, SourcePartition({"p": 2}): {"i": 2}}, is_sink=False
    ).splitlines() == [
        "PARTITION   BEFORE    AFTER",
        '{"p":1}     {"i":1}   none',
        '{"p":2}     none      {"i":2}',
    ]
    assert change_table({}, {}, is_sink=False) == ""


def test_a_sources_partition_that_looks_like_one_of_kafka_stays_one_of_the_source() -> None:
    alike = {"partition": {"kafka_topic": "t", "kafka_partition": "eu-1"}, "offset": {"pos": 3}}
    assert list_table([alike], {}).splitlines()[0].split() == ["SOURCE", "PARTITION", "OFFSET"]
    assert "TOPIC" not in list_table([sink("t", 0, 1)], {}, has_sink=False)
    partition = SourcePartition({"kafka_topic": "t", "kafka_partition": 1})
    assert '{"kafka_topic":"t","kafka_partition":1}' in change_table({}, {partition: {"pos": 3}}, is_sink=False)
