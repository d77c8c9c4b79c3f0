"""Records that a sink's writer reports as failed (KIP-610), collected while their batch is written; none is lost."""

from collections.abc import Callable
from typing import TypeVar

from penstock import _returned as returned
from penstock.errors import ConnectError
from penstock.record import Original, Record
from penstock.sink import Reporter
from penstock_runtime.pipeline.error_tolerance import describe

__all__ = ["ErrantRecords", "ReportedUnderNone", "coordinates"]

T = TypeVar("T")


class ReportedUnderNone(ConnectError):
    """Raised when the writer reports a record and `errors.tolerance` is `none`.

    Attributes:
        record: the record.
        error: error of the record, from the writer.
    """

    def __init__(self, record: Record, error: Exception) -> None:
        super().__init__(f"Tolerance exceeded in error handler: {describe(error)}")
        self.record = record
        self.error = error


class ErrantRecords:
    """Collector of the records that a writer reports from one batch, over all attempts at the batch, from any thread.

    Args:
        tolerate: whether the task continues without these records.
        late: called with an error if a record is reported after `write` has returned.
    """

    def __init__(self, *, tolerate: bool, late: Callable[[ConnectError], None]) -> None:
        self._tolerate = tolerate
        self._late = late
        self._reported: dict[Original | int, tuple[Record, Exception]] = {}
        self._open = False
        self._misused: TypeError | None = None
        """Error of an invalid report: the writer may swallow the error, and the record would be lost."""

    @property
    def reported(self) -> list[tuple[Record, Exception]]:
        """Reported records, each once with its last error, in the order of the reports."""
        return list(self._reported.values())

    def during(self, write: Callable[[Reporter], T]) -> T:
        """Call `write`, and accept reports until it returns.

        Raises:
            ReportedUnderNone: a record was reported under tolerance `none`, even if the plugin ignored that error: a later
                try might not report the record again, and it would be lost.
            TypeError: `report` was called with something other than a record and an exception.
            Exception: any exception of `write`.
        """
        self._open = True
        try:
            result = write(self._report)
        except Exception as e:
            self._check(e)
            raise
        finally:
            self._open = False
        self._check(None)
        return result

    def _check(self, cause: Exception | None) -> None:
        if self._misused is not None and self._misused is not cause:
            raise self._misused from cause
        if self._reported and not self._tolerate:
            raise ReportedUnderNone(*self.reported[0]) from cause

    def _report(self, record: Record, error: Exception | None = None) -> None:
        try:
            record, error = returned.reported(record, error)
        except TypeError as e:
            self._misused = e
            if not self._open:
                self._late(
                    ConnectError(f"cannot accept a report after `write` has returned: {e}; tell the plugin's author")
                )
            raise
        if not self._open:
            late = ConnectError(
                f"cannot accept the report of a {coordinates(record)} after `write` has returned: its offset may already be "
                f"committed (reported error: {describe(error)}); tell the plugin's author"
            )
            self._late(late)
            raise late
        # Kept across attempts, because a writer may report a record only once.
        self._reported[record.original or id(record)] = (record, error)
        if not self._tolerate:
            raise ReportedUnderNone(record, error)


def coordinates(record: Record) -> str:
    """Return the topic, partition and offset of the record, for messages."""
    o = record.original
    return f"record of topic '{record.topic}'" if o is None else f"record at {o.topic}-{o.partition} offset {o.offset}"
