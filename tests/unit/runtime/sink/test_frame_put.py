"""A sink of frames before Spark is ready."""

from typing import Any, cast

import pytest

from penstock import DataError, FrameSink, RecordBatch, RetriableError, TopicPartition
from penstock.schema import INT64, struct
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.error_tolerance import Failure, Stage
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.frames import FramePut

ROWS = struct({"id": INT64})


class Process:
    """Converts two records of three."""

    buried = 0

    def converted(self, consumed: Consumed, summary: Summary) -> tuple[RecordBatch, list[Failure]]:
        values: list[Any] = [{"id": 0}, {"id": 1}]
        batch = RecordBatch(length=2, topic="t", value=values, value_schema=ROWS, offset=[0, 1])
        return batch, [Failure(2, Stage.VALUE_CONVERTER, "c", DataError("bad"))]

    def handle_failures(self, failures: Any, summary: Summary) -> None:
        self.buried += 1


class Frames(FrameSink):
    def put_frame(self, frame: Any) -> None:
        raise AssertionError("no frame")


class NoExecutor:
    def session(self) -> Any:
        raise RetriableError("spark://a:7077 has no executor for this task now")


def test_no_dead_letter_is_written_while_a_batch_waits_for_executors() -> None:
    process = Process()
    put = FramePut(cast("Any", process), Frames(), cast("Any", NoExecutor()), seconds=1.0, stopping=lambda: False)
    consumed = Consumed(TopicPartition("t", 0), [0, 1, 2], [b"", b"", b""], None, None, [None] * 3)
    with pytest.raises(RetriableError, match="no executor"):
        put.put([consumed])
    assert process.buried == 0
