"""Task side of the source: reads the rows between two positions in a table as records."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final

from penstock import (
    ConnectError,
    DataError,
    Fields,
    InputPartition,
    PartitionReader,
    RecordBatch,
    RetriableError,
    Schema,
)
from penstock.schema import struct
from penstock_sql.database import Database
from penstock_sql.dialects.base import Address, Columns
from penstock_sql.dialects.fields import NumericMapping, Reader
from penstock_sql.failures import as_connect_errors
from penstock_sql.names import TableName
from penstock_sql.source.catalog import MissingTable, columns_of
from penstock_sql.source.config import SqlSourceConfig
from penstock_sql.source.cursors import Place, Rows

__all__ = ["SqlReader"]

_PORTION: Final = 2_000
_PORTION_BYTES: Final = 16_000_000


class SqlReader(PartitionReader):
    """Reader of rows in the order of their keys, in portions."""

    def __init__(self, config: SqlSourceConfig, address: Address, name: str) -> None:
        self._config = config
        self._database = Database(address, name)
        self._schemas: dict[Any, tuple[Schema, Mapping[str, Reader | None]]] = {}

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the rows of a partition.

        Raises:
            RetriableError: the database is unavailable, or the table does not exist; the driver side continues without it.
            ConnectError: the table has a value that a record cannot represent.
        """
        data = partition.data
        if not data:
            return
        of = data["query"] if "query" in data else TableName(*data["table"])
        dialect = self._database.dialect
        rows = Rows(of, self._config, zoned=data.get("zoned", True), dialect=dialect)
        statement = rows.all() if "end" not in data else rows.between(Place(*data["start"]), Place(*data["end"]))
        with as_connect_errors(self._database.place, f"read {'the query' if isinstance(of, str) else of}"):
            try:
                connection = self._database.connection()
                with connection.begin():
                    columns = None if isinstance(of, str) else columns_of(connection, of)
                    large = isinstance(of, str) or dialect.may_have_large_rows(connection, of)
                    cursor = dialect.cursor(connection)
                    with closing(dialect.rows(connection, cursor, statement, large=large)) as given:
                        for portion in _portions(given, large=large):
                            schema, readers = self._described(of, columns, cursor)
                            yield _batch(portion, data["topic"], schema, readers)
            except MissingTable as e:
                raise RetriableError(str(e)) from None
            except BaseException:
                self._database.let_go()
                raise

    def close(self) -> None:
        """Release the connection."""
        self._database.close()

    def _described(
        self, of: TableName | str, columns: Columns | None, cursor: Any
    ) -> tuple[Schema, Mapping[str, Reader | None]]:
        """Return the schema and the readers of the rows, created once for each table and set of columns, not per row."""
        required = frozenset[str]() if columns is None else columns.required
        description = tuple(cursor.description)
        form = (of, required, tuple(tuple(column) for column in description))
        known = self._schemas.get(form)
        if known is None:
            names = [column[0] for column in description]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ConnectError(
                    f"cannot read the query: it has several columns named {', '.join(sorted(twice))}; rename them with AS"
                )
            known = self._schemas[form] = self._schema(of, columns, cursor)
        return known

    def _schema(
        self, of: TableName | str, columns: Columns | None, cursor: Any
    ) -> tuple[Schema, Mapping[str, Reader | None]]:
        config = self._config
        fields = self._database.dialect.fields(cursor, columns, config.zone, NumericMapping(config.numeric_mapping))
        required = frozenset[str]() if columns is None else columns.required
        name = "query" if isinstance(of, str) else of.name
        schema = _rows_schema(name, {column: schema for column, (schema, _) in fields.items()}, required)
        return schema, {column: read for column, (_, read) in fields.items()}


def _portions(rows: Iterator[Any], *, large: bool) -> Iterator[Sequence[Any]]:
    """Yield portions of rows that are held in memory together: a fixed number of rows, or fewer if they are large."""
    while portion := list(_weighed(rows) if large else islice(rows, _PORTION)):
        yield portion
        portion.clear()  # a suspended generator must not keep rows in memory


def _weighed(rows: Iterator[Any]) -> Iterator[Any]:
    weight = 0
    for row in islice(rows, _PORTION):
        yield row
        weight += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if weight >= _PORTION_BYTES:
            return


def _batch(rows: Sequence[Any], topic: str, schema: Schema, readers: Mapping[str, Reader | None]) -> RecordBatch:
    columns, count = {}, len(rows)
    for (name, read), column in zip(readers.items(), zip(*rows, strict=True), strict=True):
        if read is None:
            columns[name] = list(column)
            continue
        try:
            columns[name] = [None if value is None else read(value) for value in column]
        except DataError as e:
            raise ConnectError(f"Column {name} of {schema.name}: {e}") from e
    return RecordBatch(length=count, topic=topic, value=Fields(columns, count), value_schema=schema)


def _rows_schema(name: str, fields: Mapping[str, Schema], required: frozenset[str]) -> Schema:
    """Return the struct of rows. Fields are optional unless they are never null.

    Raises:
        SchemaBuilderError: a column has no name.
    """
    return struct({n: of if n in required else of.as_optional() for n, of in fields.items()}, name=name)
