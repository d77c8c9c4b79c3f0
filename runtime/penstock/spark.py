"""Translation between Connect's schemas and Spark and Arrow types, used by sinks, sources and the runtime.

| Connect | Spark | Arrow |
|---|---|---|
| int8, int16, int32, int64 | byte, short, int, bigint | the same widths |
| float32, float64, boolean, string, bytes | float, double, boolean, string, binary | the same |
| array, map, struct | array, map, struct | list, map, struct |
| Decimal | decimal(38, scale) | decimal128(38, scale) |
| Date | date | date32 |
| Timestamp | timestamp | timestamp(ms, UTC) |
| Time | int, milliseconds of the day, because no file format of Spark 4.3 supports its `time` | int32 |

Spark types cannot express names, versions, documentation, defaults and Time. They are stored in the metadata of struct
fields, from which `from_spark` restores them. A schema that does not belong to a field keeps only its shape.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from penstock._schema_json import schema_from_json, schema_to_json
from penstock.errors import DataError
from penstock.fields import Fields, Same
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
    TIMESTAMP,
    TIMESTAMP_NAME,
    Field,
    Schema,
    Type,
    array_of,
    decimal,
    map_of,
    struct,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructField

__all__ = ["arrow_table", "from_spark", "to_arrow", "to_spark"]

_PRECISION: Final = 38
_METADATA: Final = "penstock.schema"
_FROM: Final[Mapping[str, Schema]] = {
    "tinyint": INT8,
    "smallint": INT16,
    "int": INT32,
    "bigint": INT64,
    "float": FLOAT32,
    "double": FLOAT64,
    "boolean": BOOLEAN,
    "binary": BYTES,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP,
    "void": STRING,
}


def to_spark(schema: Schema) -> "DataType":
    """Return the Spark type of a schema; a `StructType` for a struct.

    Raises:
        DataError: a Decimal has more digits than Spark supports.
    """
    from pyspark.sql import types as t

    if schema.name == DECIMAL_NAME:
        return t.DecimalType(_PRECISION, _scale(schema))
    if schema.name == DATE_NAME:
        return t.DateType()
    if schema.name == TIMESTAMP_NAME:
        return t.TimestampType()
    match schema.type:
        case Type.ARRAY:
            items = _part(schema.items)
            return t.ArrayType(to_spark(items), items.optional)
        case Type.MAP:
            values = _part(schema.values)
            return t.MapType(to_spark(_part(schema.keys)), to_spark(values), values.optional)
        case Type.STRUCT:
            return t.StructType([_spark_field(f.name, f.schema) for f in schema.fields])
        case Type.INT8:
            return t.ByteType()
        case Type.INT16:
            return t.ShortType()
        case Type.INT32:
            return t.IntegerType()
        case Type.INT64:
            return t.LongType()
        case Type.FLOAT32:
            return t.FloatType()
        case Type.FLOAT64:
            return t.DoubleType()
        case Type.BOOLEAN:
            return t.BooleanType()
        case Type.STRING:
            return t.StringType()
        case Type.BYTES:
            return t.BinaryType()


def from_spark(kind: "DataType") -> Schema:
    """Return the required schema of a Spark type; fields and elements are optional if Spark's are nullable.

    Raises:
        DataError: Connect has no equivalent type.
    """
    from pyspark.sql import types as t

    match kind:
        case t.StructType():
            return struct({f.name: _from_field(f) for f in kind.fields})
        case t.ArrayType():
            return array_of(_nullable(from_spark(kind.elementType), optional=kind.containsNull))
        case t.MapType():
            return map_of(
                from_spark(kind.keyType), _nullable(from_spark(kind.valueType), optional=kind.valueContainsNull)
            )
        case t.DecimalType():
            return decimal(kind.scale)
        case t.StringType():
            return STRING
        case t.TimeType():
            return TIME
        case _:
            schema = _FROM.get(kind.simpleString())
            if schema is None:
                raise DataError(
                    f"cannot convert Spark type {kind.simpleString()}: Kafka Connect has no equivalent type; cast the "
                    "column in the source."
                )
            return schema


def to_arrow(schema: Schema) -> Any:
    """Return the Arrow type that Spark accepts for a schema; a `pyarrow.Schema` for a struct."""
    import pyarrow as pa

    if schema.type is Type.STRUCT:
        return pa.schema([_arrow_field(f.name, f.schema) for f in schema.fields])
    return _arrow(schema)


def arrow_table(schema: Schema, values: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Convert values of a struct schema to a table for `createDataFrame(table, schema=to_spark(schema))`.

    `Fields` are converted column by column.

    Raises:
        DataError: a value does not match the schema. The message contains no value.
    """
    import pyarrow as pa

    arrow = to_arrow(schema)
    # A Connect Date is in milliseconds; Arrow's date32 would read the number as days.
    plain = pa.schema([f.with_type(_with_date64(f.type)) for f in arrow])
    try:
        if isinstance(values, Fields) and tuple(values.columns) == tuple(plain.names):
            columns = [
                pa.array([column.value] * len(values) if isinstance(column, Same) else column, type=field.type)
                for column, field in zip(values.columns.values(), plain, strict=True)
            ]
            return pa.Table.from_arrays(columns, schema=plain).cast(arrow)
        return pa.Table.from_pylist(list(values), schema=plain).cast(arrow)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _misfit(values, plain, arrow) from None  # Arrow's own message may contain a value


def _misfit(values: Sequence[Mapping[str, Any]], plain: "pa.Schema", arrow: "pa.Schema") -> DataError:
    """Return an error that names the first field that cannot be converted, and the types of a value and of the field."""
    for row in values:
        if not isinstance(row, Mapping):
            return DataError(f"cannot convert a value of type {type(row).__name__} to Arrow: its schema is a struct")
    for source, target in zip(plain, arrow, strict=True):
        cells = [row.get(target.name) for row in values]
        if _fits(cells, source, target):
            continue
        doing = f"cannot convert field '{target.name}' to Arrow"
        cell = next((c for c in cells if not _fits([c], source, target)), cells[0])
        if cell is None:
            return DataError(f"{doing}: it is required, but null or missing")
        return DataError(f"{doing}: a value of type {type(cell).__name__} does not fit {target.type}")
    return DataError("cannot convert the values to Arrow: they do not fit their schema")


def _fits(cells: list[Any], source: "pa.Field", target: "pa.Field") -> bool:
    import pyarrow as pa

    try:
        column = pa.array(cells, type=source.type)
        pa.Table.from_arrays([column], schema=pa.schema([source])).cast(pa.schema([target]))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _spark_field(name: str, schema: Schema) -> "StructField":
    from pyspark.sql import types as t

    kind = to_spark(schema)
    metadata: dict[str, Any] = {} if schema.doc is None else {"comment": schema.doc}
    if _nullable(from_spark(kind), optional=schema.optional) != schema:
        metadata[_METADATA] = schema_to_json(schema)
    return t.StructField(name, kind, schema.optional, metadata)


def _from_field(field: "StructField") -> Schema:
    plain = _nullable(from_spark(field.dataType), optional=field.nullable)
    text = (field.metadata or {}).get(_METADATA)
    if text is None:
        return plain
    try:
        kept = schema_from_json(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        return plain
    if to_spark(kept).simpleString() != field.dataType.simpleString():
        return plain  # the column has been changed
    return _nullable(_as_nullable(kept, field.dataType), optional=field.nullable)


def _as_nullable(schema: Schema, kind: "DataType") -> Schema:
    """Return the schema with the nullability of the Spark type; columns that Spark reads from files are all nullable."""
    from pyspark.sql import types as t

    match kind:
        case t.StructType():
            pairs = zip(schema.fields, kind.fields, strict=True)
            fields = (
                Field(f.name, _nullable(_as_nullable(f.schema, k.dataType), optional=k.nullable)) for f, k in pairs
            )
            return replace(schema, fields=tuple(fields))
        case t.ArrayType():
            items = _as_nullable(_part(schema.items), kind.elementType)
            return replace(schema, items=_nullable(items, optional=kind.containsNull))
        case t.MapType():
            values = _as_nullable(_part(schema.values), kind.valueType)
            return replace(schema, values=_nullable(values, optional=kind.valueContainsNull))
        case _:
            return schema


def _arrow_field(name: str, schema: Schema) -> "pa.Field":
    import pyarrow as pa

    return pa.field(name, _arrow(schema), nullable=schema.optional)


def _arrow(schema: Schema) -> Any:
    import pyarrow as pa

    if schema.name == DECIMAL_NAME:
        return pa.decimal128(_PRECISION, _scale(schema))
    if schema.name == DATE_NAME:
        return pa.date32()
    if schema.name == TIMESTAMP_NAME:
        return pa.timestamp("ms", "UTC")
    match schema.type:
        case Type.ARRAY:
            return pa.list_(_arrow_field("element", _part(schema.items)))
        case Type.MAP:
            return pa.map_(_arrow(_part(schema.keys)), _arrow_field("value", _part(schema.values)))
        case Type.STRUCT:
            return pa.struct([_arrow_field(f.name, f.schema) for f in schema.fields])
        case Type.BOOLEAN:
            return pa.bool_()
        case Type.BYTES:
            return pa.binary()
        case _:
            return pa.type_for_alias(
                {Type.FLOAT32: "float", Type.FLOAT64: "double"}.get(schema.type, schema.type.value)
            )


def _with_date64(kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_date32(kind):
        return pa.date64()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_date64(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_with_date64(kind.key_type), kind.item_field.with_type(_with_date64(kind.item_type)))
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_with_date64(f.type)) for f in kind])
    return kind


def _scale(schema: Schema) -> int:
    scale = int((schema.parameters or {}).get("scale", "0"))
    if not 0 <= scale <= _PRECISION:
        raise DataError(
            f"cannot convert a Decimal with scale {scale} to Spark: supported scales are 0 to {_PRECISION}."
        )
    return scale


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("cannot convert an array or map schema: it lacks the schema of its elements.")
    return schema


def _nullable(schema: Schema, *, optional: bool) -> Schema:
    return schema if schema.optional == optional else replace(schema, optional=optional)
