"""Transforms that change the values of some fields of structs and maps, each field by itself."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any, ClassVar, Final, TypeVar

from penstock import Field, Fields, Same, Schema, Type
from penstock_java.hash_map import in_hash_order
from penstock_plugins.structs.copy import FieldChange, FieldCopy, StructCopy, require_map, require_struct
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["FieldValueTransform"]

V = TypeVar("V")
_DICT: Final = {dict}


class FieldValueTransform(KeyValueTransform):
    """The common part; subclasses say what is done to a field, and call `change_fields` in `configure`."""

    purpose: ClassVar[str]
    """What it does, for messages."""

    def change_fields(self, of_maps: Mapping[str, FieldChange], *, replace_null: bool) -> None:
        """Take what is configured.

        Args:
            of_maps: what is done to the fields of maps without a schema; an absent one is a null, and is added.
            replace_null: whether the null of a struct's field is read as its default.
        """
        self._of_maps = of_maps
        self._replace_null = replace_null
        self.copies = SchemaCache(self.copy_of)

    @abstractmethod
    def move(self, field: Field) -> FieldCopy:
        """The new form of a struct's field, and what is done to its values."""

    def copy_of(self, schema: Schema) -> StructCopy:
        """The way from structs of this schema to the new ones; `copies` keeps it."""
        moves = [self.move(f) for f in schema.fields]
        same = all(m.source is m.target for m in moves)
        new = schema if same else replace(schema, fields=tuple(m.target for m in moves))
        return StructCopy(new, moves, replace_null=self._replace_null)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """The struct or map with its fields changed.

        Raises:
            DataError: the side is null or no struct or map, or null stands in a required field.
        """
        if schema is not None:
            struct = require_struct(schema, value, self.purpose)
            copy = self.copies[schema]
            return copy.schema, copy.row(struct)
        there = require_map(value, self.purpose)
        new = dict(there)
        for name, change in self._of_maps.items():
            new[name] = change.value(new.get(name))
        return None, new if len(new) == len(there) else _in_java_order(new)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """As `change_value`, one column after the other."""
        if schema is not None:
            if schema.type is not Type.STRUCT:
                return None
            copy = self.copies[schema]
            made = copy.rows(values)
            return None if made is None else (copy.schema, made, True)
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
    """The entries of a map to which some were added, in the order of Java's maps.

    A later transform may give two entries one name (Flatten), and the last one counts: an added null would hide a value.
    """
    if not all(type(name) is str for name in entries):
        return entries
    return {name: entries[name] for name in in_hash_order(entries)}
