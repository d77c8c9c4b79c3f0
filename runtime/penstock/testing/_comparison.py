"""Comparison and checks of values and records, for the suites and for tests of plugins."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock import _returned as returned
from penstock.batch import RecordBatch
from penstock.record import Header, Record
from penstock.schema import Schema, Type
from penstock.values import Float32, Instant

__all__ = ["exactly", "misfit", "wire"]

_LOGICAL: Final[Mapping[str, type]] = {
    "org.apache.kafka.connect.data.Decimal": Decimal,
    "org.apache.kafka.connect.data.Date": Instant,
    "org.apache.kafka.connect.data.Time": Instant,
    "org.apache.kafka.connect.data.Timestamp": Instant,
}
_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_PLAIN: Final[Mapping[Type, type]] = {Type.BOOLEAN: bool, Type.STRING: str, Type.BYTES: bytes}


def exactly(data: Any) -> Any:
    """Convert a value, record or batch for strict comparison: 1, 1.0, True and Int8(1) differ, NaN equals itself.

    The order of the keys of a dict matters, because converters write them in that order.
    """
    match data:
        case Record():
            return tuple(exactly(getattr(data, name)) for name in data.__struct_fields__)
        case RecordBatch():
            return tuple(exactly(record) for record in data.records())
        case Header():
            return ("header", data.name, exactly(data.value), data.schema)
        case Mapping():
            return (type(data).__name__, tuple((exactly(k), exactly(v)) for k, v in data.items()))
        case list() | tuple():
            return (type(data).__name__, tuple(exactly(v) for v in data))
        case float() | Decimal():
            return (type(data).__name__, repr(data))
        case _:
            return (type(data).__name__, data)


def misfit(schema: Schema | None, value: Any, where: str = "the value") -> str | None:
    """Describe how a value violates its schema; return None if it fits."""
    if schema is None:
        return _schemaless(value, where)
    if value is None:
        return None if schema.optional else f"{where} is null, but its schema is not optional"
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return (
            None if isinstance(value, logical) else f"{where} is {value!r}; {schema.name} requires {logical.__name__}"
        )
    wrong = f"{where} is {value!r}, which is not of type {schema.type}"
    match schema.type:
        case Type.STRUCT:
            if not isinstance(value, dict):
                return wrong
            names = [f.name for f in schema.fields]
            if list(value) != names:
                return f"{where} has the fields {list(value)}, but its schema has {names}"
            parts = ((f.schema, value[f.name], f"{where}.{f.name}") for f in schema.fields)
        case Type.ARRAY:
            if not isinstance(value, list):
                return wrong
            parts = ((schema.items, v, f"{where}[{i}]") for i, v in enumerate(value))  # type: ignore[misc]
        case Type.MAP:
            if not isinstance(value, dict):
                return wrong
            for key in value:
                if (fault := misfit(schema.keys, key, f"{where}'s key")) is not None:
                    return fault
            parts = ((schema.values, v, f"{where}[{k!r}]") for k, v in value.items())  # type: ignore[misc]
        case Type.FLOAT32 | Type.FLOAT64:
            return None if isinstance(value, (float, Float32)) else wrong
        case Type.BOOLEAN | Type.STRING | Type.BYTES:
            return None if isinstance(value, _PLAIN[schema.type]) else wrong
        case _:
            whole = isinstance(value, int) and not isinstance(value, bool)
            limit = 1 << (_BITS[schema.type] - 1)
            return None if whole and -limit <= value < limit else wrong
    return next((fault for s, v, w in parts if (fault := misfit(s, v, w)) is not None), None)


def wire(message: Any) -> Any:
    """Return a message as another process receives it, for example with lists instead of tuples.

    Raises:
        TypeError: the message is not plain data.
    """
    returned.check_plain(message)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(message), strict=True)


def _schemaless(value: Any, where: str) -> str | None:
    """Describe why a value needs a schema or is invalid; return None if it is valid without a schema."""
    match value:
        case None | bool() | int() | float() | str() | bytes() | Decimal():
            return None
        case datetime():
            return f"{where} is {value!r}; a point in time must be an Instant: use Instant.of for a datetime with time zone"
        case list():
            parts = [(v, f"{where}[{i}]") for i, v in enumerate(value)]
        case dict():
            parts = [(k, f"{where}'s key") for k in value]
            parts += [(v, f"{where}[{k!r}]") for k, v in value.items()]
        case _:
            return f"{where} is {value!r}; Kafka Connect has no type for {type(value).__name__}"
    return next((fault for v, w in parts if (fault := _schemaless(v, w)) is not None), None)
