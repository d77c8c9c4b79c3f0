"""Rows as PySpark data sources yield them (tuples, `Row`s, Arrow batches) to Connect's values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from penstock import DataError, Instant

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

__all__ = ["portions"]

Decode = Callable[[Any], Any]
_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = 86_400_000


def portions(rows: Iterable[Any], shape: "StructType", size: int) -> Iterator[list[dict[str, Any]]]:
    """The values of a struct schema, in lists of at most `size`.

    Raises:
        DataError: a row does not fit the shape.
    """
    import pyarrow as pa

    names = shape.fieldNames()
    decode = _struct(shape)
    each = iter(rows)
    first = next(each, None)
    if first is None:
        return
    each = chain([first], each)
    if not isinstance(first, pa.RecordBatch):
        while found := list(islice(each, size)):
            yield [decode(row) for row in found]
        return
    for batch in each:
        if sorted(batch.schema.names) != sorted(names):
            raise DataError(f"The data source gave columns {batch.schema.names}; its schema has {names}.")
        for start in range(0, batch.num_rows, size):
            columns = [batch.column(name).slice(start, size).to_pylist() for name in names]
            yield [decode(row) for row in zip(*columns, strict=True)]


def _decoder(kind: "DataType") -> Decode | None:
    """From what Python code gives for this type to Connect's value; None: as it is."""
    from pyspark.sql import types as t

    match kind:
        case t.StructType():
            return _or_none(_struct(kind))
        case t.ArrayType():
            item = _decoder(kind.elementType)
            return _or_none(list if item is None else lambda found: [item(v) for v in found])
        case t.MapType():
            return _or_none(_map(_decoder(kind.keyType), _decoder(kind.valueType)))
        case t.TimestampType():
            return _or_none(_timestamp)
        case t.TimestampNTZType():
            return _or_none(lambda found: Instant.of(found.replace(tzinfo=UTC)))
        case t.DateType():
            return _or_none(lambda found: Instant((found - _EPOCH).days * _DAY))
        case t.TimeType():
            return _or_none(_time)
        case t.BinaryType():
            return _or_none(bytes)
        case _:
            return None


def _struct(shape: "StructType") -> Callable[[Any], dict[str, Any]]:
    names = shape.fieldNames()
    count = len(names)
    work = [(f.name, d) for f in shape.fields if (d := _decoder(f.dataType)) is not None]

    def decode(row: Any) -> dict[str, Any]:
        fields: Sequence[str] | None = getattr(row, "__fields__", None)
        if isinstance(row, dict):
            found = {name: row[name] for name in names}
        elif not isinstance(row, (tuple, list)) or len(row) != count:
            raise DataError(f"The data source gave {row!r}; its schema has the {count} fields {names}.")
        elif fields is not None and list(fields) != names:
            if set(fields) != set(names):
                raise DataError(f"The data source gave a row of {list(fields)}; its schema has {names}.")
            found = {name: row[fields.index(name)] for name in names}
        else:
            found = dict(zip(names, row, strict=True))
        for name, convert in work:
            found[name] = convert(found[name])
        return found

    return decode


def _map(key: Decode | None, value: Decode | None) -> Decode:
    def decode(found: Any) -> dict[Any, Any]:
        pairs = found.items() if isinstance(found, dict) else found  # Arrow gives pairs
        return {(key(k) if key else k): (value(v) if value else v) for k, v in pairs}

    return decode


def _or_none(decode: Decode) -> Decode:
    return lambda found: None if found is None else decode(found)


def _timestamp(found: datetime) -> Instant:
    # Spark takes a datetime without zone for local time.
    return Instant.of(found.astimezone(UTC))


def _time(found: time) -> Instant:
    return Instant(((found.hour * 60 + found.minute) * 60 + found.second) * 1000 + found.microsecond // 1000)
