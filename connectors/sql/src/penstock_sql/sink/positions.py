"""Offsets of a connector, stored in the same database as its rows.

Each row of `penstock_offsets` belongs to a Kafka partition and a connector. It changes in the same transaction as the rows
of the records. `next` is the offset after the last record that was written or handed back; null if there was none.
`handed_back` has the offsets of refused records that may not be in the dead letter queue yet: they are read again after a
crash. `start_id` identifies the start of the task that opened the partition last; writers of other starts are refused.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy
from sqlalchemy import BigInteger, Column, Connection, Integer, MetaData, Table, Text, bindparam
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateTable

from penstock import ConnectError, TopicPartition
from penstock_sql.database import Database
from penstock_sql.dialects.base import dialect_of
from penstock_sql.failures import Meaning, meaning
from penstock_sql.names import OFFSETS, TableName

__all__ = ["TABLE", "Position", "claim", "create", "locked", "remove", "set_position", "settle", "store"]

TABLE: Final = Table(
    OFFSETS,
    MetaData(),
    Column("connector", Text, primary_key=True),
    Column("topic", Text, primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("next", BigInteger),
    Column("handed_back", Text, nullable=False),
    Column("start_id", Text, nullable=False),
)
_AT: Final = (
    (TABLE.c.connector == bindparam("of_connector"))
    & (TABLE.c.topic == bindparam("of_topic"))
    & (TABLE.c.part == bindparam("of_part"))
)


@dataclass(frozen=True, slots=True)
class Position:
    """Stored progress of a partition.

    Attributes:
        next: the offset after the last stored record; None if nothing is stored.
        handed_back: offsets before `next` whose records may not be in the dead letter queue yet.
    """

    next: int | None
    handed_back: frozenset[int] = frozenset()

    @property
    def start(self) -> int | None:
        """Offset to read from; None if nothing is stored."""
        return self.next if self.next is None else min([self.next, *self.handed_back])

    def is_stored(self, offset: int) -> bool:
        """Return whether the record of this offset needs no further processing."""
        return self.next is not None and offset < self.next and offset not in self.handed_back


def create(database: Database) -> None:
    """Create the table in a separate transaction, unless it exists.

    Raises:
        ConnectError: this user has no right to create it. The message contains the statements for another user.
        SQLAlchemyError: any other error.
    """
    if _is_there(database):
        return
    try:
        with database.definition() as connection:
            connection.execute(CreateTable(_table(connection), if_not_exists=True))
    except DBAPIError as e:
        if meaning(e) in (Meaning.DATA, Meaning.SCHEMA):  # another task has created it
            return
        if meaning(e) is not Meaning.ACCESS:
            raise
        statement = " ".join(str(CreateTable(_table(connection)).compile(connection.engine)).split())
        raise ConnectError(
            f"cannot create table {TABLE.name}, which stores the offsets of the rows: the user of the connector has no "
            f"right to do so; as another user, run: {statement}; GRANT SELECT, INSERT, UPDATE, DELETE ON {TABLE.name} "
            "TO the user of the connector"
        ) from e


def _table(connection: Connection) -> Table:
    """Return the table with the types of the database."""
    dialect = dialect_of(connection)
    columns = (
        Column(
            each.name,
            dialect.column_type(each.type, key=each.primary_key),
            primary_key=each.primary_key,
            nullable=each.nullable,
            autoincrement=False,
        )
        for each in TABLE.columns
    )
    return Table(TABLE.name, MetaData(), *columns, **dialect.table_options(connection))


def _is_there(database: Database) -> bool:
    with database.transaction() as connection:
        try:
            there = sqlalchemy.inspect(connection).has_table(TABLE.name)
        except DBAPIError as e:
            if meaning(e) not in (Meaning.ACCESS, Meaning.SCHEMA):
                raise
            return False  # not visible to this user, or another task is creating it
        if there:
            database.dialect.require_transactions(connection, TableName(None, TABLE.name))
        return there


def claim(
    connection: Connection, connector: str, start_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, Position]:
    """Claim partitions for this start of a task, and return their progress. Later writes of other starts are refused."""
    found = {}
    for of in sorted(partitions):
        at = _at(connector, of)
        if not connection.execute(TABLE.update().where(_AT).values(start_id=start_id), at).rowcount:
            values = {
                "connector": connector,
                "topic": of.topic,
                "part": of.partition,
                "handed_back": "",
                "start_id": start_id,
            }
            connection.execute(TABLE.insert(), values)
        row = connection.execute(TABLE.select().where(_AT), at).one()
        found[of] = Position(row.next, _offsets(row.handed_back))
    return found


def locked(
    connection: Connection, connector: str, start_id: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, Position]:
    """Return the progress of partitions, and lock it for a transaction that changes it; others wait until it ends.

    Raises:
        ConnectError: a later start of the task has opened a partition, or its row was removed.
    """
    found = {}
    for of in sorted(partitions):
        row = connection.execute(TABLE.select().where(_AT).with_for_update(), _at(connector, of)).one_or_none()
        if row is None or row.start_id != start_id:
            raise ConnectError(
                f"cannot write records of {of.topic}-{of.partition}: another process of connector {connector} has opened "
                "the partition, or its offset was altered; this process writes nothing more"
            )
        found[of] = Position(row.next, _offsets(row.handed_back))
    return found


def store(connection: Connection, connector: str, stored: Mapping[TopicPartition, tuple[int, Sequence[int]]]) -> None:
    """Store the next offset of partitions, and the offsets of records handed back. The rows must be locked."""
    for of, (offset, handed_back) in stored.items():
        values = {"next": offset, "handed_back": _text(handed_back)}
        connection.execute(TABLE.update().where(_AT).values(**values), _at(connector, of))


def settle(connection: Connection, connector: str, start_id: str, settled: Mapping[TopicPartition, int]) -> None:
    """Record that all records handed back before these offsets are in the dead letter queue."""
    for of, position in locked(connection, connector, start_id, settled).items():
        owed = [offset for offset in position.handed_back if offset >= settled[of]]
        connection.execute(TABLE.update().where(_AT).values(handed_back=_text(owed)), _at(connector, of))


def set_position(connection: Connection, connector: str, of: TopicPartition, offset: int) -> None:
    """Set the offset from which a partition continues. Writers that have opened it are refused from now on."""
    remove(connection, connector, of)
    values = {"connector": connector, "topic": of.topic, "part": of.partition, "next": offset}
    connection.execute(TABLE.insert(), {**values, "handed_back": "", "start_id": ""})


def remove(connection: Connection, connector: str, of: TopicPartition) -> None:
    """Remove the progress of a partition. Writers that have opened it are refused from now on."""
    connection.execute(TABLE.delete().where(_AT), _at(connector, of))


def _at(connector: str, of: TopicPartition) -> dict[str, Any]:
    return {"of_connector": connector, "of_topic": of.topic, "of_part": of.partition}


def _text(offsets: Sequence[int]) -> str:
    return json.dumps(sorted(offsets)) if offsets else ""


def _offsets(text: str) -> frozenset[int]:
    return frozenset(json.loads(text)) if text else frozenset()
