"""Comparing and checking values and records, for the suites and for tests of one's own."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

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


def exactly(found: Any) -> Any:
    """A form of a value, record or batch whose equality is strict: 1, 1.0, True and Int8(1) differ, NaN equals itself.

    The order of a dict's keys counts, as it does for bytes that are written.
    """
    match found:
        case Record():
            return tuple(exactly(getattr(found, name)) for name in found.__struct_fields__)
        case RecordBatch():
            return tuple(exactly(record) for record in found.records())
        case Header():
            return ("header", found.name, exactly(found.value), found.schema)
        case Mapping():
            return (type(found).__name__, tuple((exactly(k), exactly(v)) for k, v in found.items()))
        case list() | tuple():
            return (type(found).__name__, tuple(exactly(v) for v in found))
        case float() | Decimal():
            return (type(found).__name__, repr(found))
        case _:
            return (type(found).__name__, found)


def misfit(schema: Schema | None, value: Any, where: str = "the value") -> str | None:
    """What is wrong with a value under its schema, in words; None when nothing is."""
    if schema is None:
        return None
    if value is None:
        return None if schema.optional else f"{where} is null, and its schema is required"
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        return None if isinstance(value, logical) else f"{where} is {value!r}; {schema.name} takes {logical.__name__}"
    wrong = f"{where} is {value!r}, which is no {schema.type}"
    match schema.type:
        case Type.STRUCT:
            if not isinstance(value, dict):
                return wrong
            names = [f.name for f in schema.fields]
            if list(value) != names:
                return f"{where} has the fields {list(value)}, its schema {names}"
            parts = ((f.schema, value[f.name], f"{where}.{f.name}") for f in schema.fields)
        case Type.ARRAY:
            if not isinstance(value, list):
                return wrong
            parts = ((schema.items, v, f"{where}[{i}]") for i, v in enumerate(value))  # type: ignore[misc]
        case Type.MAP:
            if not isinstance(value, dict):
                return wrong
            for key in value:
                if (found := misfit(schema.keys, key, f"{where}'s key")) is not None:
                    return found
            parts = ((schema.values, v, f"{where}[{k!r}]") for k, v in value.items())  # type: ignore[misc]
        case Type.FLOAT32 | Type.FLOAT64:
            return None if isinstance(value, (float, Float32)) else wrong
        case Type.BOOLEAN | Type.STRING | Type.BYTES:
            return None if isinstance(value, _PLAIN[schema.type]) else wrong
        case _:
            whole = isinstance(value, int) and not isinstance(value, bool)
            limit = 1 << (_BITS[schema.type] - 1)
            return None if whole and -limit <= value < limit else wrong
    return next((found for s, v, w in parts if (found := misfit(s, v, w)) is not None), None)


def wire(message: Any) -> Any:
    """What another process gets of it.

    Raises:
        TypeError: it is no plain data.
    """
    return msgspec.msgpack.decode(msgspec.msgpack.encode(message, enc_hook=_refuse), strict=True)


def _refuse(found: Any) -> Any:
    raise TypeError(
        f"{type(found).__name__} cannot travel to another process; use texts, numbers, bytes, lists and dicts"
    )
