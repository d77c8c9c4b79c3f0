"""The records that a sink's writer hands back (KIP-610): taken while its batch is written, and never lost."""

from collections.abc import Callable
from typing import TypeVar

from penstock.errors import ConnectError
from penstock.record import Original, Record
from penstock.sink import Reporter
from penstock_runtime.pipeline.record_errors import describe

__all__ = ["ErrantRecords", "ReportedUnderNone", "coordinates"]

T = TypeVar("T")


class ReportedUnderNone(ConnectError):
    """A record was handed back, and nothing is tolerated.

    Attributes:
        record: that one.
        error: what the writer said of it.
    """

    def __init__(self, record: Record, error: Exception) -> None:
        super().__init__(f"Tolerance exceeded in error handler: {describe(error)}")
        self.record = record
        self.error = error


class ErrantRecords:
    """What a writer hands back of one batch, however often the batch is tried; from any of its threads.

    Args:
        tolerate: whether the task goes on without them.
        late: given the error for a record that was handed back when its batch was over.
    """

    def __init__(self, *, tolerate: bool, late: Callable[[ConnectError], None]) -> None:
        self._tolerate = tolerate
        self._late = late
        self._made: dict[Original | int, tuple[Record, Exception]] = {}
        self._open = False

    @property
    def made(self) -> list[tuple[Record, Exception]]:
        """Each record once, with what was said of it last, in the order in which they came."""
        return list(self._made.values())

    def during(self, write: Callable[[Reporter], T]) -> T:
        """Write, and take reports meanwhile.

        Raises:
            ReportedUnderNone: a record was handed back and nothing is tolerated, whatever the plugin made of that: a try
                that follows might not name the record again, and it would be lost.
            Exception: whatever `write` raises.
        """
        self._open = True
        try:
            result = write(self._report)
        except Exception as e:
            self._forbid(e)
            raise
        finally:
            self._open = False
        self._forbid(None)
        return result

    def _forbid(self, cause: Exception | None) -> None:
        if self._made and not self._tolerate:
            raise ReportedUnderNone(*self.made[0]) from cause

    def _report(self, record: Record, error: Exception) -> None:
        if not self._open:
            late = ConnectError(
                f"The sink handed back a {coordinates(record)} when `write` had returned, too late for its offset to wait: "
                f"{describe(error)}. Tell the plugin's author."
            )
            self._late(late)
            raise late
        # Kept from try to try: a writer may not name a record again that it has handed back.
        self._made[record.original or id(record)] = (record, error)
        if not self._tolerate:
            raise ReportedUnderNone(record, error)


def coordinates(record: Record) -> str:
    """The record, as messages name it."""
    o = record.original
    return f"record of topic '{record.topic}'" if o is None else f"record at {o.topic}-{o.partition} offset {o.offset}"
