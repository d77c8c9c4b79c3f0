"""Stream of the rows of a table or a query, which determines up to where they can be read."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy import types as sql
from sqlalchemy.dialects.postgresql import DOMAIN, OID

from penstock import ConnectError, Limits, Offset, Offsets, Problem, SourcePartition
from penstock_sql.dialects.base import Columns, Dialect, Horizon, Transactions
from penstock_sql.names import TableName
from penstock_sql.source.catalog import columns_of, topics_of
from penstock_sql.source.config import SqlSourceConfig
from penstock_sql.source.cursors import Rows, offset_of, place_of
from penstock_sql.source.range_cuts import cut
from penstock_sql.source.range_offsets import RANGE

__all__ = ["Stream", "partition_of"]

_SOON: Final = timedelta(minutes=1)
"""Rows whose timestamp is later than now by more than this are in the future; a smaller difference may be clock skew."""
_QUERY: Final = SourcePartition({"query": "query"})


def partition_of(of: TableName | str, offsets: Offsets) -> SourcePartition:
    """Return the source partition of a query or a table.

    For a table, it is the partition that already has an offset in Kafka, or else the one named by schema and table.
    """
    if isinstance(of, str):
        return _QUERY
    own = SourcePartition({"protocol": "1", "table": str(of)})
    tables = (p for p in offsets if RANGE not in p)
    theirs = (p for p in tables if str(p.get("table")).count(".") == 2 and str(p["table"]).endswith(f".{of}"))
    return own if own in offsets else next(theirs, own)  # Confluent's connector may put the database first


class Stream:
    """Rows of one table or query, and the state between two polls of it.

    The end of a batch is used only when no running transaction can commit rows before it any more.

    Args:
        of: the table, or the text of a query.
        config: the configuration of the source.
        dialect: the dialect of the database.
        transactions: the running transactions, shared by all streams of a task.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        of: TableName | str,
        config: SqlSourceConfig,
        dialect: Dialect,
        transactions: Transactions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.is_ahead = False
        """Whether the latest poll found rows, all of them in the future."""
        self.name = "the query" if isinstance(of, str) else str(of)
        self._rows = Rows(of, config, dialect)
        self._config = config
        self._clock = clock
        self._dialect = dialect
        self._transactions = transactions
        self._quiet_since = float("-inf")
        self._checked = False
        self._tick = dialect.tick
        self._waits_since: float | None = None
        self._waiting: _Waiting | None = None

    def is_due(self, start: Offset | None) -> bool:
        """Return whether the next poll is due."""
        if self._config.mode == "bulk":
            last = int((start or {}).get("polled") or 0)
            return time.time() * 1000 - last >= self._config.poll_interval_ms
        return self._clock() - self._quiet_since >= self._config.poll_interval_ms / 1000

    def ends(self, connection: Connection, start: Offset | None, limits: Limits) -> tuple[Sequence[Offset], int]:
        """Return the end of each range of the next batch, and the approximate number of rows; no ends if no rows are ready.

        Raises:
            ConnectError: the columns are unsuitable for the mode.
            SQLAlchemyError: any other error.
        """
        if self._config.mode == "bulk":  # no other statement would fail if the table was dropped
            self._checked = False
        self._check_once(connection)
        if self._config.mode == "bulk":
            return [{"polled": int(time.time() * 1000)}], limits.records
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting[0] != start:
            waiting = self._next(connection, start, limits)
        if waiting is None:
            self.rest()
            return (), 0
        _, ends, count, horizon = waiting
        if horizon is not None:
            with connection.begin():
                passed = horizon.is_passed(connection)
            if not passed:
                self._waiting = waiting
                self._waits_since = self._clock() if self._waits_since is None else self._waits_since
                return (), 0
        self._waits_since = None
        return ends, count

    def within(self, connection: Connection, start: Offset | None, end: Offset, limits: Limits) -> tuple[Offset, int]:
        """Return the offset, at most `end`, up to which the next batch reads, and its approximate number of rows.

        Raises:
            ConnectError, SQLAlchemyError: as for `ends`.
        """
        self._check_once(connection)
        place, last = place_of(start), place_of(end)
        with connection.begin():
            following = cut(
                connection, self._rows, place, limits, lambda count: self._rows.next(place, count, last=last)
            )
        return (end if following.are_all else offset_of(self._rows.place(following.keys[-1]))), following.number

    @property
    def waits(self) -> float:
        """Seconds for which new rows have been held back, because open transactions may still commit earlier rows."""
        return 0.0 if self._waits_since is None else self._clock() - self._waits_since

    def held_by(self, connection: Connection) -> str:
        """Describe the oldest transaction that holds back rows."""
        horizon = None if self._waiting is None else self._waiting[3]
        if horizon is None:
            return "no longer known, since it has ended"
        with connection.begin():
            return horizon.oldest(connection)

    def rest(self) -> None:
        """Delay the next poll by the usual interval, since no rows are waiting."""
        self._quiet_since = self._clock()
        self._waits_since = None

    def forget(self) -> None:
        """Discard the known state of the server, which may have been replaced, or may have lost its last transactions."""
        self._waiting = None
        self._checked = False

    def check_again(self, connection: Connection) -> None:
        """Check again that the table is as expected.

        Raises:
            MissingTable: the table does not exist any more.
            ConnectError: its columns are unsuitable for the mode.
        """
        self.forget()
        self._check_once(connection)

    def problems(self, connection: Connection) -> Sequence[Problem]:
        """Return why the table or query cannot be read as configured.

        Args:
            connection: in a transaction.

        Raises:
            MissingTable: the table does not exist.
            SQLAlchemyError: any other error, for example an invalid query.
        """
        found: list[Problem] = []
        if self._config.mode != "bulk":
            try:
                self._dialect.require_readable(connection, self._rows.of)
            except ConnectError as e:
                found.append(Problem("mode", str(e)))
        if self._config.query:
            connection.execute(self._rows.all().limit(0))
        return [*found, *self._look_at_columns(connection)]

    @property
    def is_zoned(self) -> bool:
        """Return whether the timestamps have a zone."""
        return self._rows.zoned

    def data(self, start: Offset | None, end: Offset | None) -> Mapping[str, Any]:
        """Return the data with which a reader reads from one offset to another."""
        if start == end:
            return {}
        of = self._rows.of
        place = {"query": of} if isinstance(of, str) else {"table": list(of)}
        topic = self._config.topic_prefix if isinstance(of, str) else topics_of([of], self._config)[of]
        data: dict[str, Any] = {**place, "topic": topic, "zoned": self._rows.zoned}
        if self._config.mode == "bulk":
            return data
        return {**data, "start": list(place_of(start)), "end": list(place_of(end))}

    def _next(self, connection: Connection, start: Offset | None, limits: Limits) -> "_Waiting | None":
        place = place_of(start)
        if not self._dialect.has_rows(connection, self._rows.is_any(place)):
            return None
        self.is_ahead = False
        with connection.begin():
            before = now = None
            if self._config.by_timestamp:
                now = self._dialect.now(connection)
                before = now - timedelta(milliseconds=self._config.timestamp_delay_ms) - self._tick
            ranges = self._config.ranges
            following = cut(
                connection,
                self._rows,
                place,
                limits,
                lambda count: self._rows.next(place, count, before=before),
                ranges,
            )
            if not following.keys:
                if now is not None and start is None:
                    # in this order, since rows may be committed between the two queries
                    self.is_ahead = (
                        connection.execute(self._rows.is_any(place)).first() is not None
                        and connection.execute(self._rows.next(place, 1, before=now + _SOON)).first() is None
                    )
                return None
            places = dict.fromkeys(map(self._rows.place, following.keys))  # rows of one moment may fill several ranges
            ends = list(map(offset_of, places))
        return start, ends, following.number, self._transactions.running(connection)

    def _check_once(self, connection: Connection) -> None:
        if not self._checked:
            with connection.begin():
                self._check(connection)
            self._checked = True

    def _check(self, connection: Connection) -> None:
        """Check that the columns of the mode exist and are suitable, and that the server knows all open transactions."""
        config, of = self._config, self._rows.of
        self._dialect.begin_reading(connection)
        if config.mode != "bulk":
            self._dialect.require_readable(connection, of)
        if problems := self._look_at_columns(connection):
            raise ConnectError("; ".join(problem.message for problem in problems))

    def _look_at_columns(self, connection: Connection) -> Sequence[Problem]:
        """Read the types of the mode's columns, and return problems with them."""
        config, of = self._config, self._rows.of
        if isinstance(of, str):
            return [] if config.mode == "bulk" else list(self._look_at_query(connection))
        columns = columns_of(connection, of)
        problems = list(_wrong(of, columns, config))
        if config.by_timestamp and not problems:
            types = [columns.types[name] for name in config.timestamp_columns]
            self._rows = replace(self._rows, zoned=bool(types[0].timezone))
            self._tick = max(self._tick, _tick(getattr(each, "precision", None) for each in types))
        return problems

    def _look_at_query(self, connection: Connection) -> Iterable[Problem]:
        config = self._config
        none = connection.execute(self._rows.described())
        assert none.cursor is not None
        description = none.cursor.description
        whole = self._dialect.whole_types
        if config.by_number and whole and description[-1][1] not in whole:
            yield Problem(
                "incrementing.column.name",
                f"{config.incrementing_column} of the query is not an integer column; name another column, or cast it",
            )
        if not config.by_timestamp:
            return
        moment = description[0]
        local, zoned = self._dialect.timestamp_types
        if moment[1] in (local, zoned):
            self._rows = replace(self._rows, zoned=moment[1] == zoned)
            self._tick = max(self._tick, _tick([moment[4]]))
        else:
            yield Problem(
                "timestamp.column.name",
                f"{', '.join(config.timestamp_columns)} of the query is not a timestamp; "
                "name another column, or cast it",
            )


def _wrong(of: TableName, columns: Columns, config: SqlSourceConfig) -> Iterable[Problem]:
    """Yield problems with the columns of the mode."""
    moments = list(config.timestamp_columns) if config.by_timestamp else []
    number = config.incrementing_column if config.by_number else None
    wanted = [*moments, *([number] if number else [])]

    def property_of(names: Sequence[str]) -> str:
        return "timestamp.column.name" if names[0] in moments else "incrementing.column.name"

    missing = [name for name in wanted if name not in columns.types]
    if missing:
        removal = "remove it from table.whitelist" if config.whitelist else "exclude the table with table.blacklist"
        yield Problem(
            property_of(missing),
            f"Table {of} has no column {', '.join(missing)}, which mode: {config.mode} needs to find new rows; "
            f"add it, correct the name, or {removal}",
        )
    there = [name for name in wanted if name in columns.types]
    nullable = [name for name in there if name not in columns.required]
    counted = [
        *(dict.fromkeys(moments) if moments and set(moments) <= set(nullable) else ()),
        *(name for name in nullable if name not in moments),
    ]
    if counted and config.validate_non_null:
        yield Problem(
            property_of(counted),
            f"Column {', '.join(counted)} of {of} may be null, and rows with null would be skipped; declare it NOT NULL, or "
            "set validate.non.null: false",
        )
    types = [columns.types[name] for name in moments if name in there]
    zones = {None if isinstance(each, sqlalchemy.Time) else getattr(each, "timezone", None) for each in types}
    if zones and (len(zones) != 1 or None in zones):
        yield Problem(
            "timestamp.column.name",
            f"{', '.join(config.timestamp_columns)} of {of} must all be timestamps, either all with a zone or all without",
        )
    if number in there and not _may_be_whole(columns.types[number]):
        yield Problem(
            "incrementing.column.name",
            f"{number} of {of} must hold whole numbers, which its type does not allow; name another column",
        )


def _may_be_whole(kind: Any) -> bool:
    """Return whether a column of this type may hold increasing whole numbers."""
    if isinstance(kind, DOMAIN):
        return _may_be_whole(kind.data_type)
    exact = isinstance(kind, sql.Numeric) and not isinstance(kind, sql.Float)
    return exact or isinstance(kind, (sql.Integer, sql.NullType, OID))


def _tick(precisions: Iterable[int | None]) -> timedelta:
    """Return how much earlier a later transaction's timestamp may appear, due to rounding."""
    return timedelta(microseconds=10 ** (6 - min(6 if p is None or p < 0 else p for p in precisions)))


_Waiting = tuple[Offset | None, Sequence[Offset], int, Horizon | None]
"""Start, ends and approximate number of rows of a batch that waits, and the transactions that it waits for."""
