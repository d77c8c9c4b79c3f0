"""Runs of a source that end when every row has been read."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import InputPartition, Limits, OffsetUpdates, Record, Source
from penstock.testing import SourceSuite
from penstock.testing._source_run import SourceRun
from penstock_sql.source import SqlSource

_SECONDS = 60.0


class CompleteRun(SourceRun):
    """A run that waits while the source holds rows back for transactions of other connections.

    Servers list a connection that is closing, or work of their own, as a transaction for a moment.
    """

    def parts(self, source: Source, limits: Limits) -> tuple[Sequence[InputPartition], OffsetUpdates]:
        until = time.monotonic() + _SECONDS
        while True:
            found = super().parts(source, limits)
            if found[1] or not any(stream.waits for stream in source._streams.values()):  # type: ignore[attr-defined]
                return found
            assert time.monotonic() < until, "the source still waits for transactions"


class SqlSourceSuite(SourceSuite):
    """The suite of sources, for servers with transactions."""

    plugin = SqlSource
    runner = CompleteRun


def read_all(properties: Mapping[str, str], offsets: Any = None) -> list[Record]:
    """Return all records that follow these offsets."""
    with CompleteRun(SqlSource, properties, offsets or {}) as run:
        return [record for stream in run.all().streams.values() for record in stream]
