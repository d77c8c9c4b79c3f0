"""The stall detector distinguishes stalled records from new ones, and from partitions that are being read."""

import threading
from collections.abc import Iterable
from typing import cast

import pytest

from penstock import RetriableError, Sink
from penstock import TopicPartition as Partition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.offsets import SinkOffsets
from penstock_runtime.sink.stalled_partitions import StallDetector

P, Q = Partition("t", 0), Partition("t", 1)


class Brokers:
    """What brokers say of the ends."""

    def __init__(self) -> None:
        self.ends_of: dict[Partition, int] = {P: 5, Q: 5}
        self.asked = 0
        self.there = True

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        self.asked += 1
        if not self.there:
            raise RetriableError("a partition does not exist or has no leader")
        return {of: self.ends_of[of] for of in partitions}


def looking(brokers: Brokers, **positions: int | None) -> tuple[StallDetector, SinkOffsets]:
    consumer = cast("RecordConsumer", brokers)
    offsets = SinkOffsets(
        cast("Sink", None),
        consumer,
        cast("Reports", None),
        fence=cast("SinkFence", None),
        stopping=threading.Event(),
        interval=1.0,
        longest=60.0,
    )
    offsets.positions.update({P: positions["p"], Q: positions["q"]})
    return StallDetector(consumer, offsets), offsets


def test_records_pending_at_two_looks_have_stalled() -> None:
    missed, _ = looking(Brokers(), p=5, q=3)
    assert missed.look() == []
    assert missed.look() == [Q]


def test_new_records_and_progressing_partitions_have_not_stalled() -> None:
    brokers = Brokers()
    missed, offsets = looking(brokers, p=5, q=3)
    assert missed.look() == []
    brokers.ends_of = {P: 6, Q: 9}
    offsets.positions[Q] = 7
    assert missed.look() == []
    assert missed.look() == [P, Q]


def test_records_pending_before_an_outage_are_remembered() -> None:
    brokers = Brokers()
    missed, _ = looking(brokers, p=5, q=3)
    missed.look()
    brokers.there = False
    with pytest.raises(RetriableError):
        missed.look()
    brokers.there = True
    assert missed.look() == [Q]
