"""Partition p of topic t belongs to task `(crc32(t) + p) mod tasks`, and to no other."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import TopicPartition
from penstock_runtime.sink.assignment import assigned, owner


@pytest.mark.parametrize(
    ("topic", "partition", "tasks", "task"),
    # crc32("orders") = 3845127662, crc32("a") = 3904355907
    [
        ("orders", 0, 3, 2),
        ("a", 0, 3, 0),
        ("a", 1, 3, 1),
        ("a", 2, 3, 2),
        ("a", 3, 3, 0),
        ("a", 0, 2, 1),
        ("a", 1, 2, 0),
    ],
)
def test_partition_is_assigned_by_crc32_of_topic_plus_number(topic: str, partition: int, tasks: int, task: int) -> None:
    assert owner(topic, partition, tasks) == task


@given(st.dictionaries(st.text("abc.-_", min_size=1, max_size=8), st.integers(1, 20), max_size=8), st.integers(1, 7))
def test_every_partition_has_exactly_one_task(existing: dict[str, int], tasks: int) -> None:
    everything = [
        p for n in range(tasks) for p in assigned(existing, topics=list(existing), matches=None, task=n, tasks=tasks)
    ]
    assert sorted(everything) == sorted(TopicPartition(t, p) for t, count in existing.items() for p in range(count))


@given(st.text(min_size=1, max_size=10), st.integers(1, 50), st.integers(1, 7))
def test_partitions_of_one_topic_are_assigned_evenly(topic: str, partitions: int, tasks: int) -> None:
    counts = [sum(owner(topic, p, tasks) == n for p in range(partitions)) for n in range(tasks)]
    assert max(counts) - min(counts) <= 1


EXISTING = {
    "orders": 1,
    "orders-eu": 1,
    "old-orders": 1,
    "__consumer_offsets": 1,
    "__transaction_state": 1,
    "__mine": 1,
}


@pytest.mark.parametrize(
    ("topics", "pattern", "found"),
    [
        (["orders"], None, ["orders"]),
        (["orders", "missing"], None, ["orders"]),
        ([], "orders.*", ["orders", "orders-eu"]),
        ([], "orders", ["orders"]),
        ([], ".*orders", ["old-orders", "orders"]),
        ([], "__.*", ["__mine"]),
        (["__consumer_offsets"], None, ["__consumer_offsets"]),
        ([], "none", []),
    ],
)
def test_pattern_matches_whole_names_and_internal_topics_need_to_be_listed(
    topics: list[str], pattern: str | None, found: list[str]
) -> None:
    matches = None if pattern is None else re.compile(pattern).fullmatch
    names = [p.topic for p in assigned(EXISTING, topics=topics, matches=matches, task=0, tasks=1)]
    assert names == sorted(found)
