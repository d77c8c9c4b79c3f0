"""Fast check of many values against a schema, with msgspec types instead of Connect's schemas.

A positive result is certain. After a negative one, the exact check must decide.
"""

import types
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, starmap
from operator import itemgetter
from typing import Annotated, Any, Final

import msgspec

from penstock import Instant, Schema, Type
from penstock.schema import TIMESTAMP_NAME
from penstock_java_compat.floats import plain_range
from penstock_plugins.connect.values import BOUNDS, LOGICAL

__all__ = ["SchemaShape", "shape_of"]

_TEXTS: Final = {Type.STRING: str, Type.BOOLEAN: bool, Type.BYTES: bytes}
_CLASSES: Final[Mapping[Type, type]] = {
    **dict.fromkeys(BOUNDS, int),
    Type.FLOAT64: float,
    Type.BYTES: bytes,
    Type.ARRAY: list,
    Type.MAP: dict,
    Type.STRUCT: dict,
}
"""Only Python class that values of each type may have. msgspec also accepts others: subclasses, ints as floats, tuples as
lists."""


class SchemaShape:
    """msgspec type for values of one schema."""

    def __init__(self, schema: Schema, kind: Any) -> None:
        self._many: Any = list[kind]
        self._schema = schema

    def convert(self, values: Sequence[Any]) -> list[Any] | None:
        """Return the values as objects that msgspec encodes in schema order; None if one may not fit the schema."""
        try:
            objects: list[Any] = msgspec.convert(values, self._many, builtin_types=(bytes,))
        except (msgspec.ValidationError, TypeError):
            return None
        if self._schema.type in _CLASSES and not all(starmap(_have_exact_types, _checked(self._schema, values))):
            return None
        return objects

    def matches(self, values: Sequence[Any]) -> bool:
        """Return whether the values fit the schema unchanged, including the order of their fields."""
        return self.convert(values) is not None and _in_schema_order(self._schema, values)


def shape_of(schema: Schema, *, replace_null: bool) -> SchemaShape | None:
    """Return the shape of a schema; None if it has none (decimals, dates, float32, names with escapes).

    Args:
        schema: schema of the values.
        replace_null: a null under a schema with a default does not fit, because it is not written as null.
    """
    kind = _msgspec_type(schema, replace_null=replace_null)
    return None if kind is None else SchemaShape(schema, kind)


def _msgspec_type(schema: Schema, *, replace_null: bool) -> Any:
    kind = _required_type(schema, replace_null=replace_null)
    if kind is not None and schema.optional and not (replace_null and schema.default is not None):
        return kind | None
    return kind


def _required_type(schema: Schema, *, replace_null: bool) -> Any:
    if schema.name in LOGICAL:
        return int if schema.name == TIMESTAMP_NAME and schema.type is Type.INT64 else None
    if schema.type in _TEXTS:
        return _TEXTS[schema.type]
    if schema.type in BOUNDS:
        low, high = BOUNDS[schema.type]
        return Annotated[int, msgspec.Meta(ge=low, le=high)]
    if schema.type is Type.FLOAT64:
        return float
    if schema.type is Type.ARRAY and schema.items is not None:
        items = _msgspec_type(schema.items, replace_null=replace_null)
        return None if items is None else types.GenericAlias(list, (items,))
    if schema.type is Type.MAP and schema.keys is not None and schema.values is not None:
        if schema.keys.type is not Type.STRING or schema.keys.optional or schema.keys.name in LOGICAL:
            return None
        values = _msgspec_type(schema.values, replace_null=replace_null)
        return None if values is None else types.GenericAlias(dict, (str, values))
    if schema.type is not Type.STRUCT:
        return None
    kinds = [_msgspec_type(f.schema, replace_null=replace_null) for f in schema.fields]
    if any(k is None for k in kinds):
        return None
    names = {f"f{i}": f.name for i, f in enumerate(schema.fields)}
    try:
        return msgspec.defstruct(
            "Row", list(zip(names, kinds, strict=True)), rename=names, forbid_unknown_fields=True, gc=False
        )
    except ValueError:
        return None  # a name that needs escapes in JSON


def _checked(schema: Schema, column: Sequence[Any]) -> Iterator[tuple[Schema, Sequence[Any]]]:
    """Yield the columns, also nested ones, whose Python classes need another check; a container before its content."""
    if schema.optional and None in column:
        column = [v for v in column if v is not None]
    yield schema, column
    if schema.type is Type.STRUCT:
        for field in schema.fields:
            if field.schema.type in _CLASSES:
                yield from _checked(field.schema, list(map(itemgetter(field.name), column)))
    elif schema.type is Type.ARRAY and schema.items is not None and schema.items.type in _CLASSES:
        yield from _checked(schema.items, list(chain.from_iterable(column)))
    elif schema.type is Type.MAP and schema.values is not None and schema.values.type in _CLASSES:
        yield from _checked(schema.values, list(chain.from_iterable(map(dict.values, column))))


def _have_exact_types(schema: Schema, column: Sequence[Any]) -> bool:
    exact = Instant if schema.name == TIMESTAMP_NAME else _CLASSES[schema.type]
    return set(map(type, column)) <= {exact} and (schema.type is not Type.FLOAT64 or all(map(plain_range, column)))


def _in_schema_order(schema: Schema | None, column: Sequence[Any]) -> bool:
    if schema is None or not column:
        return True
    if schema.optional and None in column:
        column = [v for v in column if v is not None]
    if schema.type is Type.STRUCT:
        names = tuple(f.name for f in schema.fields)
        return set(map(tuple, column)) <= {names} and all(
            _in_schema_order(f.schema, list(map(itemgetter(f.name), column)))
            for f in schema.fields
            if f.schema.type in (Type.STRUCT, Type.ARRAY, Type.MAP)
        )
    if schema.type is Type.ARRAY:
        return _in_schema_order(schema.items, list(chain.from_iterable(column)))
    if schema.type is Type.MAP:
        return _in_schema_order(schema.values, list(chain.from_iterable(map(dict.values, column))))
    return True
