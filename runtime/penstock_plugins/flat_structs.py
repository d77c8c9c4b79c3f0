"""Flat forms of nested structs: the schema, and the way that values take into it."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, NamedTuple

from penstock import DataError, Field, Fields, Same, Schema, Type
from penstock.fields import Column
from penstock_plugins.connect_values import null_of
from penstock_plugins.struct_copy import basics

__all__ = ["FlatStruct"]

_NULL: Final = type(None)
_DICT: Final = {dict}


class _Leaf(NamedTuple):
    """A field that stands in the flat struct under a new name."""

    name: str
    target: Field
    fill: Any
    """The default of the field itself: what a null in a struct that is there is read as."""

    def value(self, value: Any) -> Any:
        """What is put for a value that was read."""
        if value is None:
            value = self.fill
            if value is None and not self.target.schema.optional:
                raise null_of(self.target.name, self.target.schema)
        return value

    def of(self, parents: Column) -> Column:
        """The field in each of these structs; null where the struct is."""
        name, value = self.name, self.value
        if isinstance(parents, Same):
            return Same(None if parents.value is None else value(parents.value.get(name)))
        if self.fill is None and self.target.schema.optional:
            return _inside(name, parents)
        column = _inside(name, parents)
        if None not in column:
            return column
        return [None if p is None else value(p[name]) for p in parents]


class _Branch(NamedTuple):
    """A field that is a struct: its fields take its place."""

    name: str
    nodes: "tuple[_Leaf | _Branch, ...]"


class FlatStruct:
    """The flat form of a schema's structs.

    Raises:
        DataError: a field is a map.
        SchemaBuilderError: two fields would have the same name.

    Attributes:
        schema: the flat schema.
    """

    def __init__(self, schema: Schema, delimiter: str) -> None:
        self._delimiter = delimiter
        targets: list[Field] = []
        self._nodes = self._read(schema, "", targets, optional=schema.optional, default=schema.default)
        self.schema = basics(schema, targets)

    def row(self, struct: dict[str, Any]) -> dict[str, Any]:
        """The flat struct of one.

        Raises:
            DataError: there is a null in a required field.
        """
        flat: dict[str, Any] = {}
        _flatten(self._nodes, struct, flat)
        return flat

    def columns(self, fields: Fields, flat: dict[str, Column]) -> bool:
        """Put the columns of many into `flat`; False where one of them lacks a field.

        Raises:
            DataError: as `row`, for one of them.
            KeyError: an inner struct lacks a field.
        """
        for node in self._nodes:
            column = fields.columns.get(node.name)
            if column is None:
                return False
            if isinstance(node, _Branch):
                _flatten_columns(node.nodes, column, flat)
            elif _NULL not in fields.types(node.name):
                flat[node.target.name] = column
            elif isinstance(column, Same):
                flat[node.target.name] = Same(node.value(None))
            else:
                fill = node.value(None)
                flat[node.target.name] = column if fill is None else [fill if v is None else v for v in column]
        return True

    def _read(
        self, schema: Schema, prefix: str, targets: list[Field], *, optional: bool, default: Any
    ) -> tuple[_Leaf | _Branch, ...]:
        nodes: list[_Leaf | _Branch] = []
        for field in schema.fields:
            old = field.schema
            name = f"{prefix}{self._delimiter}{field.name}" if prefix else field.name
            may_lack = optional or old.optional
            own = old.default
            inherited = own if own is not None or default is None else default.get(field.name)
            if old.type is Type.STRUCT:
                nodes.append(_Branch(field.name, self._read(old, name, targets, optional=may_lack, default=inherited)))
            elif old.type is Type.MAP:
                raise DataError(
                    f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                )
            else:
                new = replace(old, optional=may_lack, default=inherited, parameters=old.parameters or None)
                targets.append(Field(name, new))
                nodes.append(_Leaf(field.name, targets[-1], own))
        return tuple(nodes)


def _flatten(nodes: Sequence[_Leaf | _Branch], struct: dict[str, Any] | None, flat: dict[str, Any]) -> None:
    for node in nodes:
        item = None if struct is None else struct.get(node.name)
        if isinstance(node, _Branch):
            _flatten(node.nodes, item, flat)
        else:
            flat[node.target.name] = item if item is not None or struct is None else node.value(None)


def _flatten_columns(nodes: Sequence[_Leaf | _Branch], structs: Column, flat: dict[str, Column]) -> None:
    for node in nodes:
        if isinstance(node, _Branch):
            inner: Column = (
                Same(None if structs.value is None else structs.value.get(node.name))
                if isinstance(structs, Same)
                else _inside(node.name, structs)
            )
            _flatten_columns(node.nodes, inner, flat)
        else:
            flat[node.target.name] = node.of(structs)


def _inside(name: str, structs: list[Any]) -> list[Any]:
    """That field of each struct; null where the struct is."""
    if None in structs:
        return [None if s is None else s[name] for s in structs]
    return list(map(itemgetter(name), structs))
