"""Avro schemas for Connect's schemas, as Confluent's AvroData makes them."""

import re
from dataclasses import replace
from typing import Any, Final

from penstock import DataError, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_registry.avro import names
from penstock_registry.avro.schema_json import schema_json
from penstock_registry.avro.settings import AvroSettings
from penstock_registry.logical import scale_of, to_stored

__all__ = ["ANYTHING_JSON", "avro_json"]

_PRIMITIVES: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {DATE_NAME: "date", TIME_NAME: "time-millis", TIMESTAMP_NAME: "timestamp-millis"}
_DEFAULT_PRECISION: Final = 64
_VALID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_ANYTHING_FIELDS: Final = (
    *((name, name) for name in ("boolean", "bytes", "double", "float", "int", "long", "string")),
    ("array", {"type": "array", "items": "Anything"}),
    (
        "map",
        {
            "type": "array",
            "items": {
                "type": "record",
                "name": f"{names.NAMESPACE}.{names.MAP_ENTRY}",
                "fields": [{"name": "key", "type": "Anything"}, {"name": "value", "type": "Anything"}],
            },
        },
    ),
)
ANYTHING_JSON: Final = schema_json(
    {
        "type": "record",
        "name": names.ANYTHING,
        "fields": [{"name": n, "type": ["null", t], "default": None} for n, t in _ANYTHING_FIELDS],
    }
)


def avro_json(schema: Schema, settings: AvroSettings) -> str:
    """Return the Avro schema for a schema of Kafka Connect, as JSON text.

    Raises:
        DataError: Avro cannot represent the schema.
    """
    return schema_json(_Builder(settings).build(schema))


class _Builder:
    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._known: dict[Schema, Any] = {}
        self._unnamed = 0
        self._around: list[str] = []

    def build(self, schema: Schema, *, as_branch: bool = False) -> Any:
        """Return a schema as JSON with full names. A branch of a union is never optional."""
        if not schema.optional and schema in self._known:
            return self._known[schema]
        if schema.type is Type.STRUCT and names.is_union(schema):
            branches = [self.build(replace(f.schema, optional=False), as_branch=True) for f in schema.fields]
            return ["null", *branches] if schema.optional else branches
        if schema.type is Type.STRUCT and schema.optional:
            record = self.build(replace(schema, optional=False))
            return record if as_branch else ["null", record]
        tree = self._base(schema)
        self._describe(schema, tree)
        if schema.optional and not as_branch:
            return [tree, "null"] if schema.default is not None else ["null", tree]
        self._known[schema] = tree
        return tree

    def _base(self, schema: Schema) -> dict[str, Any]:
        parameters = schema.parameters or {}
        match schema.type:
            case Type.STRING if self._settings.enhanced and names.ENUM in parameters:
                return self._enum(schema, parameters[names.ENUM])
            case Type.BYTES:
                return self._bytes(schema)
            case Type.ARRAY if schema.items is not None:
                return {"type": "array", "items": self.build(schema.items)}
            case Type.MAP if schema.keys is not None and schema.values is not None:
                return self._map(schema, schema.keys, schema.values)
            case Type.STRUCT:
                return self._record(schema)
            case _ if schema.type in _PRIMITIVES:
                return {"type": _PRIMITIVES[schema.type]}
            case _:
                raise DataError(f"cannot write a schema as Avro: the {schema.type} has no schema for its contents")

    def _enum(self, schema: Schema, full: str) -> dict[str, Any]:
        parameters = schema.parameters or {}
        simple = self._split(schema.name)[1] if schema.name else names.DEFAULT_NAME
        made: dict[str, Any] = {"type": "enum", "name": full}
        if (doc := parameters.get(names.ENUM_DOC + simple)) is not None:
            made["doc"] = doc
        made["symbols"] = [symbol for name, symbol in parameters.items() if name.startswith(f"{names.ENUM}.")]
        if (default := parameters.get(names.ENUM_DEFAULT + simple)) is not None:
            made["default"] = default
        return made

    def _bytes(self, schema: Schema) -> dict[str, Any]:
        parameters = schema.parameters or {}
        made: dict[str, Any] = {"type": "bytes"}
        if names.FIXED_SIZE in parameters and schema.name is not None and schema.name != DECIMAL_NAME:
            made = {"type": "fixed", "name": self._full(schema.name), "size": int(parameters[names.FIXED_SIZE])}
        if schema.name == DECIMAL_NAME:
            made["scale"] = scale_of(schema)
            made["precision"] = int(parameters.get(names.PRECISION, _DEFAULT_PRECISION))
        return made

    def _map(self, schema: Schema, keys: Schema, values: Schema) -> dict[str, Any]:
        if self._is_map(keys):
            return {"type": "map", "values": self.build(values)}
        entry: dict[str, Any] = {"type": "record", "name": f"{names.NAMESPACE}.{names.MAP_ENTRY}", "fields": []}
        if schema.name is not None:
            entry["name"] = self._full(schema.name)
            entry[names.CONNECT_INTERNAL_TYPE] = names.MAP_ENTRY
        entry["fields"] = [self._field("key", keys, None), self._field("value", values, None)]
        return {"type": "array", "items": entry}

    def _is_map(self, keys: Schema) -> bool:
        """Return whether a map with these keys is a map in Avro."""
        return keys.type is Type.STRING and (not keys.optional or self._settings.optional_keys)

    def _record(self, schema: Schema) -> dict[str, Any]:
        parameters = schema.parameters or {}
        if schema.name is None:
            self._unnamed += 1
            number = str(self._unnamed) if self._unnamed > 1 else ""
            full = f"{names.NAMESPACE}.{names.DEFAULT_NAME}{number}"
        else:
            full = self._full(schema.name)
        if full in self._around:
            raise DataError(
                f"cannot write a schema as Avro: a struct with the name {full} contains another struct with this name; "
                "rename one of them, for example with the transform SetSchemaMetadata"
            )
        made: dict[str, Any] = {"type": "record", "name": full}
        if (doc := parameters.get(names.RECORD_DOC)) is not None:
            made["doc"] = doc
        self._around.append(full)
        made["fields"] = [
            self._field(self._name(f.name), f.schema, parameters.get(names.FIELD_DOC + f.name)) for f in schema.fields
        ]
        self._around.pop()
        return made

    def _field(self, name: str, schema: Schema, doc: str | None) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name, "type": self.build(schema)}
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None:
            default = self._default(schema, schema.default)
            if _is_valid_default(schema, default):
                made["default"] = default
        elif schema.optional:
            made["default"] = None
        return made

    def _describe(self, schema: Schema, tree: dict[str, Any]) -> None:
        """Add Connect's properties and the logical type, in the order in which Java adds them."""
        parameters = schema.parameters or {}
        if self._settings.metadata:
            if schema.doc is not None:
                tree[names.CONNECT_DOC] = schema.doc
            if schema.version is not None:
                tree[names.CONNECT_VERSION] = schema.version
            if kept := {name: text for name, text in parameters.items() if name != names.FIELD_DEFAULT}:
                tree[names.CONNECT_PARAMETERS] = kept
            if schema.default is not None and names.FIELD_DEFAULT not in parameters:
                tree[names.CONNECT_DEFAULT] = self._default(schema, schema.default)
            if schema.name is not None:
                tree[names.CONNECT_NAME] = schema.name
            if schema.type in (Type.INT8, Type.INT16):
                tree[names.CONNECT_TYPE] = schema.type.value
        if schema.name == DECIMAL_NAME:
            tree["logicalType"] = "decimal"
        elif schema.name in _LOGICAL:
            tree["logicalType"] = _LOGICAL[schema.name]
        tree.update({name: text for name, text in parameters.items() if name.startswith("avro")})

    def _default(self, schema: Schema, value: Any) -> Any:
        """Return a default value as JSON."""
        if value is None:
            return None
        convert = to_stored(schema)
        plain = value if convert is None else convert(value)
        match schema.type:
            case Type.BYTES:
                return plain.decode("latin-1")
            case Type.ARRAY if schema.items is not None:
                return [self._default(schema.items, each) for each in plain]
            case Type.MAP if schema.keys is not None and schema.values is not None:
                pairs = [(self._default(schema.keys, k), self._default(schema.values, v)) for k, v in plain.items()]
                return dict(pairs) if self._is_map(schema.keys) else [list(pair) for pair in pairs]
            case Type.STRUCT if names.is_union(schema):
                given = [(f, plain.get(f.name)) for f in schema.fields if plain.get(f.name) is not None]
                return self._default(given[0][0].schema, given[0][1]) if given else None
            case Type.STRUCT:
                return {self._name(f.name): self._default(f.schema, plain.get(f.name)) for f in schema.fields}
            case Type.STRING | Type.BOOLEAN | Type.FLOAT32 | Type.FLOAT64:
                return plain
            case _:
                return int(plain)

    def _split(self, full: str) -> tuple[str | None, str]:
        return names.split(full, scrub=self._settings.scrub)

    def _full(self, full: str) -> str:
        space, name = self._split(full)
        return f"{space}.{self._valid(name)}" if space else self._valid(name)

    def _name(self, name: str) -> str:
        return names.scrubbed(name) if self._settings.scrub else self._valid(name)

    def _valid(self, name: str) -> str:
        if self._settings.scrub or _VALID.fullmatch(name):
            return name
        raise DataError(
            f"cannot write a schema as Avro: the name {name!r} is not valid in Avro, which allows letters, digits and "
            "underscores; set scrub.invalid.names=true, or rename the field or schema with a transform"
        )


def _is_valid_default(schema: Schema, default: Any) -> bool:
    """Return whether Avro accepts the default: a union's must be of its first type, and map entries must be records."""
    if schema.type is Type.STRUCT:
        return not schema.optional
    if schema.type is Type.MAP and isinstance(default, list):
        return not default
    return True
