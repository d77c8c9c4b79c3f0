"""Task side of the sink: writes the rows of a batch in one transaction with its offsets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from penstock import DataError, PluginContext, RecordBatch, Reporter, RetriableError, TopicPartition, Writer
from penstock_sql.database import Database
from penstock_sql.dialects.base import Address, Place, Write
from penstock_sql.failures import FOREIGN, Meaning, as_connect_errors, may_be_of_a_row, meaning
from penstock_sql.sink import positions
from penstock_sql.sink.columns import Reading, reading
from penstock_sql.sink.config import SqlSinkConfig
from penstock_sql.sink.exact import exact_column
from penstock_sql.sink.isolation import Isolation
from penstock_sql.sink.order import keys_to_compare, write_of, writes
from penstock_sql.sink.positions import Position
from penstock_sql.sink.rows import Refused, Rows, rows_of
from penstock_sql.sink.tables import MissingTable, Tables
from penstock_sql.sink.unavailable_values import Placeholder

__all__ = ["SqlWriter", "writers_name"]


class _TableChanged(Exception):
    """Raised when a table has changed since it was described."""


def writers_name(context: PluginContext) -> str:
    """Return the name of the connections of a task on the server."""
    return f"penstock {context.task or 0} {context.connector}"[:63]


class SqlWriter(Writer):
    """Writer of rows, exactly once: records that are already stored are skipped."""

    def __init__(self, config: SqlSinkConfig, address: Address, context: PluginContext) -> None:
        self._config = config
        self._context = context
        self._zone = ZoneInfo(config.db_timezone)
        self._placeholder = Placeholder(config.placeholder())
        self._tables = Tables(config)
        self._database = Database(address, writers_name(context), create=True)
        self._isolation = Isolation(self._database.dialect, self._tables, config.insert_mode)
        metrics = context.metrics
        self._written = metrics.counter("rows", "Rows that were inserted, changed or deleted.")
        self._refused = metrics.counter("rows_refused", "Records that the database refused.")

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write batches in one transaction with their offsets.

        Returns:
            The message for `Sink.commit`: the partitions with records that were handed back, each with the offset after the
            last record of the batches; None if there are none.

        Raises:
            RetriableError: the database is unavailable or full, or a lock could not be acquired.
            ConnectError: a table is missing, or the connector may not write.
        """
        given = [batch for batch in batches if batch.length]
        if not given:
            return None
        with as_connect_errors(self._database.place, "write rows"):
            try:
                return self._written_somehow(given, report)
            except BaseException:
                self._database.let_go()
                raise

    def close(self) -> None:
        """Release the connection."""
        self._database.close()

    def _written_somehow(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write batches as a whole, or row by row if the database may have refused a row."""
        try:
            return self._whole(batches, report)
        except FOREIGN as e:
            if not may_be_of_a_row(e):
                raise
            self._database.let_go()
        self._tables.forget()
        return self._by_tables_as_known(batches, report, whole=False)

    def _whole(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write batches as a whole; if a table has changed, describe the tables again and retry."""
        try:
            return self._transaction(batches, report, whole=True)
        except _TableChanged:
            pass
        except FOREIGN as e:
            if meaning(e) is not Meaning.SCHEMA:
                raise
            self._database.let_go()
        self._tables.forget()
        return self._by_tables_as_known(batches, report, whole=True)

    def _by_tables_as_known(self, batches: Sequence[RecordBatch], report: Reporter, *, whole: bool) -> Any:
        try:
            return self._transaction(batches, report, whole=whole)
        except _TableChanged:
            raise RetriableError("cannot write rows: a table was changed at the same time") from None

    def _transaction(self, batches: Sequence[RecordBatch], report: Reporter, *, whole: bool) -> Any:
        refused: list[Refused] = []
        parts = self._prepared(_parts(batches, self._config, refused), refused)
        connector, start_id = self._context.connector, self._context.start_id
        with self._database.transaction(zone=self._config.db_timezone) as connection:
            stored_before = positions.locked(connection, connector, start_id, {_partition(batch) for batch in batches})
            parts, refused = _not_stored(parts, refused, batches, stored_before)
            if not all(self._tables.is_as_known(connection, table) for table in {part.table for part in parts}):
                raise _TableChanged
            kinds = self._writes(connection, parts, refused, whole=whole)
            if whole:
                put = sum(self._isolation.put(connection, write, refused, whole=True) for write in kinds)
                if refused:  # nothing is reported before the rows are known to be accepted
                    self._database.dialect.check(connection)
            else:
                put = self._isolation.put_by_rows(connection, kinds, refused)
            for place, error in sorted(refused, key=lambda each: each.place):
                report(batches[place.batch].record(place.row), error)
            handed_back = _store(connection, connector, batches, stored_before, refused)
        self._written.add(put)
        self._refused.add(len(refused))
        return handed_back or None

    def _prepared(self, parts: Iterable[Rows], refused: list[Refused]) -> list[Rows]:
        """Return the rows that fit their tables, after creating missing tables and columns where allowed."""
        fitting = []
        for part in sorted(
            parts, key=lambda part: part.delete
        ):  # deletions last: a missing table is created before it is needed for them
            try:
                if not self._tables.fits(part):
                    self._prepare(part)
                self._tables.require_writable(part)
                fitting.append(part)
            except MissingTable:
                continue
            except DataError as e:
                refused += (Refused(place, e) for place in part.places)
        return fitting

    def _prepare(self, part: Rows) -> None:
        try:
            with self._database.definition() as connection:
                self._tables.prepare(connection, part)
        except FOREIGN as e:
            if meaning(e) not in (Meaning.DATA, Meaning.SCHEMA):
                raise
            with self._database.definition() as connection:  # another task has made the same change
                self._tables.prepare(connection, part)

    def _writes(
        self, connection: Connection, parts: Iterable[Rows], refused: list[Refused], *, whole: bool
    ) -> list[Write]:
        """Return the statements for these rows, in order."""
        inserting = self._config.insert_mode == "insert"
        given = (rows for part in parts for rows in self._placeholder.parts(part, refused, inserting=inserting))
        if self._config.insert_mode == "upsert":
            given = (replace(rows, kept=self._kept(rows, whole=whole)) for rows in given)
        fixed = self._tables.fixed
        kinds = [
            write_of(read, fixed(rows.table)) for rows in given for read in [self._read(rows, refused)] if read.places
        ]
        if len(kinds) < 2 or (inserting and not self._config.delete_enabled):
            return kinds
        same: dict[Place, int] = {}
        for keys in keys_to_compare(kinds):
            same |= self._compared(connection, keys, refused, whole=whole)
        if not whole:
            gone = {place for place, _ in refused}
            for kind in kinds:
                kind.rows = [row for row in kind.rows if row[0] not in gone]
        return writes(kinds, same)

    def _kept(self, rows: Rows, *, whole: bool) -> tuple[str, ...]:
        """Return the columns whose stored value an upsert also writes; after a refused row, all columns without a value."""
        return () if rows.delete else self._tables.kept(rows, all_bare=not whole)

    def _compared(
        self, connection: Connection, keys: Write, refused: list[Refused], *, whole: bool
    ) -> dict[Place, int]:
        """Return a number for each row, which is the same for keys that are equal in the database."""
        dialect, form = self._database.dialect, self._tables.form(keys.table)
        dialect.prepare(connection, keys, self._config.insert_mode, form)

        def compare(rows: list[tuple[Any, ...]]) -> list[int]:
            return dialect.same_keys(connection, keys, rows, form)

        rows = keys.rows if whole else self._isolation.taken(connection, keys, keys.rows, compare, refused)
        numbers = compare([row for _, row in rows])
        return {place: number for (place, _), number in zip(rows, numbers, strict=True)}

    def _read(self, part: Rows, refused: list[Refused]) -> Rows:
        """Convert the values for the columns of the table. Rows that cannot be converted are added to `refused`."""
        kinds = self._tables.kinds(part.table)
        bad: dict[int, DataError] = {}
        columns = {}
        for name, column in part.columns.items():
            dialect = self._database.dialect
            bounds = {"unbounded": dialect.is_unbounded, "rounds": dialect.rounds}
            change = reading(kinds[name], part.schemas[name], self._zone, **bounds)
            exact = exact_column(column)
            columns[name] = exact if change is None else _changed(name, exact, change, bad)
            if name in part.keys and any(isinstance(value, (dict, list)) for value in columns[name]):
                for row, value in enumerate(columns[name]):
                    if isinstance(value, (dict, list)):
                        bad.setdefault(
                            row, DataError(f"Column {name}: cannot use a {type(value).__name__} as a primary key")
                        )
        rows = replace(part, columns=columns)
        if not bad:
            return rows
        refused += (Refused(part.places[row], error) for row, error in bad.items())
        return rows.without(bad)


def _parts(batches: Sequence[RecordBatch], config: SqlSinkConfig, refused: list[Refused]) -> list[Rows]:
    return [rows for n, batch in enumerate(batches) if batch.length for rows in rows_of(n, batch, config, refused)]


def _partition(batch: RecordBatch) -> TopicPartition:
    assert batch.original_topic is not None
    assert batch.original_partition is not None
    return TopicPartition(batch.original_topic, batch.original_partition)


def _not_stored(
    parts: Sequence[Rows],
    refused: Sequence[Refused],
    batches: Sequence[RecordBatch],
    stored_before: Mapping[TopicPartition, Position],
) -> tuple[list[Rows], list[Refused]]:
    """Return the records that were not processed before."""
    done = {
        Place(number, row)
        for number, batch in enumerate(batches)
        for row, offset in enumerate(batch.offset or ())
        if stored_before[_partition(batch)].is_stored(offset)
    }
    if not done:
        return [*parts], [*refused]
    left = (part.without(row for row, place in enumerate(part.places) if place in done) for part in parts)
    return [part for part in left if part.places], [each for each in refused if each.place not in done]


def _store(
    connection: Connection,
    connector: str,
    batches: Sequence[RecordBatch],
    stored_before: Mapping[TopicPartition, Position],
    refused: Sequence[Refused],
) -> list[list[Any]]:
    """Store the offsets that the batches reach, and return the message for `Sink.commit`."""
    reached = {
        of: offset for batch in batches if batch.offset for of, offset in [(_partition(batch), batch.offset[-1] + 1)]
    }
    first_offsets: dict[TopicPartition, int] = {}
    for batch in batches:
        if batch.offset:
            first_offsets.setdefault(_partition(batch), batch.offset[0])
    owed: dict[TopicPartition, list[int]] = {}
    for place, _ in refused:
        batch = batches[place.batch]
        owed.setdefault(_partition(batch), []).append((batch.offset or ())[place.row])
    stored = {}
    for of, offset in reached.items():
        others = [each for each in stored_before[of].handed_back if not first_offsets[of] <= each < offset]
        stored[of] = (max(offset, stored_before[of].next or 0), [*owed.get(of, ()), *others])
    positions.store(connection, connector, stored)
    return [[of.topic, of.partition, reached[of]] for of in reached if of in owed or stored_before[of].handed_back]


def _changed(name: str, column: Sequence[Any], change: Reading, bad: dict[int, DataError]) -> list[Any]:
    """Convert a column for the table. Rows whose value cannot be converted are added to `bad`."""
    try:
        return [None if value is None else change(value) for value in column]
    except DataError:
        pass
    changed = []
    for row, value in enumerate(column):
        try:
            changed.append(None if value is None else change(value))
        except DataError as e:
            bad.setdefault(row, DataError(f"Column {name}: {e}"))
            changed.append(None)
    return changed
