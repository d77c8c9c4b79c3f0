"""Conversion of JSON nodes to Connect's values: `JsonConverter.convertToConnect`.

As in Jackson's accessors, some types are not checked: a string that is read as a number becomes 0, and a number that is read
as a string becomes null.
"""

import base64
import copy
import math
import re
from decimal import Decimal
from typing import Any, Final

from penstock import DataError, Float32, Float64, Instant, Int64, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_java_compat.calendar import DAY
from penstock_plugins.connect.number_casts import double_value, float_value, low_bits
from penstock_plugins.connect.values import BOUNDS, validate_value
from penstock_plugins.converters.json.parser import MISSING

__all__ = ["NodeReader"]

_UNIT: Final = r"(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)"
_BASE64: Final = re.compile(rf"(?:[\0-\x20]*{_UNIT})*[\0-\x20]*")
_BASE64_UNIT: Final = re.compile(_UNIT)


def _node_type(node: Any) -> str:
    names = {bool: "BOOLEAN", int: "NUMBER", Decimal: "NUMBER", str: "STRING", list: "ARRAY", dict: "OBJECT"}
    return names.get(type(node), "NULL")


def _is_int(node: Any) -> bool:
    return type(node) is int and -(2**31) <= node < 2**31


_FLOATS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Special floats as JSON writers write them, including Kafka Connect's, whose reader reads them as 0."""


def _is_special_float(node: Any) -> bool:
    return isinstance(node, str) and node in _FLOATS


def _long(node: Any) -> int:
    """Return the low 64 bits, as in Kafka Connect; if they differ from the message's number, `exact` has that number."""
    low = low_bits(node, Type.INT64)
    if type(node) is not int or low == node:
        return low
    cut = Int64(low)
    cut.exact = node
    return cut


def _float(node: Any, nearest: float, kind: type[Float32 | Float64]) -> float:
    """Return the nearest float, as in Kafka Connect; if it is infinite, `exact` has the message's number."""
    if not math.isinf(nearest):
        return nearest
    infinite = kind(nearest)
    infinite.exact = Decimal(node)
    return infinite


def _binary(node: Any) -> bytes | None:
    if not isinstance(node, str):
        return None
    if _BASE64.fullmatch(node) is None:
        raise ValueError("broken Base64 encoding")
    return b"".join(map(base64.b64decode, _BASE64_UNIT.findall(node)))


class NodeReader:
    """Reader of nodes. With `replace_null` a null or absent value becomes its schema's default."""

    def __init__(self, *, replace_null: bool) -> None:
        self._replace_null = replace_null

    def value(self, schema: Schema | None, node: Any) -> Any:
        """Return the value of a node.

        Raises:
            DataError: the node does not fit the schema; with Kafka Connect's message.
        """
        if schema is None:
            return self._schemaless(node)
        if node is None:
            if schema.default is not None and self._replace_null:
                return copy.deepcopy(schema.default)  # the batch owns its containers
            if schema.optional:
                return None
            raise DataError(f"Invalid null value for required {schema.type.upper()} field")
        if schema.name is not None and (logical := _LOGICAL.get(schema.name)) is not None:
            return logical(schema, node)
        kind = schema.type
        if kind is Type.INT64:
            return _long(node)
        if kind in BOUNDS:
            return low_bits(node, kind)
        if kind is Type.STRING:
            return node if isinstance(node, str) else None
        if kind is Type.BOOLEAN:
            return node is True
        if kind is Type.FLOAT64:
            return _FLOATS[node] if _is_special_float(node) else _float(node, double_value(node), Float64)
        if kind is Type.FLOAT32:
            return _FLOATS[node] if _is_special_float(node) else _float(node, float_value(node), Float32)
        if kind is Type.BYTES:
            try:
                return _binary(node)
            except ValueError as e:
                raise DataError("Invalid bytes field") from e
        if kind is Type.STRUCT:
            return self._struct(schema, node)
        if kind is Type.MAP:
            return self._map(schema, node)
        parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return [self.value(schema.items, part) for part in parts]

    def _schemaless(self, node: Any) -> Any:
        if type(node) is int:
            return _long(node)
        if isinstance(node, Decimal):
            return _float(node, double_value(node), Float64)
        if isinstance(node, list):
            return [self._schemaless(part) for part in node]
        if isinstance(node, dict):
            return {name: self._schemaless(part) for name, part in node.items()}
        return None if node is MISSING else node

    def _struct(self, schema: Schema, node: Any) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {_node_type(node)}")
        struct: dict[str, Any] = {}
        for field in schema.fields:
            struct[field.name] = item = self.value(field.schema, node.get(field.name))
            validate_value(field.name, field.schema, item)
        return struct

    def _map(self, schema: Schema, node: Any) -> dict[Any, Any]:
        assert schema.keys is not None
        if schema.keys.type is Type.STRING:
            if not isinstance(node, dict):
                raise DataError(
                    f"Maps with string fields should be encoded as JSON objects, but found {_node_type(node)}"
                )
            return {name: self.value(schema.values, item) for name, item in node.items()}
        if not isinstance(node, list):
            raise DataError(
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {_node_type(node)}"
            )
        entries: dict[Any, Any] = {}
        for entry in node:
            if not isinstance(entry, list):
                raise DataError(f"Found invalid map entry instead of array tuple: {_node_type(entry)}")
            if len(entry) != 2:
                raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
            key = self.value(schema.keys, entry[0])
            try:
                entries[key] = self.value(schema.values, entry[1])
            except TypeError as e:
                raise DataError("Lists, maps and structs cannot be keys of a map here") from e
        return entries


def _decimal(schema: Schema, node: Any) -> Decimal:
    if isinstance(node, Decimal) or type(node) is int:
        number = Decimal(node)
        return number or abs(number)
    if not isinstance(node, str):
        raise DataError(
            f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {_node_type(node)}"
        )
    try:
        data = _binary(node)
        if not data:
            raise ValueError("Zero length BigInteger")
        scale = int((schema.parameters or {})["scale"])
    except (KeyError, ValueError) as e:
        raise DataError("Invalid bytes for Decimal field") from e
    unscaled = int.from_bytes(data, "big", signed=True)
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))


def _date(_: Schema, node: Any) -> Instant:
    if not _is_int(node):
        raise DataError(
            f"Invalid type for Date, underlying representation should be integer but was {_node_type(node)}"
        )
    return Instant(node * DAY)


def _time(_: Schema, node: Any) -> Instant:
    if not _is_int(node):
        raise DataError(
            f"Invalid type for Time, underlying representation should be integer but was {_node_type(node)}"
        )
    if not 0 <= node <= DAY:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return Instant(node)


def _timestamp(_: Schema, node: Any) -> Instant:
    if type(node) is not int:
        raise DataError(
            f"Invalid type for Timestamp, underlying representation should be integral but was {_node_type(node)}"
        )
    return Instant(low_bits(node, Type.INT64))


_LOGICAL: Final = {DECIMAL_NAME: _decimal, DATE_NAME: _date, TIME_NAME: _time, TIMESTAMP_NAME: _timestamp}
