"""ExtractField: one field takes the place of the key or value it stands in."""

from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import model_validator

from penstock import Config, ConfigError, DataError, Fields, Importance, Problem, Same, Schema, Type, prop
from penstock.rules import words
from penstock_plugins.connect.values import java_class
from penstock_plugins.structs.copy import replace_null_with_default, require_map, require_struct
from penstock_plugins.structs.field_path import read_path
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["ExtractField"]

_PURPOSE: Final = "field extraction"
_DICT: Final = {dict}
_DICT_OR_NULL: Final = {dict, type(None)}


class ExtractFieldConfig(Config):
    """The properties of ExtractField."""

    field: str = prop("field", doc="Field name to extract.", importance=Importance.MEDIUM)
    replace_null: bool = replace_null_with_default()
    syntax: Annotated[str, words("v1", "v2", any_case=True)] = prop(
        "field.syntax.version",
        "V1",
        doc="Defines the version of the syntax to access fields. V1: the text is the name of a field. V2: dots separate "
        "the names of fields inside fields; a name with dots stands in backticks.",
        importance=Importance.HIGH,
    )

    def steps(self) -> tuple[str, ...]:
        """The names of the fields on the way, the wanted one last."""
        return read_path(self.field) if self.syntax.lower() == "v2" else (self.field,)

    @model_validator(mode="after")
    def _path_is_whole(self) -> Self:
        try:
            self.steps()
        except ValueError as e:
            raise ConfigError(Problem("field", str(e))) from None
        return self


class _Step(NamedTuple):
    name: str
    fill: Any
    """What a null is read as."""


class _Path(NamedTuple):
    steps: tuple[_Step, ...]
    schema: Schema | None


class ExtractField(KeyValueTransform):
    """Extract the specified field from a Struct when schema present, or a Map in the case of schemaless data."""

    Config = ExtractFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.ExtractField",)

    def configure(self, config: ExtractFieldConfig) -> None:
        """Take the parsed `Config`."""
        self._path = config.field
        self._names = config.steps()
        self._replace_null = config.replace_null
        self._bare = _Path(tuple(_Step(name, None) for name in self._names), None)
        self._ways = SchemaCache(self._way)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """The field's schema and value; a null on the way makes the value null.

        Raises:
            DataError: the side, or a field on the way, is no struct or map.
            ValueError: the schema has no such field, or the path is empty.
        """
        if schema is None:
            if value is None:
                return None, None
            way, item = self._bare, require_map(value, _PURPOSE)
            if not self._names:
                raise self._unknown()
        else:
            if value is not None:
                require_struct(schema, value, _PURPOSE)
            way, item = self._ways[schema], value
        return way.schema, _read(way.steps, item)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """As `change_value`; of values that are held as columns, the field is one."""
        way = self._bare if schema is None else self._ways[schema]
        if not way.steps:
            return None
        first, *others = way.steps
        column: list[Any]
        if isinstance(values, Fields):
            found = values.columns.get(first.name, Same(None))
            if isinstance(found, Same):
                return way.schema, [_read(way.steps, {first.name: found.value})] * len(values), False
            column = found
            if first.fill is not None and type(None) in values.types(first.name):
                column = [first.fill if item is None else item for item in column]
        else:
            column, others = values, list(way.steps)
        for step in others:
            kinds = set(map(type, column))
            if not kinds <= _DICT_OR_NULL:
                return None
            name, fill = step
            if fill is not None:
                column = [None if i is None else fill if (found := i.get(name)) is None else found for i in column]
            elif kinds == _DICT:
                column = [item.get(name) for item in column]
            else:
                column = [None if item is None else item.get(name) for item in column]
        return way.schema, column, False

    def _way(self, schema: Schema) -> _Path:
        """The way through this schema."""
        if not self._names:
            raise self._unknown()
        steps = []
        for name in self._names:
            if schema.type is not Type.STRUCT:
                raise DataError(
                    f"Cannot look up fields on non-struct type: '{name}' of the path '{self._path}' is asked of "
                    f"{schema.type}"
                )
            field = schema.field(name)
            if field is None:
                raise self._unknown()
            steps.append(_Step(name, field.schema.default))
            schema = field.schema
        if not self._replace_null:  # which says nothing about the structs on the way
            steps[-1] = _Step(steps[-1].name, None)
        return _Path(tuple(steps), schema)

    def _unknown(self) -> ValueError:
        return ValueError(f"Unknown field: {self._path}")


def _read(steps: tuple[_Step, ...], item: Any) -> Any:
    for place, (name, fill) in enumerate(steps):
        if item is None:
            return None
        if place and not isinstance(item, dict):
            raise DataError(
                f"Only Map and Struct objects supported for [nested field access]: '{name}' is asked of a "
                f"{java_class(None, item)}"
            )
        item = item.get(name)
        if item is None:
            item = fill
    return item
