"""The task half of the sink: a batch becomes rows in one transaction, with the offsets that it reaches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from penstock import DataError, PluginContext, RecordBatch, Reporter, TopicPartition, Writer
from penstock_sql import positions
from penstock_sql.address import Address
from penstock_sql.columns import Reading, reading
from penstock_sql.config import SqlSinkConfig
from penstock_sql.database import Database
from penstock_sql.failures import FOREIGN, Meaning, as_connect_errors, meaning, words
from penstock_sql.order import Row, Write, writes
from penstock_sql.positions import Position
from penstock_sql.rows import Refused, Rows, rows_of
from penstock_sql.tables import Tables

__all__ = ["SqlWriter"]


class SqlWriter(Writer):
    """Writes rows, exactly once: what is stored already is passed over."""

    def __init__(self, config: SqlSinkConfig, address: Address, context: PluginContext) -> None:
        self._config = config
        self._context = context
        self._zone = ZoneInfo(config.db_timezone)
        self._tables = Tables(config)
        self._database = Database(address, f"penstock {context.connector}"[:63], create=True)
        metrics = context.metrics
        self._written = metrics.counter("rows", "Rows that were inserted, changed or deleted.")
        self._refused = metrics.counter("rows_refused", "Records that the database refused.")

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Write batches.

        Returns:
            For `Sink.commit`: of which partitions records were handed back, and the offset after the last of them.

        Raises:
            RetriableError: the database is away, is full, or somebody holds what is needed.
            ConnectError: a table is missing, or the connector may not write.
        """
        given = [batch for batch in batches if batch.length]
        if not given:
            return None
        with as_connect_errors(self._database.place, "Writing"):
            try:
                return self._written_somehow(given, report)
            except BaseException:
                self._database.let_go()
                raise

    def close(self) -> None:
        """Release the connection."""
        self._database.close()

    def _written_somehow(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """As a whole; row by row where the database refuses one; by the tables as they are now where they were changed."""
        try:
            return self._transaction(batches, report, whole=True)
        except FOREIGN as e:
            found = meaning(e)
            if found not in (Meaning.DATA, Meaning.SCHEMA):
                raise
            self._database.let_go()
            self._tables.forget()
        return self._transaction(batches, report, whole=found is Meaning.SCHEMA)

    def _transaction(self, batches: Sequence[RecordBatch], report: Reporter, *, whole: bool) -> Any:
        refused: list[Refused] = []
        connection = self._database.connection()
        parts = self._prepared(connection, _parts(batches, self._config, refused), refused)
        connector, life = self._context.connector, self._context.life
        with connection.begin():
            self._database.dialect.begin(connection, whole=whole)
            stands = positions.locked(connection, connector, life, {_partition(batch) for batch in batches})
            if any(map(stands[_partition(batch)].is_stored, batch.offset or ()) for batch in batches):
                batches = [_passed_over(batch, stands[_partition(batch)]) for batch in batches]
                refused.clear()
                parts = self._prepared(connection, _parts(batches, self._config, refused), refused)
            put = 0
            for write in self._writes(parts, refused):
                put += self._put(connection, write, write.rows, refused, whole=whole)
            for place, error in sorted(refused, key=lambda each: each.place):
                report(batches[place.batch].record(place.row), error)
            handed_back = _store(connection, connector, batches, stands, refused)
        self._written.add(put)
        self._refused.add(len(refused))
        return handed_back or None

    def _prepared(self, connection: Connection, parts: Iterable[Rows], refused: list[Refused]) -> list[Rows]:
        """Those rows whose tables have their columns, after creating and widening what may be."""
        fitting = []
        for part in parts:
            try:
                if not self._tables.fits(part):
                    self._prepare(connection, part)
                fitting.append(part)
            except DataError as e:
                refused += (Refused(place, e) for place in part.places)
        return fitting

    def _prepare(self, connection: Connection, part: Rows) -> None:
        if connection.in_transaction():
            self._tables.prepare(connection, part)
            return
        try:
            with connection.begin():
                self._tables.prepare(connection, part)
        except FOREIGN as e:
            if meaning(e) not in (Meaning.DATA, Meaning.SCHEMA):
                raise
            with connection.begin():  # another task has created the same meanwhile
                self._tables.prepare(connection, part)

    def _writes(self, parts: Iterable[Rows], refused: list[Refused]) -> list[Write]:
        config = self._config
        read = [rows for part in parts for rows in [self._read(part, refused)] if rows.places]
        replacing = config.insert_mode != "insert"
        return writes(read, keyed=replacing or config.delete_enabled, replacing=replacing)

    def _read(self, part: Rows, refused: list[Refused]) -> Rows:
        """The values as the columns of the table take them."""
        kinds = self._tables.kinds(part.table)
        bad: dict[int, DataError] = {}
        columns = {}
        for name, column in part.columns.items():
            change = reading(kinds[name], part.schemas[name], self._zone)
            columns[name] = column if change is None else _changed(name, column, change, bad)
        rows = Rows(part.table, part.keys, columns, part.schemas, part.places, part.delete)
        if not bad:
            return rows
        refused += (Refused(part.places[row], error) for row, error in bad.items())
        return rows.without(bad)

    def _put(
        self, connection: Connection, write: Write, rows: Sequence[Row], refused: list[Refused], *, whole: bool
    ) -> int:
        """Put rows into the table, and return how many; where one is refused and not `whole`, the others alone."""
        dialect, mode = self._database.dialect, self._config.insert_mode
        values = [row for _, row in rows]
        if whole:
            dialect.put(connection, write, values, mode)
            return len(rows)
        try:
            with connection.begin_nested():
                dialect.put(connection, write, values, mode)
        except FOREIGN as e:
            if meaning(e) is not Meaning.DATA:
                raise
            if len(rows) > 1:
                half = len(rows) // 2
                return sum(self._put(connection, write, of, refused, whole=False) for of in (rows[:half], rows[half:]))
            refused.append(Refused(rows[0][0], DataError(f"Table {write.table} refuses the row: {words(e)}")))
            earlier = write.earlier.get(write.key(rows[0]))
            return self._put(connection, write, [earlier.pop()], refused, whole=False) if earlier else 0
        return len(rows)


def _parts(batches: Sequence[RecordBatch], config: SqlSinkConfig, refused: list[Refused]) -> list[Rows]:
    return [rows for n, batch in enumerate(batches) if batch.length for rows in rows_of(n, batch, config, refused)]


def _partition(batch: RecordBatch) -> TopicPartition:
    assert batch.original_topic is not None
    assert batch.original_partition is not None
    return TopicPartition(batch.original_topic, batch.original_partition)


def _passed_over(batch: RecordBatch, stands: Position) -> RecordBatch:
    """The records that are not stored yet. The whole batch keeps its place among the batches, so it may become empty."""
    offsets = batch.offset or ()
    return batch.take([row for row, offset in enumerate(offsets) if not stands.is_stored(offset)])


def _store(
    connection: Connection,
    connector: str,
    batches: Sequence[RecordBatch],
    stands: Mapping[TopicPartition, Position],
    refused: Sequence[Refused],
) -> list[list[Any]]:
    """Store how far the batches reach. Returns the message for `Sink.commit`."""
    reached = {
        of: offset for batch in batches if batch.offset for of, offset in [(_partition(batch), batch.offset[-1] + 1)]
    }
    owed: dict[TopicPartition, list[int]] = {}
    for place, _ in refused:
        batch = batches[place.batch]
        owed.setdefault(_partition(batch), []).append((batch.offset or ())[place.row])
    stored = {}
    for of, offset in reached.items():
        later = [each for each in stands[of].handed_back if each >= offset]
        stored[of] = (max(offset, stands[of].next or 0), [*owed.get(of, ()), *later])
    positions.store(connection, connector, stored)
    return [[of.topic, of.partition, reached[of]] for of in owed]


def _changed(name: str, column: Sequence[Any], change: Reading, bad: dict[int, DataError]) -> list[Any]:
    """A column as the table takes it; rows whose value it cannot take are added to `bad`."""
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
