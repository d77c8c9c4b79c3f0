"""Connect's schemas for Avro schemas, as Confluent's AvroData makes them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock import DataError, Field, Schema, Type
from penstock.schema import DATE, STRING, TIME, TIMESTAMP, decimal
from penstock_registry.avro import names
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.avro.types import AvroType
from penstock_registry.logical import from_stored

__all__ = ["connect_schema", "is_anything"]

_PRIMITIVES: Final = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "bytes": Type.BYTES,
    "string": Type.STRING,
}
_SMALL: Final = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL: Final = {
    ("int", "date"): DATE,
    ("int", "time-millis"): TIME,
    ("long", "timestamp-millis"): TIMESTAMP,
}
_DEFAULT_PRECISION: Final = 64
_MOST_TYPES: Final = 100_000
_NOTHING: Final = object()
"""Marker for no default; None is the default null."""


def is_anything(of: AvroType) -> bool:
    """Return whether a type is the record that holds values without a schema."""
    return of.kind == "record" and of.name == names.ANYTHING


def connect_schema(of: AvroType, settings: AvroSettings, version: int | None = None) -> Schema:
    """Return the schema of values of this type.

    Args:
        of: the type.
        settings: settings of the mapping.
        version: version of the schema, unless it names one.

    Raises:
        DataError: Connect cannot represent the schema.
    """
    try:
        return _Reader(settings).schema(of, version=version)
    except RecursionError:
        raise DataError("cannot read an Avro schema: it is nested too deeply") from None


@dataclass
class _Draft:
    """Schema under construction."""

    type: Type
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    optional: bool = False
    parameters: dict[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    items: Schema | None = None
    keys: Schema | None = None
    values: Schema | None = None

    @classmethod
    def of(cls, schema: Schema) -> "_Draft":
        return cls(schema.type, schema.name, schema.version, parameters=dict(schema.parameters or {}))

    def schema(self) -> Schema:
        return Schema(
            self.type,
            optional=self.optional,
            name=self.name,
            version=self.version,
            doc=self.doc,
            parameters=self.parameters or None,
            items=self.items,
            keys=self.keys,
            values=self.values,
            fields=self.fields,
        )


class _Reader:
    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._around: list[AvroType] = []
        self._made = 0

    def schema(
        self, of: AvroType, *, optional: bool = False, default: Any = _NOTHING, version: int | None = None
    ) -> Schema:
        if (branch := of.optional_branch) is not None:
            return self.schema(branch, optional=True)
        self._made += 1
        if self._made > _MOST_TYPES:  # records that are used several times can grow exponentially
            raise DataError(f"cannot read an Avro schema: it has more than {_MOST_TYPES} types")
        if of in self._around:
            raise DataError(
                f"cannot read an Avro schema: the record {of.name} contains itself, but schemas of Kafka Connect cannot "
                "be recursive; read the records as bytes (ByteArrayConverter), or change the schema"
            )
        self._around.append(of)
        draft = self._base(of)
        self._around.pop()
        self._describe(of, draft, version)
        draft.optional |= optional
        return self._with_default(of, draft, default)

    def _base(self, of: AvroType) -> _Draft:
        match of.kind:
            case "bytes" | "fixed":
                return self._bytes(of)
            case "array" if names.is_map_entry(of.element):
                fields = {f.name: f.type for f in of.element.fields}
                if set(fields) != {"key", "value"}:
                    raise DataError(
                        f"cannot read an Avro schema: a map entry has the fields {', '.join(fields)}, not key and value; "
                        "correct the schema"
                    )
                return _Draft(Type.MAP, keys=self.schema(fields["key"]), values=self.schema(fields["value"]))
            case "array":
                return _Draft(Type.ARRAY, items=self.schema(of.element))
            case "map":
                return _Draft(Type.MAP, keys=STRING, values=self.schema(of.element))
            case "record":
                return self._record(of)
            case "enum":
                return self._enum(of)
            case "union":
                return self._union(of)
            case "null":
                raise DataError(
                    "cannot read an Avro schema: a null that is not a branch of a union has no schema in Connect; read the "
                    "records as bytes (ByteArrayConverter), or change the schema"
                )
            case _:
                return self._primitive(of)

    def _primitive(self, of: AvroType) -> _Draft:
        logical = of.properties.get("logicalType")
        small = of.properties.get(names.CONNECT_TYPE)
        if of.kind == "int" and logical is None and small is not None:
            if small not in _SMALL:
                raise DataError(
                    f"cannot read an Avro schema: {names.CONNECT_TYPE} of an int must be {' or '.join(_SMALL)}, "
                    f"not {small!r}; correct the schema"
                )
            return _Draft(_SMALL[small])
        if isinstance(logical, str) and (known := _LOGICAL.get((of.kind, logical.lower()))) is not None:
            return _Draft.of(known)
        return _Draft(_PRIMITIVES[of.kind])

    def _bytes(self, of: AvroType) -> _Draft:
        draft = _Draft(Type.BYTES)
        if str(of.properties.get("logicalType")).lower() == "decimal":
            scale, precision = of.properties.get("scale"), of.properties.get("precision")
            draft = _Draft.of(decimal(scale if isinstance(scale, int) else 0))
            if precision is not None and precision != _DEFAULT_PRECISION:
                draft.parameters[names.PRECISION] = str(precision)
        if of.kind == "fixed":
            draft.parameters[names.FIXED_SIZE] = str(of.size)
        return draft

    def _record(self, of: AvroType) -> _Draft:
        draft = _Draft(Type.STRUCT)
        if self._settings.metadata and of.doc is not None:
            draft.parameters[names.RECORD_DOC] = of.doc
        fields = []
        for each in of.fields:
            if self._settings.metadata and each.doc is not None:
                draft.parameters[names.FIELD_DOC + each.name] = each.doc
            default = each.default if each.has_default else _NOTHING
            fields.append(Field(each.name, self.schema(each.type, default=default)))
        draft.fields = tuple(fields)
        return draft

    def _enum(self, of: AvroType) -> _Draft:
        draft = _Draft(Type.STRING)
        simple = str(of.name).rpartition(".")[2]
        if self._settings.metadata:
            if of.doc is not None:
                draft.parameters[names.ENUM_DOC + simple] = of.doc
            if of.symbol_default is not None:
                draft.parameters[names.ENUM_DEFAULT + simple] = of.symbol_default
        draft.parameters[names.ENUM] = str(of.name)
        draft.parameters.update({f"{names.ENUM}.{symbol}": symbol for symbol in of.symbols})
        return draft

    def _union(self, of: AvroType) -> _Draft:
        draft = _Draft(Type.STRUCT, name=names.UNION)
        fields = []
        for branch in of.branches:
            if branch.kind == "null":
                draft.optional = True
            else:
                name = names.member_name(branch, full=self._settings.enhanced)
                fields.append(Field(name, self.schema(branch, optional=True)))
        if len({f.name for f in fields}) < len(fields):
            raise DataError(
                "cannot read an Avro schema: two branches of a union have the same name "
                f"({', '.join(f.name for f in fields)}); set enhanced.avro.schema.support=true to use their full names"
            )
        draft.fields = tuple(fields)
        return draft

    def _describe(self, of: AvroType, draft: _Draft, version: int | None) -> None:
        properties = of.properties
        doc = properties.get(names.CONNECT_DOC)
        if self._settings.metadata and isinstance(doc, str):
            draft.doc = doc
        named = properties.get(names.CONNECT_VERSION, version)
        if isinstance(named, int) and named >= 0 and draft.version is None:
            draft.version = named
        parameters = properties.get(names.CONNECT_PARAMETERS)
        if self._settings.metadata and isinstance(parameters, dict):
            draft.parameters.update({name: str(text) for name, text in parameters.items()})
        draft.parameters.update({n: str(value) for n, value in properties.items() if n.startswith("avro")})
        name = properties.get(names.CONNECT_NAME, of.name)
        unnamed = not isinstance(name, str) or name.startswith(f"{names.NAMESPACE}.{names.DEFAULT_NAME}")
        if draft.name is None and not unnamed:
            draft.name = name

    def _with_default(self, of: AvroType, draft: _Draft, default: Any) -> Schema:
        """Return the schema with the default of the field, or else with `connect.default`."""
        connect_default = of.properties.get(names.CONNECT_DEFAULT, _NOTHING)
        if default is _NOTHING:
            default = connect_default
        elif self._settings.metadata and connect_default is _NOTHING:
            draft.parameters[names.FIELD_DEFAULT] = "true"
        schema = draft.schema()
        if default is _NOTHING or default is None:
            return schema
        try:
            return replace(schema, default=self._value(of, schema, default))
        except (DataError, TypeError, ValueError, AttributeError, KeyError):
            return schema  # an invalid default has no effect, as in Confluent's converter

    def _value(self, of: AvroType, schema: Schema, given: Any) -> Any:
        """Convert a default value from JSON to Connect's form."""
        if given is None:
            return None
        convert: Callable[[Any], Any] = from_stored(schema) or (lambda value: value)
        match of.kind:
            case "union":
                first = of.branches[0]
                if (branch := of.optional_branch) is not None:
                    return None if first.kind == "null" else self._value(branch, schema, given)
                if first.kind == "null":
                    return None
                field = schema.fields[0]
                others = dict.fromkeys((f.name for f in schema.fields[1:]), None)
                return {field.name: self._value(first, field.schema, given), **others}
            case "bytes" | "fixed":
                return convert(given.encode("latin-1"))
            case "array" if schema.items is not None:
                return [self._value(of.element, schema.items, each) for each in given]
            case "map" if schema.values is not None:
                return {key: self._value(of.element, schema.values, each) for key, each in given.items()}
            case "record":
                return {
                    f.name: self._value(each.type, f.schema, given[f.name]) if f.name in given else f.schema.default
                    for f, each in zip(schema.fields, of.fields, strict=True)
                }
            case "float" | "double":
                return float(given)
            case "int" | "long":
                return convert(int(given))
            case "boolean":
                return bool(given)
            case _:
                return str(given)
