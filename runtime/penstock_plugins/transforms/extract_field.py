"""ExtractField: replace a key or value with one of its fields."""

from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import model_validator

from penstock import Config, ConfigError, DataError, Fields, Importance, Problem, Same, Schema, Type, prop
from penstock.rules import words
from penstock_plugins.connect.values import java_class
from penstock_plugins.structs.copy import replace_null_with_default, require_map, require_struct
from penstock_plugins.structs.field_path import read_path
from penstock_plugins.structs.key_value import Values
from penstock_plugins.structs.key_value_transform import KeyValueTransform, TransformedColumn
from penstock_plugins.structs.known_fields import known_fields
from penstock_plugins.structs.schema_cache import SchemaCache

__all__ = ["ExtractField"]

_PURPOSE: Final = "field extraction"
_DICT: Final = {dict}
_DICT_OR_NULL: Final = {dict, type(None)}


class ExtractFieldConfig(Config):
    field: str = prop("field", doc="Field name to extract.", importance=Importance.MEDIUM)
    replace_null: bool = replace_null_with_default()
    syntax: Annotated[str, words("v1", "v2", any_case=True)] = prop(
        "field.syntax.version",
        "V1",
        doc="Defines the version of the syntax to access fields. V1: the name of a field. V2: a path; dots separate "
        "the names of nested fields; a name with dots is written in backticks.",
        importance=Importance.HIGH,
    )

    def steps(self) -> tuple[str, ...]:
        """Return the names of the fields on the path; the last one is extracted."""
        return read_path(self.field) if self.syntax.lower() == "v2" else (self.field,)

    @model_validator(mode="after")
    def _is_a_path(self) -> Self:
        try:
            self.steps()
        except ValueError as e:
            raise ConfigError(Problem("field", str(e))) from None
        return self


class _Step(NamedTuple):
    name: str
    fill: Any
    """Default that replaces a null."""


class _Path(NamedTuple):
    steps: tuple[_Step, ...]
    schema: Schema | None


class ExtractField(KeyValueTransform):
    """Extract the specified field from a Struct when schema present, or a Map in the case of schemaless data."""

    Config = ExtractFieldConfig
    java_names = ("org.apache.kafka.connect.transforms.ExtractField",)

    def configure(self, config: ExtractFieldConfig) -> None:
        self._field = config.field
        self._names = config.steps()
        self._replace_null = config.replace_null
        self._schemaless = _Path(tuple(_Step(name, None) for name in self._names), None)
        self._paths = SchemaCache(self._path_through)

    def change_value(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the field's schema and value; the value is null if a field on the path is null.

        Raises:
            DataError: the key or value, or a field on the path, is not a struct or map.
            ValueError: the schema has no such field, or the path is empty.
        """
        if schema is None:
            if value is None:
                return None, None
            path, item = self._schemaless, require_map(value, _PURPOSE)
            if not self._names:
                raise self._unknown(None)
        else:
            if value is not None:
                require_struct(schema, value, _PURPOSE)
            path, item = self._paths[schema], value
        return path.schema, _read(path.steps, item)

    def change_values(self, schema: Schema | None, values: Values) -> TransformedColumn | None:
        """Change as `change_value` does. If the values are held as columns, the result is one of them."""
        path = self._schemaless if schema is None else self._paths[schema]
        if not path.steps:
            return None
        first, *remaining = path.steps
        column: list[Any]
        if isinstance(values, Fields):
            first_column = values.columns.get(first.name, Same(None))
            if isinstance(first_column, Same):
                return path.schema, [_read(path.steps, {first.name: first_column.value})] * len(values), False
            column = first_column
            if first.fill is not None and type(None) in values.types(first.name):
                column = [first.fill if item is None else item for item in column]
        else:
            column, remaining = values, list(path.steps)
        for step in remaining:
            kinds = set(map(type, column))
            if not kinds <= _DICT_OR_NULL:
                return None
            name, fill = step
            if fill is not None:
                column = [None if i is None else fill if (inner := i.get(name)) is None else inner for i in column]
            elif kinds == _DICT:
                column = [item.get(name) for item in column]
            else:
                column = [None if item is None else item.get(name) for item in column]
        return path.schema, column, False

    def _path_through(self, schema: Schema) -> _Path:
        """Return the path through structs of this schema."""
        if not self._names:
            raise self._unknown(None)
        steps = []
        for name in self._names:
            if schema.type is not Type.STRUCT:
                raise DataError(
                    f"Cannot look up fields on non-struct type: field '{name}' of the path '{self._field}' in a "
                    f"{schema.type}"
                )
            field = schema.field(name)
            if field is None:
                raise self._unknown(schema)
            steps.append(_Step(name, field.schema.default))
            schema = field.schema
        if not self._replace_null:  # applies only to the last field; structs on the path always read defaults
            steps[-1] = _Step(steps[-1].name, None)
        return _Path(tuple(steps), schema)

    def _unknown(self, schema: Schema | None) -> ValueError:
        return ValueError(f"Unknown field: {self._field}{known_fields(schema)}")


def _read(steps: tuple[_Step, ...], item: Any) -> Any:
    for depth, (name, fill) in enumerate(steps):
        if item is None:
            return None
        if depth and not isinstance(item, dict):
            raise DataError(
                f"Only Map and Struct objects supported for [nested field access]: field '{name}' in a "
                f"{java_class(None, item)}"
            )
        item = item.get(name)
        if item is None:
            item = fill
    return item
