"""The task half of the source: the rows between two places of a table, as records."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import compress
from typing import Any, Final

from sqlalchemy import Connection

from penstock import ConnectError, DataError, Fields, InputPartition, PartitionReader, RecordBatch, Schema, Type
from penstock_sql.address import Address
from penstock_sql.catalog import Columns, columns_of
from penstock_sql.cursors import Place, Rows
from penstock_sql.database import Database
from penstock_sql.failures import as_connect_errors
from penstock_sql.fields import Reader, field_of_postgresql, field_of_sqlite, rows_schema, texts_of
from penstock_sql.names import TableName
from penstock_sql.source_config import SqlSourceConfig
from penstock_sql.statements import compiled, driver, run

__all__ = ["SqlReader"]

_LONG: Final = frozenset({Type.STRING, Type.BYTES})
_FIRST: Final = 100
_PORTION: Final = 2_000
_PORTION_BYTES: Final = 16_000_000


class SqlReader(PartitionReader):
    """Reads rows in the order of their keys, a portion at a time."""

    def __init__(self, config: SqlSourceConfig, address: Address, name: str) -> None:
        self._config = config
        self._database = Database(address, name)
        self._largest: dict[TableName | str, int] = {}
        self._schemas: dict[Any, tuple[Schema, Mapping[str, Reader | None]]] = {}

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """The rows of a partition.

        Raises:
            RetriableError: the database is away.
            ConnectError: the table is gone, or has a value that no record can have.
        """
        data = partition.data
        if not data:
            return
        of = data["query"] if "query" in data else TableName(*data["table"])
        rows = Rows(of, self._config, zoned=data.get("zoned", True))
        statement = rows.all() if "end" not in data else rows.between(Place(*data["start"]), Place(*data["end"]))
        with as_connect_errors(self._database.place, f"Reading {'the query' if isinstance(of, str) else of}"):
            try:
                connection = self._database.connection()
                with connection.begin(), closing(_cursor(connection)) as cursor:
                    cursor.execute(*compiled(connection, statement))
                    schema, readers = self._described(connection, of, cursor)
                    long = [field.schema.type in _LONG for field in schema.fields]
                    while portion := cursor.fetchmany(self._portion(of)):
                        columns = list(zip(*portion, strict=True))
                        largest = sum(map(_largest, compress(columns, long)))
                        self._largest[of] = max(self._largest.get(of, 1), largest)
                        yield _batch(columns, len(portion), data["topic"], schema, readers)
            except BaseException:
                self._database.let_go()
                raise

    def close(self) -> None:
        """Release the connection."""
        self._database.close()

    def _portion(self, of: TableName | str) -> int:
        """How many rows to hold at once, by the largest one that was seen of them."""
        largest = self._largest.get(of)
        return _FIRST if largest is None else max(1, min(_PORTION, _PORTION_BYTES // largest))

    def _described(
        self, connection: Connection, of: TableName | str, cursor: Any
    ) -> tuple[Schema, Mapping[str, Reader | None]]:
        """The schema of the rows. It is made once for each form that a table takes, since all records share it."""
        columns = None if isinstance(of, str) else columns_of(connection, of)
        required = frozenset[str]() if columns is None else columns.required
        description = tuple(cursor.description)
        form = (of, required, tuple(tuple(column) for column in description))
        known = self._schemas.get(form)
        if known is None:
            names = [column[0] for column in description]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ConnectError(f"The query gives several columns the name {', '.join(sorted(twice))}; write AS")
            known = self._schemas[form] = self._schema(connection, of, columns, cursor)
        return known

    def _schema(
        self, connection: Connection, of: TableName | str, columns: Columns | None, cursor: Any
    ) -> tuple[Schema, Mapping[str, Reader | None]]:
        if connection.dialect.name == "sqlite":
            assert columns is not None
            fields = {column[0]: field_of_sqlite(columns.types[column[0]]) for column in cursor.description}
        else:
            best_fit = self._config.numeric_mapping == "best_fit"
            fields = {
                c.name: field_of_postgresql(c, cursor, self._config.zone, best_fit=best_fit) for c in cursor.description
            }
        required = frozenset[str]() if columns is None else columns.required
        name = "query" if isinstance(of, str) else of.name
        schema = rows_schema(name, {column: schema for column, (schema, _) in fields.items()}, required)
        return schema, {column: read for column, (_, read) in fields.items()}


def _cursor(connection: Connection) -> Any:
    """A cursor that does not hold all rows at once."""
    if connection.dialect.name == "sqlite":
        return driver(connection).cursor()
    run(connection, "SET TRANSACTION READ ONLY; SET LOCAL DateStyle = ISO")
    cursor = driver(connection).cursor(name="penstock_rows")
    texts_of(cursor)
    return cursor


def _largest(column: Any) -> int:
    """About the bytes of the largest value; 0 where all are small."""
    if isinstance(next(filter(None, column), None), (str, bytes)):
        return max(len(value) for value in column if isinstance(value, (str, bytes)))
    return 0


def _batch(rows: Any, count: int, topic: str, schema: Schema, readers: Mapping[str, Reader | None]) -> RecordBatch:
    columns = {}
    for (name, read), column in zip(readers.items(), rows, strict=True):
        if read is None:
            columns[name] = list(column)
            continue
        try:
            columns[name] = [None if value is None else read(value) for value in column]
        except DataError as e:
            raise ConnectError(f"Column {name} of {schema.name}: {e}") from e
    return RecordBatch(length=count, topic=topic, value=Fields(columns, count), value_schema=schema)
