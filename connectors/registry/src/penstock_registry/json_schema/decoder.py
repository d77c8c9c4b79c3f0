"""Conversion of JSON to Connect's values, as in Confluent's JsonSchemaData."""

import math
import struct
from base64 import b64decode
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final

from penstock import DataError, Schema, Type
from penstock.schema import DECIMAL_NAME, TIME_NAME
from penstock_registry.json_schema import names
from penstock_registry.json_schema.misfit import Misfit
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.logical import from_stored, scale_of
from penstock_registry.values import BOUNDS, described

__all__ = ["Decode", "check_logical", "decoder", "has_decimals"]

Decode = Callable[[Any], Any]
"""Function that converts a value of JSON, which may be None, or raises a `Misfit`."""

_KINDS: Final = {
    type(None): "null", bool: "a boolean", int: "an integer", float: "a number", Decimal: "a number", str: "a string",
    list: "an array", dict: "an object",
}  # fmt: skip
_FLOATS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DAY: Final = 86_400_000
"""Milliseconds per day."""
_SINGLE: Final = struct.Struct("f")
_MISSING: Final = object()
_MOST_DIGITS: Final = 10_000
"""Maximum digits before the point of a Decimal: a number such as 1e999999999 would fill the memory."""
_EXACT: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, InvalidOperation])


def check_logical(schema: Schema) -> None:
    """Reject a schema with the name of a logical type whose values it cannot hold.

    Raises:
        DataError: the schema cannot hold them.
    """
    if schema.name == DECIMAL_NAME:
        scale_of(schema)
        fits = schema.type is Type.BYTES
    else:
        fits = from_stored(schema) is None or schema.type in BOUNDS
    if not fits:
        raise DataError(
            f"cannot read a JSON Schema: the title {schema.name} names a logical type that is not stored as {schema.type}"
            "; change the title or the type"
        )


def has_decimals(schema: Schema) -> bool:
    """Return whether numbers must be read exactly, because a schema has decimals."""
    inner = [schema.items, schema.keys, schema.values, *(f.schema for f in schema.fields)]
    return schema.name == DECIMAL_NAME or any(each is not None and has_decimals(each) for each in inner)


def decoder(schema: Schema, settings: JsonSettings) -> Decode:
    """Return the function that converts values of this schema."""
    decode, default, optional = _present(schema, settings), schema.default, schema.optional

    def decode_any(value: Any) -> Any:
        if value is not None:
            return decode(value)
        if default is not None:
            return default
        if optional:
            return None
        raise Misfit("null is not allowed")

    return decode_any


def _present(schema: Schema, settings: JsonSettings) -> Decode:
    """Return the function for values other than null."""
    if schema.name == DECIMAL_NAME:
        return _decimal(schema)
    convert = from_stored(schema)
    plain = _plain(schema, settings)
    return plain if convert is None else lambda value: convert(plain(value))


def _plain(schema: Schema, settings: JsonSettings) -> Decode:
    match schema.type:
        case Type.BOOLEAN:
            return lambda value: value if isinstance(value, bool) else _refuse(value, "a boolean")
        case Type.STRING:
            return lambda value: value if isinstance(value, str) else _refuse(value, "a string")
        case Type.BYTES:
            return _bytes
        case Type.FLOAT32:
            return lambda value: _single(_float(value))
        case Type.FLOAT64:
            return _float
        case Type.ARRAY if schema.items is not None:
            return _array(decoder(schema.items, settings))
        case Type.MAP if schema.keys is not None and schema.values is not None:
            values = decoder(schema.values, settings)
            return (
                _object_map(values) if names.is_object_map(schema) else _entries(decoder(schema.keys, settings), values)
            )
        case Type.STRUCT if names.is_union(schema):
            return _union(schema, settings)
        case Type.STRUCT:
            return _struct(schema, settings)
        case _:
            return _integer(schema)


def _refuse(value: Any, expected: str) -> Any:
    raise Misfit(f"{expected} is expected, not {_KINDS[type(value)]}")


def _integer(schema: Schema) -> Decode:
    low, high = (0, _DAY) if schema.name == TIME_NAME else BOUNDS[schema.type]

    def decode(value: Any) -> int:
        if isinstance(value, (float, Decimal)) and low <= value <= high and value == int(value):
            value = int(value)  # 5.0 is an integer in JSON
        if type(value) is not int:
            _refuse(value, "an integer")
        if not low <= value <= high:
            raise Misfit(f"the number is out of the range of {described(schema)}")
        return int(value)

    return decode


def _float(value: Any) -> float:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise Misfit("the number is too large for a float") from None
    if isinstance(value, str) and value in _FLOATS:
        return _FLOATS[value]
    return float(_refuse(value, "a number"))


def _single(value: float) -> float:
    """Return the nearest 32-bit float."""
    try:
        return float(_SINGLE.unpack(_SINGLE.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        _refuse(value, "a string in Base64")
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise Misfit("the string is not Base64") from None


def _decimal(schema: Schema) -> Decode:
    scale, convert = scale_of(schema), from_stored(schema)
    step = Decimal((0, (1,), -scale))

    def decode(value: Any) -> Any:
        if isinstance(value, str) and convert is not None:
            return convert(_bytes(value))
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            _refuse(value, "a number or a string in Base64")
        number = Decimal(value)
        if not number.is_finite():
            raise Misfit("the number is not finite")
        if number.adjusted() > _MOST_DIGITS:
            raise Misfit(f"the number has more than {_MOST_DIGITS} digits")
        try:
            return number.quantize(step, context=_EXACT)
        except (Inexact, InvalidOperation):
            raise Misfit(f"the number has more than {scale} digits after the point") from None

    return decode


def _array(decode: Decode) -> Decode:
    def decode_array(value: Any) -> list[Any]:
        if not isinstance(value, list):
            _refuse(value, "an array")
        made = []
        for index, each in enumerate(value):
            try:
                made.append(decode(each))
            except Misfit as e:
                raise e.within(f"[{index}]") from None
        return made

    return decode_array


def _object_map(decode: Decode) -> Decode:
    def decode_map(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            _refuse(value, "an object")
        try:
            return {key: decode(each) for key, each in value.items()}
        except Misfit as e:
            raise e.within("{}") from None

    return decode_map


def _entries(decode_key: Decode, decode_value: Decode) -> Decode:
    def decode_entries(value: Any) -> dict[Any, Any]:
        if not isinstance(value, list):
            _refuse(value, "an array of entries")
        made = {}
        for index, each in enumerate(value):
            try:
                if not isinstance(each, dict) or each.keys() != {names.KEY, names.VALUE}:
                    raise Misfit(f"an object with exactly the fields {names.KEY} and {names.VALUE} is expected")
                made[decode_key(each[names.KEY])] = decode_value(each[names.VALUE])
            except Misfit as e:
                raise e.within(f"[{index}]") from None
            except TypeError:
                raise Misfit("the keys of a map are arrays, maps or structs") from None
        return made

    return decode_entries


def _struct(schema: Schema, settings: JsonSettings) -> Decode:
    fields = [(f.name, decoder(f.schema, settings), f.schema.default, f.schema.optional) for f in schema.fields]

    def decode_struct(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            _refuse(value, "an object")
        made = {}
        for name, decode, default, optional in fields:
            content = value.get(name, _MISSING)
            try:
                if content is not _MISSING:
                    made[name] = decode(content)
                elif default is not None or optional:
                    made[name] = default
                else:
                    raise Misfit(
                        "the property is missing, and the schema allows no null; use.optional.for.nonrequired=true makes "
                        "properties optional that are not listed in 'required'"
                    )
            except Misfit as e:
                raise e.within(f".{name}") from None
        return made

    return decode_struct


def _union(schema: Schema, settings: JsonSettings) -> Decode:
    """Return the function that selects the field: the first with the value's type, else the struct with most properties."""
    fields = [(f.name, f.schema, decoder(f.schema, settings)) for f in schema.fields]
    empty = dict.fromkeys((f.name for f in schema.fields), None)

    def select(value: Any) -> tuple[str, Decode]:
        best: tuple[str, Decode] | None = None
        most = 0
        for name, of, decode in fields:
            if _has_type(of, value):
                return name, decode
            if (count := _matching(of, value)) > most:
                best, most = (name, decode), count
        if best is None and isinstance(value, str):
            best = next(((name, decode) for name, of, decode in fields if of.type is Type.BYTES), None)
        if best is None:
            raise Misfit(f"the union has no schema for this value, {_KINDS[type(value)]}")
        return best

    def decode_union(value: Any) -> dict[str, Any]:
        name, decode = select(value)
        return {**empty, name: decode(value)}

    return decode_union


def _has_type(schema: Schema, value: Any) -> bool:
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            return type(value) is int
        case Type.FLOAT32 | Type.FLOAT64:
            return type(value) in (int, float, Decimal)
        case Type.BOOLEAN:
            return isinstance(value, bool)
        case Type.STRING:
            return isinstance(value, str)
        case Type.BYTES:
            return type(value) in (float, Decimal)
        case Type.ARRAY:
            return isinstance(value, list)
        case Type.MAP:
            return isinstance(value, (dict, list))
        case Type.STRUCT:
            return False


def _matching(schema: Schema, value: Any) -> int:
    """Return the number of an object's properties that a struct has, including those of structs inside it."""
    if schema.type is not Type.STRUCT or not isinstance(value, dict):
        return 0
    common = [f for f in schema.fields if f.name in value]
    return len(common) + sum(_matching(f.schema, value[f.name]) for f in common)
