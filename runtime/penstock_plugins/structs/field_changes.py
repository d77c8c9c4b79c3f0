"""Base class of transforms that change some fields of structs and maps separately: Cast, MaskField and others."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, ClassVar, Final, TypeVar

from penstock import Field, Fields, Same, Schema, Type
from penstock_java_compat.hash_map import in_hash_order
from penstock_plugins.structs.copy import FieldChange, FieldCopy, StructCopy, require_map, require_struct
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["FieldValueTransform"]

V = TypeVar("V")
_DICT: Final = {dict}


class FieldValueTransform(KeyValueTransform):
    """Transform of fields of a key or value. Subclasses implement `move`, and call `change_fields` in `configure`."""

    purpose: ClassVar[str]
    """Purpose of the transform, for error messages."""

    def change_fields(self, of_maps: Mapping[str, FieldChange], *, replace_null: bool) -> None:
        """Set the fields to change.

        Args:
            of_maps: the changes of fields of maps without a schema; an absent field is added as null.
            replace_null: read a null in a struct as the default of its field.
        """
        self._of_maps = of_maps
        self._replace_null = replace_null
        self.copies = SchemaCache(self.copy_of)

    @abstractmethod
    def move(self, field: Field) -> FieldCopy:
        """Return the new field for a field of a struct, and the change of its values."""

    def copy_of(self, schema: Schema) -> StructCopy:
        """Return the copier of structs of this schema into the new ones. `copies` caches it."""
        moves = [self.move(f) for f in schema.fields]
        unchanged = all(m.source is m.target for m in moves)
        new = schema if unchanged else replace(schema, fields=tuple(m.target for m in moves))
        return StructCopy(new, moves, replace_null=self._replace_null)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the struct or map with its fields changed.

        Raises:
            DataError: the key or value is null or not a struct or map, or a required field is null.
        """
        if schema is not None:
            struct = require_struct(schema, value, self.purpose)
            copy = self.copies[schema]
            return copy.schema, copy.row(struct)
        fields = require_map(value, self.purpose)
        new = dict(fields)
        for name, change in self._of_maps.items():
            new[name] = change.value(new.get(name))
        return None, new if len(new) == len(fields) else _in_java_order(new)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does, column by column."""
        if schema is not None:
            if schema.type is not Type.STRUCT:
                return None
            copy = self.copies[schema]
            copied = copy.rows(values)
            return None if copied is None else (copy.schema, copied, True)
        if isinstance(values, Fields):
            columns = dict(values.columns)
            for name, change in self._of_maps.items():
                columns[name] = (
                    change.apply(columns[name], values.types(name)) if name in columns else change.apply(Same(None))
                )
            return (
                None,
                values.having(columns if len(columns) == len(values.columns) else _in_java_order(columns)),
                True,
            )
        if set(map(type, values)) != _DICT:
            return None
        rows = list(map(dict.copy, values))
        for name, change in self._of_maps.items():
            new = change.apply([row.get(name) for row in rows])
            for row, item in zip(rows, repeat(new.value) if isinstance(new, Same) else new, strict=False):
                row[name] = item
        return (
            None,
            [row if len(row) == len(old) else _in_java_order(row) for row, old in zip(rows, values, strict=True)],
            True,
        )


def _in_java_order(entries: dict[str, V]) -> dict[str, V]:
    """Return the entries of a map to which some were added, in the order of Java's HashMap.

    The order matters if a later transform gives two entries the same name (Flatten): the last entry wins, and an added
    null at the end would replace a value.
    """
    if not all(type(name) is str for name in entries):
        return entries
    return {name: entries[name] for name in in_hash_order(entries)}
