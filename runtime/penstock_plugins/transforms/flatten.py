"""Flatten: move the fields of nested structs or maps to the outermost one."""

from typing import Any, Final

from penstock import (
    Config,
    DataError,
    Fields,
    Float32,
    Float64,
    Importance,
    Int8,
    Int16,
    Int32,
    Int64,
    Same,
    Schema,
    Type,
    prop,
)
from penstock.fields import Column
from penstock_plugins.connect.values import java_class, type_of
from penstock_plugins.structs.copy import require_map, require_struct, with_columns
from penstock_plugins.structs.flat import FlatStruct
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["Flatten"]

_PURPOSE: Final = "flattening"
_DICT: Final = {dict}
_LEAVES: Final = frozenset(
    {type(None), bool, str, bytes, list, int, Int8, Int16, Int32, Int64, float, Float32, Float64}
)
"""Classes of values that are copied unchanged."""


class FlattenConfig(Config):
    delimiter: str = prop(
        "delimiter",
        ".",
        doc="Delimiter to insert between field names from the input record when generating field names for the "
        "output record.",
        importance=Importance.MEDIUM,
    )


class Flatten(KeyValueTransform):
    """Flatten a nested data structure: each field's name is made of the names on the path to it, with a delimiter."""

    Config = FlattenConfig
    java_names = ("org.apache.kafka.connect.transforms.Flatten",)

    def configure(self, config: FlattenConfig) -> None:
        self._delimiter = config.delimiter
        self._flats = SchemaCache(lambda schema: FlatStruct(schema, config.delimiter))

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the flat struct or map; a null passes through with its schema.

        Raises:
            DataError: the key or value is not a struct or map, or contains a field that cannot be flattened.
            SchemaBuilderError: two fields of a struct would have the same name.
            TypeError: a key of a map is not a string.
        """
        if value is None:
            return schema, None
        if schema is None:
            flat: dict[Any, Any] = {}
            self._flatten(require_map(value, _PURPOSE), "", flat)
            return None, flat
        require_struct(schema, value, _PURPOSE)
        flat_struct = self._flats[schema]
        return flat_struct.schema, flat_struct.row(value)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does; the columns of inner structs become columns of the outer one."""
        if schema is not None:
            if schema.type is not Type.STRUCT:
                return None
            flat_struct = self._flats[schema]
            rows = flat_struct.rows(values)
            return None if rows is None else (flat_struct.schema, rows, True)
        fields = Fields.of(values)
        columns: dict[str, Column] = {}
        if fields is None or not self._columns(fields, "", columns):
            return None
        return None, with_columns(fields, columns), True

    def _flatten(self, nested: dict[Any, Any], prefix: str, flat: dict[Any, Any]) -> None:
        """Add the entries of a map to `flat`, with `prefix` before their names. The last of two with the same name wins."""
        for key, item in nested.items():
            name = prefix + key if type(key) is str else _unusual_name(prefix, key)
            if type(item) in _LEAVES:
                flat[name] = item
            elif isinstance(item, dict):
                if name is not None:
                    self._flatten(item, self._prefix(name), flat)
                elif item:
                    raise TypeError(
                        "cannot flatten a map: its null key holds a map; flatten only maps with string keys"
                    )
            elif type_of(item) is None:
                raise DataError(
                    f"Flatten transformation was passed a value of type class {java_class(None, item)} for the field "
                    f"'{name}': such values have no type without a schema. Remove the field first, with ReplaceField."
                )
            else:
                flat[name] = item

    def _columns(self, fields: Fields, prefix: str, flat: dict[str, Column]) -> bool:
        """Flatten maps with the same fields. Return False if their fields differ, or if two entries get the same name."""
        for key, column in fields.columns.items():
            name = prefix + key
            types = fields.types(key)
            if dict not in types:
                if name in flat or not types <= _LEAVES:
                    return False
                flat[name] = column
            elif isinstance(column, Same):
                inside: dict[Any, Any] = {}
                self._flatten(column.value, self._prefix(name), inside)
                if None in inside or not flat.keys().isdisjoint(inside):
                    return False
                flat |= {inner: Same(item) for inner, item in inside.items()}
            else:
                inner = Fields.of(column) if types == _DICT else None
                if inner is None or not self._columns(inner, self._prefix(name), flat):
                    return False
        return True

    def _prefix(self, name: str) -> str:
        return name + self._delimiter if name else ""


def _unusual_name(prefix: str, key: Any) -> str | None:
    """Return the name for a key that is not a plain `str`. A null key at the top stays null; below, it is named `null`."""
    if key is not None and not isinstance(key, str):
        raise TypeError(
            f"cannot flatten a map: a key is a {type(key).__name__}, not a string; flatten only maps with string keys"
        )
    return prefix + ("null" if key is None else key) if prefix else key
