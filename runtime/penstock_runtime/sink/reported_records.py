"""Records that a sink reports as failed (KIP-610): each is in the dead letter queue before a later offset is committed."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Final

from penstock.errors import ConnectError, RetriableError
from penstock.record import Original, Record
from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import Consumed, OutOfRange, RecordConsumer
from penstock_runtime.pipeline.error_tolerance import Failure, Stage
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.sink.errant_records import ReportedUnderNone, coordinates
from penstock_runtime.sink.sink_process import PUT_CLASS, SinkProcess

__all__ = ["ReportedRecords"]

_READ: Final = 30.0
"""Seconds to wait when a record is read again."""
_SLICE: Final = 0.2


class ReportedRecords:
    """Writer of dead letters for records that a sink reports, in a separate thread.

    The bytes of a record come from the batch that is being written, or are read from Kafka again.

    Args:
        process: creates the writer of dead letters, in that thread.
        consumer: creates the consumer that reads records again, in that thread.
        tolerate: whether the task continues without these records.
        waiting: called periodically by the thread that waits for dead letters, with the reason for the delay.
    """

    def __init__(
        self,
        process: Callable[[Callable[[str | None], None], Callable[[Summary], None]], SinkProcess],
        consumer: Callable[[], RecordConsumer],
        *,
        tolerate: bool,
        waiting: Callable[[str | None], None] = lambda text: None,
    ) -> None:
        self._make_process = process
        self._make_consumer = consumer
        self._tolerate = tolerate
        self._waiting = waiting
        self._lock = threading.Condition()
        self._queue: SimpleQueue[tuple[Record, Exception, Future[None]] | None] = SimpleQueue()
        self._letters: dict[Original, Future[None]] = {}
        self._thread: threading.Thread | None = None
        self._writing: Sequence[Consumed] = ()
        self._process: SinkProcess | None = None
        self._consumer: RecordConsumer | None = None
        self._failure: ConnectError | None = None
        self._trouble: str | None = None
        self._summaries: list[Summary] = []

    def report(self, record: Record, error: Exception) -> "Future[None]":
        """See `SinkTaskContext.report`."""
        if record.original is None:
            raise ConnectError(
                f"cannot accept the report of a {coordinates(record)}: the sink never received it; tell the plugin's author"
            )
        with self._lock:
            letter = self._letters.get(record.original)
            if letter is None:  # otherwise it comes from a second attempt at the same batch
                letter = self._letters[record.original] = Future()
                self._queue.put((record, error, letter))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="reported-records", daemon=True)
                    self._thread.start()
        if not self._tolerate:
            raise ReportedUnderNone(record, error)
        return letter

    @contextmanager
    def of(self, consumed: Sequence[Consumed]) -> Iterator[None]:
        """Accept reports for these records within the block. If no failure is tolerated, a report fails the task.

        Raises:
            ConnectError: replaces any exception that the plugin raised because of the report.
        """
        self._writing = consumed
        try:
            yield
        finally:
            if not self._tolerate:
                self.settle()
            self._writing = ()

    def settle(self) -> None:
        """Wait until all dead letters are in Kafka.

        Raises:
            RetriableError: the task stops, and some are not in Kafka.
            ConnectError: one cannot be written, or no failure is tolerated.
        """
        reported = False
        with self._lock:
            while self._failure is None and not all(letter.done() for letter in self._letters.values()):
                self._lock.wait(_SLICE)
                LOOP.turned()
                if self._trouble is not None or reported:
                    self._waiting(self._trouble)
                    reported = self._trouble is not None
            if self._failure is not None:
                raise self._failure
            self._letters.clear()
        if reported:
            self._waiting(None)

    def take_summaries(self) -> list[Summary]:
        """Return summaries of the dead letters written since the last call.

        Raises:
            ConnectError: as `settle`.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            taken, self._summaries = self._summaries, []
        return taken

    def close(self) -> None:
        """Stop the thread, and close everything."""
        if self._thread is not None:
            self._queue.put(None)

    def _run(self) -> None:
        while (reported := self._next()) is not None:
            try:
                self._bury(reported)
            except Exception as e:  # noqa: BLE001 (raised in the thread of the task)
                self._failed(e, reported)
            else:
                for _, _, letter in reported:
                    letter.set_result(None)
            with self._lock:
                self._lock.notify_all()
        for each in (self._process, self._consumer):
            if each is not None:
                with suppress(Exception):
                    each.close()

    def _next(self) -> list[tuple[Record, Exception, Future[None]]] | None:
        """Return all waiting records; None if the thread must end."""
        first = self._queue.get()
        if first is None:
            return None
        reported = [first]
        with suppress(Empty):
            while (more := self._queue.get_nowait()) is not None:
                reported.append(more)
            self._queue.put(None)
        return reported

    def _failed(self, error: Exception, reported: Sequence[tuple[Record, Exception, Future[None]]]) -> None:
        failure = error if isinstance(error, ConnectError) else ConnectError(f"cannot write a dead letter: {error}")
        with self._lock:
            self._failure = self._failure or failure
        for _, _, letter in reported:
            letter.set_exception(failure)

    def _bury(self, reported: Sequence[tuple[Record, Exception, Future[None]]]) -> None:
        if self._process is None:
            self._process = self._make_process(self._held_up, self._did)
        found = [self._found(record, error, self._process) for record, error, _ in reported]
        summary = Summary()
        self._process.handle_failures(found, summary)
        self._did(summary)

    def _found(self, record: Record, error: Exception, process: SinkProcess) -> tuple[Consumed, Sequence[Failure]]:
        original = record.original
        assert original is not None
        for consumed in self._writing:
            if consumed.source == (original.topic, original.partition):
                row = bisect_left(consumed.offset, original.offset)
                if consumed.offset[row : row + 1] == [original.offset]:
                    return consumed, [Failure(row, Stage.TASK_PUT, PUT_CLASS, error)]
        again = process.retrying(lambda: self._read(original), Summary())
        return again, [Failure(0, Stage.TASK_PUT, PUT_CLASS, error)]

    def _read(self, original: Original) -> Consumed:
        """Read a record of an earlier batch again."""
        if self._consumer is None:
            self._consumer = self._make_consumer()
        self._consumer.assign({TopicPartition(original.topic, original.partition): original.offset})
        deadline = time.monotonic() + _READ
        where = f"{original.topic}-{original.partition} offset {original.offset}"
        while time.monotonic() < deadline:
            try:
                consumed, _ = self._consumer.consume(1, _SLICE)
            except OutOfRange:
                break
            if consumed and consumed[0].offset[0] == original.offset:
                return consumed[0].cut(0, 1)
            if consumed:
                break
        else:
            raise RetriableError(
                f"cannot write the dead letter of the record at {where} yet: Kafka has not returned it for {_READ:.0f} s"
            )
        raise ConnectError(
            f"cannot write the dead letter of the record at {where}: it is no longer in Kafka; set the retention of "
            "the topic to more than the time for which the sink keeps records"
        )

    def _held_up(self, text: str | None) -> None:
        self._trouble = text

    def _did(self, summary: Summary) -> None:
        with self._lock:
            self._summaries.append(summary)
