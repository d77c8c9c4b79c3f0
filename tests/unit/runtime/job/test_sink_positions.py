"""Positions for a sink are accepted only if its next task would begin there."""

import pytest

from penstock.sink import TopicPartition
from penstock_runtime.job.sink_positions import Seen, why_not

KNOWN = {TopicPartition("t", 0): (5, 8)}


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("offset", [5, 7, 8])
def test_position_between_first_offset_and_end_is_accepted(offset: int, reset: bool) -> None:
    assert why_not(TopicPartition("t", 0), offset, Seen({"t": 1}, KNOWN, reset)) == ""


def test_position_before_the_first_offset_is_accepted_only_with_earliest() -> None:
    assert why_not(TopicPartition("t", 0), 4, Seen({"t": 1}, KNOWN, is_from_beginning=True)) == ""
    told = why_not(TopicPartition("t", 0), 4, Seen({"t": 1}, KNOWN, is_from_beginning=False))
    assert told == "4 is before the first offset of t-0, which is 5"


@pytest.mark.parametrize(
    ("topic", "number", "offset", "told"),
    [
        ("t", 0, 9, "9 is past the end of t-0, which is 8"),
        ("t", 1, 0, "topic 't' has no partition 1; its partition count is 1"),
        ("gone", 0, 0, "topic 'gone' does not exist, or the connector may not describe it"),
    ],
)
def test_position_that_kafka_does_not_have_is_refused(topic: str, number: int, offset: int, told: str) -> None:
    assert why_not(TopicPartition(topic, number), offset, Seen({"t": 1}, KNOWN, is_from_beginning=True)) == told
