"""One table, or one query, as a stream of rows: how far it can be read."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

import sqlalchemy
from sqlalchemy import Connection, Select

from penstock import ConnectError, Limits, Offset, Offsets, SourcePartition
from penstock_sql.dialects.base import Dialect, Horizon, Transactions
from penstock_sql.names import TableName
from penstock_sql.source.catalog import columns_of, topics_of
from penstock_sql.source.config import SqlSourceConfig
from penstock_sql.source.cursors import Place, Rows, offset_of, place_of
from penstock_sql.source.ranges import RANGE

__all__ = ["Stream", "partition_of"]

_SAMPLE: Final = 20
_QUERY: Final = SourcePartition({"query": "query"})


def partition_of(of: TableName | str, offsets: Offsets) -> SourcePartition:
    """The source partition of a table: the one under which Kafka has an offset of it, else schema and name."""
    if isinstance(of, str):
        return _QUERY
    own = SourcePartition({"protocol": "1", "table": str(of)})
    tables = (p for p in offsets if RANGE not in p)
    theirs = (p for p in tables if str(p.get("table")).count(".") == 2 and str(p["table"]).endswith(f".{of}"))
    return own if own in offsets else next(theirs, own)  # Confluent's connector may put the database first


class Stream:
    """What is known of a table between two looks at it.

    An end that was found counts once no transaction can bring rows before it any more; until then it is kept.

    Args:
        of: the table, or the text of a query.
        config: how it is read.
        dialect: of the database.
        transactions: what the task knows about those that run, shared by all of its streams.
        clock: in seconds.
    """

    def __init__(
        self,
        of: TableName | str,
        config: SqlSourceConfig,
        dialect: Dialect,
        transactions: Transactions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
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
        """Whether it is to be looked at again."""
        if self._config.mode == "bulk":
            last = int((start or {}).get("polled") or 0)
            return time.time() * 1000 - last >= self._config.poll_interval_ms
        return self._clock() - self._quiet_since >= self._config.poll_interval_ms / 1000

    def ends(self, connection: Connection, start: Offset | None, limits: Limits) -> tuple[Sequence[Offset], int]:
        """Where each range of the next batch ends, and how many rows that are about; no range where there is nothing yet.

        Raises:
            ConnectError: the columns are not what the mode needs.
            SQLAlchemyError: anything else.
        """
        if self._config.mode == "bulk":  # no other statement tells that the table is gone
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
        """How far a batch comes on the way from one offset to another, and how many rows that are about.

        Raises:
            ConnectError, SQLAlchemyError: as for `ends`.
        """
        self._check_once(connection)
        place, last = place_of(start), place_of(end)
        with connection.begin():
            some = self._some(connection, place, limits, lambda count: self._rows.next(place, count, last=last))
        return (end if some.are_all else offset_of(self._rows.place(some.keys[-1]))), some.number

    @property
    def waits(self) -> float:
        """For how many seconds rows that were seen have waited for transactions that could bring earlier ones."""
        return 0.0 if self._waits_since is None else self._clock() - self._waits_since

    def held_by(self, connection: Connection) -> str:
        """The oldest of those transactions, for people."""
        horizon = None if self._waiting is None else self._waiting[3]
        if horizon is None:
            return "none any more"
        with connection.begin():
            return horizon.oldest(connection)

    def rest(self) -> None:
        """Look again after the usual pause: there is nothing that waits."""
        self._quiet_since = self._clock()
        self._waits_since = None

    def forget(self) -> None:
        """Look again: it may be another server from now on, or one that has lost its latest transactions."""
        self._waiting = None
        self._checked = False

    def check_again(self, connection: Connection) -> None:
        """See that the table is what it was taken for.

        Raises:
            MissingTable: it is not there any more.
            ConnectError: its columns are not what the mode needs.
        """
        self.forget()
        self._check_once(connection)

    def data(self, start: Offset | None, end: Offset | None) -> Mapping[str, Any]:
        """What a reader needs to read from one offset to another."""
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
        with connection.begin():
            before = None
            if self._config.by_timestamp:
                before = (
                    self._dialect.now(connection) - timedelta(milliseconds=self._config.timestamp_delay_ms) - self._tick
                )
            ranges = self._config.ranges
            some = self._some(
                connection, place, limits, lambda count: self._rows.next(place, count, before=before), ranges
            )
            if not some.keys:
                return None
            places = dict.fromkeys(map(self._rows.place, some.keys))  # rows of one moment may fill several ranges
            ends = list(map(offset_of, places))
        return start, ends, some.number, self._transactions.running(connection)

    def _some(
        self,
        connection: Connection,
        place: Place,
        limits: Limits,
        next_rows: Callable[[int], Select[Any]],
        ranges: int = 1,
    ) -> "_Some":
        """Count the next rows up to the limits."""
        sample = min(_SAMPLE, limits.records)
        few: list[Sequence[Any]] = list(connection.execute(next_rows(sample)))
        if len(few) < sample:
            return _Some(few[-1:], len(few), are_all=True)
        sample_rows = self._rows.between(place, self._rows.place(few[-1]))
        row_bytes = self._dialect.row_bytes(connection, self._rows.all(), sample_rows)
        most = max(1, min(limits.records, limits.bytes // row_bytes))
        if most <= sample:
            return _Some([few[most - 1]], most, are_all=False)
        rows = connection.execute(_bounds(next_rows(most), ranges)).all()
        number = rows[-1][0] if rows else 0  # they may have been deleted since
        return _Some([row[1:] for row in rows], number, are_all=number < most)

    def _check_once(self, connection: Connection) -> None:
        if not self._checked:
            with connection.begin():
                self._check(connection)
            self._checked = True

    def _check(self, connection: Connection) -> None:
        """Whether the columns of the mode are there, and what they are."""
        config, of = self._config, self._rows.of
        wanted = [*(config.timestamp_columns if config.by_timestamp else ())]
        wanted += [config.incrementing_column] if config.by_number and config.incrementing_column else []
        self._dialect.begin_reading(connection)
        if config.mode != "bulk":
            self._dialect.require_readable(connection, of)
        if isinstance(of, str):
            if config.by_timestamp:
                none = connection.execute(self._rows.described())
                assert none.cursor is not None
                moment = none.cursor.description[0]
                local, zoned = self._dialect.timestamp_types
                if moment[1] not in (local, zoned):
                    raise ConnectError(f"{', '.join(config.timestamp_columns)} of the query is no timestamp")
                self._rows = replace(self._rows, zoned=moment[1] == zoned)
                self._tick = max(self._tick, _tick([moment[4]]))
            return
        columns = columns_of(connection, of)
        missing = [name for name in wanted if name not in columns.types]
        if missing:
            raise ConnectError(
                f"Table {of} has no column {', '.join(missing)}, by which mode: {config.mode} finds new rows"
            )
        nullable = [name for name in wanted if name not in columns.required]
        moments = set(config.timestamp_columns) if config.by_timestamp else set()
        counted = [
            *(moments if moments and moments <= set(nullable) else ()),
            *(n for n in nullable if n not in moments),
        ]
        if counted and config.validate_non_null:
            raise ConnectError(
                f"Column {', '.join(counted)} of {of} may be null, and its rows with null would be passed over: set it NOT "
                "NULL, or validate.non.null: false"
            )
        if config.by_timestamp:
            zones = {getattr(columns.types[name], "timezone", None) for name in config.timestamp_columns}
            if len(zones) != 1 or None in zones:
                raise ConnectError(
                    f"{', '.join(config.timestamp_columns)} of {of} must be timestamps, all with or without a zone"
                )
            self._rows = replace(self._rows, zoned=bool(zones.pop()))
            precisions = [getattr(columns.types[name], "precision", None) for name in config.timestamp_columns]
            self._tick = max(self._tick, _tick(precisions))


def _tick(precisions: Iterable[int | None]) -> timedelta:
    """What a later transaction's moment may be rounded down by."""
    return timedelta(microseconds=10 ** (6 - min(6 if p is None or p < 0 else p for p in precisions)))


_Waiting = tuple[Offset | None, Sequence[Offset], int, Horizon | None]
"""From where, the ends, about how many rows, and who is waited for."""
_NUMBER: Final = "penstock_number"
_TOTAL: Final = "penstock_total"
_WORTH_A_RANGE: Final = 2_000


class _Some(NamedTuple):
    """Rows that a batch may have.

    Attributes:
        keys: of the last row of each range.
        number: of rows.
        are_all: whether no others were there.
    """

    keys: Sequence[Sequence[Any]]
    number: int
    are_all: bool


def _bounds(rows: Select[Any], ranges: int) -> Select[Any]:
    """The keys of the last row with the number of rows, and before it those where earlier ranges end."""
    each = rows.subquery()
    keys = list(each.c)
    if ranges == 1:
        number = sqlalchemy.func.count().over()
        return sqlalchemy.select(number, *keys).order_by(*(key.desc() for key in keys)).limit(1)
    number, total = sqlalchemy.func.row_number().over(order_by=keys), sqlalchemy.func.count().over()
    counted = sqlalchemy.select(number.label(_NUMBER), *keys, total.label(_TOTAL)).subquery()
    nr, of = counted.c[_NUMBER], counted.c[_TOTAL]
    worth = sqlalchemy.case((of >= ranges * _WORTH_A_RANGE, ranges), else_=of // _WORTH_A_RANGE)
    bounds = (nr == of) | (nr * worth // of > (nr - 1) * worth // of)
    return sqlalchemy.select(nr, *(counted.c[key.name] for key in keys)).where(bounds).order_by(nr)
