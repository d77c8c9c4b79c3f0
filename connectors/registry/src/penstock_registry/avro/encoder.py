"""Conversion of Connect's values to values that fastavro writes with a physical schema."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock import DataError, Float32, Instant, Int8, Int16, Int32, Schema, Type
from penstock_registry.avro import names
from penstock_registry.avro.defaults import default_datum
from penstock_registry.avro.physical import branch_field, branch_name
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.types import AvroType
from penstock_registry.logical import scale_of, to_stored
from penstock_registry.values import BOUNDS, CLASSES, described

__all__ = ["Encode", "FieldEncoder", "encode_anything", "encoder", "field_encoders"]

Encode = Callable[[Any], Any]
"""Function that converts a value, which may be None, or raises a `DataError`."""

_ACCEPTED: Final = {
    Type.INT8: ("int", "long"),
    Type.INT16: ("int", "long"),
    Type.INT32: ("int", "long"),
    Type.INT64: ("long",),
    Type.FLOAT32: ("float", "double"),
    Type.FLOAT64: ("double",),
    Type.BOOLEAN: ("boolean",),
    Type.STRING: ("string", "enum"),
    Type.BYTES: ("bytes", "fixed"),
    Type.ARRAY: ("array",),
    Type.MAP: ("map", "array"),
    Type.STRUCT: ("record", "union"),
}
"""Avro types that can hold the values of each type of Connect."""

_TAGGED: Final = ("record", "array", "map", "enum", "fixed", "bytes")
"""Optional types whose values name their branch, since fastavro would otherwise compare each value with the schema."""


@dataclass(frozen=True, slots=True)
class FieldEncoder:
    """Conversion of a field of a struct.

    Attributes:
        name: name of the field in Connect.
        target: its name in Avro.
        encode: function that converts a value.
        plain: classes of values that need no conversion.
        bounds: minimum and maximum of such values, if they are integers.
    """

    name: str
    target: str
    encode: Encode
    plain: frozenset[type]
    bounds: tuple[int, int] | None


def encoder(schema: Schema, of: AvroType, settings: AvroSettings) -> Encode:
    """Return the function that converts values of a schema for a type.

    Raises:
        DataError: the type cannot hold such values.
    """
    if (branch := of.optional_branch) is not None:
        return _optional(schema, branch, settings)
    if of.kind == "union":
        return _union(schema, of, settings)
    return _required(schema, _present(schema, of, settings))


def field_encoders(schema: Schema, of: AvroType, settings: AvroSettings) -> tuple[list[FieldEncoder], dict[str, Any]]:
    """Return the conversions of a struct's fields to those of a record, and the fields that all records have in common.

    Raises:
        DataError: the record has a field that the struct does not have, and no default for it.
    """
    fields = []
    targets = {each.name: each for each in of.fields}
    for field in schema.fields:
        target = names.scrubbed(field.name) if settings.scrub else field.name
        found = targets.get(target)
        if found is None:
            continue  # only if a registered schema is used (`use.latest.version`), which does not have it
        try:
            encode = _with_default(field.schema, encoder(field.schema, found.type, settings), settings)
        except DataError as e:
            raise DataError(f"field '{field.name}': {e}") from None
        plain, bounds = _plain(field.schema, found.type)
        fields.append(FieldEncoder(field.name, target, encode, plain, bounds))
    written = {each.target for each in fields}
    missing = [each for each in of.fields if each.name not in written]
    for each in missing:
        if not each.has_default:
            raise DataError(
                f"the registered schema {of.name} requires the field '{each.name}', which the record's schema does not have"
            )
    return fields, {each.name: default_datum(each.type, each.default) for each in missing}


def _plain(schema: Schema, of: AvroType) -> tuple[frozenset[type], tuple[int, int] | None]:
    """Return the classes of values that need no conversion, and their bounds if they are integers, else None."""
    inner = of.optional_branch or of
    if inner.kind == "union" or to_stored(schema) is not None or (inner.kind in _TAGGED and inner is not of):
        return frozenset(), None
    if schema.type in (Type.ARRAY, Type.MAP, Type.STRUCT) or inner.kind in ("enum", "fixed"):
        return frozenset(), None
    classes: set[type] = set(CLASSES[schema.type])
    if schema.optional and schema.default is None and inner is not of:
        classes.add(type(None))
    return frozenset(classes), BOUNDS.get(schema.type)


def _with_default(schema: Schema, encode: Encode, settings: AvroSettings) -> Encode:
    if schema.default is None or (schema.optional and settings.null_stays):
        return encode
    return lambda value: encode(schema.default if value is None else value)


def _required(schema: Schema, encode: Encode) -> Encode:
    def encode_required(value: Any) -> Any:
        if value is None:
            raise DataError("null is not allowed")
        return encode(value)

    return encode_required


def _optional(schema: Schema, branch: AvroType, settings: AvroSettings) -> Encode:
    encode = encoder(replace(schema, optional=False), branch, settings)
    tag = branch.name or branch.kind
    is_required, is_tagged = not schema.optional, branch.kind in _TAGGED

    def encode_optional(value: Any) -> Any:
        if value is None:
            if is_required:
                raise DataError("null is not allowed")
            return None
        return (tag, encode(value)) if is_tagged else encode(value)

    return encode_optional


def _union(schema: Schema, of: AvroType, settings: AvroSettings) -> Encode:
    """Return the function that selects the branch: for a struct, that of the field that is set; else the first that fits."""
    if not names.is_union(schema):
        return _branch(schema, of, settings)
    members: dict[str, tuple[int, Encode]] = {}
    for field in schema.fields:
        plain = replace(field.schema, optional=False)
        known = (field.name, names.member_name(plain, full=settings.enhanced))
        for index, branch in enumerate(of.branches):
            if branch.kind != "null" and names.member_name(branch, full=settings.enhanced) in known:
                members[field.name] = (index, encoder(plain, branch, settings))
                break
    has_null = any(branch.kind == "null" for branch in of.branches)

    def encode_union(value: Any) -> Any:
        for name, content in (value or {}).items():
            if content is not None:
                if name not in members:
                    raise DataError(f"the union has no branch '{name}'")
                index, encode = members[name]
                return branch_name(of, index), {branch_field(index): encode(content)}
        if value is None and schema.optional and has_null:
            return None
        raise DataError("null is not allowed" if value is None else "no branch of the union is set")

    return encode_union


def _branch(schema: Schema, of: AvroType, settings: AvroSettings) -> Encode:
    has_null = any(branch.kind == "null" for branch in of.branches)
    for index, branch in enumerate(of.branches):
        if branch.kind == "null":
            continue
        try:
            encode = encoder(replace(schema, optional=False), branch, settings)
        except DataError:
            continue
        return _tagged(branch_name(of, index), branch_field(index), encode, null=schema.optional and has_null)
    raise DataError(f"no branch of the union in the registered schema can hold {described(schema)}")


def _tagged(name: str, field: str, encode: Encode, *, null: bool) -> Encode:
    return lambda value: None if null and value is None else (name, {field: encode(value)})


def _present(schema: Schema, of: AvroType, settings: AvroSettings) -> Encode:
    if of.kind not in _ACCEPTED[schema.type]:
        raise DataError(f"the registered schema has {of.kind} where the record has {described(schema)}")
    convert = to_stored(schema)
    if convert is not None:
        if schema.type is Type.BYTES and of.properties.get("scale", 0) != scale_of(schema):
            found = of.properties.get("scale", 0)
            raise DataError(f"the registered schema has scale {found}, but the record has scale {scale_of(schema)}")
        return convert
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _array(encoder(schema.items, of.element, settings))
        case Type.MAP if schema.keys is not None and schema.values is not None:
            if of.kind == "map":
                return _map(
                    encoder(schema.keys, AvroType("string"), settings), encoder(schema.values, of.element, settings)
                )
            return _entries(schema.keys, schema.values, of.element, settings)
        case Type.STRUCT:
            return _record(schema, of, settings)
        case _:
            return _primitive(schema, of)


def _primitive(schema: Schema, of: AvroType) -> Encode:
    classes, bounds = frozenset(CLASSES[schema.type]), BOUNDS.get(schema.type)
    allowed = frozenset(of.symbols) if of.kind == "enum" else None
    size = of.size if of.kind == "fixed" else None

    def encode(value: Any) -> Any:
        if type(value) not in classes:
            raise DataError(f"{described(schema)} is expected, not {type(value).__name__}")
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise DataError(f"the number is too large for {described(schema)}")
        if allowed is not None and value not in allowed:
            raise DataError(f"the string is not a symbol of the enum {of.name}")
        if size is not None and len(value) != size:
            raise DataError(f"{size} bytes are expected, not {len(value)}")
        return value

    return encode


def _array(encode: Encode) -> Encode:
    def encode_array(value: Any) -> Any:
        _expect(value, list, "an array")
        return [encode(each) for each in value]

    return encode_array


def _map(encode_key: Encode, encode_value: Encode) -> Encode:
    def encode_map(value: Any) -> Any:
        _expect(value, dict, "a map")
        return {encode_key(key): encode_value(each) for key, each in value.items()}

    return encode_map


def _entries(keys: Schema, values: Schema, entry: AvroType, settings: AvroSettings) -> Encode:
    types = {f.name: f.type for f in entry.fields}
    if set(types) != {"key", "value"}:
        raise DataError("the registered schema has an array where the record has a map")
    encode_key, encode_value = encoder(keys, types["key"], settings), encoder(values, types["value"], settings)

    def encode_entries(value: Any) -> Any:
        _expect(value, dict, "a map")
        return [{"key": encode_key(key), "value": encode_value(each)} for key, each in value.items()]

    return encode_entries


def _record(schema: Schema, of: AvroType, settings: AvroSettings) -> Encode:
    fields, common = field_encoders(schema, of, settings)
    parts = [(each.name, each.target, each.encode) for each in fields]

    def encode_record(value: Any) -> Any:
        _expect(value, dict, "a struct")
        record = dict(common)
        for name, target, encode in parts:
            try:
                record[target] = encode(value.get(name))
            except DataError as e:
                raise DataError(f"field '{name}': {e}") from None
        return record

    return encode_record


def _expect(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise DataError(f"{what} is expected, not {type(value).__name__}")


def encode_anything(value: Any) -> dict[str, Any]:
    """Return the record that holds a value without a schema.

    Raises:
        DataError: the value, or one inside it, has no type in Avro.
    """
    match value:
        case None:
            return {}
        case bool():
            return {"boolean": value}
        case Int8() | Int16() | Int32():
            return {"int": int(value)}
        case Float32():
            return {"float": float(value)}
        case Instant():
            pass
        case int():
            if -(2**63) <= value < 2**63:
                return {"long": int(value)}
            raise DataError("a number without a schema exceeds 64 bits")
        case float():
            return {"double": float(value)}
        case str():
            return {"string": value}
        case bytes():
            return {"bytes": value}
        case list():
            return {"array": ("array", [encode_anything(each) for each in value])}
        case dict():
            entries = [{"key": encode_anything(k), "value": encode_anything(v)} for k, v in value.items()]
            return {"map": ("array", entries)}
        case _:
            pass
    raise DataError(f"{type(value).__name__} has no type in Avro without a schema")
