"""ReplaceField: drop and rename fields."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from penstock import Config, ConfigError, DataError, Field, Fields, Importance, Problem, Schema, Type, prop
from penstock.rules import Rule
from penstock_java_compat.hash_map import in_hash_order
from penstock_plugins.structs.copy import (
    FieldCopy,
    StructCopy,
    copy_schema_basics,
    replace_null_with_default,
    require_map,
    require_struct,
    with_columns,
)
from penstock_plugins.structs.field_names import DistinctNames
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["ReplaceField"]

_PURPOSE: Final = "field replacement"
_RENAMED: Final = {"blacklist": "exclude", "whitelist": "include"}
"""Names that Kafka 2.6 replaced and Kafka 4.0 ignores, so that a transform with one of them keeps all fields."""


def _pair(text: str) -> tuple[str, str]:
    """Split `old:new` as Java's `String.split` does: trailing empty parts are dropped."""
    parts = text.rstrip(":").split(":")
    if len(parts) != 2:
        raise ValueError(f"Invalid rename mapping: {text}. Write the old and the new name with a colon between them.")
    return parts[0], parts[1]


def _all_pairs(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        _pair(text)
    return texts


class ReplaceFieldConfig(Config):
    exclude: DistinctNames = prop(
        "exclude",
        (),
        doc="Fields to exclude. This takes precedence over the fields to include.",
        importance=Importance.MEDIUM,
    )
    include: DistinctNames = prop(
        "include",
        (),
        doc="Fields to include. If specified, only these fields will be used.",
        importance=Importance.MEDIUM,
    )
    renames: Annotated[tuple[str, ...], Rule(_all_pairs, "old:new pairs")] = prop(
        "renames",
        (),
        doc="Field rename mappings: a list of colon-delimited pairs, e.g. foo:bar,abc:xyz.",
        importance=Importance.MEDIUM,
    )
    replace_null: bool = replace_null_with_default()

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Read the properties, and reject names that are no longer read.

        Raises:
            ConfigError: there are problems; it has all of them, each with its full property name.
        """
        problems = [
            Problem(
                f"{prefix}{old}",
                f"is ignored by Kafka 4, so that all fields would pass; write {prefix}{new} instead",
            )
            for old, new in _RENAMED.items()
            if old in texts
        ]
        try:
            config = super().parse(texts, prefix)
        except ConfigError as e:
            problems += e.problems
        if problems:
            raise ConfigError(problems)
        return config


class ReplaceField(KeyValueTransform):
    """Filter or rename fields."""

    Config = ReplaceFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.ReplaceField",)

    def configure(self, config: ReplaceFieldConfig) -> None:
        self._exclude, self._include = frozenset(config.exclude), frozenset(config.include)
        self._renames = dict(map(_pair, config.renames))
        # If several old names have the same new name, Connect uses the one that comes last in its HashMap of renames.
        self._old_names = {self._renames[old]: old for old in in_hash_order(self._renames)}
        self._replace_null = config.replace_null
        self._copies = SchemaCache(self._copy)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the remaining fields, with their new names; a null passes through with its schema.

        Raises:
            DataError: the key or value is not a struct or map, or a value is invalid for its new field.
            SchemaBuilderError: two fields of a struct would have the same name.
            TypeError: a key of a map is not a string.
        """
        if value is None:
            return schema, None
        if schema is None:
            return None, self._map(require_map(value, _PURPOSE))
        require_struct(schema, value, _PURPOSE)
        copy = self._copies[schema]
        return copy.schema, copy.row(value)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does; drop and rename columns without reading their values."""
        if schema is None:
            fields = Fields.of(values)
            if fields is None:
                return None
            kept = {self._new_name(name): column for name, column in fields.columns.items() if self._is_kept(name)}
            return None, with_columns(fields, kept), True
        if schema.type is not Type.STRUCT or (not isinstance(values, Fields) and None in values):
            return None
        copy = self._copies[schema]
        new = copy.rows(values)
        return None if new is None else (copy.schema, new, True)

    def _map(self, value: dict[Any, Any]) -> dict[Any, Any]:
        for name in value:
            if name is not None and not isinstance(name, str):
                raise TypeError(
                    f"cannot replace fields of a map: a key is a {type(name).__name__}, not a string; exclude such records "
                    "with a predicate"
                )
        return {self._new_name(name): item for name, item in value.items() if self._is_kept(name)}

    def _is_kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _new_name(self, name: str) -> str:
        return self._renames.get(name, name)

    def _copy(self, schema: Schema) -> StructCopy:
        """Return the copier into structs of the new schema.

        Connect copies by the new names: for each it reads the field that `renames` maps to it, not the field whose schema it
        took. The two differ if a field already has the new name of a field that is dropped or absent.
        """
        targets = [Field(self._new_name(f.name), f.schema) for f in schema.fields if self._is_kept(f.name)]
        new_schema = copy_schema_basics(schema, targets)
        fields = {f.name: f for f in schema.fields}
        sources = [self._old_names.get(t.name, t.name) for t in targets]
        for name in sources:
            if name not in fields:
                raise DataError(
                    f"{name} is not a valid field name: `renames` maps this field, which the struct does not have, to the "
                    "name of a field that it has. Remove the rename, or exclude the other field."
                )
        moves = [FieldCopy(fields[name], target) for name, target in zip(sources, targets, strict=True)]
        return StructCopy(new_schema, moves, replace_null=self._replace_null)
