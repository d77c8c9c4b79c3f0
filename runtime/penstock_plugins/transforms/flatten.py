"""Flatten: the fields of nested structs or maps become fields of the outermost one."""

from typing import Any, Final

from penstock import (
    Config,
    DataError,
    Fields,
    Float32,
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
_LEAVES: Final = frozenset({type(None), bool, str, bytes, list, int, Int8, Int16, Int32, Int64, float, Float32})
"""Classes whose values are taken as they are."""


class FlattenConfig(Config):
    """The properties of Flatten."""

    delimiter: str = prop(
        "delimiter",
        ".",
        doc="Delimiter to insert between field names from the input record when generating field names for the "
        "output record.",
        importance=Importance.MEDIUM,
    )


class Flatten(KeyValueTransform):
    """Flatten a nested data structure: a name for each field is made of the names on the way to it, with a delimiter."""

    Config = FlattenConfig
    java_names = ("org.apache.kafka.connect.transforms.Flatten",)

    def configure(self, config: FlattenConfig) -> None:
        """Take the parsed `Config`."""
        self._delimiter = config.delimiter
        self._flats = SchemaCache(lambda schema: FlatStruct(schema, config.delimiter))

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """The flat struct or map; null passes with its schema.

        Raises:
            DataError: the side is no struct or map, or holds a field that does not flatten.
            SchemaBuilderError: two fields of a struct would have the same name.
            TypeError: a key of a map is no text.
        """
        if value is None:
            return schema, None
        if schema is None:
            flat: dict[Any, Any] = {}
            self._flatten(require_map(value, _PURPOSE), "", flat)
            return None, flat
        require_struct(schema, value, _PURPOSE)
        found = self._flats[schema]
        return found.schema, found.row(value)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """As `change_value`; the columns of inner structs become columns of the outer one."""
        if schema is not None:
            if schema.type is not Type.STRUCT:
                return None
            found = self._flats[schema]
            made = found.rows(values)
            return None if made is None else (found.schema, made, True)
        fields = Fields.of(values)
        columns: dict[str, Column] = {}
        if fields is None or not self._columns(fields, "", columns):
            return None
        return None, with_columns(fields, columns), True

    def _flatten(self, nested: dict[Any, Any], lead: str, flat: dict[Any, Any]) -> None:
        """Add the entries of a map; `lead` is what stands before their names. Of two with one name, the last counts."""
        for key, item in nested.items():
            name = lead + key if type(key) is str else _unusual_name(lead, key)
            if type(item) in _LEAVES:
                flat[name] = item
            elif isinstance(item, dict):
                if name is not None:
                    self._flatten(item, self._prefix(name), flat)
                elif item:
                    raise TypeError("The null key of a map holds a map. Flatten only maps that have texts as keys.")
            elif type_of(item) is None:
                raise DataError(
                    f"Flatten transformation was passed a value of type class {java_class(None, item)} for the field "
                    f"'{name}': such values have no type without a schema. Leave the field out before (ReplaceField)."
                )
            else:
                flat[name] = item

    def _columns(self, fields: Fields, lead: str, flat: dict[str, Column]) -> bool:
        """Flatten maps of one shape; False where they are not of one, or two entries get one name."""
        for key, column in fields.columns.items():
            name = lead + key
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


def _unusual_name(lead: str, key: Any) -> str | None:
    """The name for a key that is no plain text; that of the null key is null, as the outermost one."""
    if key is not None and not isinstance(key, str):
        raise TypeError(
            f"A key of a map is a {type(key).__name__}, but field names are texts. Flatten only maps with texts as keys."
        )
    return lead + ("null" if key is None else key) if lead else key
