"""Records that a sink hands back at any time are dead letters before anything is committed."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from penstock import ConnectError, DataError, Record, TopicPartition
from penstock.record import Original
from penstock_runtime.kafka.consumers import Consumed, RecordConsumer
from penstock_runtime.pipeline.error_tolerance import Failure
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.reported_records import ReportedRecords
from penstock_runtime.sink.sink_process import SinkProcess

A = TopicPartition("a", 0)


class Letters:
    """Buries what fails once it may."""

    def __init__(self, *, tolerate: bool = True) -> None:
        self.buried: list[bytes | None] = []
        self.may = threading.Event()
        self.may.set()
        self._tolerate = tolerate

    def handle_failures(self, failures: Sequence[tuple[Consumed, Sequence[Failure]]], summary: Summary) -> None:
        assert self.may.wait(30)
        for consumed, of in failures:
            self.buried += [consumed.value[each.position] for each in of]
            summary.failures += len(of)
        if not self._tolerate:
            raise ConnectError("Tolerance exceeded in error handler: record at a-0 offset 3 failed")

    def retrying(self, work: Callable[[], Any], summary: Summary) -> Any:
        return work()

    def close(self) -> None:
        pass


class Kafka:
    """Holds the offsets 0 to 9, but for those that are deleted."""

    def __init__(self, deleted: int = 0) -> None:
        self._deleted = deleted
        self._at = 0

    def assign(self, positions: dict[TopicPartition, int]) -> None:
        self._at = max(positions[A], self._deleted)

    def consume(self, most: int, timeout: float) -> tuple[list[Consumed], dict[TopicPartition, int]]:
        return [portion(self._at)], {}

    def close(self) -> None:
        pass


def portion(*offsets: int) -> Consumed:
    return Consumed(A, [*offsets], [f"v{o}".encode() for o in offsets], None, None, [None for _ in offsets])


def made(letters: Letters, *, tolerate: bool = True, kafka: Kafka | None = None) -> ReportedRecords:
    return ReportedRecords(
        lambda trouble, lost: cast("SinkProcess", letters),
        lambda: cast("RecordConsumer", kafka or Kafka()),
        tolerate=tolerate,
    )


def record(offset: int) -> Record:
    return Record(topic="table", value=None, original=Original("a", 0, offset))


def test_dead_letters_of_this_and_of_earlier_batches_have_the_bytes_of_the_record() -> None:
    letters = Letters()
    reported = made(letters)
    with reported.of([portion(5, 7)]):
        reported.report(record(7), DataError("no")).result(30)
        reported.report(record(3), DataError("no")).result(30)
    reported.settle()
    assert letters.buried == [b"v7", b"v3"]
    assert sum(s.failures for s in reported.take_summaries()) == 2
    reported.close()


def test_settle_waits_for_dead_letters_in_flight() -> None:
    letters = Letters()
    letters.may.clear()
    reported = made(letters)
    letter = reported.report(record(3), DataError("no"))
    threading.Timer(0.3, letters.may.set).start()
    assert not letter.done()
    reported.settle()
    assert letter.done()
    reported.close()


def test_record_reported_again_by_a_retry_has_one_dead_letter() -> None:
    letters = Letters()
    reported = made(letters)
    one, other = (reported.report(record(3), DataError("no")) for _ in range(2))
    assert one is other
    one.result(30)
    assert letters.buried == [b"v3"]
    reported.close()


def test_report_and_batch_fail_without_tolerance() -> None:
    reported = made(Letters(tolerate=False), tolerate=False)
    with pytest.raises(ConnectError, match="record at a-0 offset 3 failed"), reported.of([portion(3)]):
        reported.report(record(3), DataError("no"))
    with pytest.raises(ConnectError, match="record at a-0 offset 3 failed"):
        reported.settle()
    reported.close()


def test_reported_record_missing_in_kafka_fails_the_task() -> None:
    reported = made(Letters(), kafka=Kafka(deleted=5))
    letter = reported.report(record(3), DataError("no"))
    with pytest.raises(ConnectError, match="a-0 offset 3: it is no longer in Kafka"):
        reported.settle()
    assert isinstance(letter.exception(), ConnectError)
    reported.close()
