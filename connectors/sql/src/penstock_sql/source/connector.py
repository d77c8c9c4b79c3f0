"""SqlSource: reads rows of tables as records, exactly once; Confluent's JDBC source does so at least once."""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import ClassVar, Final

from penstock import (
    Config,
    ConfigError,
    ConnectError,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    OffsetUpdates,
    PartitionReader,
    PluginContext,
    Problem,
    RetriableError,
    Source,
    SourceConnector,
    SourcePartition,
)
from penstock_sql.address import address, url_warnings
from penstock_sql.database import Database
from penstock_sql.dialects.base import Address
from penstock_sql.failures import FOREIGN, Meaning, as_connect_errors, meaning, words
from penstock_sql.names import TableName
from penstock_sql.source.catalog import MissingTable, tables_of, topics_of
from penstock_sql.source.config import SqlSourceConfig, source_refusals, source_warnings
from penstock_sql.source.cursors import place_of
from penstock_sql.source.missing_tables import MissingTables
from penstock_sql.source.range_offsets import RANGE, Round, TableProgress, progress_of_tables, range_of, table_of
from penstock_sql.source.reader import SqlReader
from penstock_sql.source.streams import Stream, partition_of

__all__ = ["SqlSource"]

log = logging.getLogger(__name__)
_PATIENCE: Final = 60.0
"""Seconds for which rows wait before the reason is logged."""
_PROBLEMS: Final = 10
"""Maximum number of problems with tables that are reported together."""
_AGAIN: Final = 600.0
"""Seconds until the reason is logged again."""


class SqlSource(SourceConnector):
    """Source connector for new and changed rows of tables of PostgreSQL, MariaDB or SQLite, exactly once."""

    Config: ClassVar[type[Config]] = SqlSourceConfig
    java_names: ClassVar[tuple[str, ...]] = ("io.confluent.connect.jdbc.JdbcSourceConnector",)

    def validate(self, config: SqlSourceConfig) -> Iterable[Problem]:
        """Return permanent problems only: an unavailable database may be available when the task starts."""
        yield from source_refusals(config)
        try:
            where = address(config.url, config.user, config.password)
        except ConfigError as e:
            yield from e.problems
            return
        yield from where.dialect.source_problems(where, config)
        refusal = list(Database(where, self._name).refusal())
        yield from refusal
        if not refusal:
            found = [*(_reading_problems(where, self._name) if config.mode != "bulk" else ())]
            known = {problem.message for problem in found}
            yield from found
            yield from (p for p in _unsuitable(config, where, self._name) if p.message not in known)

    def warnings(self, config: SqlSourceConfig) -> Iterable[Problem]:
        """Return a warning for each property and URL parameter that has no effect."""
        return [*source_warnings(config), *url_warnings(config.url)]

    def task_configs(
        self, config: SqlSourceConfig, properties: Mapping[str, str], max_tasks: int
    ) -> Sequence[Mapping[str, str]]:
        """Distribute the tables among the tasks.

        Raises:
            RetriableError: the database is unavailable.
            ConnectError: a named table does not exist, or two tables would be written to one topic.
        """
        if config.query:
            return [properties]
        found = tables(config, self._name)
        count = max(1, min(max_tasks, len(found)))
        tasks = [{**properties, "task.tables": json.dumps(found[task::count])} for task in range(count)]
        tasks[0]["task.state"] = _state(found)
        return tasks

    def exactly_once(self, config: SqlSourceConfig) -> bool:
        """Return False for `mode: bulk`, which reads all rows again each time."""
        return config.mode != "bulk"

    def reads_anywhere(self, config: SqlSourceConfig) -> bool:
        """Return False for SQLite, which is a local file."""
        return address(config.url, config.user, config.password).dialect.is_server

    def source(self, config: SqlSourceConfig) -> "_SqlSource":
        return _SqlSource(config, address(config.url, config.user, config.password), self._name, self.context)

    def reader(self, config: SqlSourceConfig) -> PartitionReader:
        return SqlReader(config, address(config.url, config.user, config.password), self._name)

    def alter_offsets(self, config: SqlSourceConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept offsets of tables and of the query; for ranges, accept only the removal of their offsets.

        Raises:
            ConnectError: a partition or an offset has another form.
        """
        for partition, offset in offsets.items():
            if set(partition) - {RANGE} not in ({"protocol", "table"}, {"query"}):
                raise ConnectError(
                    f"cannot alter the offset of {dict(partition)}: it is not a partition of this connector; write "
                    '{"protocol": "1", "table": "schema.table"}'
                )
            if RANGE not in partition:
                place_of(offset)
            elif offset is not None:
                raise ConnectError(
                    "cannot set the offset of a range: only the connector sets it; set the offset of the table, which "
                    "invalidates its ranges"
                )
        return True

    @property
    def _name(self) -> str:
        return f"penstock source {self.context.connector}"[:63]


def _reading_problems(where: Address, name: str) -> Iterable[Problem]:
    """Return why this user cannot read new rows, unless the reason is transient."""
    database = Database(where, name)
    try:
        connection = database.connection()
        with connection.begin():
            return list(where.dialect.reading_problems(connection))
    except FOREIGN as e:
        return [] if meaning(e) is Meaning.PASSING else [Problem("connection.url", f"{where.place}: {words(e)}")]
    finally:
        database.close()


def _unsuitable(config: SqlSourceConfig, where: Address, name: str) -> list[Problem]:
    """Return problems with the tables or the query, if the database can be reached."""
    database = Database(where, name)
    blamed = "query" if config.query else "connection.user"
    found: list[Problem] = []
    try:
        of: list[TableName | str] = [config.query] if config.query else []
        if not config.query:
            with database.definition() as connection:
                of += tables_of(connection, config)[0]
        transactions = where.dialect.transactions()
        for each in of:
            with suppress(MissingTable), database.definition() as connection:  # a locked table is waited for 5 s
                found += Stream(each, config, where.dialect, transactions).problems(connection)
            if len(dict.fromkeys(found)) >= _PROBLEMS:
                break
    except ConfigError as e:
        found += e.problems
    except FOREIGN as e:
        if meaning(e) is not Meaning.PASSING:
            what = "run the query" if config.query else "look at the tables"
            remedy = "correct it" if config.query else "grant the missing right to the user of the connector"
            found.append(Problem(blamed, f"cannot {what} at {where.place}: {words(e)}; {remedy}"))
    finally:
        database.close()
    return list(dict.fromkeys(found))


def tables(config: SqlSourceConfig, name: str) -> list[TableName]:
    """Return the tables that a connector reads.

    Raises:
        RetriableError: the database is unavailable.
        ConnectError: a named table does not exist, or two tables would be written to one topic.
    """
    database = Database(address(config.url, config.user, config.password), name)
    try:
        with as_connect_errors(database.place, "list tables"):
            connection = database.connection()
            with connection.begin():
                found, missing = tables_of(connection, config)
    finally:
        database.close()
    if missing:
        raise ConnectError(
            f"cannot plan the tasks: table.whitelist names {', '.join(map(str, missing))}, which does not exist or is not "
            "visible to the user of the connector; create it, grant SELECT on it, or correct table.whitelist"
        )
    topics_of(found, config)
    return found


class _SqlSource(Source):
    """Driver side of the source, which determines up to where new rows can be read."""

    def __init__(
        self,
        config: SqlSourceConfig,
        where: Address,
        name: str,
        context: PluginContext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._name = name
        self._database = Database(where, name)
        self._context = context
        self._clock = clock
        self._transactions = self._database.dialect.transactions()
        self._streams: dict[SourcePartition, Stream] = {}
        self._looked = float("-inf")  # look immediately: a table may have been dropped since the tasks were split
        self._asked = False
        self._logged_at = float("-inf")
        self._missing = MissingTables(config.whitelist)

    def start(self, offsets: Offsets) -> None:
        """Create a stream for each table, or for the query."""
        config = self._config
        of: list[TableName | str]
        if config.query:
            of = [config.query]
        elif config.task_tables:
            of = [TableName(*table) for table in json.loads(config.task_tables)]
        else:
            of = list(tables(config, self._name))
        for each in of:
            partition = partition_of(each, offsets)
            self._streams[partition] = Stream(each, config, self._database.dialect, self._transactions, self._clock)

    def latest_offsets(self, start: Offsets, limits: Limits) -> OffsetUpdates:
        """Return the end offsets of the next batch. Capacity that one table does not need is available to the next ones."""
        self._look_for_tables()
        self._transactions.begin()
        found: dict[SourcePartition, Offset | None] = {}
        left, shares = limits.records, len(self._streams)
        for partition, progress in self._progress_of_tables(start).items():
            stream = self._streams[partition]
            share = Limits(max(1, left // shares), limits.bytes // shares)
            shares -= 1
            if left <= 0 or not stream.is_due(progress.offset):
                continue
            try:
                updates, count = self._next(progress, stream, share)
            except MissingTable:
                stream.rest()
                self._missing.add(stream.name)
                continue
            self._missing.discard(stream.name)
            found |= updates
            left -= count
        if not self._streams:
            raise RetriableError(
                f"cannot find a table to read at {self._database.place}: table.blacklist and schema.pattern leave none, or "
                "none is visible to the user of the connector; create one, grant SELECT on it, or correct these properties",
                retry_after=min(_PATIENCE, self._config.table_poll_interval_ms / 1000),
            )
        self._missing.report(self._clock(), len(self._streams), self._config.table_poll_interval_ms / 1000)
        self._log_waiting_rows()
        if not found:
            self._warn_of_future_rows()
        return found

    def _warn_of_future_rows(self) -> None:
        """Report tables of which no row is read, since all rows are in the future.

        Raises:
            RetriableError: there are such tables.
        """
        ahead = [stream for stream in self._streams.values() if stream.is_ahead]
        if not ahead:
            return
        zone = f"set db.timezone, which is {self._config.db_timezone}, to the zone of columns without a zone, or "
        advice = "" if all(stream.is_zoned for stream in ahead) else zone
        raise RetriableError(
            f"cannot read {', '.join(stream.name for stream in ahead)} yet: all rows are in the future by the clock of the "
            f"database; {advice}correct the column or the clock",
            retry_after=min(_PATIENCE, max(1.0, self._config.poll_interval_ms / 1000)),
        )

    def _log_waiting_rows(self) -> None:
        """Log periodically which transaction delays new rows, in one line for all tables."""
        longest = max(self._streams.values(), key=lambda stream: stream.waits, default=None)
        if longest is None or longest.waits < _PATIENCE or self._clock() - self._logged_at < _AGAIN:
            return
        self._logged_at = self._clock()
        with self._errors("look for open transactions"):
            holder = longest.held_by(self._database.connection())
        others = sum(stream.waits > 0 for stream in self._streams.values()) - 1
        log.warning(
            "New rows of %s%s have waited %.0f s for transactions that were open when the rows were found, and that could "
            "still commit earlier rows. The oldest is %s",
            longest.name,
            f" and {others} more" if others else "",
            longest.waits,
            holder,
        )

    def _progress_of_tables(self, offsets: Offsets) -> Mapping[SourcePartition, TableProgress]:
        return progress_of_tables(self._streams, offsets, self._config.order)

    def _next(self, progress: TableProgress, stream: Stream, limits: Limits) -> tuple[OffsetUpdates, int]:
        """Return the offsets that the next batch of a table changes, and its approximate number of rows."""
        with self._errors(f"look for new rows of {stream.name}"):
            connection = self._database.connection()
            try:
                if progress.round is not None and progress.round.left:
                    return self._rest(progress.table, stream, progress.round, limits)
                ends, count = stream.ends(connection, progress.position, limits)
            except FOREIGN as e:
                if meaning(e) is Meaning.SCHEMA:
                    stream.check_again(connection)
                raise
        if len(ends) > 1:
            return progress.divided(ends, self._config.order), count
        if ends:
            return progress.whole(ends[0]), count
        return progress.whole(None if progress.round is None else progress.round.end), 0

    def _rest(self, table: SourcePartition, stream: Stream, of: Round, limits: Limits) -> tuple[OffsetUpdates, int]:
        """Return the offsets and the number of rows for the unread ranges of a round that was committed in part.

        They are limited to the size of a batch, which may have changed since the round started.
        """
        taken: list[int] = []
        left = limits
        for number, (begin, end) in of.left.items():
            at, count = stream.within(self._database.connection(), begin, end, left)
            if at != end:
                return (of.read(table, taken) if taken else of.cut(at).read(table, [0])), count
            taken.append(number)
            left = Limits(left.records - count, left.bytes * (left.records - count) // max(1, left.records))
            if left.records <= 0:
                break
        return of.read(table, taken), limits.records - left.records

    def partitions(self, start: Offsets, end: OffsetUpdates) -> Sequence[InputPartition]:
        """Return an input partition for each table with new rows, or for each of its ranges."""
        changed: dict[SourcePartition, dict[SourcePartition, Offset | None]] = {}
        for partition, offset in end.items():
            if offset != start.get(partition):
                changed.setdefault(table_of(partition), {})[partition] = offset
        parts = []
        progress = self._progress_of_tables(start)
        for table, updates in changed.items():
            stream = self._streams[table]
            ranges = {p: o for p, o in updates.items() if p != table and o is not None}
            for each, offset in ranges.items():
                parts.append(InputPartition(stream.data(*range_of(each, offset)), {each: offset}))
            if not ranges:
                position = progress[table].position
                parts.append(InputPartition(stream.data(position, updates.get(table, position)), updates))
        return parts

    def stop(self) -> None:
        """Release the connection."""
        self._database.close()

    def _look_for_tables(self) -> None:
        """Request new tasks if the tables have changed. Only the first task does so. Planning reports missing tables."""
        config = self._config
        elapsed = self._clock() - self._looked
        if not config.task_state or elapsed * 1000 < config.table_poll_interval_ms:
            return
        self._looked = self._clock()
        with self._errors("list tables"):
            connection = self._database.connection()
            with connection.begin():
                state = _state(tables_of(connection, config)[0])
        is_other = state != config.task_state
        if (
            is_other or self._asked
        ):  # also once after the tables match the plan again, which clears an earlier refusal of the plan
            self._context.request_task_reconfiguration(state)
        self._asked = is_other

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        with as_connect_errors(self._database.place, action):
            try:
                yield
            except MissingTable:  # the connection is still usable, and other tables continue to wait
                raise
            except BaseException:
                self._database.let_go()
                for stream in self._streams.values():
                    stream.forget()
                raise


def _state(found: Sequence[TableName]) -> str:
    """Return a fingerprint of a list of tables."""
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]
