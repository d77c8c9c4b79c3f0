"""Flatten nested structs: the flat schema, and the copy of values into it."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, NamedTuple

from penstock import DataError, Field, Fields, Same, Schema, SchemaBuilderError, Type
from penstock.fields import Column
from penstock_plugins.connect.values import null_error
from penstock_plugins.structs.copy import copy_schema_basics

__all__ = ["FlatStruct"]

_NULL: Final = type(None)
_DICT: Final = {dict}


class _Leaf(NamedTuple):
    """Field that is not a struct; it gets a new name in the flat struct."""

    name: str
    target: Field
    fill: Any
    """Default of the field itself, which replaces a null unless the struct that holds the field is null."""

    def value(self, value: Any) -> Any:
        """Return the value to put for a value that was read."""
        if value is None:
            value = self.fill
            if value is None and not self.target.schema.optional:
                raise null_error(self.target.name, self.target.schema)
        return value

    def column(self, parents: Column, *, holes: bool) -> Column:
        """Return the field of each of these structs; null if the struct is null. `holes` means that some are null."""
        name, value = self.name, self.value
        if isinstance(parents, Same):
            return Same(None if parents.value is None else value(parents.value[name]))
        column = _field_of_each(name, parents, holes=holes)
        if (self.fill is None and self.target.schema.optional) or _NULL not in set(map(type, column)):
            return column
        return [None if p is None else value(p[name]) for p in parents]


class _Branch(NamedTuple):
    """Field that is a struct: its fields replace it."""

    name: str
    nodes: "tuple[_Leaf | _Branch, ...]"


class FlatStruct:
    """Flattener of the structs of one schema.

    Raises:
        DataError: a field is a map.
        SchemaBuilderError: two fields would have the same name.

    Attributes:
        schema: flat schema.
    """

    def __init__(self, schema: Schema, delimiter: str) -> None:
        self._delimiter = delimiter
        targets: dict[str, Field] = {}
        self._nodes = self._read(schema, "", targets, optional=schema.optional, default=schema.default)
        self.schema = copy_schema_basics(schema, targets.values())

    def row(self, struct: dict[str, Any]) -> dict[str, Any]:
        """Return the flat struct of a struct.

        Raises:
            DataError: a required field is null.
        """
        flat: dict[str, Any] = {}
        _flatten(self._nodes, struct, flat)
        return flat

    def rows(self, structs: Sequence[Any]) -> list[dict[str, Any]] | Fields | None:
        """Flatten as `row` does, for many structs. Return None if some are not structs or lack a field.

        Raises:
            DataError: a required field of one of them is null.
        """
        flat: dict[str, Column] = {}
        try:
            if isinstance(structs, Fields):
                self._columns(structs, flat)
            elif isinstance(structs, list) and set(map(type, structs)) == _DICT:
                _flatten_columns(self._nodes, structs, flat)
            else:
                return None
        except (KeyError, TypeError):  # a struct that lacks a field, or another value
            return None
        return Fields(flat, len(structs)) if flat else [{} for _ in range(len(structs))]

    def _columns(self, fields: Fields, flat: dict[str, Column]) -> None:
        for node in self._nodes:
            column = fields.columns[node.name]
            if isinstance(node, _Branch):
                _flatten_columns(node.nodes, column, flat)
            elif _NULL not in fields.types(node.name):
                flat[node.target.name] = column
            elif isinstance(column, Same):
                flat[node.target.name] = Same(node.value(None))
            else:
                fill = node.value(None)
                flat[node.target.name] = column if fill is None else [fill if v is None else v for v in column]

    def _read(
        self, schema: Schema, prefix: str, targets: dict[str, Field], *, optional: bool, default: Any
    ) -> tuple[_Leaf | _Branch, ...]:
        nodes: list[_Leaf | _Branch] = []
        for field in schema.fields:
            old = field.schema
            name = f"{prefix}{self._delimiter}{field.name}" if prefix else field.name
            flat_optional = optional or old.optional
            inherited = old.default
            if inherited is None and default is not None:
                inherited = default.get(field.name)
            if old.type is Type.STRUCT:
                nodes.append(
                    _Branch(field.name, self._read(old, name, targets, optional=flat_optional, default=inherited))
                )
            elif old.type is Type.MAP:
                raise DataError(
                    f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                )
            else:
                new = replace(old, optional=flat_optional, default=inherited, parameters=old.parameters or None)
                if name in targets:  # checked here, because Connect reports it before a map field that follows
                    raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
                targets[name] = Field(name, new)
                nodes.append(_Leaf(field.name, targets[name], old.default))
        return tuple(nodes)


def _flatten(nodes: Sequence[_Leaf | _Branch], struct: dict[str, Any] | None, flat: dict[str, Any]) -> None:
    for node in nodes:
        item = None if struct is None else struct.get(node.name)
        if isinstance(node, _Branch):
            _flatten(node.nodes, item, flat)
        else:
            flat[node.target.name] = item if item is not None or struct is None else node.value(None)


def _flatten_columns(nodes: Sequence[_Leaf | _Branch], structs: Column, flat: dict[str, Column]) -> None:
    holes = not isinstance(structs, Same) and _NULL in set(map(type, structs))
    for node in nodes:
        if isinstance(node, _Leaf):
            flat[node.target.name] = node.column(structs, holes=holes)
        elif isinstance(structs, Same):
            _flatten_columns(node.nodes, Same(None if structs.value is None else structs.value[node.name]), flat)
        else:
            _flatten_columns(node.nodes, _field_of_each(node.name, structs, holes=holes), flat)


def _field_of_each(name: str, structs: list[Any], *, holes: bool) -> list[Any]:
    """Return the field of each struct; null if the struct is null."""
    if holes:
        return [None if s is None else s[name] for s in structs]
    return list(map(itemgetter(name), structs))
