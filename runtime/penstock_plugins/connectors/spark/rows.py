"""Conversion of rows of PySpark data sources (tuples, `Row`s, Arrow batches) to Connect's values."""

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
    """Yield the values of a struct schema, in lists of at most `size`.

    Raises:
        DataError: a row does not fit the shape.
    """
    import pyarrow as pa

    names = shape.fieldNames()
    decode = _struct(shape)
    remaining = iter(rows)
    first = next(remaining, None)
    if first is None:
        return
    remaining = chain([first], remaining)
    if not isinstance(first, pa.RecordBatch):
        while portion := list(islice(remaining, size)):
            yield [decode(row) for row in portion]
        return
    for batch in remaining:
        if sorted(batch.schema.names) != sorted(names):
            raise DataError(
                f"cannot convert a batch of the data source: it has columns {batch.schema.names}, but the schema has {names}"
            )
        for start in range(0, batch.num_rows, size):
            columns = [batch.column(name).slice(start, size).to_pylist() for name in names]
            yield [decode(row) for row in zip(*columns, strict=True)]


def _decoder(kind: "DataType") -> Decode | None:
    """Return the conversion of Python values of a Spark type to Connect's values; None if they are the same."""
    from pyspark.sql import types as t

    match kind:
        case t.StructType():
            return _or_none(_struct(kind))
        case t.ArrayType():
            item = _decoder(kind.elementType)
            return _or_none(list if item is None else lambda value: [item(v) for v in value])
        case t.MapType():
            return _or_none(_map(_decoder(kind.keyType), _decoder(kind.valueType)))
        case t.TimestampType():
            return _or_none(_timestamp)
        case t.TimestampNTZType():
            return _or_none(lambda value: Instant.of(value.replace(tzinfo=UTC)))
        case t.DateType():
            return _or_none(lambda value: Instant((value - _EPOCH).days * _DAY))
        case t.TimeType():
            return _or_none(_time)
        case t.BinaryType():
            return _or_none(bytes)
        case _:
            return None


def _struct(shape: "StructType") -> Callable[[Any], dict[str, Any]]:
    names = shape.fieldNames()
    count = len(names)
    conversions = [(f.name, d) for f in shape.fields if (d := _decoder(f.dataType)) is not None]

    def decode(row: Any) -> dict[str, Any]:
        fields: Sequence[str] | None = getattr(row, "__fields__", None)
        if isinstance(row, dict):
            struct = {name: row[name] for name in names}
        elif not isinstance(row, (tuple, list)) or len(row) != count:
            found = f"has {len(row)} values" if isinstance(row, (tuple, list)) else f"is of type {type(row).__name__}"
            raise DataError(
                f"cannot convert a row of the data source: it {found}, but the schema has the {count} fields {names}"
            )
        elif fields is not None and list(fields) != names:
            if set(fields) != set(names):
                raise DataError(
                    f"cannot convert a row of the data source: it has fields {list(fields)}, but the schema has {names}"
                )
            struct = {name: row[fields.index(name)] for name in names}
        else:
            struct = dict(zip(names, row, strict=True))
        for name, convert in conversions:
            struct[name] = convert(struct[name])
        return struct

    return decode


def _map(key: Decode | None, value: Decode | None) -> Decode:
    def decode(entries: Any) -> dict[Any, Any]:
        pairs = entries.items() if isinstance(entries, dict) else entries  # Arrow returns a map as a list of pairs
        return {(key(k) if key else k): (value(v) if value else v) for k, v in pairs}

    return decode


def _or_none(decode: Decode) -> Decode:
    return lambda value: None if value is None else decode(value)


def _timestamp(moment: datetime) -> Instant:
    # For Spark, a datetime without a time zone is local time.
    return Instant.of(moment.astimezone(UTC))


def _time(value: time) -> Instant:
    return Instant(((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000)
