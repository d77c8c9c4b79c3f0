"""How far a sink is behind: records, not offsets."""

import threading
from typing import cast

import pytest

from penstock.sink import Sink
from penstock.sink import TopicPartition as Partition
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.offsets import SinkOffsets

P = Partition("t", 0)


@pytest.fixture
def offsets() -> SinkOffsets:
    made = SinkOffsets(
        cast("Sink", None),
        cast("RecordConsumer", None),
        cast("Reports", None),
        fence=cast("SinkFence", None),
        stopping=threading.Event(),
        interval=1.0,
        longest=60.0,
    )
    made.positions[P] = 0
    return made


def read(offsets: SinkOffsets, *records: int) -> None:
    """Records at these offsets come and are written."""
    offsets.read([Consumed(P, list(records), [b""] * len(records), None, None, [0] * len(records))])
    offsets.wrote(Summary(offsets=[(*P, records[-1] + 1)]))


def test_the_marker_that_ends_the_last_transaction_is_no_record_to_write(offsets: SinkOffsets) -> None:
    read(offsets, 0, 1)
    read(offsets, 3, 4)  # 2 was a marker, and 5 is one
    assert offsets.lag(P, 0, 6) == 0


def test_a_marker_is_known_from_an_end_that_lies_behind_the_last_record_too(offsets: SinkOffsets) -> None:
    read(offsets, 0, 1)
    offsets.at_end({P: 3})
    read(offsets, 3)
    assert offsets.lag(P, 0, 5) == 0


def test_a_record_that_waits_is_counted_where_there_are_no_markers(offsets: SinkOffsets) -> None:
    read(offsets, 0, 1)
    read(offsets, 2, 3)
    assert offsets.lag(P, 0, 5) == 1


def test_a_backlog_is_counted_with_its_markers_since_nobody_knows_how_many_there_are(offsets: SinkOffsets) -> None:
    read(offsets, 0)
    read(offsets, 2)
    assert offsets.lag(P, 0, 103) == 100


def test_a_partition_that_nothing_was_read_of_is_behind_by_all_that_it_holds(offsets: SinkOffsets) -> None:
    offsets.positions[P] = None
    assert offsets.lag(P, 5, 20) == 15
