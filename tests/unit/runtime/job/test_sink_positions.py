"""Whether a position that a sink is to have is one that its next task would begin with."""

import pytest

from penstock.sink import TopicPartition
from penstock_runtime.job.sink_positions import Seen, why_not

KNOWN = {TopicPartition("t", 0): (5, 8)}


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("offset", [5, 7, 8])
def test_one_between_the_first_offset_and_the_end_is(offset: int, reset: bool) -> None:
    assert why_not(TopicPartition("t", 0), offset, Seen({"t": 1}, KNOWN, reset)) == ""


def test_one_before_the_first_offset_is_with_earliest_alone_for_latest_would_pass_over_what_is_there() -> None:
    assert why_not(TopicPartition("t", 0), 4, Seen({"t": 1}, KNOWN, is_from_beginning=True)) == ""
    told = why_not(TopicPartition("t", 0), 4, Seen({"t": 1}, KNOWN, is_from_beginning=False))
    assert told == "4 is before the first offset of t-0, which is 5"


@pytest.mark.parametrize(
    ("topic", "number", "offset", "told"),
    [
        ("t", 0, 9, "9 is past the end of t-0, which is 8"),
        ("t", 1, 0, "topic 't' has no partition 1; it has 1 in all"),
        ("gone", 0, 0, "topic 'gone' does not exist, or may not be described"),
    ],
)
def test_one_that_kafka_has_not_is_none(topic: str, number: int, offset: int, told: str) -> None:
    assert why_not(TopicPartition(topic, number), offset, Seen({"t": 1}, KNOWN, is_from_beginning=True)) == told
