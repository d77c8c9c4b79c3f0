r"""Conversion of Python data to Connect's: schemas of dataclasses, other types and DB-API cursors, and matching values.

| annotation | schema |
|---|---|
| `bool`, `str`, `bytes` | boolean, string, bytes |
| `int`, `float` | int64, float64; `Int8` ... `Float32` for other widths |
| `datetime`, `date`, `time` | Timestamp, Date, Time |
| `Annotated[Decimal, decimal(2)]`, `Annotated[int, INT32]` | that schema |
| `list[T]`, `tuple[T, ...]`, `dict[K, V]` | array, map |
| a dataclass | struct with its fields and the name of the class |
| `T \| None` | the same, optional |

There is intentionally no function that infers a schema from rows: the schema would depend on the data, and the same records
could differ after a restart.
"""

import dataclasses
import math
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Context, Decimal, InvalidOperation
from functools import lru_cache
from numbers import Integral, Real
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from penstock.errors import DataError, SchemaBuilderError
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    DATE_NAME,
    DECIMAL_NAME,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    Schema,
    Type,
    array_of,
    map_of,
    struct,
)
from penstock.values import Float32, Float64, Instant, Int8, Int16, Int32, Int64

__all__ = ["schema_of", "schema_of_cursor", "value_of"]

_SIMPLE: Final[Mapping[Any, Schema]] = {
    bool: BOOLEAN,
    str: STRING,
    bytes: BYTES,
    int: INT64,
    float: FLOAT64,
    Int8: INT8,
    Int16: INT16,
    Int32: INT32,
    Int64: INT64,
    Float32: FLOAT32,
    Float64: FLOAT64,
    datetime: TIMESTAMP,
    Instant: TIMESTAMP,
    date: DATE,
    time: TIME,
}
_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_FLOAT32: Final = 3.4028235677973366e38
"""Least absolute value that becomes infinite as float32."""
_DAY: Final = 86_400_000
_EXACT: Final = Context(prec=10_000)
_EPOCH: Final = date(1970, 1, 1)


def schema_of(annotation: Any, *, name: str | None = None) -> Schema:
    """Return the schema of a dataclass or another type; see the table in `help("penstock.python_data")`.

    Args:
        annotation: the type.
        name: the schema name to use instead of the name of the dataclass.

    Raises:
        SchemaBuilderError: a type has no schema; the message names the field.
    """
    schema = _schema(annotation, ())
    return schema if name is None else replace(schema, name=name)


def _schema(annotation: Any, outer: tuple[type, ...]) -> Schema:
    if isinstance(annotation, type) and (simple := _SIMPLE.get(annotation)) is not None:
        return simple
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        given = [schema for schema in arguments[1:] if isinstance(schema, Schema)]
        return given[0] if given else _schema(arguments[0], outer)
    if origin in (Union, types.UnionType):
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1 and len(arguments) > 1:
            return _schema(rest[0], outer).as_optional()
    if arguments and (origin is list or (origin is tuple and arguments[1:] == (...,))):
        return array_of(_schema(arguments[0], outer))
    if arguments and origin in (dict, Mapping):
        return map_of(_schema(arguments[0], outer), _schema(arguments[1], outer))
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _struct_of(annotation, outer)
    if annotation is Decimal:
        raise SchemaBuilderError("Decimal has no scale: use Annotated[Decimal, decimal(2)]")
    shown = annotation.__qualname__ if isinstance(annotation, type) else repr(annotation)
    raise SchemaBuilderError(
        f"{shown} has no schema: use Annotated[..., SCHEMA], or bool, int, float, str, bytes, datetime, date, time, "
        f"list[T], dict[K, V], a dataclass, or one of these | None"
    )


def _struct_of(cls: type, outer: tuple[type, ...]) -> Schema:
    if cls in outer:
        raise SchemaBuilderError(f"{cls.__name__} contains itself; schemas cannot be recursive")
    try:
        hints = get_type_hints(cls, include_extras=True)
    except NameError as e:
        raise SchemaBuilderError(f"cannot resolve an annotation of {cls.__name__} in its module: {e}") from None
    fields = {}
    for field in dataclasses.fields(cls):
        try:
            fields[field.name] = _schema(hints[field.name], (*outer, cls))
        except SchemaBuilderError as e:
            raise SchemaBuilderError(f"{cls.__name__}.{field.name}: {e}") from None
    return struct(fields, name=cls.__name__)


def schema_of_cursor(
    description: Sequence[Sequence[Any]] | None,
    types: Mapping[Any, Schema],
    *,
    columns: Mapping[str, Schema] | None = None,
    name: str | None = None,
) -> Schema:
    """Return the schema of a query's rows: a struct with one field per column of a DB-API cursor, in column order.

    Type codes are specific to the driver; some drivers have none (sqlite3), and few report whether a column is nullable.
    A field is optional unless the driver reports its column as not nullable.

    Args:
        description: `cursor.description` after a statement was executed (PEP 249).
        types: schemas by the driver's type codes, which are compared with `==`.
        columns: schemas of single columns by name, which override the driver's information.
        name: the name of the schema.

    Raises:
        SchemaBuilderError: there is no result, a column has no schema, no name or a duplicate name, or `columns` contains an
            unknown column. The message lists all such columns.
    """
    if description is None:
        raise SchemaBuilderError("cannot derive a schema: the cursor has no description; execute a query first")
    given, names = columns or {}, Counter(column[0] for column in description)
    faults = [
        f"{of!r} is the name of {times} columns: rename them in the query (SELECT ... AS ...)"
        for of, times in names.items()
        if times > 1
    ]
    fields = {}
    for of, code, *_, null_ok in description:
        schema = given.get(of) or next((schema for known, schema in types.items() if known == code), None)
        if schema is not None:
            is_required = of in given or (null_ok is not None and not null_ok)
            fields[of] = schema if is_required else schema.as_optional()
        elif code is None:
            faults.append(f"{of!r} has no type code: add a schema for the column to columns")
        else:
            faults.append(f"{of!r} has an unknown type code {code!r}: add a schema for it to types or columns")
    if strangers := [n for n in given if n not in names]:
        faults.append(
            f"columns contains unknown {', '.join(map(repr, strangers))}; the query returns {', '.join(map(repr, names))}"
        )
    if faults:
        raise SchemaBuilderError(f"cannot derive a schema from the cursor: {'; '.join(faults)}")
    return struct(fields, name=name)


def value_of(data: Any, schema: Schema) -> Any:
    """Convert Python data to the value of a `Record` with this schema.

    A struct is created from a dataclass, or from a mapping with its fields; missing fields are null. A `datetime` with a
    time zone becomes an `Instant`, truncated to milliseconds; a `Decimal` is rescaled to its schema, unless that would lose
    digits. Unknown fields are errors.

    Args:
        data: data of the types that `schema_of` supports.
        schema: the schema of the value.

    Raises:
        DataError: the data does not match the schema; the message names the field.
    """
    try:
        return _conversion(schema)(data)
    except _Misfit as e:
        raise DataError(str(e)) from None


_Conversion: TypeAlias = Callable[[Any], Any]


class _Misfit(DataError):
    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(f"{path or 'The value'} {what}")
        self.what = what
        self.path = path


@lru_cache(maxsize=1024)
def _conversion(schema: Schema) -> _Conversion:
    convert = _required(schema)
    if schema.optional:
        return lambda data: None if data is None else convert(data)
    return convert


def _required(schema: Schema) -> _Conversion:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name](schema)
    match schema.type:
        case Type.STRUCT:
            return _struct(schema)
        case Type.ARRAY:
            items = _conversion(_part(schema.items))
            return lambda data: [items(item) for item in _of(data, (list, tuple), "an array")]
        case Type.MAP:
            keys, values = _conversion(_part(schema.keys)), _conversion(_part(schema.values))
            return lambda data: {keys(k): values(v) for k, v in _of(data, (Mapping,), "a map").items()}
        case Type.FLOAT32 | Type.FLOAT64:
            return _float(schema.type)
        case Type.STRING | Type.BOOLEAN:
            kind = str if schema.type is Type.STRING else bool
            return lambda data: _of(data, (kind,), schema.type)
        case Type.BYTES:
            return lambda data: bytes(_of(data, (bytes, bytearray, memoryview), schema.type))
        case _:
            return _integer(schema.type)


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise SchemaBuilderError("an array schema lacks its items schema, or a map schema its keys or values schema")
    return schema


def _of(data: Any, kinds: tuple[type, ...], what: str, *, but: type | None = None) -> Any:
    if not isinstance(data, kinds) or (but is not None and isinstance(data, but)):
        raise _Misfit("is null" if data is None else f"is of type {type(data).__name__}, not {what}")
    return data


def _integer(kind: Type) -> _Conversion:
    most = 1 << (_BITS[kind] - 1)

    def convert(data: Any) -> int:
        number = int(_of(data, (Integral,), kind, but=bool))
        if not -most <= number < most:
            raise _Misfit(f"is out of range for {kind}")
        return number

    return convert


def _float(kind: Type) -> _Conversion:
    def convert(data: Any) -> float:
        given = _of(data, (Real,), kind, but=bool)
        try:
            number = float(given)
        except OverflowError:
            number = math.inf
        exact = not isinstance(given, Integral) or number == given
        if not exact or (kind is Type.FLOAT32 and math.isfinite(number) and abs(number) >= _FLOAT32):
            raise _Misfit(f"cannot be represented as {kind}")
        return number

    return convert


def _struct(schema: Schema) -> _Conversion:
    fields = [(field.name, _conversion(field.schema)) for field in schema.fields]
    names = {name for name, _ in fields}

    def convert(data: Any) -> dict[str, Any]:
        if isinstance(data, Mapping):
            given = data
        elif dataclasses.is_dataclass(data):
            given = {field.name: getattr(data, field.name) for field in dataclasses.fields(data)}
        else:
            given = _of(data, (Mapping,), "a dataclass or a mapping")
        if strangers := [name for name in given if name not in names]:
            raise _Misfit(f"has the field {strangers[0]}, which is not in the schema")
        made = {}
        for name, field in fields:
            try:
                made[name] = field(given.get(name))
            except _Misfit as e:
                raise _Misfit(e.what, f"{name}.{e.path}" if e.path else name) from None
        return made

    return convert


def _timestamp(_: Schema) -> _Conversion:
    def convert(data: Any) -> Instant:
        if isinstance(data, Instant):
            return data
        moment: datetime = _of(data, (datetime,), "a datetime or an Instant")
        if moment.tzinfo is None:
            raise _Misfit("is a datetime without a time zone; add one, for example with replace(tzinfo=UTC)")
        return Instant.of(moment)

    return convert


def _date(_: Schema) -> _Conversion:
    def convert(data: Any) -> Instant:
        if isinstance(data, Instant):
            return data
        day: date = _of(data, (date,), "a date", but=datetime)
        return Instant((day - _EPOCH).days * _DAY)

    return convert


def _time(_: Schema) -> _Conversion:
    def convert(data: Any) -> Instant:
        if isinstance(data, Instant):
            return data
        at: time = _of(data, (time,), "a time")
        if at.tzinfo is not None:
            raise _Misfit("is a time with a time zone, which Connect's Time does not support")
        return Instant(((at.hour * 60 + at.minute) * 60 + at.second) * 1000 + at.microsecond // 1000)

    return convert


def _decimal(schema: Schema) -> _Conversion:
    digits = int((schema.parameters or {}).get("scale", "0"))
    unit = Decimal(1).scaleb(-digits)

    def convert(data: Any) -> Decimal:
        number = Decimal(_of(data, (Decimal, int), "a Decimal", but=bool))
        if not number.is_finite():
            raise _Misfit("is not a finite number")
        try:
            made = number.quantize(unit, context=_EXACT)
        except InvalidOperation:
            raise _Misfit(f"has more than {_EXACT.prec} digits") from None
        if made != number:
            raise _Misfit(f"has more than {digits} decimal places")
        return made

    return convert


_LOGICAL: Final[Mapping[str | None, Callable[[Schema], _Conversion]]] = {
    TIMESTAMP_NAME: _timestamp,
    DATE_NAME: _date,
    TIME_NAME: _time,
    DECIMAL_NAME: _decimal,
}
