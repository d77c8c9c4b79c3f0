"""The lag of a sink is counted in records, not offsets."""

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


def test_marker_of_the_last_transaction_does_not_count_as_lag(offsets: SinkOffsets) -> None:
    read(offsets, 0, 1)
    read(offsets, 3, 4)  # 2 was a marker, and 5 is one
    assert offsets.lag(P, 0, 6) == 0


def test_end_after_the_last_record_reveals_a_marker(offsets: SinkOffsets) -> None:
    read(offsets, 0, 1)
    offsets.at_end({P: 3})
    read(offsets, 3)
    assert offsets.lag(P, 0, 5) == 0


def test_pending_record_counts_as_lag_without_markers(offsets: SinkOffsets) -> None:
    read(offsets, 0, 1)
    read(offsets, 2, 3)
    assert offsets.lag(P, 0, 5) == 1


def test_lag_of_a_backlog_includes_markers(offsets: SinkOffsets) -> None:
    read(offsets, 0)
    read(offsets, 2)
    assert offsets.lag(P, 0, 103) == 100


def test_lag_of_an_unread_partition_is_all_of_its_records(offsets: SinkOffsets) -> None:
    offsets.positions[P] = None
    assert offsets.lag(P, 5, 20) == 15
