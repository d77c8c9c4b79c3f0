"""Defaults of fields, for records whose schema lacks a field of the registered schema."""

from typing import Any

from penstock_registry.avro.physical import branch_field, branch_name
from penstock_registry.avro.types import AvroType

__all__ = ["default_datum"]


def default_datum(of: AvroType, default: Any) -> Any:
    """Convert a default from JSON to the value that fastavro writes with the physical schema."""
    match of.kind:
        case "union" if of.optional_branch is not None:
            first = of.branches[0]
            if default is None or first.kind == "null":
                return None
            return first.name or first.kind, default_datum(first, default)
        case "union":
            first = of.branches[0]
            if first.kind == "null":
                return None
            return branch_name(of, 0), {branch_field(0): default_datum(first, default)}
        case "bytes" | "fixed":
            return default.encode("latin-1")
        case "array":
            return [default_datum(of.element, each) for each in default]
        case "map":
            return {name: default_datum(of.element, each) for name, each in default.items()}
        case "record":
            return {f.name: default_datum(f.type, default.get(f.name, f.default)) for f in of.fields}
        case _:
            return default
