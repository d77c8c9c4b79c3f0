"""Types of Avro schemas, with all names resolved."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock import DataError

__all__ = ["AvroField", "AvroType", "parse_avro"]

_PRIMITIVES: Final = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_STRUCTURE: Final = frozenset(
    ("type", "name", "namespace", "aliases", "doc", "fields", "items", "values", "symbols", "size", "default")
)
"""Attributes that Avro defines; all others are properties."""


@dataclass(slots=True)
class AvroField:
    """Field of a record. `default` is JSON, and valid only if `has_default`."""

    name: str
    type: "AvroType"
    doc: str | None = None
    default: Any = None
    has_default: bool = False


@dataclass(eq=False, slots=True)
class AvroType:
    """Type in a schema. A record that contains itself refers to the same object.

    Attributes:
        kind: `record`, `union`, `int` and so on.
        name: the full name of a record, enum or fixed.
        properties: attributes without a meaning for Avro's encoding, such as `logicalType` and `connect.name`.
        items: the elements of an array, or the values of a map.
        number: number of a union, unique in the schema.
    """

    kind: str
    name: str | None = None
    doc: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    fields: list[AvroField] = field(default_factory=list)
    items: "AvroType | None" = None
    symbols: tuple[str, ...] = ()
    symbol_default: str | None = None
    size: int = 0
    branches: list["AvroType"] = field(default_factory=list)
    number: int = 0

    @property
    def optional_branch(self) -> "AvroType | None":
        """Return the other branch of a union of null and one more type; None for any other type."""
        if self.kind == "union" and len(self.branches) == 2:
            one, two = self.branches
            if one.kind == "null":
                return two
            if two.kind == "null":
                return one
        return None

    @property
    def element(self) -> "AvroType":
        """Return the type of an array's elements or a map's values."""
        if self.items is None:
            raise DataError(f"cannot read an Avro schema: the {self.kind} has no type for its contents")
        return self.items


def parse_avro(text: str, references: tuple[str, ...] = ()) -> AvroType:
    """Return the type that a schema defines.

    Args:
        text: the schema as JSON.
        references: schemas that it refers to by name, each after its own references.

    Raises:
        DataError: the text is not an Avro schema.
    """
    parser = _Parser()
    try:
        for each in references:
            parser.read(json.loads(each), "")
        return parser.read(json.loads(text), "")
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise DataError(f"cannot read an Avro schema: {type(e).__name__}: {e}") from e
    except RecursionError:
        raise DataError("cannot read an Avro schema: it is nested too deeply") from None


class _Parser:
    def __init__(self) -> None:
        self._named: dict[str, AvroType] = {}
        self._unions = 0

    def read(self, schema: Any, namespace: str) -> AvroType:
        if isinstance(schema, list):
            self._unions += 1
            union = AvroType("union", number=self._unions)
            union.branches = [self.read(branch, namespace) for branch in schema]
            return union
        if isinstance(schema, str):
            return AvroType(schema) if schema in _PRIMITIVES else self._known(schema, namespace)
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.read(kind, namespace)
        properties = {name: value for name, value in schema.items() if name not in _STRUCTURE}
        if kind in _PRIMITIVES:
            return AvroType(kind, properties=properties)
        if kind == "array":
            return AvroType(kind, items=self.read(schema["items"], namespace), properties=properties)
        if kind == "map":
            return AvroType(kind, items=self.read(schema["values"], namespace), properties=properties)
        if kind in ("record", "error", "enum", "fixed"):
            return self._define("record" if kind == "error" else kind, schema, namespace, properties)
        return self._known(kind, namespace)

    def _define(self, kind: str, schema: Any, namespace: str, properties: Mapping[str, Any]) -> AvroType:
        name: str = schema["name"]
        if "." not in name:
            space = schema.get("namespace", namespace)
            name = f"{space}.{name}" if space else name
        made = self._named[name] = AvroType(kind, name=name, doc=schema.get("doc"), properties=properties)
        match kind:
            case "enum":
                made.symbols = tuple(schema["symbols"])
                made.symbol_default = schema.get("default")
            case "fixed":
                made.size = int(schema["size"])
            case _:
                inner = name.rpartition(".")[0]
                for each in schema["fields"]:
                    read = self.read(each["type"], inner)
                    made.fields.append(
                        AvroField(each["name"], read, each.get("doc"), each.get("default"), "default" in each)
                    )
        return made

    def _known(self, name: str, namespace: str) -> AvroType:
        full = f"{namespace}.{name}" if namespace and "." not in name else name
        found = self._named.get(full) or self._named.get(name)
        if found is None:
            raise ValueError(f"the type {full} is not defined")
        return found
